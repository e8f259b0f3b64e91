// <sys/_types/_timespec.h>, <sys/_types/_timeval.h>
#pragma once
#include <sys/types.h>
struct timespec {
    time_t tv_sec;
    long tv_nsec;
};
struct timeval {
    time_t tv_sec;
    suseconds_t tv_usec;
};
