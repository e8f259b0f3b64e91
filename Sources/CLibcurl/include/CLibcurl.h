#ifndef CLIBCURL_H
#define CLIBCURL_H

#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// The part of libcurl 7.66 and later that is used. Prototypes and numbers are written out, so no
// development package is needed; libcurl promises never to change them.

typedef struct oidc_curl_easy oidc_curl_easy;
typedef struct oidc_curl_multi oidc_curl_multi;

/// `struct curl_slist`: a list of strings.
typedef struct oidc_curl_list {
    char *data;
    struct oidc_curl_list *_Nullable next;
} oidc_curl_list;

/// The part of `curl_version_info_data` that every version has.
typedef struct oidc_curl_version {
    int age;
    const char *version;
    unsigned int version_number;
    const char *host;
    int features;
    const char *_Nullable tls_library;
} oidc_curl_version;

/// `CURLMsg`: the result of a transfer.
typedef struct oidc_curl_message {
    int kind;
    oidc_curl_easy *easy;
    union {
        void *_Nullable whatever;
        int result;
    } data;
} oidc_curl_message;

/// The symbols that are looked up: result, name without prefix, and parameters. The typed functions below
/// call the variadic ones. Nothing calls `multi_poll`: a libcurl without it is older than 7.66.
#define OIDC_CURL_SYMBOLS(X)                                                                             \
    X(int, global_init, (long flags))                                                                    \
    X(oidc_curl_version *_Nonnull, version_info, (int age))                                                      \
    X(oidc_curl_easy *_Nullable, easy_init, (void))                                                      \
    X(void, easy_cleanup, (oidc_curl_easy * easy))                                                       \
    X(void, easy_reset, (oidc_curl_easy * easy))                                                         \
    X(int, easy_pause, (oidc_curl_easy * easy, int mask))                                                \
    X(int, easy_perform, (oidc_curl_easy * easy))                                                        \
    X(int, easy_send,                                                                                    \
      (oidc_curl_easy * easy, const void *_Nullable bytes, size_t size, size_t *count))                  \
    X(int, easy_recv, (oidc_curl_easy * easy, void *_Nullable bytes, size_t size, size_t *count))        \
    X(const char *_Nonnull, easy_strerror, (int code))                                                           \
    X(int, easy_setopt, (oidc_curl_easy * easy, int option, ...))                                        \
    X(int, easy_getinfo, (oidc_curl_easy * easy, int info, ...))                                         \
    X(oidc_curl_list *_Nullable, slist_append, (oidc_curl_list *_Nullable list, const char *text))       \
    X(void, slist_free_all, (oidc_curl_list *_Nullable list))                                            \
    X(oidc_curl_multi *_Nullable, multi_init, (void))                                                    \
    X(int, multi_cleanup, (oidc_curl_multi * multi))                                                     \
    X(int, multi_add_handle, (oidc_curl_multi * multi, oidc_curl_easy *easy))                            \
    X(int, multi_remove_handle, (oidc_curl_multi * multi, oidc_curl_easy *easy))                         \
    X(int, multi_poll,                                                                                   \
      (oidc_curl_multi * multi, void *_Nullable extra, unsigned int count, int milliseconds,             \
       int *_Nullable ready))                                                                            \
    X(int, multi_setopt, (oidc_curl_multi * multi, int option, ...))                                     \
    X(int, multi_socket_action, (oidc_curl_multi * multi, int descriptor, int events, int *running))     \
    X(oidc_curl_message *_Nullable, multi_info_read, (oidc_curl_multi * multi, int *left))

/// The functions of the TLS library that libcurl itself uses; each is NULL if libcurl uses another one.
typedef struct oidc_curl_tls {
    int (*_Nullable SSL_pending)(const void *ssl);
    int (*_Nullable SSL_has_pending)(const void *ssl);
    void *_Nullable (*_Nullable SSL_get_rbio)(const void *ssl);
    void (*_Nullable SSL_get0_alpn_selected)(
        const void *ssl, const unsigned char *_Nullable *_Nonnull name, unsigned int *length);
    void (*_Nullable SSL_CTX_set_info_callback)(
        void *context, void (*function)(const void *ssl, int event, int value));
    void (*_Nullable SSL_CTX_set_msg_callback)(void *context, void (*function)(void));
    int (*_Nullable SSL_CTX_set1_cert_comp_preference)(void *context, int *_Nullable algorithms, size_t count);
    long (*_Nullable SSL_CTX_ctrl)(void *context, int command, long number, const void *argument);
    void *_Nullable (*_Nullable SSL_CTX_get_ciphers)(const void *context);
    int (*_Nullable SSL_CTX_set_cipher_list)(void *context, const char *names);
    const char *_Nonnull (*_Nullable SSL_CIPHER_get_name)(const void *_Nullable cipher);
    int (*_Nullable SSL_CIPHER_get_kx_nid)(const void *_Nullable cipher);
    int (*_Nullable OPENSSL_sk_num)(const void *_Nullable stack);
    void *_Nullable (*_Nullable OPENSSL_sk_value)(const void *_Nullable stack, int index);
    void (*_Nullable BIO_set_callback_ex)(void *bio, void (*function)(void));
    void (*_Nullable BIO_set_callback)(void *bio, void (*function)(void));
    void (*_Nullable BIO_set_callback_arg)(void *bio, char *argument);
    char *_Nullable (*_Nullable BIO_get_callback_arg)(const void *bio);
    void (*_Nullable BIO_set_flags)(void *bio, int flags);
    void (*_Nullable BIO_clear_flags)(void *bio, int flags);
    size_t (*_Nullable gnutls_record_check_pending)(void *session);
} oidc_curl_tls;

/// The functions of the loaded libcurl.
typedef struct oidc_curl_library {
#define OIDC_CURL_FIELD(result, name, parameters) result (*_Nonnull name) parameters;
    OIDC_CURL_SYMBOLS(OIDC_CURL_FIELD)
#undef OIDC_CURL_FIELD
    oidc_curl_tls tls;
} oidc_curl_library;

/// Loads libcurl at the first call and returns it; NULL if it cannot be loaded.
const oidc_curl_library *_Nullable oidc_curl(void);

/// Returns the reason why `oidc_curl` returned NULL.
const char *oidc_curl_problem(void);

/// Loads the first of `names` (terminated by NULL) that exists. Returns NULL if that succeeds; otherwise
/// writes the reason to `problem` and returns `problem`.
const char *_Nullable oidc_curl_load(
    const char *_Nullable const *_Nonnull names, oidc_curl_library *library, char *problem, size_t size);

typedef size_t (*oidc_curl_data_function)(
    char *bytes, size_t size, size_t count, void *_Nullable context);
typedef int (*oidc_curl_before_request_function)(
    void *_Nullable context, char *_Nullable address, char *_Nullable local, int port, int local_port);

typedef int (*oidc_curl_progress_function)(
    void *_Nullable context, int64_t expected, int64_t received, int64_t to_send, int64_t sent);

typedef int (*oidc_curl_debug_function)(
    oidc_curl_easy *easy, int kind, char *bytes, size_t count, void *_Nullable context);

typedef int (*oidc_curl_socket_function)(
    oidc_curl_easy *easy, int descriptor, int what, void *_Nullable context, void *_Nullable own);
typedef int (*oidc_curl_close_function)(void *_Nullable context, int descriptor);
typedef int (*oidc_curl_timer_function)(oidc_curl_multi *multi, long milliseconds, void *_Nullable context);

// Each returns a CURLMcode.
int oidc_curl_multi_set_long(oidc_curl_multi *multi, int option, long value);
int oidc_curl_multi_set_functions(
    oidc_curl_multi *multi, oidc_curl_socket_function socket_function, oidc_curl_timer_function timer_function,
    void *_Nullable context);

// Each returns a CURLcode.
int oidc_curl_set_long(oidc_curl_easy *easy, int option, long value);
int oidc_curl_set_offset(oidc_curl_easy *easy, int option, int64_t value);
int oidc_curl_set_string(oidc_curl_easy *easy, int option, const char *_Nullable value);
int oidc_curl_set_pointer(oidc_curl_easy *easy, int option, const void *_Nullable value);
int oidc_curl_set_data_function(oidc_curl_easy *easy, int option, oidc_curl_data_function function);
int oidc_curl_set_before_request(oidc_curl_easy *easy, oidc_curl_before_request_function function);
/// Sets the function that is called while a transfer runs, and last before its connection is kept or closed.
int oidc_curl_set_progress(oidc_curl_easy *easy, oidc_curl_progress_function function, void *context);
/// Sets the function that gets what libcurl sends and receives, and what it says about that.
int oidc_curl_set_debug(oidc_curl_easy *easy, oidc_curl_debug_function function, void *context);
/// Keeps programs that are started later from inheriting connections.
int oidc_curl_keep_sockets(oidc_curl_easy *easy);
/// Sets the function that closes the sockets of the handle's connections. `context` must outlive the connections.
int oidc_curl_set_close_socket(oidc_curl_easy *easy, oidc_curl_close_function function, void *context);
int oidc_curl_get_long(oidc_curl_easy *easy, int info, long *value);
int oidc_curl_get_offset(oidc_curl_easy *easy, int info, int64_t *value);
/// Gets the socket of the handle's last connection; -1 if it was closed.
int oidc_curl_get_socket(oidc_curl_easy *easy, int *socket);
int oidc_curl_get_string(oidc_curl_easy *easy, int info, const char *_Nullable *_Nonnull value);

/// Returns 1 if the TLS library has bytes of the transfer's connection that libcurl has not read, 0 if it has none,
/// and -1 if that is unknown.
int oidc_curl_has_unread_bytes(oidc_curl_easy *easy);

/// Returns whether the transfer's connection is one of HTTP/2, by what was agreed on within TLS (RFC 7301). Only with
/// OpenSSL, as is HTTP/2.
int oidc_curl_speaks_http2(oidc_curl_easy *easy);

/// Returns whether the reads of the handle's TLS connections can be limited.
int oidc_curl_can_limit_reads(oidc_curl_easy *easy);
/// Limits what the servers of TLS connections that the handle makes can cost, if that is possible. OpenSSL and libcurl
/// read on, within one call, as long as messages come that are part of neither a handshake nor an answer.
void oidc_curl_limit_reads(oidc_curl_easy *easy);
/// Restarts the limits on this thread. Must be called before each call of libcurl that reads. From `turn_end` on, in
/// nanoseconds of the clock of MonotonicTime, a connection's next read is put off, as if nothing had arrived.
void oidc_curl_begin_reads(int64_t turn_end);
/// Returns whether a read was put off since this was called last, or the limits were restarted.
int oidc_curl_take_put_off(void);
/// The CPU time of this thread in nanoseconds; 0 if it cannot be read.
int64_t oidc_curl_cpu_time(void);

/// CURLOPT_…: the thousands encode the type of the value.
enum {
    OIDC_CURLOPT_SSLVERSION = 32,
    OIDC_CURLOPT_VERBOSE = 41,
    OIDC_CURLOPT_NOPROGRESS = 43,
    OIDC_CURLOPT_NOBODY = 44,
    OIDC_CURLOPT_UPLOAD = 46,
    OIDC_CURLOPT_POST = 47,
    OIDC_CURLOPT_SSL_VERIFYPEER = 64,
    OIDC_CURLOPT_FRESH_CONNECT = 74,
    OIDC_CURLOPT_FORBID_REUSE = 75,
    OIDC_CURLOPT_HTTPGET = 80,
    OIDC_CURLOPT_SSL_VERIFYHOST = 81,
    OIDC_CURLOPT_HTTP_VERSION = 84,
    OIDC_CURLOPT_BUFFERSIZE = 98,
    OIDC_CURLOPT_NOSIGNAL = 99,
    OIDC_CURLOPT_CONNECT_ONLY = 141,
    OIDC_CURLOPT_CONNECTTIMEOUT_MS = 156,
    OIDC_CURLOPT_PROTOCOLS = 181,
    OIDC_CURLOPT_SSL_ENABLE_ALPN = 226,
    OIDC_CURLOPT_EXPECT_100_TIMEOUT_MS = 227,
    OIDC_CURLOPT_PATH_AS_IS = 234,
    OIDC_CURLOPT_PROXY_SSLVERSION = 250,
    OIDC_CURLOPT_SUPPRESS_CONNECT_HEADERS = 265,
    OIDC_CURLOPT_UPLOAD_BUFFERSIZE = 280,
    OIDC_CURLOPT_HTTP09_ALLOWED = 285,
    OIDC_CURLOPT_MAXAGE_CONN = 288,
    OIDC_CURLOPT_QUICK_EXIT = 322,
    OIDC_CURLOPT_WRITEDATA = 10001,
    OIDC_CURLOPT_URL = 10002,
    OIDC_CURLOPT_PROXY = 10004,
    OIDC_CURLOPT_READDATA = 10009,
    OIDC_CURLOPT_ERRORBUFFER = 10010,
    OIDC_CURLOPT_USERAGENT = 10018,
    OIDC_CURLOPT_HTTPHEADER = 10023,
    OIDC_CURLOPT_SSLCERT = 10025,
    OIDC_CURLOPT_KEYPASSWD = 10026,
    OIDC_CURLOPT_HEADERDATA = 10029,
    OIDC_CURLOPT_CUSTOMREQUEST = 10036,
    OIDC_CURLOPT_XFERINFODATA = 10057,
    OIDC_CURLOPT_CAINFO = 10065,
    OIDC_CURLOPT_SSLKEY = 10087,
    OIDC_CURLOPT_DEBUGDATA = 10095,
    OIDC_CURLOPT_CAPATH = 10097,
    OIDC_CURLOPT_ACCEPT_ENCODING = 10102,
    OIDC_CURLOPT_COPYPOSTFIELDS = 10165,
    OIDC_CURLOPT_RESOLVE = 10203,
    OIDC_CURLOPT_CLOSESOCKETDATA = 10209,
    OIDC_CURLOPT_PROXY_CAINFO = 10246,
    OIDC_CURLOPT_PROXY_CAPATH = 10247,
    OIDC_CURLOPT_REQUEST_TARGET = 10266,
    OIDC_CURLOPT_PREREQDATA = 10313,
    OIDC_CURLOPT_PROTOCOLS_STR = 10318,
    OIDC_CURLOPT_WRITEFUNCTION = 20011,
    OIDC_CURLOPT_READFUNCTION = 20012,
    OIDC_CURLOPT_HEADERFUNCTION = 20079,
    OIDC_CURLOPT_DEBUGFUNCTION = 20094,
    OIDC_CURLOPT_SSL_CTX_FUNCTION = 20108,
    OIDC_CURLOPT_SOCKOPTFUNCTION = 20148,
    OIDC_CURLOPT_CLOSESOCKETFUNCTION = 20208,
    OIDC_CURLOPT_XFERINFOFUNCTION = 20219,
    OIDC_CURLOPT_PREREQFUNCTION = 20312,
    OIDC_CURLOPT_INFILESIZE_LARGE = 30115,
    OIDC_CURLOPT_POSTFIELDSIZE_LARGE = 30120,
};

/// CURLINFO_…: the sixth hexadecimal digit encodes the type of the value.
enum {
    OIDC_CURLINFO_CAINFO = 0x100000 + 61,
    OIDC_CURLINFO_CAPATH = 0x100000 + 62,
    OIDC_CURLINFO_SSL_VERIFYRESULT = 0x200000 + 13,
    OIDC_CURLINFO_HTTP_CONNECTCODE = 0x200000 + 22,
    OIDC_CURLINFO_OS_ERRNO = 0x200000 + 25,
    OIDC_CURLINFO_NUM_CONNECTS = 0x200000 + 26,
    OIDC_CURLINFO_LOCAL_PORT = 0x200000 + 42,
    OIDC_CURLINFO_HTTP_VERSION = 0x200000 + 46,
    OIDC_CURLINFO_TLS_SSL_PTR = 0x400000 + 45,
    OIDC_CURLINFO_ACTIVESOCKET = 0x500000 + 44,
    OIDC_CURLINFO_SIZE_UPLOAD_T = 0x600000 + 7,
    OIDC_CURLINFO_NAMELOOKUP_TIME_T = 0x600000 + 51,
    OIDC_CURLINFO_PRETRANSFER_TIME_T = 0x600000 + 53,
};

enum {
    OIDC_CURL_ERROR_SIZE = 256,
    OIDC_CURL_FEATURE_LIBZ = 1 << 3,
    OIDC_CURL_PROTOCOLS_HTTP_HTTPS = 3,
    OIDC_CURL_HTTP_VERSION_1_1 = 2,
    OIDC_CURL_HTTP_VERSION_2TLS = 4,
    OIDC_CURL_SSLVERSION_TLS1_2 = 6,
    OIDC_CURL_READFUNC_ABORT = 0x10000000,
    OIDC_CURL_READFUNC_PAUSE = 0x10000001,
    OIDC_CURL_WRITEFUNC_PAUSE = 0x10000001,
    OIDC_CURL_PAUSE_RECV = 1,
    OIDC_CURL_PAUSE_SEND = 4,
    OIDC_CURL_PREREQFUNC_ABORT = 1,
    OIDC_CURL_DEBUG_DATA_IN = 3,
    OIDC_CURL_MESSAGE_DONE = 1,
};

/// CURLM_OK, CURLMOPT_…, and the numbers of CURLMOPT_SOCKETFUNCTION and `curl_multi_socket_action`.
enum {
    OIDC_CURLM_OK = 0,
    OIDC_CURLMOPT_PIPELINING = 3,
    OIDC_CURLMOPT_MAXCONNECTS = 6,
    OIDC_CURLMOPT_SOCKETDATA = 10002,
    OIDC_CURLMOPT_TIMERDATA = 10005,
    OIDC_CURLMOPT_SOCKETFUNCTION = 20001,
    OIDC_CURLMOPT_TIMERFUNCTION = 20004,
    OIDC_CURL_POLL_IN = 1,
    OIDC_CURL_POLL_OUT = 2,
    OIDC_CURL_POLL_REMOVE = 4,
    OIDC_CURL_SOCKET_TIMEOUT = -1,
    OIDC_CURL_CSELECT_IN = 1,
    OIDC_CURL_CSELECT_OUT = 2,
};

#pragma clang assume_nonnull end

#endif
