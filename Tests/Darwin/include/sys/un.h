// man 4 unix: a path has 104 bytes, four less than on Linux.
#pragma once
#include <sys/socket.h>
// man 4 unix: the process at the other end.
#define SOL_LOCAL 0
#define LOCAL_PEERPID 0x002
struct sockaddr_un {
    unsigned char sun_len;
    sa_family_t sun_family;
    char sun_path[104];
};
