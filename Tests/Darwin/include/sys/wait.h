// man 2 wait, man 2 waitid
#pragma once
#include <signal.h>
typedef enum { P_ALL, P_PID, P_PGID } idtype_t;
#define WNOHANG 0x00000001
#define WEXITED 0x00000004
#define WNOWAIT 0x00000020
#define WEXITSTATUS(x) (((x) >> 8) & 0x000000ff)
#define WIFEXITED(x) (((x) & 0177) == 0)
#define WIFSIGNALED(x) (((x) & 0177) != 0177 && ((x) & 0177) != 0)
#define WTERMSIG(x) ((x) & 0177)
int waitid(idtype_t, id_t, siginfo_t *, int);
pid_t waitpid(pid_t, int *, int);
