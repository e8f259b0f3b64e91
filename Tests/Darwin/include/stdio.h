// man 3 fopen, man 3 fgets, man 3 printf
#pragma once
#include <sys/types.h>
typedef struct __sFILE FILE;
FILE *fopen(const char *restrict, const char *restrict);
int fclose(FILE *);
char *fgets(char *restrict, int, FILE *);
int snprintf(char *restrict, size_t, const char *restrict, ...) __attribute__((format(printf, 3, 4)));
