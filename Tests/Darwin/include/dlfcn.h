// man 3 dlopen
#pragma once
#define RTLD_LAZY 0x1
#define RTLD_NOW 0x2
#define RTLD_LOCAL 0x4
void *dlopen(const char *, int);
char *dlerror(void);
void *dlsym(void *, const char *);
