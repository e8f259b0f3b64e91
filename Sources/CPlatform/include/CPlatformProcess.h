#ifndef CPLATFORM_PROCESS_H
#define CPLATFORM_PROCESS_H

#include <sys/types.h>

/// The environment of this process, ended by NULL.
char **oidc_environment(void);

/// Descriptors 0 to 2 that are closed are opened so using them fails: otherwise the next file or
/// socket would take their place, and what is written for people would go into it.
void oidc_reserve_standard_descriptors(void);

/// A broken pipe is an error of `write`, not the end of the process; children get what was set before.
void oidc_ignore_broken_pipes(void);

/// Undoes `oidc_ignore_broken_pipes`, before another program takes this process over.
void oidc_restore_broken_pipes(void);

/// Whether a broken pipe ended this process as it was started.
int oidc_broken_pipes_were_default(void);
/// Whether `oidc_ignore_broken_pipes` took SIGXFSZ away from its default.
int oidc_file_size_was_default(void);

/// Records SIGINT, SIGTERM and SIGHUP, and makes a descriptor readable then. A second signal, half a second
/// or more after the first, ends the process. Signals that are ignored stay ignored, as `nohup` wants it, and
/// a shell for what it starts in the background. Returns 0, or errno.
int oidc_record_interruptions(void);

/// The first signal recorded, or 0.
int oidc_recorded_interruption(void);

/// Readable from the first recorded signal on; -1 before `oidc_record_interruptions`.
int oidc_interruption_descriptor(void);

/// Begins a time in which this thread does not want to know of the first signal. Calls nest.
void oidc_postpone_interruptions(void);

/// Ends what `oidc_postpone_interruptions` began; if `is_left`, only at the end of the scope that this thread
/// is in.
void oidc_end_postponement(int is_left);

void oidc_begin_postponement_scope(void);
void oidc_end_postponement_scope(void);

/// Whether this thread postpones interruptions now.
int oidc_interruptions_are_postponed(void);

/// Whether the first signal had to wait for any thread.
int oidc_interruption_was_postponed(void);

/// Takes back what was recorded and the handlers, for tests and for another program's turn.
void oidc_forget_interruptions(void);

enum {
    OIDC_SPAWN_NEW_SESSION = 1,
    OIDC_SPAWN_CLOSE_OTHERS = 2
};

/// Starts a program without a shell. A descriptor of -1 stands for /dev/null. Returns 0, or errno.
int oidc_spawn(pid_t *child, const char *path, char *const arguments[], char *const environment[],
               int input, int output, int errors, int flags);

/// -1: no such child, 0: still running, 1: ended, with its exit status or its signal (the other is -1).
int oidc_reap(pid_t child, int *exit_status, int *signal_number);

/// Like `oidc_reap`, but waits for the end.
int oidc_await_end(pid_t child, int *exit_status, int *signal_number);

/// A pipe whose ends are not inherited by programs. Returns 0, or errno.
int oidc_pipe(int ends[2]);

/// Returns 0, or errno.
int oidc_set_nonblocking(int descriptor);

/// The soft limit on open descriptors, at most 65,536.
int oidc_descriptor_limit(void);

/// Columns of a terminal, or 0.
int oidc_terminal_width(int descriptor);

/// Rows of a terminal, or 0.
int oidc_terminal_height(int descriptor);

/// Whether this process may read the terminal without being stopped by job control.
int oidc_is_foreground(int descriptor);

/// Takes over the editing of lines from the terminal driver, which would cut them at 4,095 bytes; undone
/// by `oidc_release_lines`, at exit, and before a signal ends the process. Returns 0, or errno.
int oidc_take_lines(int descriptor);
void oidc_release_lines(void);

#endif
