#include "CLibssl.h"

#include <stdio.h>

// macOS has no libssl; its Network framework would need a design of its own.
#if __APPLE__

static const char *const missing = "TLS for a callback is not available on macOS";

libssl_server *libssl_open(
    const void *certificate, size_t certificate_size, const void *key, size_t key_size, int *is_missing,
    char *failure, size_t size) {
    (void)certificate, (void)certificate_size, (void)key, (void)key_size;
    *is_missing = 1;
    snprintf(failure, size, "%s", missing);
    return NULL;
}

int libssl_make(
    int64_t seconds, char *certificate, size_t certificate_size, char *key, size_t key_size, char *failure,
    size_t size) {
    (void)seconds, (void)certificate, (void)certificate_size, (void)key, (void)key_size;
    snprintf(failure, size, "%s", missing);
    return 0;
}

void libssl_close(libssl_server *server) { (void)server; }

int libssl_is_for(const libssl_server *server, const char *host) {
    (void)server, (void)host;
    return 0;
}

int libssl_validity(const libssl_server *server, int64_t *start, int64_t *end) {
    (void)server, (void)start, (void)end;
    return 0;
}

libssl_connection *libssl_accept(libssl_server *server) {
    (void)server;
    return NULL;
}

void libssl_end(libssl_connection *connection) { (void)connection; }

int libssl_feed(libssl_connection *connection, const void *bytes, size_t count) {
    (void)connection, (void)bytes, (void)count;
    return 0;
}

long libssl_receive(libssl_connection *connection, void *bytes, size_t count) {
    (void)connection, (void)bytes, (void)count;
    return -1;
}

int libssl_send(libssl_connection *connection, const void *bytes, size_t count) {
    (void)connection, (void)bytes, (void)count;
    return 0;
}

void libssl_shutdown(libssl_connection *connection) { (void)connection; }

long libssl_take(libssl_connection *connection, void *bytes, size_t count) {
    (void)connection, (void)bytes, (void)count;
    return 0;
}

int libssl_is_established(const libssl_connection *connection) {
    (void)connection;
    return 0;
}

#else

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The part of libssl 3, and of the libcrypto 3 under it, that is used, declared here so no header package is needed.
typedef struct asn1_string_st ASN1_STRING;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;
typedef struct evp_md_st EVP_MD;
typedef struct evp_pkey_st EVP_PKEY;
typedef struct ossl_lib_ctx_st OSSL_LIB_CTX;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_method_st SSL_METHOD;
typedef struct ssl_st SSL;
typedef struct x509_st X509;
typedef struct X509_extension_st X509_EXTENSION;
typedef struct X509_name_st X509_NAME;
typedef struct v3_ext_ctx X509V3_CTX;
typedef int pem_password_cb(char *buffer, int size, int writing, void *context);

enum {
    ASCII_TEXT = 0x1001,               // MBSTRING_ASC
    SET_EXTRA_CERTIFICATE = 14,        // SSL_CTRL_EXTRA_CHAIN_CERT
    SET_SESSION_CACHE = 44,            // SSL_CTRL_SET_SESS_CACHE_MODE
    SET_GROUPS_LIST = 92,              // SSL_CTRL_SET_GROUPS_LIST
    SET_FIRST_VERSION = 123,           // SSL_CTRL_SET_MIN_PROTO_VERSION
    TLS_1_2 = 0x0303,                  // TLS1_2_VERSION
    ERROR_WANTS_READ = 2,              // SSL_ERROR_WANT_READ
    ERROR_ZERO_RETURN = 6,             // SSL_ERROR_ZERO_RETURN
    NO_TICKETS_OR_RENEGOTIATION = 1 << 14 | 1 << 30, // SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION
};

#define SYMBOLS(X) \
    X(const SSL_METHOD *, TLS_server_method, (void)) \
    X(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *)) \
    X(void, SSL_CTX_free, (SSL_CTX *)) \
    X(long, SSL_CTX_ctrl, (SSL_CTX *, int, long, void *)) \
    X(uint64_t, SSL_CTX_set_options, (SSL_CTX *, uint64_t)) \
    X(int, SSL_CTX_set_num_tickets, (SSL_CTX *, size_t)) \
    X(int, SSL_CTX_use_certificate, (SSL_CTX *, X509 *)) \
    X(int, SSL_CTX_use_PrivateKey, (SSL_CTX *, EVP_PKEY *)) \
    X(int, SSL_CTX_check_private_key, (const SSL_CTX *)) \
    X(X509 *, SSL_CTX_get0_certificate, (const SSL_CTX *)) \
    X(SSL *, SSL_new, (SSL_CTX *)) \
    X(void, SSL_free, (SSL *)) \
    X(void, SSL_set_bio, (SSL *, BIO *, BIO *)) \
    X(void, SSL_set_accept_state, (SSL *)) \
    X(int, SSL_read, (SSL *, void *, int)) \
    X(int, SSL_write, (SSL *, const void *, int)) \
    X(int, SSL_shutdown, (SSL *)) \
    X(int, SSL_get_error, (const SSL *, int)) \
    X(int, SSL_is_init_finished, (const SSL *)) \
    X(void, ERR_clear_error, (void)) \
    X(const BIO_METHOD *, BIO_s_mem, (void)) \
    X(BIO *, BIO_new, (const BIO_METHOD *)) \
    X(BIO *, BIO_new_mem_buf, (const void *, int)) \
    X(int, BIO_read, (BIO *, void *, int)) \
    X(int, BIO_write, (BIO *, const void *, int)) \
    X(int, BIO_free, (BIO *)) \
    X(X509 *, PEM_read_bio_X509, (BIO *, X509 **, pem_password_cb *, void *)) \
    X(EVP_PKEY *, PEM_read_bio_PrivateKey, (BIO *, EVP_PKEY **, pem_password_cb *, void *)) \
    X(int, PEM_write_bio_X509, (BIO *, X509 *)) \
    X(int, PEM_write_bio_PKCS8PrivateKey, (BIO *, const EVP_PKEY *, const void *, const char *, int, \
                                           pem_password_cb *, void *)) \
    X(EVP_PKEY *, EVP_PKEY_Q_keygen, (OSSL_LIB_CTX *, const char *, const char *, ...)) \
    X(void, EVP_PKEY_free, (EVP_PKEY *)) \
    X(const EVP_MD *, EVP_sha256, (void)) \
    X(int, RAND_bytes, (unsigned char *, int)) \
    X(X509 *, X509_new, (void)) \
    X(void, X509_free, (X509 *)) \
    X(int, X509_check_host, (X509 *, const char *, size_t, unsigned, char **)) \
    X(int, X509_check_ip_asc, (X509 *, const char *, unsigned)) \
    X(const ASN1_STRING *, X509_get0_notBefore, (const X509 *)) \
    X(const ASN1_STRING *, X509_get0_notAfter, (const X509 *)) \
    X(int, ASN1_TIME_to_tm, (const ASN1_STRING *, struct tm *)) \
    X(int, X509_set_version, (X509 *, long)) \
    X(ASN1_STRING *, X509_get_serialNumber, (X509 *)) \
    X(int, ASN1_INTEGER_set_uint64, (ASN1_STRING *, uint64_t)) \
    X(ASN1_STRING *, X509_getm_notBefore, (const X509 *)) \
    X(ASN1_STRING *, X509_getm_notAfter, (const X509 *)) \
    X(ASN1_STRING *, X509_gmtime_adj, (ASN1_STRING *, long)) \
    X(X509_NAME *, X509_get_subject_name, (const X509 *)) \
    X(int, X509_NAME_add_entry_by_txt, (X509_NAME *, const char *, int, const unsigned char *, int, int, int)) \
    X(int, X509_set_issuer_name, (X509 *, const X509_NAME *)) \
    X(int, X509_set_pubkey, (X509 *, EVP_PKEY *)) \
    X(X509_EXTENSION *, X509V3_EXT_conf, (void *, X509V3_CTX *, const char *, const char *)) \
    X(int, X509_add_ext, (X509 *, X509_EXTENSION *, int)) \
    X(void, X509_EXTENSION_free, (X509_EXTENSION *)) \
    X(int, X509_sign, (X509 *, EVP_PKEY *, const EVP_MD *))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct { SYMBOLS(MEMBER) } ssl;
#undef MEMBER
static int is_loaded;
static char reason[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    // The symbols of libcrypto are found in the libraries that this one needs.
    void *handle = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(reason, sizeof reason, "libssl.so.3 is not installed");
        return;
    }
    void *symbol;
#define LOOK_UP(result, name, parameters) \
    symbol = dlsym(handle, #name); \
    if (symbol == NULL) { \
        snprintf(reason, sizeof reason, "libssl.so.3 lacks %s", #name); \
        return; \
    } \
    memcpy(&ssl.name, &symbol, sizeof symbol);
    SYMBOLS(LOOK_UP)
#undef LOOK_UP
    is_loaded = 1;
}

static int is_available(char *failure, size_t size) {
    pthread_once(&once, load);
    if (!is_loaded) snprintf(failure, size, "%s", reason);
    return is_loaded;
}

/// Answers no question for a passphrase, which OpenSSL would ask on the terminal.
static int refuse_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

struct libssl_server {
    SSL_CTX *context;
};

struct libssl_connection {
    SSL *session;
    BIO *input;
    BIO *output;
};

/// Returns the reason why the certificates cannot be used; NULL if they can.
static const char *use_certificates(SSL_CTX *context, BIO *pem) {
    X509 *own = ssl.PEM_read_bio_X509(pem, NULL, refuse_passphrase, NULL);
    if (own == NULL) return "contains no PEM certificate";
    int is_used = ssl.SSL_CTX_use_certificate(context, own);
    ssl.X509_free(own);
    if (is_used != 1) return "is too weak for TLS, or of an unknown kind";
    X509 *issuer;
    while ((issuer = ssl.PEM_read_bio_X509(pem, NULL, refuse_passphrase, NULL)) != NULL) {
        if (ssl.SSL_CTX_ctrl(context, SET_EXTRA_CERTIFICATE, 0, issuer) != 1) {
            ssl.X509_free(issuer);
            return "has an issuer that cannot be used";
        }
    }
    return NULL;
}

static const char *use_key(SSL_CTX *context, BIO *pem) {
    EVP_PKEY *key = ssl.PEM_read_bio_PrivateKey(pem, NULL, refuse_passphrase, NULL);
    if (key == NULL) return "has a key that is not PEM, or is encrypted";
    int is_used = ssl.SSL_CTX_use_PrivateKey(context, key);
    ssl.EVP_PKEY_free(key);
    return is_used == 1 && ssl.SSL_CTX_check_private_key(context) == 1 ? NULL : "does not fit the key";
}

/// Leaves out the groups for finite-field Diffie-Hellman (RFC 7919): a client that offers only the largest makes this
/// thread compute for 100 ms, at no cost of its own.
static void leave_out_slow_groups(SSL_CTX *context) {
    // The first list of which this TLS library knows all names.
    static char lists[][48] = {
        "X25519MLKEM768:X25519:P-256:P-384:P-521", "X25519:P-256:P-384:P-521", "P-256:P-384:P-521"};
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++)
        if (ssl.SSL_CTX_ctrl(context, SET_GROUPS_LIST, 0, lists[index]) > 0) return;
}

libssl_server *libssl_open(
    const void *certificate, size_t certificate_size, const void *key, size_t key_size, int *is_missing,
    char *failure, size_t size) {
    *is_missing = !is_available(failure, size);
    if (*is_missing) return NULL;
    snprintf(failure, size, "there is no memory for TLS");
    if (certificate_size > INT_MAX || key_size > INT_MAX) return NULL;
    libssl_server *server = calloc(1, sizeof *server);
    if (server == NULL) return NULL;
    ssl.ERR_clear_error();
    server->context = ssl.SSL_CTX_new(ssl.TLS_server_method());
    BIO *certificates = ssl.BIO_new_mem_buf(certificate, (int)certificate_size);
    BIO *keys = ssl.BIO_new_mem_buf(key, (int)key_size);
    const char *problem = "could not be loaded";
    if (server->context != NULL && certificates != NULL && keys != NULL
        && ssl.SSL_CTX_ctrl(server->context, SET_FIRST_VERSION, TLS_1_2, NULL) == 1) {
        ssl.SSL_CTX_ctrl(server->context, SET_SESSION_CACHE, 0, NULL);
        ssl.SSL_CTX_set_options(server->context, NO_TICKETS_OR_RENEGOTIATION);
        ssl.SSL_CTX_set_num_tickets(server->context, 0);
        leave_out_slow_groups(server->context);
        problem = use_certificates(server->context, certificates);
        if (problem == NULL) problem = use_key(server->context, keys);
    }
    ssl.BIO_free(certificates);
    ssl.BIO_free(keys);
    ssl.ERR_clear_error();
    if (problem == NULL) return server;
    snprintf(failure, size, "%s", problem);
    libssl_close(server);
    return NULL;
}

void libssl_close(libssl_server *server) {
    ssl.SSL_CTX_free(server->context);
    free(server);
}

int libssl_is_for(const libssl_server *server, const char *host) {
    X509 *certificate = ssl.SSL_CTX_get0_certificate(server->context);
    return ssl.X509_check_ip_asc(certificate, host, 0) == 1
        || ssl.X509_check_host(certificate, host, 0, 0, NULL) == 1;
}

int libssl_validity(const libssl_server *server, int64_t *start, int64_t *end) {
    X509 *certificate = ssl.SSL_CTX_get0_certificate(server->context);
    struct tm first, last;
    if (ssl.ASN1_TIME_to_tm(ssl.X509_get0_notBefore(certificate), &first) != 1
        || ssl.ASN1_TIME_to_tm(ssl.X509_get0_notAfter(certificate), &last) != 1)
        return 0;
    *start = timegm(&first);
    *end = timegm(&last);
    return 1;
}

libssl_connection *libssl_accept(libssl_server *server) {
    libssl_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) return NULL;
    connection->session = ssl.SSL_new(server->context);
    connection->input = ssl.BIO_new(ssl.BIO_s_mem());
    connection->output = ssl.BIO_new(ssl.BIO_s_mem());
    if (connection->session == NULL || connection->input == NULL || connection->output == NULL) {
        ssl.BIO_free(connection->input);
        ssl.BIO_free(connection->output);
        ssl.SSL_free(connection->session);
        free(connection);
        return NULL;
    }
    ssl.SSL_set_bio(connection->session, connection->input, connection->output);
    ssl.SSL_set_accept_state(connection->session);
    return connection;
}

void libssl_end(libssl_connection *connection) {
    ssl.SSL_free(connection->session);
    free(connection);
}

int libssl_feed(libssl_connection *connection, const void *bytes, size_t count) {
    return count <= INT_MAX && ssl.BIO_write(connection->input, bytes, (int)count) == (int)count;
}

long libssl_receive(libssl_connection *connection, void *bytes, size_t count) {
    ssl.ERR_clear_error();
    int received = ssl.SSL_read(connection->session, bytes, count > INT_MAX ? INT_MAX : (int)count);
    if (received > 0) return received;
    int cause = ssl.SSL_get_error(connection->session, received);
    ssl.ERR_clear_error();
    return cause == ERROR_WANTS_READ ? 0 : cause == ERROR_ZERO_RETURN ? -1 : -2;
}

int libssl_send(libssl_connection *connection, const void *bytes, size_t count) {
    ssl.ERR_clear_error();
    return count <= INT_MAX && ssl.SSL_write(connection->session, bytes, (int)count) == (int)count;
}

void libssl_shutdown(libssl_connection *connection) {
    ssl.ERR_clear_error();
    ssl.SSL_shutdown(connection->session);
}

long libssl_take(libssl_connection *connection, void *bytes, size_t count) {
    int taken = ssl.BIO_read(connection->output, bytes, count > INT_MAX ? INT_MAX : (int)count);
    return taken > 0 ? taken : 0;
}

int libssl_is_established(const libssl_connection *connection) {
    return ssl.SSL_is_init_finished(connection->session);
}

static int add_extension(X509 *certificate, const char *name, const char *value) {
    X509_EXTENSION *extension = ssl.X509V3_EXT_conf(NULL, NULL, name, value);
    int is_added = extension != NULL && ssl.X509_add_ext(certificate, extension, -1) == 1;
    ssl.X509_EXTENSION_free(extension);
    return is_added;
}

static int fill(X509 *certificate, EVP_PKEY *key, int64_t seconds) {
    uint64_t serial;
    static const char name[] = "localhost (oidc)";
    X509_NAME *subject = ssl.X509_get_subject_name(certificate);
    // An hour for clocks that differ.
    const long before = -3600;
    return ssl.RAND_bytes((unsigned char *)&serial, sizeof serial) == 1
        && ssl.X509_set_version(certificate, 2) == 1
        && ssl.ASN1_INTEGER_set_uint64(ssl.X509_get_serialNumber(certificate), serial >> 1 | 1) == 1
        && ssl.X509_gmtime_adj(ssl.X509_getm_notBefore(certificate), before) != NULL
        && ssl.X509_gmtime_adj(ssl.X509_getm_notAfter(certificate), (long)seconds + before) != NULL
        && ssl.X509_NAME_add_entry_by_txt(subject, "CN", ASCII_TEXT, (const unsigned char *)name, -1, -1, 0) == 1
        && ssl.X509_set_issuer_name(certificate, subject) == 1 && ssl.X509_set_pubkey(certificate, key) == 1
        && add_extension(certificate, "basicConstraints", "critical,CA:FALSE")
        && add_extension(certificate, "keyUsage", "critical,digitalSignature")
        && add_extension(certificate, "extendedKeyUsage", "serverAuth")
        && add_extension(certificate, "subjectAltName", "DNS:localhost,IP:127.0.0.1,IP:::1")
        && ssl.X509_sign(certificate, key, ssl.EVP_sha256()) > 0;
}

/// Writes the PEM text that a BIO holds. Returns whether it fits.
static int write_text(BIO *text, char *bytes, size_t size) {
    int count = ssl.BIO_read(text, bytes, (int)size - 1);
    if (count <= 0 || count == (int)size - 1) return 0;
    bytes[count] = 0;
    return 1;
}

int libssl_make(
    int64_t seconds, char *certificate, size_t certificate_size, char *key, size_t key_size, char *failure,
    size_t size) {
    if (!is_available(failure, size)) return 0;
    snprintf(failure, size, "libssl could not make the certificate");
    X509 *made = ssl.X509_new();
    EVP_PKEY *own = ssl.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    BIO *first = ssl.BIO_new(ssl.BIO_s_mem());
    BIO *second = ssl.BIO_new(ssl.BIO_s_mem());
    int is_made = made != NULL && own != NULL && first != NULL && second != NULL && fill(made, own, seconds)
        && ssl.PEM_write_bio_X509(first, made) == 1
        && ssl.PEM_write_bio_PKCS8PrivateKey(second, own, NULL, NULL, 0, NULL, NULL) == 1
        && write_text(first, certificate, certificate_size) && write_text(second, key, key_size);
    ssl.BIO_free(first);
    ssl.BIO_free(second);
    ssl.EVP_PKEY_free(own);
    ssl.X509_free(made);
    ssl.ERR_clear_error();
    return is_made;
}

#endif
