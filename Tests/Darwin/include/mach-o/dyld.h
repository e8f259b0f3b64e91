// man 3 dyld
#pragma once
#include <stdint.h>
extern int _NSGetExecutablePath(char *, uint32_t *);
