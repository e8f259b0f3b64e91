#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "CPlatform.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
// For what macOS does itself; see below.
#ifdef __linux__
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#endif

#ifndef OIDC_COMMIT
#define OIDC_COMMIT ""
#endif

const char *oidc_build_commit(void) { return OIDC_COMMIT; }

static rlim_t core_limit_before;

int oidc_forbid_dumps(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0) return errno;
    core_limit_before = limit.rlim_cur;
    limit.rlim_cur = 0;
    if (setrlimit(RLIMIT_CORE, &limit) != 0) return errno;
// macOS asks the user, or an administrator, before a debugger may look into another program.
#ifdef __linux__
    if (prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L) != 0) return errno;
#endif
    return 0;
}

int oidc_input_is_exhausted(int descriptor) {
    struct pollfd input = {.fd = descriptor, .events = POLLIN};
    int available = 0;
    if (poll(&input, 1, 0) < 1) return 0;
    if (input.revents & POLLNVAL) return 1;
    return ioctl(descriptor, FIONREAD, &available) != 0 || available == 0;
}

void oidc_restore_dumps(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
    limit.rlim_cur = core_limit_before;
    setrlimit(RLIMIT_CORE, &limit);
}

int oidc_is_fixed(int directory, const char *name) {
// macOS has neither statx nor mounts of single files.
#if defined(__linux__) && defined(STATX_ATTR_MOUNT_ROOT)
    const uint64_t fixed = STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND | STATX_ATTR_MOUNT_ROOT;
    struct statx status;
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW, 0, &status) != 0) return 0;
    return (status.stx_attributes & status.stx_attributes_mask & fixed) != 0;
#else
    (void)directory;
    (void)name;
    return 0;
#endif
}
