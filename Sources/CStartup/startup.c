#include "CStartup.h"

/* Two parts of Swift's run time work before `main`, at every start. Where the run time is an archive, a part
   of which all names are defined here is not taken from it. A run time with other names takes its own part,
   which costs what it did. */
#include <stdlib.h>

#if defined(OIDC_RELEASE) && defined(__GLIBC__)

/* The arguments, which it finds by reading what the kernel tells of all that is mapped; the C library hands
   them to every initializer. */
static int argument_count;
static char **arguments;

__attribute__((constructor)) static void record_arguments(int count, char **values) {
    argument_count = count;
    arguments = values;
}

char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
    *count = argument_count;
    return arguments;
}

void _swift_stdlib_overrideUnsafeArgvArgc(char **values, int count) {
    argument_count = count;
    arguments = values;
}

/* The back trace of a crash, for which it looks for a program in eight places. All its settings are off: it
   would also print what is on the stack, and here that can be a token. */
char _swift_backtraceSettings[1024] __attribute__((aligned(16)));

int _swift_backtrace_isThunkFunction(const char *name) {
    (void)name;
    return 0;
}

#endif
