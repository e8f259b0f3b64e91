// man 3 inet_pton
#pragma once
#include <netinet/in.h>
int inet_pton(int, const char *, void *);
const char *inet_ntop(int, const void *restrict, char *restrict, socklen_t);
