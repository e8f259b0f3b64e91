// man 3 clock_gettime: CLOCK_MONOTONIC goes on while the machine sleeps. man 3 ctime. Swift gets the names of clocks
// from API notes, as a macro for an enumerator is not imported.
#pragma once
#include <sys/time_types.h>
struct tm {
    int tm_sec;
    int tm_min;
    int tm_hour;
    int tm_mday;
    int tm_mon;
    int tm_year;
    int tm_wday;
    int tm_yday;
    int tm_isdst;
    long tm_gmtoff;
    char *tm_zone;
};
typedef enum {
    _CLOCK_REALTIME __attribute__((swift_name("CLOCK_REALTIME"))) = 0,
#define CLOCK_REALTIME _CLOCK_REALTIME
    _CLOCK_MONOTONIC __attribute__((swift_name("CLOCK_MONOTONIC"))) = 6,
#define CLOCK_MONOTONIC _CLOCK_MONOTONIC
    _CLOCK_THREAD_CPUTIME_ID __attribute__((swift_name("CLOCK_THREAD_CPUTIME_ID"))) = 16,
#define CLOCK_THREAD_CPUTIME_ID _CLOCK_THREAD_CPUTIME_ID
} clockid_t;
int clock_gettime(clockid_t, struct timespec *);
struct tm *localtime_r(const time_t *restrict, struct tm *restrict);
