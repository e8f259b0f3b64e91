// <sys/proc.h>: the value of a process's status after its end.
#pragma once
#define SZOMB 5
