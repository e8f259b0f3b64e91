#ifndef CLIBSSL_H
#define CLIBSSL_H

#include <stddef.h>
#include <stdint.h>

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"

/// A TLS server with its certificate and key.
typedef struct libssl_server libssl_server;
/// One connection to a server. It reads and writes no descriptor.
typedef struct libssl_connection libssl_connection;

/// Creates a server for TLS 1.2 and later from a PEM certificate, with those of its issuers after it, and its PEM key.
/// Loads libssl.so.3 at the first call. Returns NULL, with the reason in `failure`, if that fails; `is_missing` is set if
/// the library is what is missing.
libssl_server *_Nullable libssl_open(
    const void *_Nonnull certificate, size_t certificate_size, const void *_Nonnull key, size_t key_size,
    int *_Nonnull is_missing, char *_Nonnull failure, size_t size);
void libssl_close(libssl_server *_Nonnull server);

/// Returns whether the certificate is for a host, a name or a numeric address.
int libssl_is_for(const libssl_server *_Nonnull server, const char *_Nonnull host);

/// Sets the seconds since 1970 between which the certificate is valid. Returns whether they could be read.
int libssl_validity(const libssl_server *_Nonnull server, int64_t *_Nonnull start, int64_t *_Nonnull end);

/// Starts a connection; NULL if there is no memory.
libssl_connection *_Nullable libssl_accept(libssl_server *_Nonnull server);
void libssl_end(libssl_connection *_Nonnull connection);

/// Takes what the peer has sent. Returns whether it could be stored.
int libssl_feed(libssl_connection *_Nonnull connection, const void *_Nonnull bytes, size_t count);

/// Decrypts, after the handshake. Returns the number of bytes, 0 if more has to be fed, -1 at the end, or -2 if what came
/// is not TLS, or the peer refused it.
long libssl_receive(libssl_connection *_Nonnull connection, void *_Nonnull bytes, size_t count);

/// Encrypts, after the handshake. Returns whether all of it was.
int libssl_send(libssl_connection *_Nonnull connection, const void *_Nonnull bytes, size_t count);

/// Announces that nothing more is sent.
void libssl_shutdown(libssl_connection *_Nonnull connection);

/// Takes bytes to send to the peer; 0 if there are none.
long libssl_take(libssl_connection *_Nonnull connection, void *_Nonnull bytes, size_t count);

/// Returns whether the handshake is done.
int libssl_is_established(const libssl_connection *_Nonnull connection);

/// Makes a key, and a certificate for a server on this machine: `localhost`, 127.0.0.1 and ::1, which issues no others.
/// Writes both as PEM with a final NUL. Returns 0, with the reason in `failure`, if that fails.
int libssl_make(
    int64_t seconds, char *_Nonnull certificate, size_t certificate_size, char *_Nonnull key, size_t key_size,
    char *_Nonnull failure, size_t size);

#pragma clang diagnostic pop

#endif
