#include "CLibcurl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef __APPLE__
// Only the system's own libraries: for a name without a path, dlopen would also search the working directory.
static const char *const library_names[] = {"/usr/lib/libcurl.4.dylib", NULL};
#else
static const char *const library_names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static oidc_curl_library loaded;
static bool is_loaded;
static char problem_text[512];

/// Returns whether the loader did not find the file itself, as opposed to a library that the file needs.
static bool is_absent(const char *name, const char *reason) {
    size_t length = strlen(name);
    bool is_about_it = strncmp(reason, name, length) == 0 && reason[length] == ':';
    return (is_about_it && strstr(reason, "No such file") != NULL) || strstr(reason, "image not found") != NULL;
}

const char *oidc_curl_load(
    const char *const *names, oidc_curl_library *library, char *problem, size_t size) {
    void *handle = NULL;
    snprintf(problem, size, "%s is not installed", names[0]);
    for (size_t index = 0; names[index] != NULL && handle == NULL; index++) {
        handle = dlopen(names[index], RTLD_LAZY | RTLD_LOCAL);
        const char *reason = handle == NULL ? dlerror() : NULL;
        if (reason != NULL && !is_absent(names[index], reason))
            snprintf(problem, size, "%s cannot be loaded: %s", names[index], reason);
    }
    if (handle == NULL) return problem;

    const char *missing = NULL;
#define OIDC_CURL_FIND(result, name, parameters)                                                         \
    *(void **)&library->name = dlsym(handle, "curl_" #name);                                             \
    if (*(void **)&library->name == NULL) missing = "curl_" #name;
    OIDC_CURL_SYMBOLS(OIDC_CURL_FIND)
#undef OIDC_CURL_FIND
    // This finds the functions of the library that libcurl was linked with, and of no other that is loaded.
#define OIDC_TLS_FIND(name) *(void **)&library->tls.name = dlsym(handle, #name);
    OIDC_TLS_FIND(SSL_pending)
    OIDC_TLS_FIND(SSL_has_pending)
    OIDC_TLS_FIND(SSL_get_rbio)
    OIDC_TLS_FIND(BIO_set_callback_ex)
    OIDC_TLS_FIND(BIO_set_callback)
    OIDC_TLS_FIND(BIO_set_callback_arg)
    OIDC_TLS_FIND(BIO_get_callback_arg)
    OIDC_TLS_FIND(gnutls_record_check_pending)
#undef OIDC_TLS_FIND
    if (missing == NULL) return NULL;
    snprintf(problem, size, "%s is too old (no %s): version 7.66 or later is needed", names[0], missing);
    return problem;
}

static void load_once(void) {
    const long everything = 3;
    if (oidc_curl_load(library_names, &loaded, problem_text, sizeof problem_text) != NULL) return;
    int code = loaded.global_init(everything);
    is_loaded = code == 0;
    if (!is_loaded)
        snprintf(
            problem_text, sizeof problem_text, "%s does not start: %s", library_names[0],
            loaded.easy_strerror(code));
}

const oidc_curl_library *oidc_curl(void) {
    pthread_once(&once, load_once);
    return is_loaded ? &loaded : NULL;
}

const char *oidc_curl_problem(void) { return problem_text; }

int oidc_curl_set_long(oidc_curl_easy *easy, int option, long value) {
    return loaded.easy_setopt(easy, option, value);
}

int oidc_curl_set_offset(oidc_curl_easy *easy, int option, int64_t value) {
    return loaded.easy_setopt(easy, option, value);
}

int oidc_curl_set_string(oidc_curl_easy *easy, int option, const char *value) {
    return loaded.easy_setopt(easy, option, value);
}

int oidc_curl_set_pointer(oidc_curl_easy *easy, int option, const void *value) {
    return loaded.easy_setopt(easy, option, value);
}

int oidc_curl_set_data_function(oidc_curl_easy *easy, int option, oidc_curl_data_function function) {
    return loaded.easy_setopt(easy, option, function);
}

int oidc_curl_set_before_request(oidc_curl_easy *easy, oidc_curl_before_request_function function) {
    return loaded.easy_setopt(easy, OIDC_CURLOPT_PREREQFUNCTION, function);
}

int oidc_curl_set_progress(oidc_curl_easy *easy, oidc_curl_progress_function function, void *context) {
    int code = loaded.easy_setopt(easy, OIDC_CURLOPT_XFERINFOFUNCTION, function);
    if (code == 0) code = loaded.easy_setopt(easy, OIDC_CURLOPT_XFERINFODATA, context);
    return code == 0 ? loaded.easy_setopt(easy, OIDC_CURLOPT_NOPROGRESS, 0L) : code;
}

static int keep_socket(void *context, int descriptor, int purpose) {
    (void)context;
    (void)purpose;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 ? 0 : 1;
}

int oidc_curl_keep_sockets(oidc_curl_easy *easy) {
    return loaded.easy_setopt(easy, OIDC_CURLOPT_SOCKOPTFUNCTION, keep_socket);
}

int oidc_curl_set_close_socket(oidc_curl_easy *easy, oidc_curl_close_function function, void *context) {
    int code = loaded.easy_setopt(easy, OIDC_CURLOPT_CLOSESOCKETFUNCTION, function);
    return code == 0 ? loaded.easy_setopt(easy, OIDC_CURLOPT_CLOSESOCKETDATA, context) : code;
}

int oidc_curl_get_long(oidc_curl_easy *easy, int info, long *value) {
    return loaded.easy_getinfo(easy, info, value);
}

int oidc_curl_get_offset(oidc_curl_easy *easy, int info, int64_t *value) {
    return loaded.easy_getinfo(easy, info, value);
}

int oidc_curl_get_string(oidc_curl_easy *easy, int info, const char **value) {
    return loaded.easy_getinfo(easy, info, value);
}

int oidc_curl_multi_set_long(oidc_curl_multi *multi, int option, long value) {
    return loaded.multi_setopt(multi, option, value);
}

int oidc_curl_multi_set_functions(
    oidc_curl_multi *multi, oidc_curl_socket_function socket_function, oidc_curl_timer_function timer_function,
    void *context) {
    int code = loaded.multi_setopt(multi, OIDC_CURLMOPT_SOCKETFUNCTION, socket_function);
    if (code == 0) code = loaded.multi_setopt(multi, OIDC_CURLMOPT_SOCKETDATA, context);
    if (code == 0) code = loaded.multi_setopt(multi, OIDC_CURLMOPT_TIMERFUNCTION, timer_function);
    if (code == 0) code = loaded.multi_setopt(multi, OIDC_CURLMOPT_TIMERDATA, context);
    return code;
}

int oidc_curl_get_socket(oidc_curl_easy *easy, int *socket) {
    return loaded.easy_getinfo(easy, OIDC_CURLINFO_ACTIVESOCKET, socket);
}

// The curl_sslbackend numbers. Forks of OpenSSL have its number.
enum { backend_openssl = 1, backend_gnutls = 2 };

/// `struct curl_tlssessioninfo`.
typedef struct tls_session {
    int backend;
    void *internals;
} tls_session;

static tls_session session_of(oidc_curl_easy *easy) {
    const tls_session *session = NULL;
    if (loaded.easy_getinfo(easy, OIDC_CURLINFO_TLS_SSL_PTR, &session) != 0 || session == NULL)
        return (tls_session){0, NULL};
    return *session;
}

int oidc_curl_has_unread_bytes(oidc_curl_easy *easy) {
    const oidc_curl_tls *tls = &loaded.tls;
    tls_session session = session_of(easy);
    if (session.internals == NULL) return -1;
    if (session.backend == backend_openssl && tls->SSL_pending != NULL)
        return tls->SSL_pending(session.internals) > 0
            || (tls->SSL_has_pending != NULL && tls->SSL_has_pending(session.internals) != 0);
    if (session.backend == backend_gnutls && tls->gnutls_record_check_pending != NULL)
        return tls->gnutls_record_check_pending(session.internals) > 0;
    return -1;
}

static int may_read(void *bio) {
    // A hundred times what libcurl needs for the largest part of an answer that it reads at once.
    const int64_t most = 250000000;
    oidc_curl_read_limit *limit = (void *)loaded.tls.BIO_get_callback_arg(bio);
    if (limit == NULL) return 1;
    bool is_first = limit->connection != bio;
    if (is_first) {
        limit->connection = bio;
        limit->reads = 0;
    }
    if (limit->reads++ % 16 != 0) return 1;
    // CPU time, as a process that was stopped or had to wait must not lose a connection.
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return 1;
    int64_t now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
    if (is_first) limit->began = now;
    return now - limit->began < most;
}

enum { bio_read = 2 };

// Before a read, 0 or less takes its place. After an operation, its result is passed on.

static long on_bio(
    void *bio, int operation, const char *bytes, size_t size, int number, long other, int result, size_t *count) {
    (void)bytes, (void)size, (void)number, (void)other, (void)count;
    return operation == bio_read && !may_read(bio) ? -1 : result;
}

/// The form of OpenSSL before 1.1.1, and of LibreSSL.
static long on_bio_before(
    void *bio, int operation, const char *bytes, int number, long other, long result) {
    (void)bytes, (void)number, (void)other;
    return operation == bio_read && !may_read(bio) ? -1 : result;
}

int oidc_curl_can_limit_reads(oidc_curl_easy *easy) {
    const oidc_curl_tls *tls = &loaded.tls;
    return session_of(easy).backend == backend_openssl && tls->SSL_get_rbio != NULL
        && tls->BIO_set_callback_arg != NULL && tls->BIO_get_callback_arg != NULL
        && (tls->BIO_set_callback_ex != NULL || tls->BIO_set_callback != NULL);
}

void oidc_curl_limit_reads(oidc_curl_easy *easy, oidc_curl_read_limit *limit) {
    const oidc_curl_tls *tls = &loaded.tls;
    void *ssl = oidc_curl_can_limit_reads(easy) ? session_of(easy).internals : NULL;
    void *bio = ssl == NULL ? NULL : tls->SSL_get_rbio(ssl);
    if (bio == NULL) return;
    tls->BIO_set_callback_arg(bio, (char *)limit);
    if (tls->BIO_set_callback_ex != NULL)
        tls->BIO_set_callback_ex(bio, (void (*)(void))on_bio);
    else
        tls->BIO_set_callback(bio, (void (*)(void))on_bio_before);
}
