#ifndef CPLATFORM_H
#define CPLATFORM_H

#include "CPlatformProcess.h"
#include "CPlatformSockets.h"

/// Returns the commit that this build was made from; empty if unknown.
const char *oidc_build_commit(void);

/// Disables core dumps, and tracing by other processes of the same user, as this process contains secrets.
/// Returns 0, or errno.
int oidc_forbid_dumps(void);

/// Restores the core size limit that this process was started with, before another program replaces it.
void oidc_restore_dumps(void);

/// Returns 1 if reading from the descriptor would now return the end of input, else 0.
int oidc_input_is_exhausted(int descriptor);

/// Returns 1 if the file can be read but not replaced by another one: it is mounted by itself, or has the
/// attribute "immutable" or "append only". Returns 0 if not, or if that is unknown.
int oidc_is_fixed(int directory, const char *name);

#endif
