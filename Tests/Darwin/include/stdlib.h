// man 3 atexit, man 3 free, man 3 getenv, man 3 realpath
#pragma once
#include <sys/types.h>
int atexit(void (*)(void));
void free(void *);
char *realpath(const char *restrict, char *restrict);
int setenv(const char *, const char *, int);
int unsetenv(const char *);
