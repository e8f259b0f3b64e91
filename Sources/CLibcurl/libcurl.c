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
    OIDC_TLS_FIND(SSL_get0_alpn_selected)
    OIDC_TLS_FIND(SSL_CTX_set_info_callback)
    OIDC_TLS_FIND(SSL_CTX_set_msg_callback)
    OIDC_TLS_FIND(SSL_CTX_set1_cert_comp_preference)
    OIDC_TLS_FIND(SSL_CTX_ctrl)
    OIDC_TLS_FIND(SSL_CTX_get_ciphers)
    OIDC_TLS_FIND(SSL_CTX_set_cipher_list)
    OIDC_TLS_FIND(SSL_CIPHER_get_name)
    OIDC_TLS_FIND(SSL_CIPHER_get_kx_nid)
    OIDC_TLS_FIND(OPENSSL_sk_num)
    OIDC_TLS_FIND(OPENSSL_sk_value)
    OIDC_TLS_FIND(BIO_set_callback_ex)
    OIDC_TLS_FIND(BIO_set_callback)
    OIDC_TLS_FIND(BIO_set_callback_arg)
    OIDC_TLS_FIND(BIO_get_callback_arg)
    OIDC_TLS_FIND(BIO_set_flags)
    OIDC_TLS_FIND(BIO_clear_flags)
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

int oidc_curl_set_debug(oidc_curl_easy *easy, oidc_curl_debug_function function, void *context) {
    int code = loaded.easy_setopt(easy, OIDC_CURLOPT_DEBUGFUNCTION, function);
    if (code == 0) code = loaded.easy_setopt(easy, OIDC_CURLOPT_DEBUGDATA, context);
    return code == 0 ? loaded.easy_setopt(easy, OIDC_CURLOPT_VERBOSE, 1L) : code;
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

int oidc_curl_speaks_http2(oidc_curl_easy *easy) {
    tls_session session = session_of(easy);
    if (session.internals == NULL || session.backend != backend_openssl) return 0;
    if (loaded.tls.SSL_get0_alpn_selected == NULL) return 0;
    const unsigned char *name = NULL;
    unsigned int length = 0;
    loaded.tls.SSL_get0_alpn_selected(session.internals, &name, &length);
    return name != NULL && length == 2 && memcmp(name, "h2", 2) == 0;
}

/// The reads from the connection that was read last since libcurl was called.
static _Thread_local struct {
    /// The connection; NULL at each call.
    const void *connection;
    uint64_t reads;
    uint64_t bytes;
    /// The thread's CPU time at the first read, in nanoseconds.
    int64_t began;
    /// The time at which the turn ends, in nanoseconds.
    int64_t turn_end;
    /// Whether a read was put off since that was asked last.
    bool was_put_off;
} reading = {.turn_end = INT64_MAX};

void oidc_curl_begin_reads(int64_t turn_end) {
    reading.connection = NULL;
    reading.turn_end = turn_end;
    reading.was_put_off = false;
}

int oidc_curl_take_put_off(void) {
    bool was_put_off = reading.was_put_off;
    reading.was_put_off = false;
    return was_put_off;
}

static int64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t oidc_curl_cpu_time(void) { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

static void note_connection(const void *bio) {
    if (reading.connection == bio) return;
    reading.connection = bio;
    reading.reads = 0;
    reading.bytes = 0;
}

enum { step_limit = 2048 };
// What the argument of a connection's callback says: the first element that its handshake is running, a later one how
// many steps of messages came after it. A message takes about three.
static char handshake[step_limit + 2];

/// Returns whether the connection's next read must wait: the turn ended at least `nanoseconds_late` ago.
static bool is_turn_over(int64_t nanoseconds_late) {
    if (reading.turn_end == INT64_MAX) return false;
#ifdef __APPLE__
    int64_t excess = nanoseconds(CLOCK_MONOTONIC) - reading.turn_end;
#else
    int64_t excess = nanoseconds(CLOCK_BOOTTIME) - reading.turn_end;
#endif
    return excess >= nanoseconds_late;
}

enum permission { denied, granted, put_off };

static enum permission permission_to_read(void *bio) {
    note_connection(bio);
    const char *state = loaded.tls.BIO_get_callback_arg(bio);
    // Servers send a few tickets, and new keys after billions of bytes.
    if (state == handshake + step_limit + 1) return denied;
    if (state == handshake) {
        // Ten times the largest certificates that OpenSSL takes, in many more parts than servers make of them. Not CPU
        // time, as between two reads, libcurl may load the authorities.
        if (reading.bytes >= 1000000 || reading.reads >= 5000) return denied;
        // libcurl goes on with all connections that are due in one call, and this one's next message may take long.
        if (is_turn_over(0)) return put_off;
        reading.reads++;
        return granted;
    }
    // The first two reads, for a record's header and body, may be late, so every connection makes progress.
    if (is_turn_over(reading.reads < 2 ? 20000000 : 0)) return put_off;
    if (reading.reads++ % 16 != 0) return granted;
    // CPU time, as a process that was stopped or had to wait must not lose a connection.
    int64_t now = oidc_curl_cpu_time();
    if (reading.reads == 1) reading.began = now;
    // A hundred times what libcurl needs for the largest part of an answer that it reads at once.
    return now - reading.began < 250000000 ? granted : denied;
}

enum { bio_flag_read = 1, bio_flag_retry = 8, bio_flags = 15 };

static bool may_read(void *bio) {
    enum permission permission = permission_to_read(bio);
    if (permission == granted) return true;
    const oidc_curl_tls *tls = &loaded.tls;
    // Retry flags that an earlier read left would make the end of the connection look like a read without bytes.
    if (tls->BIO_clear_flags != NULL) tls->BIO_clear_flags(bio, bio_flags);
    if (permission == denied) return false;
    // Without these functions, no read can be put off.
    if (tls->BIO_clear_flags == NULL || tls->BIO_set_flags == NULL) return true;
    tls->BIO_set_flags(bio, bio_flag_read | bio_flag_retry);
    reading.was_put_off = true;
    return false;
}

enum { bio_read = 2, bio_has_read = 0x80 | bio_read };

// Before a read, 0 or less takes its place. After an operation, its result is passed on.

static long on_bio(
    void *bio, int operation, const char *bytes, size_t size, int number, long other, int result, size_t *count) {
    (void)bytes, (void)size, (void)number, (void)other;
    if (operation == bio_has_read && result > 0 && count != NULL) reading.bytes += *count;
    return operation == bio_read && !may_read(bio) ? -1 : result;
}

/// The form of OpenSSL before 1.1.1, and of LibreSSL.
static long on_bio_before(
    void *bio, int operation, const char *bytes, int number, long other, long result) {
    (void)bytes, (void)number, (void)other;
    if (operation == bio_has_read && result > 0) reading.bytes += (uint64_t)result;
    return operation == bio_read && !may_read(bio) ? -1 : result;
}

enum { handshake_started = 0x10, handshake_done = 0x20, handshake_step = 0x1001 };

/// Limits the reads of a connection when its handshake starts, and counts the steps of messages that come after it.
static void on_info(const void *ssl, int event, int value) {
    (void)value;
    const oidc_curl_tls *tls = &loaded.tls;
    if (event != handshake_started && event != handshake_done && event != handshake_step) return;
    void *bio = tls->SSL_get_rbio(ssl);
    if (bio == NULL) return;
    char *state = tls->BIO_get_callback_arg(bio);
    if (event == handshake_done) {
        if (state != handshake) return;
        reading.connection = NULL;
        tls->BIO_set_callback_arg(bio, handshake + 1);
    } else if (event == handshake_step) {
        if (state != NULL && state != handshake && state != handshake + step_limit + 1)
            tls->BIO_set_callback_arg(bio, state + 1);
    } else if (state == NULL) {
        // Its BIO may have the address of one that was freed in the same call.
        reading.connection = NULL;
        tls->BIO_set_callback_arg(bio, handshake);
        if (tls->BIO_set_callback_ex != NULL)
            tls->BIO_set_callback_ex(bio, (void (*)(void))on_bio);
        else
            tls->BIO_set_callback(bio, (void (*)(void))on_bio_before);
    }
}

int oidc_curl_can_limit_reads(oidc_curl_easy *easy) {
    const oidc_curl_tls *tls = &loaded.tls;
    return session_of(easy).backend == backend_openssl && tls->SSL_get_rbio != NULL
        && tls->SSL_CTX_set_info_callback != NULL && tls->BIO_set_callback_arg != NULL
        && tls->BIO_get_callback_arg != NULL
        && (tls->BIO_set_callback_ex != NULL || tls->BIO_set_callback != NULL);
}

/// Leaves out the ciphers of TLS 1.2 that exchange keys by finite-field Diffie-Hellman (RFC 9325 §4.1). The server
/// chooses the group there, and one of 10,000 bits takes a second of CPU time.
static void leave_out_slow_ciphers(void *context) {
    const oidc_curl_tls *tls = &loaded.tls;
    if (tls->SSL_CTX_get_ciphers == NULL || tls->SSL_CTX_set_cipher_list == NULL || tls->SSL_CIPHER_get_name == NULL
        || tls->SSL_CIPHER_get_kx_nid == NULL || tls->OPENSSL_sk_num == NULL || tls->OPENSSL_sk_value == NULL)
        return;
    const int kx_dhe = 1039;
    char names[8192] = "";
    size_t length = 0;
    const void *ciphers = tls->SSL_CTX_get_ciphers(context);
    for (int index = 0; index < tls->OPENSSL_sk_num(ciphers); index++) {
        const void *cipher = tls->OPENSSL_sk_value(ciphers, index);
        if (tls->SSL_CIPHER_get_kx_nid(cipher) == kx_dhe) continue;
        const char *name = tls->SSL_CIPHER_get_name(cipher);
        if (length + strlen(name) + 2 > sizeof names) return;
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", length == 0 ? "" : ":", name);
    }
    if (length > 0) tls->SSL_CTX_set_cipher_list(context, names);
}

/// Leaves out the groups of TLS 1.3 for finite-field Diffie-Hellman (RFC 7919): a server that asks for the largest makes
/// this thread compute for 100 ms, at no cost of its own.
static void leave_out_slow_groups(void *context) {
    if (loaded.tls.SSL_CTX_ctrl == NULL) return;
    // The first list of which this TLS library knows all names. A share is sent for those with an asterisk.
    static const char *const lists[] = {
        "*X25519MLKEM768:*X25519:P-256:P-384:P-521", "X25519:P-256:P-384:P-521", "P-256:P-384:P-521"};
    const int set_groups_list = 92;
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++)
        if (loaded.tls.SSL_CTX_ctrl(context, set_groups_list, 0, lists[index]) > 0) return;
}

static size_t number(const unsigned char *bytes, size_t count) {
    size_t value = 0;
    for (size_t index = 0; index < count; index++) value = value << 8 | bytes[index];
    return value;
}

/// Returns whether a certificate has a key whose curve is not named but described, as a prime field or a binary one (RFC
/// 3279 §2.3.5). No public key may be so (RFC 5480 §2.1.1), and the server could choose a curve on which reading a single
/// point takes 100 ms.
static bool describes_curve(const unsigned char *bytes, size_t size) {
    // The value of 1.2.840.10045.1, the first part of both identifiers. Its length has several forms.
    static const unsigned char field[] = {0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01};
    for (size_t index = 0; index + sizeof field < size; index++) {
        if (memcmp(bytes + index, field, sizeof field) != 0) continue;
        unsigned char kind = bytes[index + sizeof field];
        if (kind == 1 || kind == 2) return true;
    }
    return false;
}

/// The tags of DER; those with a number are for a context.
enum {
    boolean = 1, bit_string = 3, octet_string = 4, object_identifier = 6, sequence = 0x30, primitive_1 = 0x81,
    constructed_0 = 0xA0, constructed_2 = 0xA2, constructed_3 = 0xA3
};

/// Returns whether the parameters and the key that follow the identifier of an algorithm are the name of a curve and an
/// uncompressed point, in the encoding that DER demands.
static bool is_uncompressed(const unsigned char *bytes, size_t size) {
    enum { long_form = 0x80, uncompressed = 4 };
    if (size < 2 || bytes[0] != object_identifier || bytes[1] >= long_form) return false;
    size_t index = 2 + (size_t)bytes[1];
    if (index + 5 > size || bytes[index] != bit_string || bytes[index + 1] > long_form + 1) return false;
    index += bytes[index + 1] < long_form ? 2 : 3;
    return bytes[index] == 0 && bytes[index + 1] == uncompressed;
}

/// Returns whether a certificate has a compressed point, which only some implementations support (RFC 5480 §2.2): on some
/// curves, reading one takes a millisecond. SM2 has its own identifier for such keys.
static bool has_compressed_point(const unsigned char *bytes, size_t size) {
    // The values of 1.2.840.10045.2.1 and 1.2.156.10197.1.301.
    static const unsigned char keys[] = {0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01};
    static const unsigned char sm2_keys[] = {0x2A, 0x81, 0x1C, 0xCF, 0x55, 0x01, 0x82, 0x2D};
    for (size_t index = 0; index < size; index++) {
        size_t left = size - index, length = 0;
        if (left >= sizeof keys && memcmp(bytes + index, keys, sizeof keys) == 0) length = sizeof keys;
        if (left >= sizeof sm2_keys && memcmp(bytes + index, sm2_keys, sizeof sm2_keys) == 0)
            length = sizeof sm2_keys;
        if (length == 0) continue;
        if (!is_uncompressed(bytes + index + length, left - length)) return true;
        // SM2 may also name the curve, and no other key can begin within its name.
        size_t curve = length + 2;
        if (left >= curve + sizeof sm2_keys && memcmp(bytes + index + curve, sm2_keys, sizeof sm2_keys) == 0)
            index += curve + sizeof sm2_keys - 1;
    }
    return false;
}

/// What is left to read of a value in DER.
typedef struct der {
    const unsigned char *bytes;
    size_t size;
} der;

/// Takes the next element off, with the tag and the value. Returns false if there is none, if it is not in the encoding that
/// DER demands, or if its tag has several bytes, as none in a certificate has.
static bool take(der *rest, unsigned char *tag, der *value) {
    enum { several_bytes = 0x1F };
    if (rest->size < 2 || (rest->bytes[0] & several_bytes) == several_bytes) return false;
    size_t length = rest->bytes[1], head = 2;
    if (length >= 0x80) {
        size_t count = length - 0x80;
        if (count < 1 || count > 3 || rest->size < 2 + count) return false;
        length = number(rest->bytes + 2, count);
        head += count;
        if (length < 0x80 || (count > 1 && rest->bytes[2] == 0)) return false;
    }
    if (length > rest->size - head) return false;
    *tag = rest->bytes[0];
    *value = (der){rest->bytes + head, length};
    *rest = (der){rest->bytes + head + length, rest->size - head - length};
    return true;
}

/// Takes the next element off. Also returns false if its tag is not the expected one.
static bool take_tagged(der *rest, unsigned char expected, der *value) {
    unsigned char tag;
    return take(rest, &tag, value) && tag == expected;
}

/// Returns whether a point where a list of revoked certificates is published has a full name, if any, and is in DER.
static bool is_full_point(der point) {
    unsigned char tag;
    der field, name;
    while (point.size > 0) {
        if (!take(&point, &tag, &field)) return false;
        if (tag == constructed_0 ? !take_tagged(&field, constructed_0, &name) || field.size > 0
                              : tag != primitive_1 && tag != constructed_2)
            return false;
    }
    return true;
}

/// Returns whether an extension names a distribution point relative to the issuer, which RFC 5280 §4.2.1.13 advises against,
/// or is not in DER. OpenSSL copies the issuer's name for each point: hundreds of megabytes for one certificate. It also
/// takes encodings that DER forbids, so only what is known to be cheap passes.
static bool has_relative_point(der extension) {
    // The values of 2.5.29.31 (CRLDistributionPoints) and 2.5.29.46 (FreshestCRL).
    static const unsigned char lists[2][3] = {{0x55, 0x1D, 0x1F}, {0x55, 0x1D, 0x2E}};
    unsigned char tag;
    der value, points, point;
    if (!take_tagged(&extension, object_identifier, &value)) return true;
    if (value.size != 3 || (memcmp(value.bytes, lists[0], 3) != 0 && memcmp(value.bytes, lists[1], 3) != 0))
        return false;
    if (!take(&extension, &tag, &value)) return true;
    if (tag == boolean && !take(&extension, &tag, &value)) return true;
    if (tag != octet_string || extension.size > 0) return true;
    if (!take_tagged(&value, sequence, &points) || value.size > 0) return true;
    while (points.size > 0)
        if (!take_tagged(&points, sequence, &point) || !is_full_point(point)) return true;
    return false;
}

/// Returns whether a certificate is not in DER or has an extension that is expensive to read.
static bool is_costly(der certificate) {
    unsigned char tag;
    der body, fields, extensions, extension;
    if (!take_tagged(&certificate, sequence, &body) || !take_tagged(&body, sequence, &fields)) return true;
    do {
        if (fields.size == 0) return false;
        if (!take(&fields, &tag, &extensions)) return true;
    } while (tag != constructed_3);
    if (!take_tagged(&extensions, sequence, &fields)) return true;
    while (fields.size > 0)
        if (!take_tagged(&fields, sequence, &extension) || has_relative_point(extension)) return true;
    return false;
}

enum { certificate_limit = 32, certificate_size_limit = 65536 };

/// Returns whether a list has more certificates than any server needs, or one that is expensive to read. GnuTLS takes 16.
static bool is_costly_list(const unsigned char *bytes, size_t size, size_t start, size_t trailer) {
    size_t count = 0;
    for (size_t index = start; index + 3 <= size; count++) {
        size_t length = number(bytes + index, 3);
        index += 3;
        // OpenSSL reads no further in a truncated list.
        if (length > size - index) break;
        if (is_costly((der){bytes + index, length})) return true;
        index += length;
        if (trailer > 0 && index + trailer <= size) index += number(bytes + index, trailer);
        index += trailer;
    }
    return count > certificate_limit;
}

enum { handshake_record = 22, certificate_message = 11 };

/// Makes OpenSSL refuse a list of certificates that could cost much. It reads the keys of all certificates before it
/// verifies any, so whoever is on the way can send them. OpenSSL's own limit would also hold for the list of authorities
/// from which a server takes client certificates, which may have 64 KiB.
static void on_message(
    int is_sent, int version, int type, const void *message, size_t size, void *ssl, void *unused) {
    (void)version, (void)ssl, (void)unused;
    // The message is OpenSSL's buffer, which it has hashed, and reads next.
    unsigned char *bytes = (unsigned char *)message;
    if (is_sent || type != handshake_record || size < 16 || bytes[0] != certificate_message) return;
    // RFC 5246 §7.4.2 has lengths and certificates; RFC 8446 §4.4.2 a context, which is empty, and extensions after each
    // certificate. If neither fits, OpenSSL reads no certificate.
    bool is_before_13 = number(bytes + 4, 3) == size - 7;
    size_t start = is_before_13 ? 7 : 8;
    if (size > certificate_size_limit || is_costly_list(bytes, size, start, is_before_13 ? 0 : 2)
        || describes_curve(bytes, size) || has_compressed_point(bytes, size))
        // No list has room for a certificate of this length.
        bytes[start] = 0xFF;
}

static void limit_certificates(void *context) {
    const oidc_curl_tls *tls = &loaded.tls;
    if (tls->SSL_CTX_set_msg_callback == NULL) return;
    tls->SSL_CTX_set_msg_callback(context, (void (*)(void))on_message);
    // Compressed ones (RFC 8879) are in another message. OpenSSL takes them from 3.2 on.
    if (tls->SSL_CTX_set1_cert_comp_preference != NULL) tls->SSL_CTX_set1_cert_comp_preference(context, NULL, 0);
}

static int on_context(oidc_curl_easy *easy, void *context, void *unused) {
    (void)easy, (void)unused;
    leave_out_slow_ciphers(context);
    leave_out_slow_groups(context);
    limit_certificates(context);
    loaded.tls.SSL_CTX_set_info_callback(context, on_info);
    return 0;
}

void oidc_curl_limit_reads(oidc_curl_easy *easy) {
    if (oidc_curl_can_limit_reads(easy))
        loaded.easy_setopt(easy, OIDC_CURLOPT_SSL_CTX_FUNCTION, on_context);
}
