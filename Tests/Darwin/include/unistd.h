// The pages of section 2 and 3 that are named as the functions: there is no pipe2 and no dup3.
#pragma once
#include <sys/types.h>
#define R_OK (1 << 2)
#define W_OK (1 << 1)
#define X_OK (1 << 0)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
void _exit(int) __attribute__((noreturn));
int access(const char *, int);
int chdir(const char *);
int close(int);
int dup(int);
int dup2(int, int);
int execvp(const char *, char *const *);
pid_t fork(void);
int fsync(int);
int ftruncate(int, off_t);
char *getcwd(char *, size_t);
uid_t geteuid(void);
int gethostname(char *, size_t);
pid_t getpgid(pid_t);
pid_t getpgrp(void);
pid_t getpid(void);
pid_t getsid(pid_t);
int getpeereid(int, uid_t *, gid_t *);
int isatty(int);
off_t lseek(int, off_t, int);
int pipe(int[2]);
ssize_t read(int, void *, size_t);
ssize_t readlink(const char *restrict, char *restrict, size_t);
pid_t tcgetpgrp(int);
int unlink(const char *);
int unlinkat(int, const char *, int);
ssize_t write(int, const void *, size_t);
