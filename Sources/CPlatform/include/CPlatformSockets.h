#ifndef CPLATFORM_SOCKETS_H
#define CPLATFORM_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

/// Writes a numeric address in its canonical form. Returns whether the text is one.
int oidc_write_address(const char *text, char *canonical, size_t size);

/// Listens on a numeric address; an IPv6 address is for IPv6 only. Port 0 lets the system choose, and `port` is set to
/// its choice. Returns the descriptor, or errno as a negative number.
int oidc_listen(const char *address, uint16_t *port, int backlog);

/// Starts to connect to a loopback port, without waiting. Returns the descriptor, or errno as a negative
/// number.
int oidc_connect_loopback(int is_ipv6, uint16_t port);

/// Starts to connect to a numeric address, without waiting. Returns the descriptor, or errno as a negative
/// number.
int oidc_connect_address(const char *address, uint16_t port);

/// Starts to connect to a socket file, without waiting. Returns the descriptor, or errno as a negative number.
int oidc_connect_unix(const char *path);

/// Returns 0 once a connection is made, or errno.
int oidc_connection_error(int descriptor);

/// Makes the following close reset the connection, so the peer does not take it for an orderly end. TCP only.
void oidc_reset_on_close(int descriptor);

/// Accepts the next waiting connection. Returns a descriptor that does not block and is not inherited, or
/// errno as a negative number.
int oidc_accept(int listener);

/// Sends bytes; a closed connection is an error, not a signal. Returns the number of bytes sent, or errno as
/// a negative number.
long oidc_send(int descriptor, const void *bytes, size_t count);

/// Sends three pieces as one; see `oidc_send`.
long oidc_send_pieces(
    int descriptor, const void *first, size_t first_count, const void *second, size_t second_count,
    const void *third, size_t third_count);

/// Receives bytes that are available, without waiting. Returns their number, 0 at the end, or errno as a
/// negative number.
long oidc_receive(int descriptor, void *bytes, size_t count);

/// Replaces a socket with one whose other end is closed. After a shutdown alone, what has arrived could still be read.
void oidc_end_socket(int descriptor);

/// Listens on a Unix socket that only this user may open. Returns the descriptor, or errno as a negative
/// number.
int oidc_listen_unix(const char *path, int backlog);

/// Refuses connections from now on, if the descriptor is a listener.
void oidc_stop_listening(int descriptor);

/// Ends the sending side of a connection.
void oidc_shutdown_sending(int descriptor);

/// Returns whether a descriptor is a socket that listens.
int oidc_is_listener(int descriptor);

/// Writes the two ends of a connection as Linux's table of sockets lists the peer's socket: the peer's address
/// and port, a space, and our address and port. Returns 0, or errno.
int oidc_peer_route(int descriptor, char *text, size_t size);

/// Writes the address of our end of a connection. Returns 0, or errno.
int oidc_own_address(int descriptor, char *text, size_t size);

/// Returns the port of our end of a connection; 0 if it has none.
uint16_t oidc_own_port(int descriptor);

/// Returns whether the peer's address is not one of this machine or network namespace, and neither end is on loopback.
/// If the system does not say, as of a connection that was reset, the peer counts as one of this machine.
int oidc_is_peer_elsewhere(int descriptor);

/// What the kernel says of the socket at the other end of a TCP connection on this machine.
typedef enum oidc_peer {
    oidc_peer_unknown,
    oidc_peer_found,
    /// Its process has closed it.
    oidc_peer_gone,
} oidc_peer;

/// Asks the kernel for the user of the socket at the other end of a TCP connection on this machine. Sets `user` if it
/// is found.
oidc_peer oidc_peer_user(int descriptor, uint32_t *user);

/// Asks the kernel who connected to a Unix socket: the user, and the process, which is 0 if the system does not say.
/// Returns 0, or errno.
int oidc_unix_peer(int descriptor, uint32_t *user, int32_t *process);

/// Finds the first line of a file that contains the text, without reading the whole file into memory. Returns
/// 1 if found, 0 if not, or errno as a negative number.
int oidc_find_line(const char *path, const char *text, char *line, size_t size);

#endif
