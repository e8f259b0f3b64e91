#ifndef CPLATFORM_ADDRESSES_H
#define CPLATFORM_ADDRESSES_H

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

/// The address of one end of a TCP connection.
typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} tcp_address;

/// Writes an address without its port. Returns 0, or errno.
int oidc_write_host(const tcp_address *address, char *text, size_t size);

#endif
