// man 7 environ: libraries use these functions in place of `environ`.
#pragma once
extern char ***_NSGetArgv(void);
extern int *_NSGetArgc(void);
extern char ***_NSGetEnviron(void);
