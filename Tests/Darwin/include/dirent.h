// man 5 dir, man 3 directory: a name has room for 1,024 bytes.
#pragma once
#include <sys/types.h>
struct dirent {
    uint64_t d_ino;
    uint64_t d_seekoff;
    uint16_t d_reclen;
    uint16_t d_namlen;
    uint8_t d_type;
    char d_name[1024];
};
typedef struct _dirdesc DIR;
int closedir(DIR *);
DIR *fdopendir(int);
struct dirent *readdir(DIR *);
