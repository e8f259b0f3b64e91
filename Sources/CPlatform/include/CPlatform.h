#ifndef CPLATFORM_H
#define CPLATFORM_H

#include "CPlatformProcess.h"
#include "CPlatformSockets.h"

/// The commit this build was made from; empty when it is not known.
const char *oidc_build_commit(void);

/// No core dump and no tracing of this process by another of the same user, as it holds secrets.
/// Returns 0, or errno.
int oidc_forbid_dumps(void);

/// Gives the program that takes this process's place the limit that we were started with.
void oidc_restore_dumps(void);

/// 1 where reading from the descriptor would give the end of input now, else 0.
int oidc_input_is_exhausted(int descriptor);

#endif
