#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "CPlatform.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#endif

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} loopback_address;

static socklen_t make_address(loopback_address *address, int is_ipv6, uint16_t port) {
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

int oidc_listen_loopback(int is_ipv6, uint16_t *port, int backlog) {
    int descriptor = make_socket(is_ipv6);
    if (descriptor < 0) return descriptor;
    int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (is_ipv6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    loopback_address address;
    socklen_t length = make_address(&address, is_ipv6, *port);
    if (bind(descriptor, &address.any, length) == 0 && listen(descriptor, backlog) == 0
        && getsockname(descriptor, &address.any, &length) == 0) {
        *port = ntohs(is_ipv6 ? address.v6.sin6_port : address.v4.sin_port);
        return descriptor;
    }
    int failure = errno;
    close(descriptor);
    return -failure;
}

int oidc_connect_loopback(int is_ipv6, uint16_t port) {
    int descriptor = make_socket(is_ipv6);
    if (descriptor < 0) return descriptor;
    loopback_address address;
    socklen_t length = make_address(&address, is_ipv6, port);
    if (connect(descriptor, &address.any, length) == 0 || errno == EINPROGRESS) return descriptor;
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

int oidc_connect_address(const char *address, uint16_t port) {
    loopback_address target;
    memset(&target, 0, sizeof target);
    int is_ipv6 = strchr(address, ':') != NULL;
    // An address of this link names its interface after a percent sign, which no server's does.
    if (is_ipv6) {
        target.v6.sin6_family = AF_INET6;
        target.v6.sin6_port = htons(port);
        if (inet_pton(AF_INET6, address, &target.v6.sin6_addr) != 1) return -EADDRNOTAVAIL;
    } else {
        target.v4.sin_family = AF_INET;
        target.v4.sin_port = htons(port);
        if (inet_pton(AF_INET, address, &target.v4.sin_addr) != 1) return -EADDRNOTAVAIL;
    }
    int descriptor = make_socket(is_ipv6);
    if (descriptor < 0) return descriptor;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return start_connecting(descriptor, &target, is_ipv6 ? sizeof target.v6 : sizeof target.v4);
}

int oidc_connect_unix(const char *path) {
    struct sockaddr_un target;
    memset(&target, 0, sizeof target);
    target.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof target.sun_path) return -ENAMETOOLONG;
    strcpy(target.sun_path, path);
    int descriptor = make_socket_of(AF_UNIX);
    if (descriptor < 0) return descriptor;
    return start_connecting(descriptor, &target, sizeof target);
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
#endif
    } while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (descriptor < 0) return -errno;
#ifndef __linux__
    int failure = prepare(descriptor);
    if (failure != 0) {
        close(descriptor);
        return -failure;
    }
#endif
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

long oidc_send(int descriptor, const void *bytes, size_t count) {
#ifdef MSG_NOSIGNAL
    int flags = MSG_NOSIGNAL;
#else
    int flags = 0;
#endif
    ssize_t sent;
    do {
        sent = send(descriptor, bytes, count, flags);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -(long)errno : (long)sent;
}

long oidc_send_pieces(
    int descriptor, const void *first, size_t first_count, const void *second, size_t second_count,
    const void *third, size_t third_count) {
#ifdef MSG_NOSIGNAL
    int flags = MSG_NOSIGNAL;
#else
    int flags = 0;
#endif
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
        sent = sendmsg(descriptor, &message, flags);
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

static int make_unix_socket(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
#ifdef SOCK_CLOEXEC
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
#endif
    if (descriptor < 0) return -errno;
    int failure = prepare(descriptor);
    if (failure == 0) return descriptor;
    close(descriptor);
    return -failure;
}

int oidc_listen_unix(const char *path, int backlog) {
    struct sockaddr_un address;
    int descriptor = make_unix_socket(&address, path);
    if (descriptor < 0) return descriptor;
    // Linux gives the file the mode of the socket; others only follow the umask.
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

/// Writes `ADDRESS:PORT`, with the address as words in the machine's byte order: 8 digits for IPv4, 32 for
/// IPv6.
static int write_end(char *text, size_t size, const loopback_address *address) {
    if (address->any.sa_family == AF_INET) {
        return snprintf(
            text, size, "%08X:%04X", (unsigned)address->v4.sin_addr.s_addr, ntohs(address->v4.sin_port));
    }
    uint32_t word[4];
    memcpy(word, &address->v6.sin6_addr, sizeof word);
    return snprintf(
        text, size, "%08X%08X%08X%08X:%04X", word[0], word[1], word[2], word[3],
        ntohs(address->v6.sin6_port));
}

int oidc_peer_route(int descriptor, char *text, size_t size) {
    loopback_address peer, own;
    socklen_t length = sizeof peer;
    if (getpeername(descriptor, &peer.any, &length) != 0) return errno;
    length = sizeof own;
    if (getsockname(descriptor, &own.any, &length) != 0) return errno;
    int written = write_end(text, size, &peer);
    if (written + 2 > (int)size) return ENOSPC;
    text[written] = ' ';
    if (write_end(text + written + 1, size - written - 1, &own) + written + 2 > (int)size) return ENOSPC;
    return 0;
}

int oidc_find_line(const char *path, const char *text, char *line, size_t size) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return -errno;
    int is_found = 0;
    while (!is_found && fgets(line, (int)size, file) != NULL) is_found = strstr(line, text) != NULL;
    fclose(file);
    return is_found;
}

#ifdef __linux__
static int find_user(int kernel, const loopback_address *peer, const loopback_address *own, uint32_t *user) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question;
    memset(&question, 0, sizeof question);
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.request.sdiag_family = AF_INET;
    question.request.sdiag_protocol = IPPROTO_TCP;
    question.request.idiag_states = ~0U;
    question.request.id.idiag_sport = peer->v4.sin_port;
    question.request.id.idiag_dport = own->v4.sin_port;
    question.request.id.idiag_src[0] = peer->v4.sin_addr.s_addr;
    question.request.id.idiag_dst[0] = own->v4.sin_addr.s_addr;
    question.request.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    question.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (send(kernel, &question, sizeof question, 0) != (ssize_t)sizeof question) return 0;

    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    ssize_t count = recv(kernel, &answer, sizeof answer, MSG_DONTWAIT);
    if (count < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return 0;
    if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return 0;
    const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
    // A socket that listens on the peer's port may be found instead; one without an inode is closed.
    if (found->id.idiag_dport != own->v4.sin_port || found->id.idiag_sport != peer->v4.sin_port) return 0;
    if (found->id.idiag_dst[0] != own->v4.sin_addr.s_addr || found->idiag_inode == 0) return 0;
    *user = found->idiag_uid;
    return 1;
}
#endif

int oidc_peer_user(int descriptor, uint32_t *user) {
#ifdef __linux__
    loopback_address peer, own;
    socklen_t length = sizeof peer;
    if (getpeername(descriptor, &peer.any, &length) != 0 || peer.any.sa_family != AF_INET) return 0;
    length = sizeof own;
    if (getsockname(descriptor, &own.any, &length) != 0) return 0;
    int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0) return 0;
    int is_found = find_user(kernel, &peer, &own, user);
    close(kernel);
    return is_found;
#else
    (void)descriptor;
    (void)user;
    return 0;
#endif
}
