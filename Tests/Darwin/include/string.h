// man 3 string, man 3 memcpy; man 3 strerror: strerror_r returns an error number, as POSIX has it.
#pragma once
#include <sys/types.h>
int memcmp(const void *, const void *, size_t);
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
char *strchr(const char *, int);
char *strcpy(char *, const char *);
char *strdup(const char *);
int strerror_r(int, char *, size_t);
size_t strlen(const char *);
int strncmp(const char *, const char *, size_t);
char *strstr(const char *, const char *);
