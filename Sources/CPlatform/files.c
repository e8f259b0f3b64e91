#include "CPlatformFiles.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int oidc_error_number(void) { return errno; }

int oidc_open(const char *path, int flags, unsigned mode) { return open(path, flags, (mode_t)mode); }

int oidc_open_in(int directory, const char *path, int flags, unsigned mode) {
    return openat(directory, path, flags, (mode_t)mode);
}

enum oidc_file_kind oidc_file_kind(mode_t mode) {
    if (S_ISREG(mode)) return OIDC_FILE_REGULAR;
    if (S_ISDIR(mode)) return OIDC_FILE_DIRECTORY;
    if (S_ISLNK(mode)) return OIDC_FILE_SYMBOLIC_LINK;
    return OIDC_FILE_OTHER;
}
