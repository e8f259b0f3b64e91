#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "CPlatform.h"
#include "addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t make_address(tcp_address *address, int is_ipv6, uint16_t port) {
    memset(address, 0, sizeof *address);
    if (is_ipv6) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons(port);
        address->v6.sin6_addr = in6addr_loopback;
        return sizeof address->v6;
    }
    address->v4.sin_family = AF_INET;
    address->v4.sin_port = htons(port);
    address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sizeof address->v4;
}

static int prepare(int descriptor) {
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) return errno;
    int failure = oidc_set_nonblocking(descriptor);
    // Linux has MSG_NOSIGNAL for each call instead.
#ifdef SO_NOSIGPIPE
    int on = 1;
    if (failure == 0) failure = setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on) ? errno : 0;
#endif
    return failure;
}

static int make_socket_of(int family) {
#ifdef SOCK_CLOEXEC
    int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(family, SOCK_STREAM, 0);
#endif
    if (descriptor < 0) return -errno;
    int failure = prepare(descriptor);
    if (failure == 0) return descriptor;
    close(descriptor);
    return -failure;
}

static int make_socket(int is_ipv6) { return make_socket_of(is_ipv6 ? AF_INET6 : AF_INET); }

/// Returns the length of the address, or 0 if the text is not a numeric address.
static socklen_t parse_address(const char *text, uint16_t port, tcp_address *address) {
    memset(address, 0, sizeof *address);
    // A link-local address would need its interface after a percent sign; no server has such an address.
    if (strchr(text, ':') != NULL) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons(port);
        return inet_pton(AF_INET6, text, &address->v6.sin6_addr) == 1 ? sizeof address->v6 : 0;
    }
    address->v4.sin_family = AF_INET;
    address->v4.sin_port = htons(port);
    return inet_pton(AF_INET, text, &address->v4.sin_addr) == 1 ? sizeof address->v4 : 0;
}

int oidc_write_address(const char *text, char *canonical, size_t size) {
    tcp_address address;
    if (parse_address(text, 0, &address) == 0) return 0;
    return oidc_write_host(&address, canonical, size) == 0;
}

int oidc_listen(const char *text, uint16_t *port, int backlog) {
    tcp_address address;
    socklen_t length = parse_address(text, *port, &address);
    if (length == 0) return -EADDRNOTAVAIL;
    const int is_ipv6 = address.any.sa_family == AF_INET6;
    int descriptor = make_socket(is_ipv6);
    if (descriptor < 0) return descriptor;
    int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (is_ipv6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(descriptor, &address.any, length) == 0 && listen(descriptor, backlog) == 0
        && getsockname(descriptor, &address.any, &length) == 0) {
        *port = ntohs(is_ipv6 ? address.v6.sin6_port : address.v4.sin_port);
        return descriptor;
    }
    int failure = errno;
    close(descriptor);
    return -failure;
}

static int start_connecting(int descriptor, const void *address, socklen_t length) {
    if (connect(descriptor, (const struct sockaddr *)address, length) == 0 || errno == EINPROGRESS)
        return descriptor;
    int failure = errno;
    close(descriptor);
    return -failure;
}

int oidc_connect_loopback(int is_ipv6, uint16_t port) {
    int descriptor = make_socket(is_ipv6);
    if (descriptor < 0) return descriptor;
    tcp_address address;
    socklen_t length = make_address(&address, is_ipv6, port);
    return start_connecting(descriptor, &address, length);
}

int oidc_connect_address(const char *address, uint16_t port) {
    tcp_address target;
    socklen_t length = parse_address(address, port, &target);
    if (length == 0) return -EADDRNOTAVAIL;
    int descriptor = make_socket(target.any.sa_family == AF_INET6);
    if (descriptor < 0) return descriptor;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return start_connecting(descriptor, &target, length);
}

static int make_unix_socket(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return make_socket_of(AF_UNIX);
}

int oidc_connect_unix(const char *path) {
    struct sockaddr_un target;
    int descriptor = make_unix_socket(&target, path);
    if (descriptor < 0) return descriptor;
    return start_connecting(descriptor, &target, sizeof target);
}

void oidc_reset_on_close(int descriptor) {
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

int oidc_connection_error(int descriptor) {
    int failure = 0;
    socklen_t length = sizeof failure;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length) != 0) return errno;
    return failure;
}

int oidc_accept(int listener) {
    int descriptor;
    do {
#ifdef __linux__
        descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
#else
        descriptor = accept(listener, NULL, NULL);
        // macOS refuses every option of a connection that its peer has already closed.
        if (descriptor >= 0 && prepare(descriptor) != 0) {
            close(descriptor);
            descriptor = -1;
            errno = ECONNABORTED;
        }
#endif
    } while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (descriptor < 0) return -errno;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

#ifdef MSG_NOSIGNAL
enum { send_flags = MSG_NOSIGNAL };
#else
enum { send_flags = 0 };
#endif

long oidc_send(int descriptor, const void *bytes, size_t count) {
    ssize_t sent;
    do {
        sent = send(descriptor, bytes, count, send_flags);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -(long)errno : (long)sent;
}

long oidc_send_pieces(
    int descriptor, const void *first, size_t first_count, const void *second, size_t second_count,
    const void *third, size_t third_count) {
    struct iovec pieces[3] = {
        {.iov_base = (void *)first, .iov_len = first_count},
        {.iov_base = (void *)second, .iov_len = second_count},
        {.iov_base = (void *)third, .iov_len = third_count}};
    struct msghdr message;
    memset(&message, 0, sizeof message);
    message.msg_iov = pieces;
    message.msg_iovlen = 3;
    ssize_t sent;
    do {
        sent = sendmsg(descriptor, &message, send_flags);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -(long)errno : (long)sent;
}

long oidc_receive(int descriptor, void *bytes, size_t count) {
    ssize_t received;
    do {
        received = recv(descriptor, bytes, count, 0);
    } while (received < 0 && errno == EINTR);
    return received < 0 ? -(long)errno : (long)received;
}

int oidc_listen_unix(const char *path, int backlog) {
    struct sockaddr_un address;
    int descriptor = make_unix_socket(&address, path);
    if (descriptor < 0) return descriptor;
    // Linux gives the file the mode of the socket; on other systems, the mode depends on the umask alone.
#ifdef __linux__
    int code = fchmod(descriptor, 0600) == 0 ? bind(descriptor, (struct sockaddr *)&address, sizeof address) : -1;
#else
    mode_t mask = umask(0177);
    int code = bind(descriptor, (struct sockaddr *)&address, sizeof address);
    umask(mask);
#endif
    if (code == 0 && listen(descriptor, backlog) == 0) return descriptor;
    int failure = errno;
    close(descriptor);
    return -failure;
}

void oidc_shutdown_sending(int descriptor) { shutdown(descriptor, SHUT_WR); }

uint16_t oidc_own_port(int descriptor) {
    tcp_address own;
    socklen_t length = sizeof own;
    if (getsockname(descriptor, &own.any, &length) != 0) return 0;
    if (own.any.sa_family == AF_INET) return ntohs(own.v4.sin_port);
    return own.any.sa_family == AF_INET6 ? ntohs(own.v6.sin6_port) : 0;
}

void oidc_end_socket(int descriptor) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
        int result = dup2(pair[0], descriptor);
        close(pair[0]);
        close(pair[1]);
        if (result >= 0) {
            prepare(descriptor);
            return;
        }
    }
    char discarded[4096];
    shutdown(descriptor, SHUT_RDWR);
    while (recv(descriptor, discarded, sizeof discarded, MSG_DONTWAIT) > 0) {}
}

int oidc_is_listener(int descriptor) {
    int listens = 0;
    socklen_t size = sizeof listens;
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

void oidc_stop_listening(int descriptor) {
    if (oidc_is_listener(descriptor)) shutdown(descriptor, SHUT_RDWR);
}
