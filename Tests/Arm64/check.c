// Calls the C files on another machine: an emulated arm64, and this one for comparison. Ends with 1 at the first
// difference from what the headers promise.
#include "CLibcrypto.h"
#include "CLibcurl.h"
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define EXPECT(truth) \
    do { \
        if (!(truth)) { \
            fprintf(stderr, "check.c:%d: %s (errno %d)\n", __LINE__, #truth, errno); \
            exit(1); \
        } \
    } while (0)

static int wait_for(int descriptor, short events) {
    struct pollfd waiting = {.fd = descriptor, .events = events};
    return poll(&waiting, 1, 20000) == 1;
}

static void check_process(void) {
    int count = 0;
    EXPECT(oidc_arguments(&count) != NULL && count == 3 && strcmp(oidc_arguments(&count)[1], "checked") == 0);
    EXPECT(oidc_environment() != NULL && oidc_descriptor_limit() >= 8);
    int ends[2];
    EXPECT(oidc_pipe(ends) == 0 && (fcntl(ends[0], F_GETFD) & FD_CLOEXEC));
    EXPECT(oidc_input_is_exhausted(ends[0]) == 0 || oidc_input_is_exhausted(ends[0]) == 1);
    // Every byte comes through a string as it was, whether or not char is signed.
    char words[256];
    for (int value = 1; value < 256; value++) words[value - 1] = (char)value;
    words[255] = 0;
    char *arguments[] = {"printf", "%s", words, NULL};
    pid_t child;
    EXPECT(oidc_spawn(&child, "/usr/bin/printf", arguments, environ, -1, ends[1], -1, OIDC_SPAWN_NEW_SESSION) == 0);
    close(ends[1]);
    unsigned char output[512];
    size_t length = 0;
    for (ssize_t part; (part = read(ends[0], output + length, sizeof output - length)) > 0;) length += (size_t)part;
    EXPECT(length == 255);
    for (size_t index = 0; index < length; index++) EXPECT(output[index] == index + 1);
    int status = 0, number = 0;
    EXPECT(oidc_await_end(child, &status, &number) == 1 && status == 0 && number == -1);
    close(ends[0]);
}

static void check_connection(int listener, int client) {
    EXPECT(wait_for(listener, POLLIN));
    int server = oidc_accept(listener);
    EXPECT(server >= 0 && wait_for(client, POLLOUT) && oidc_connection_error(client) == 0);
    const char *pieces[] = {"one ", "two ", "three"};
    EXPECT(oidc_send_pieces(client, pieces[0], 4, pieces[1], 4, pieces[2], 5) == 13);
    EXPECT(wait_for(server, POLLIN));
    char text[64];
    EXPECT(oidc_receive(server, text, sizeof text) == 13 && memcmp(text, "one two three", 13) == 0);
    EXPECT(oidc_receive(server, text, sizeof text) == -EAGAIN);
    oidc_shutdown_sending(client);
    EXPECT(wait_for(server, POLLIN) && oidc_receive(server, text, sizeof text) == 0);
    oidc_end_socket(client);
    close(client);
    close(server);
}

static void check_sockets(const char *socket_path) {
    uint16_t port = 0;
    int listener = oidc_listen("127.0.0.1", &port, 16);
    EXPECT(listener >= 0 && port != 0);
    int client = oidc_connect_address("127.0.0.1", port);
    EXPECT(client >= 0 && wait_for(client, POLLOUT));
    char route[96], expected[96];
    EXPECT(oidc_peer_route(client, route, sizeof route) == 0);
    // As /proc/net/tcp has it on a little-endian machine; arm64 Linux is one.
    snprintf(expected, sizeof expected, "0100007F:%04X 0100007F:", port);
    EXPECT(strncmp(route, expected, strlen(expected)) == 0);
    uint32_t user = 0;
    int is_known = oidc_peer_user(client, &user);
    EXPECT(is_known == 0 || user == getuid());
    check_connection(listener, client);
    close(listener);

    unlink(socket_path);
    listener = oidc_listen_unix(socket_path, 16);
    EXPECT(listener >= 0 && oidc_is_listener(listener));
    client = oidc_connect_unix(socket_path);
    EXPECT(client >= 0);
    check_connection(listener, client);
    close(listener);
    unlink(socket_path);
}

static void check_signals(void) {
    EXPECT(oidc_record_interruptions() == 0);
    oidc_postpone_interruptions();
    EXPECT(raise(SIGTERM) == 0 && oidc_recorded_interruption() == SIGTERM);
    EXPECT(wait_for(oidc_interruption_descriptor(), POLLIN) && oidc_interruption_was_postponed());
    EXPECT(oidc_interruptions_are_postponed());
    oidc_end_postponement(0);
    oidc_forget_interruptions();
    EXPECT(oidc_recorded_interruption() == 0);
    oidc_ignore_broken_pipes();
    EXPECT(oidc_is_ignored(SIGPIPE));
    oidc_restore_broken_pipes();
    EXPECT(!oidc_is_ignored(SIGPIPE));
}

static void check_libraries(void) {
    char problem[256];
    static const char *const names[] = {"libno-such-curl.so.4", NULL};
    oidc_curl_library curl;
    EXPECT(strcmp(oidc_curl_load(names, &curl, problem, sizeof problem), "libno-such-curl.so.4 is not installed") == 0);
    Libcrypto crypto;
    EXPECT(libcrypto_open("libno-such-crypto.so.3", &crypto, problem, sizeof problem) == 0);
    EXPECT(strcmp(problem, "libno-such-crypto.so.3 is not installed") == 0);
}

int main(int count, char **words) {
    EXPECT(count == 3);
    oidc_reserve_standard_descriptors();
    check_process();
    check_sockets(words[2]);
    check_signals();
    check_libraries();
    EXPECT(oidc_forbid_dumps() == 0);
    printf("pages of %ld bytes, char is %s\n", sysconf(_SC_PAGESIZE), (char)-1 < 0 ? "signed" : "unsigned");
    return 0;
}
