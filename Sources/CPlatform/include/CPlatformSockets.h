#ifndef CPLATFORM_SOCKETS_H
#define CPLATFORM_SOCKETS_H

#include <stddef.h>
#include <stdint.h>

/// Listens on 127.0.0.1, or on ::1 alone; port 0 lets the system choose, and `port` then holds its choice.
/// Returns the descriptor, or errno as a negative number.
int oidc_listen_loopback(int is_ipv6, uint16_t *port, int backlog);

/// Connects to a loopback port, without waiting. Returns the descriptor, or errno as a negative number.
int oidc_connect_loopback(int is_ipv6, uint16_t port);

/// The next waiting connection, as a descriptor that does not block and is not inherited. Returns it, or
/// errno as a negative number.
int oidc_accept(int listener);

/// Like `send`, and a peer that is gone is an error, not a signal. Returns the bytes taken, or errno as a
/// negative number.
long oidc_send(int descriptor, const void *bytes, size_t count);

/// Tells the peer that nothing more will be sent.
void oidc_shutdown_sending(int descriptor);

/// Writes the two ends of a connection as the peer's own socket stands in Linux' table of sockets: its address
/// and port, a blank, ours. Returns 0, or errno.
int oidc_peer_route(int descriptor, char *text, size_t size);

/// The first line of a file that holds the text, for tables too long to be kept. Returns 1, 0 where there is none,
/// or errno as a negative number.
int oidc_find_line(const char *path, const char *text, char *line, size_t size);

#endif
