#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __APPLE__
#include <crt_externs.h>
#include <mach-o/dyld.h>
#else
extern char **environ;

static int argument_count;
static char **argument_values;

/* glibc passes the arguments of main to constructors. This one runs before those of Swift's runtime, which reads
   the environment even if a preloaded library has removed it. */
__attribute__((constructor(101))) static void keep_arguments(int count, char **values) {
    static char *nothing[] = {NULL};
    argument_count = count;
    argument_values = values;
    if (environ == NULL) environ = nothing;
}
#endif

char **oidc_arguments(int *count) {
#ifdef __APPLE__
    *count = *_NSGetArgc();
    return *_NSGetArgv();
#else
    *count = argument_count;
    return argument_values;
#endif
}

char **oidc_environment(void) {
#ifdef __APPLE__
    return *_NSGetEnviron();
#else
    return environ;
#endif
}

void oidc_reserve_standard_descriptors(void) {
    for (int descriptor = 0; descriptor < 3; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
        int opened = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
        if (opened >= 0 && opened != descriptor) close(opened);
    }
}

const char *oidc_executable_path(void) {
#ifdef __APPLE__
    static char path[4096];
    uint32_t size = sizeof path;
    return _NSGetExecutablePath(path, &size) == 0 ? path : NULL;
#else
    return "/proc/self/exe";
#endif
}

int oidc_detach(void) {
    pid_t child = fork();
    if (child < 0) return errno;
    if (child > 0) _exit(0);
    return chdir("/") == 0 ? 0 : errno;
}

int oidc_move_descriptor(int descriptor) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return -1;
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    if (moved >= 0 && dup2(null, descriptor) < 0) {
        close(moved);
        moved = -1;
    }
    close(null);
    return moved;
}

int oidc_pipe(int ends[2]) {
#ifdef __linux__
    return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
#else
    if (pipe(ends) != 0) return errno;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
#endif
}

int oidc_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0) return errno;
    return fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : errno;
}

int oidc_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
    return limit.rlim_cur > 65536 ? 65536 : (int)limit.rlim_cur;
}

static int place(posix_spawn_file_actions_t *actions, int descriptor, int target, int null_mode) {
    if (descriptor < 0) return posix_spawn_file_actions_addopen(actions, target, "/dev/null", null_mode, 0);
    return posix_spawn_file_actions_adddup2(actions, descriptor, target);
}

static int set_up_actions(posix_spawn_file_actions_t *actions, int input, int output, int errors, int flags) {
    int failure = place(actions, input, 0, O_RDONLY);
    if (failure == 0) failure = place(actions, output, 1, O_WRONLY);
    if (failure == 0) failure = place(actions, errors, 2, O_WRONLY);
// macOS has POSIX_SPAWN_CLOEXEC_DEFAULT, below; older versions of glibc have nothing like it.
#if defined(__GLIBC__)
// Since 2.34.
#if __GLIBC_PREREQ(2, 34)
    if (failure == 0 && (flags & OIDC_SPAWN_CLOSE_OTHERS)) {
        failure = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    }
#endif
#endif
    (void)flags;
    return failure;
}

static int set_up_attributes(posix_spawnattr_t *attributes, int flags) {
    short wanted = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    if (oidc_broken_pipes_were_default()) sigaddset(&defaults, SIGPIPE);
    if (oidc_file_size_was_default()) sigaddset(&defaults, SIGXFSZ);
    if (flags & OIDC_SPAWN_NEW_SESSION) {
// glibc has it since 2.26, macOS since 10.15.
#ifdef POSIX_SPAWN_SETSID
        wanted |= POSIX_SPAWN_SETSID;
#endif
    }
// Linux has `posix_spawn_file_actions_addclosefrom_np`, above.
#ifdef POSIX_SPAWN_CLOEXEC_DEFAULT
    if (flags & OIDC_SPAWN_CLOSE_OTHERS) wanted |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    int failure = posix_spawnattr_setsigmask(attributes, &none);
    if (failure == 0) failure = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (failure == 0) failure = posix_spawnattr_setflags(attributes, wanted);
    return failure;
}

int oidc_spawn(pid_t *child, const char *path, char *const arguments[], char *const environment[],
               int input, int output, int errors, int flags) {
    posix_spawn_file_actions_t actions;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0) return failure;
    posix_spawnattr_t attributes;
    failure = posix_spawnattr_init(&attributes);
    if (failure != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return failure;
    }
    failure = set_up_actions(&actions, input, output, errors, flags);
    if (failure == 0) failure = set_up_attributes(&attributes, flags);
    if (failure == 0) failure = posix_spawn(child, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static int wait_for(pid_t child, int options, int *exit_status, int *signal_number) {
    int status = 0;
    pid_t found;
    do {
        found = waitpid(child, &status, options);
    } while (found < 0 && errno == EINTR);
    if (found < 0) return -1;
    if (found == 0) return 0;
    *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    *signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : -1;
    return 1;
}

int oidc_reap(pid_t child, int *exit_status, int *signal_number) {
    return wait_for(child, WNOHANG, exit_status, signal_number);
}

int oidc_await_end(pid_t child, int *exit_status, int *signal_number) {
    return wait_for(child, 0, exit_status, signal_number);
}

void oidc_await_exit(pid_t child) {
    siginfo_t information;
    while (waitid(P_PID, (id_t)child, &information, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
}
