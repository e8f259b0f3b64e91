#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "CPlatform.h"
#include "addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
// For `SOL_LOCAL`, which Linux does not have.
#ifndef __linux__
#include <sys/un.h>
#endif
// For `find_user`.
#ifdef __linux__
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#endif

/// Writes `ADDRESS:PORT`, with the address as words in the machine's byte order: 8 digits for IPv4, 32 for
/// IPv6.
static int write_end(char *text, size_t size, const tcp_address *address) {
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
    tcp_address peer, own;
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

int oidc_write_host(const tcp_address *address, char *text, size_t size) {
    const int family = address->any.sa_family;
    const void *host = family == AF_INET6 ? (const void *)&address->v6.sin6_addr : &address->v4.sin_addr;
    return inet_ntop(family, host, text, (socklen_t)size) == NULL ? errno : 0;
}

int oidc_own_address(int descriptor, char *text, size_t size) {
    tcp_address own;
    socklen_t length = sizeof own;
    if (getsockname(descriptor, &own.any, &length) != 0) return errno;
    return oidc_write_host(&own, text, size);
}

static bool is_loopback(const tcp_address *address) {
    if (address->any.sa_family == AF_INET) return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

/// Returns whether an address is one of this machine or network namespace: only then the system would also send from
/// it to it. Nothing is sent to find out. If the system does not say, it counts as one.
static bool is_local(const tcp_address *address) {
#ifdef SOCK_CLOEXEC
    int descriptor = socket(address->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = socket(address->any.sa_family, SOCK_DGRAM, 0);
#endif
    if (descriptor < 0) return true;
    const bool is_v4 = address->any.sa_family == AF_INET;
    tcp_address source;
    socklen_t length = sizeof source;
    bool is_known = connect(descriptor, &address->any, is_v4 ? sizeof address->v4 : sizeof address->v6) == 0
        && getsockname(descriptor, &source.any, &length) == 0;
    close(descriptor);
    if (!is_known) return true;
    if (is_v4) return source.v4.sin_addr.s_addr == address->v4.sin_addr.s_addr;
    return memcmp(&source.v6.sin6_addr, &address->v6.sin6_addr, sizeof source.v6.sin6_addr) == 0;
}

int oidc_is_peer_elsewhere(int descriptor) {
    tcp_address peer, own;
    socklen_t length = sizeof peer;
    if (getpeername(descriptor, &peer.any, &length) != 0) return 0;
    length = sizeof own;
    if (getsockname(descriptor, &own.any, &length) != 0) return 0;
    return !is_loopback(&peer) && !is_loopback(&own) && !is_local(&peer);
}

int oidc_find_line(const char *path, const char *text, char *line, size_t size) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return -errno;
    int is_found = 0;
    while (!is_found && fgets(line, (int)size, file) != NULL) is_found = strstr(line, text) != NULL;
    fclose(file);
    return is_found;
}

// The netlink socket that answers this exists on Linux only; see `oidc_peer_user`.
#ifdef __linux__
static oidc_peer find_user(int kernel, const tcp_address *peer, const tcp_address *own, uint32_t *user) {
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
    if (send(kernel, &question, sizeof question, 0) != (ssize_t)sizeof question) return oidc_peer_unknown;

    union {
        struct nlmsghdr header;
        char bytes[4096];
    } answer;
    ssize_t count = recv(kernel, &answer, sizeof answer, MSG_DONTWAIT);
    if (count < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return oidc_peer_unknown;
    if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return oidc_peer_unknown;
    const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
    // A socket that listens on the peer's port may be found instead.
    if (found->id.idiag_dport != own->v4.sin_port || found->id.idiag_sport != peer->v4.sin_port)
        return oidc_peer_unknown;
    // An IPv6 socket that carries IPv4 has the address in its last word.
    const bool is_mapped = found->idiag_family == AF_INET6 && found->id.idiag_dst[2] == htonl(0xffff);
    if (found->id.idiag_dst[is_mapped ? 3 : 0] != own->v4.sin_addr.s_addr) return oidc_peer_unknown;
    // A socket that its process has closed is root's, without an inode.
    if (found->idiag_inode == 0) return oidc_peer_gone;
    *user = found->idiag_uid;
    return oidc_peer_found;
}
#endif

oidc_peer oidc_peer_user(int descriptor, uint32_t *user) {
#ifdef __linux__
    tcp_address peer, own;
    socklen_t length = sizeof peer;
    if (getpeername(descriptor, &peer.any, &length) != 0 || peer.any.sa_family != AF_INET)
        return oidc_peer_unknown;
    length = sizeof own;
    if (getsockname(descriptor, &own.any, &length) != 0) return oidc_peer_unknown;
    int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0) return oidc_peer_unknown;
    oidc_peer result = find_user(kernel, &peer, &own, user);
    close(kernel);
    return result;
#else
    (void)descriptor;
    (void)user;
    return oidc_peer_unknown;
#endif
}

int oidc_unix_peer(int descriptor, uint32_t *user, int32_t *process) {
#ifdef __linux__
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return errno;
    *user = peer.uid;
    *process = peer.pid;
    return 0;
#else
    uid_t owner;
    gid_t group;
    if (getpeereid(descriptor, &owner, &group) != 0) return errno;
    *user = owner;
    *process = 0;
    pid_t peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_LOCAL, LOCAL_PEERPID, &peer, &length) == 0) *process = peer;
    return 0;
#endif
}
