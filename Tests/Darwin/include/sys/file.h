// man 2 flock
#pragma once
#define LOCK_EX 0x02
#define LOCK_UN 0x08
#define LOCK_NB 0x04
int flock(int, int);
