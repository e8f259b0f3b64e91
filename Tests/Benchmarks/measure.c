// Runs a command and prints what it cost: wall ns, user and system µs, minor faults, peak KiB, exit status.
// A small parent of its own, as a child's peak memory starts at its parent's.
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long now(void) {
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return moment.tv_sec * 1000000000LL + moment.tv_nsec;
}

int main(int count, char **arguments) {
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    pid_t child;
    int status;
    if (count < 2) return 2;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    long long start = now();
    if (posix_spawnp(&child, arguments[1], &actions, NULL, arguments + 1, environ) != 0) return 127;
    wait4(child, &status, 0, &usage);
    printf("%lld %ld %ld %ld %ld %d\n", now() - start,
           usage.ru_utime.tv_sec * 1000000L + usage.ru_utime.tv_usec,
           usage.ru_stime.tv_sec * 1000000L + usage.ru_stime.tv_usec,
           usage.ru_minflt, usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
    return 0;
}
