// man 2 intro, <sys/types.h>: the width of each type, as <arm/_types.h> and <sys/_types.h> have it.
#pragma once
#include <stddef.h>
#include <stdint.h>
typedef unsigned short mode_t;
typedef unsigned short nlink_t;
typedef int dev_t;
typedef uint64_t ino_t;
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef unsigned int id_t;
typedef int pid_t;
typedef int64_t off_t;
typedef int64_t blkcnt_t;
typedef int blksize_t;
typedef long ssize_t;
typedef long time_t;
typedef int suseconds_t;
