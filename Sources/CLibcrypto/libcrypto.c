#include "CLibcrypto.h"

// macOS has CryptoKit and Security instead.
#if !__APPLE__

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static Libcrypto functions;
static int is_loaded;
static int is_short;
static char reason[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void describe(const char *name, const char *cause, char *failure, size_t size) {
    if (cause == NULL || strstr(cause, "No such file") != NULL) {
        snprintf(failure, size, "%s is not installed", name);
    } else {
        snprintf(failure, size, "%s cannot be loaded: %s", name, cause);
    }
}

int libcrypto_open(const char *name, Libcrypto *library, char *failure, size_t size) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        describe(name, dlerror(), failure, size);
        return 0;
    }
    void *symbol;
#define LOOK_UP(result, function, parameters) \
    symbol = dlsym(handle, #function); \
    if (symbol == NULL) { \
        snprintf(failure, size, "%s lacks %s", name, #function); \
        dlclose(handle); \
        return 0; \
    } \
    memcpy(&library->function, &symbol, sizeof symbol);
    LIBCRYPTO_SYMBOLS(LOOK_UP)
#undef LOOK_UP
    return 1;
}

static int has_no_descriptor_left(void) {
    int copy = dup(2);
    if (copy < 0) return errno == EMFILE || errno == ENFILE;
    close(copy);
    return 0;
}

static void load(void) {
    is_loaded = libcrypto_open("libcrypto.so.3", &functions, reason, sizeof reason);
    is_short = !is_loaded && has_no_descriptor_left();
}

int libcrypto_lacked_descriptors(void) { return is_short; }

const Libcrypto *libcrypto_load(const char **failure) {
    pthread_once(&once, load);
    if (!is_loaded) {
        *failure = reason;
        return NULL;
    }
    return &functions;
}

#endif
