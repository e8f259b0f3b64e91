// man 2 getrlimit
#pragma once
#include <sys/types.h>
typedef uint64_t rlim_t;
#define RLIMIT_CORE 4
#define RLIMIT_NOFILE 8
struct rlimit {
    rlim_t rlim_cur;
    rlim_t rlim_max;
};
int getrlimit(int, struct rlimit *);
int setrlimit(int, const struct rlimit *);
