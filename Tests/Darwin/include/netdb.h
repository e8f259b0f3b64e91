// man 3 getaddrinfo, man 3 getnameinfo: the name comes before the address, unlike on Linux.
#pragma once
#include <sys/socket.h>
#define NI_NUMERICHOST 0x00000002
struct addrinfo {
    int ai_flags;
    int ai_family;
    int ai_socktype;
    int ai_protocol;
    socklen_t ai_addrlen;
    char *ai_canonname;
    struct sockaddr *ai_addr;
    struct addrinfo *ai_next;
};
void freeaddrinfo(struct addrinfo *);
int getaddrinfo(
    const char *restrict, const char *restrict, const struct addrinfo *restrict, struct addrinfo **restrict);
int getnameinfo(
    const struct sockaddr *restrict, socklen_t, char *restrict, socklen_t, char *restrict, socklen_t, int);
