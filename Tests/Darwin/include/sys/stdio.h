// man 2 rename
#pragma once
int renameat(int, const char *, int, const char *);
