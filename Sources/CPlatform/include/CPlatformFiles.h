#ifndef CPLATFORM_FILES_H
#define CPLATFORM_FILES_H

#include <sys/types.h>

// What Swift's own module for the C library would bring in together with its mathematics, and so with a
// shared library more at every start.

/// `errno`.
int oidc_error_number(void);

/// `open` and `openat`, which take a number of arguments that varies.
int oidc_open(const char *path, int flags, unsigned mode);
int oidc_open_in(int directory, const char *path, int flags, unsigned mode);

enum oidc_file_kind {
    OIDC_FILE_OTHER,
    OIDC_FILE_REGULAR,
    OIDC_FILE_DIRECTORY,
    OIDC_FILE_SYMBOLIC_LINK
};

/// What `st_mode` says a file is.
enum oidc_file_kind oidc_file_kind(mode_t mode);

#endif
