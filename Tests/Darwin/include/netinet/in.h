// man 4 inet, man 4 inet6
#pragma once
#include <sys/socket.h>
typedef uint32_t in_addr_t;
typedef uint16_t in_port_t;
#define IPPROTO_TCP 6
#define IPPROTO_IPV6 41
#define IPV6_V6ONLY 27
#define INADDR_LOOPBACK (uint32_t)0x7f000001
struct in_addr {
    in_addr_t s_addr;
};
struct sockaddr_in {
    uint8_t sin_len;
    sa_family_t sin_family;
    in_port_t sin_port;
    struct in_addr sin_addr;
    char sin_zero[8];
};
struct in6_addr {
    union {
        uint8_t __u6_addr8[16];
        uint16_t __u6_addr16[8];
        uint32_t __u6_addr32[4];
    } __u6_addr;
};
struct sockaddr_in6 {
    uint8_t sin6_len;
    sa_family_t sin6_family;
    in_port_t sin6_port;
    uint32_t sin6_flowinfo;
    struct in6_addr sin6_addr;
    uint32_t sin6_scope_id;
};
extern const struct in6_addr in6addr_loopback;
#define htonl(x) __builtin_bswap32(x)
#define htons(x) ((uint16_t)__builtin_bswap16(x))
#define ntohs(x) ((uint16_t)__builtin_bswap16(x))
#define ntohl(x) __builtin_bswap32(x)
int memcmp(const void *, const void *, unsigned long);
#define IN6_IS_ADDR_LOOPBACK(a) (memcmp((a), &in6addr_loopback, sizeof(struct in6_addr)) == 0)
