// The server and the client of the proxy's benchmark, both small enough not to be what is measured.
//
//   exchange serve                          prints its port; GET /N: N bytes; PUT: reads the body; GET /hold: an event, then silence
//   exchange times HOST PORT PATH COUNT     the nanoseconds of each request, on one connection
//   exchange get HOST PORT PATH             the seconds of one download
//   exchange put HOST PORT PATH BYTES       the seconds of one upload
//   exchange hold HOST PORT PATH COUNT      holds requests open, prints the nanoseconds until each first event, and waits for stdin
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char block[1 << 16];

static long long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void send_all(int peer, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(peer, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) fail("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

/// Reads a head, and returns how many bytes of the body came with it; -1 at the end.
static long read_head(int peer, char *head, size_t size) {
    size_t count = 0;
    while (1) {
        ssize_t got = recv(peer, head + count, size - 1 - count, 0);
        if (got <= 0) return -1;
        count += (size_t)got;
        head[count] = 0;
        char *end = strstr(head, "\r\n\r\n");
        if (end != NULL) return (long)(count - (size_t)(end + 4 - head));
        if (count >= size - 1) return -1;
    }
}

static long long length_of(const char *head) {
    const char *field = strcasestr(head, "\r\nContent-Length:");
    return field == NULL ? 0 : atoll(field + 17);
}

static void skip(int peer, long long count) {
    static _Thread_local char buffer[1 << 18];
    while (count > 0) {
        ssize_t got = recv(peer, buffer, sizeof buffer, 0);
        if (got <= 0) fail("recv");
        count -= got;
    }
}

static void *serve_one(void *argument) {
    int peer = (int)(long)argument;
    char head[16384], answer[256];
    long extra;
    while ((extra = read_head(peer, head, sizeof head)) >= 0) {
        char method[16] = "", path[256] = "";
        sscanf(head, "%15s %255s", method, path);
        if (strcmp(method, "PUT") == 0) {
            skip(peer, length_of(head) - extra);
            strcpy(answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            send_all(peer, answer, strlen(answer));
        } else if (strstr(path, "/hold") != NULL) {
            strcpy(answer, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: x\n\n\r\n");
            send_all(peer, answer, strlen(answer));
        } else {
            long long size = atoll(strrchr(path, '/') + 1);
            snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n", size);
            if (size < 4096) {
                size_t length = strlen(answer);
                char whole[8192];
                memcpy(whole, answer, length);
                memset(whole + length, 'x', (size_t)size);
                send_all(peer, whole, length + (size_t)size);
                continue;
            }
            send_all(peer, answer, strlen(answer));
            for (; size > 0; size -= (long long)sizeof block)
                send_all(peer, block, size < (long long)sizeof block ? (size_t)size : sizeof block);
        }
    }
    close(peer);
    return NULL;
}

static void serve(void) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 512) != 0) fail("listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (1) {
        int peer = accept(listener, NULL, NULL);
        if (peer < 0) continue;
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve_one, (void *)(long)peer) == 0) pthread_detach(thread);
    }
}

static int join(const char *port) {
    int peer = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)atoi(port))};
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(peer, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    return peer;
}

static void ask(int peer, const char *method, char *const *words, long long body) {
    char text[4096];
    int count = snprintf(text, sizeof text, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, words[4], words[2]);
    if (body >= 0) count += snprintf(text + count, sizeof text - (size_t)count, "Content-Length: %lld\r\n", body);
    count += snprintf(text + count, sizeof text - (size_t)count, "\r\n");
    send_all(peer, text, (size_t)count);
}

static void take(int peer) {
    char head[16384];
    long extra = read_head(peer, head, sizeof head);
    if (extra < 0 || strncmp(head, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "%.300s\n", head);
        exit(1);
    }
    skip(peer, length_of(head) - extra);
}

int main(int count, char **words) {
    memset(block, 'x', sizeof block);
    if (count == 2 && strcmp(words[1], "serve") == 0) serve();
    if (count < 5) return 2;
    if (strcmp(words[1], "hold") == 0) {
        for (int index = atoi(words[5]); index > 0; index--) {
            char head[16384];
            int peer = join(words[3]);
            long long start = nanoseconds();
            ask(peer, "GET", words, -1);
            long extra = read_head(peer, head, sizeof head);
            if (extra < 0) fail("hold");
            if (extra == 0 && recv(peer, head, sizeof head, 0) <= 0) fail("hold");
            printf("%lld\n", nanoseconds() - start);
        }
        printf("held\n");
        fflush(stdout);
        getchar();
        return 0;
    }
    int peer = join(words[3]);
    if (strcmp(words[1], "times") == 0) {
        for (int index = atoi(words[5]); index > 0; index--) {
            long long start = nanoseconds();
            ask(peer, "GET", words, -1);
            take(peer);
            printf("%lld\n", nanoseconds() - start);
        }
        return 0;
    }
    long long start = nanoseconds();
    if (strcmp(words[1], "get") == 0) {
        ask(peer, "GET", words, -1);
    } else {
        long long size = atoll(words[5]);
        ask(peer, "PUT", words, size);
        for (; size > 0; size -= (long long)sizeof block)
            send_all(peer, block, size < (long long)sizeof block ? (size_t)size : sizeof block);
    }
    take(peer);
    printf("%.4f\n", (double)(nanoseconds() - start) / 1e9);
    return 0;
}
