#ifndef CPLATFORM_ADDRESSES_H
#define CPLATFORM_ADDRESSES_H

#include <netinet/in.h>
#include <sys/socket.h>

/// The address of one end of a TCP connection.
typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} tcp_address;

#endif
