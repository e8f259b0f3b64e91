#ifndef CPLATFORM_PROCESS_H
#define CPLATFORM_PROCESS_H

#include <sys/types.h>

/// Returns the words of the command line and their number. Swift's `CommandLine` looks for them below the
/// environment, and finds none if a preloaded library, such as a debugger's or one that shifts the clock, has
/// set a variable before `main`.
char **oidc_arguments(int *count);

/// Returns the environment of this process, terminated by NULL.
char **oidc_environment(void);

/// Opens those of the descriptors 0 to 2 that are closed, in a mode in which using them fails. Otherwise the
/// next file or socket would get such a number, and messages would be written into it.
void oidc_reserve_standard_descriptors(void);

/// Makes a broken pipe an error of `write` instead of the end of the process. Children get the original
/// setting.
void oidc_ignore_broken_pipes(void);

/// Undoes `oidc_ignore_broken_pipes`, before another program replaces this process.
void oidc_restore_broken_pipes(void);

/// Returns whether SIGPIPE had its default action when this process was started.
int oidc_broken_pipes_were_default(void);
/// Returns whether `oidc_ignore_broken_pipes` replaced the default action of SIGXFSZ.
int oidc_file_size_was_default(void);

/// Starts to record SIGINT, SIGTERM and SIGHUP, which also make a descriptor readable. A second signal, half
/// a second or more after the first, ends the process. Other signals whose default is to end the process, such
/// as SIGQUIT, are recorded in the same way while a thread postpones signals, and otherwise restore the
/// terminal and end the process. Signals that are ignored stay ignored, as under `nohup` and for background
/// jobs of a shell. Returns 0, or errno.
int oidc_record_interruptions(void);

/// Returns the first recorded signal, or 0.
int oidc_recorded_interruption(void);

/// Returns a descriptor that is readable from the first recorded signal on; -1 before
/// `oidc_record_interruptions`.
int oidc_interruption_descriptor(void);

/// Starts to postpone the first signal on this thread. Calls nest.
void oidc_postpone_interruptions(void);

/// Ends what `oidc_postpone_interruptions` started; if `is_left`, only at the end of this thread's current
/// scope.
void oidc_end_postponement(int is_left);

void oidc_begin_postponement_scope(void);
void oidc_end_postponement_scope(void);

/// Returns whether this thread postpones interruptions now.
int oidc_interruptions_are_postponed(void);

/// Returns whether the first signal had to wait for any thread.
int oidc_interruption_was_postponed(void);

/// Acts as if a signal had been recorded, but interrupts no system call, so waits notice it only at their next
/// check.
void oidc_interrupt(int number);

/// Forgets recorded signals and removes the handlers, for tests and before another program replaces this
/// process.
void oidc_forget_interruptions(void);

enum {
    OIDC_SPAWN_NEW_SESSION = 1,
    OIDC_SPAWN_CLOSE_OTHERS = 2
};

/// Starts a program without a shell. A descriptor of -1 means /dev/null. Returns 0, or errno.
int oidc_spawn(pid_t *child, const char *path, char *const arguments[], char *const environment[],
               int input, int output, int errors, int flags);

/// Returns -1 if there is no such child, 0 if it is running, and 1 if it has ended, with its exit status or
/// its signal (the other is -1).
int oidc_reap(pid_t child, int *exit_status, int *signal_number);

/// Like `oidc_reap`, but waits for the end.
int oidc_await_end(pid_t child, int *exit_status, int *signal_number);

/// Starts to forward signals that another process sends to a child: SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1
/// and SIGUSR2. The terminal's signals reach the child directly; if it may be in another session (`may_be_elsewhere`) and
/// is, they are forwarded to its process group. Signals that are ignored stay ignored. If `child` is 0, the signals are kept
/// for the next call.
void oidc_pass_signals_on(pid_t child, int may_be_elsewhere);

/// Keeps a signal for the child of the next call of `oidc_pass_signals_on`.
void oidc_keep_signal(int number);

/// Whether a signal is ignored.
int oidc_is_ignored(int number);

/// Ends `oidc_pass_signals_on`, before the child is reaped and its number may belong to another process.
void oidc_stop_passing_signals_on(void);

/// Waits until a child has ended, without reaping it.
void oidc_await_exit(pid_t child);

/// Returns the path by which this program can be executed again; NULL if it is unknown.
const char *oidc_executable_path(void);

/// Goes on in a child of this process, in the root directory; the process itself ends with 0. Returns 0, or errno.
int oidc_detach(void);

/// Returns a copy of a standard descriptor with a higher number that programs do not inherit, and puts `/dev/null` in
/// its place; -1 on failure.
int oidc_move_descriptor(int descriptor);

/// Makes a pipe that programs do not inherit. Returns 0, or errno.
int oidc_pipe(int ends[2]);

/// Makes a descriptor non-blocking. Returns 0, or errno.
int oidc_set_nonblocking(int descriptor);

/// Returns the soft limit on open descriptors, at most 65,536.
int oidc_descriptor_limit(void);

/// Returns the columns of a terminal, or 0.
int oidc_terminal_width(int descriptor);

/// Returns the rows of a terminal, or 0.
int oidc_terminal_height(int descriptor);

/// Returns whether this process has a controlling terminal, which programs that it starts can open.
int oidc_has_terminal(void);

/// Ignores the signal that the terminal sends for ^Z; programs that are started inherit this.
void oidc_ignore_stops(void);

/// Returns whether this process may read the terminal without being stopped by job control.
int oidc_is_foreground(int descriptor);

/// Takes over line editing from the terminal driver, which would cut lines at 4,095 bytes. This is undone by
/// `oidc_release_lines`, at exit, and before a signal ends the process. Returns 0, or errno.
int oidc_take_lines(int descriptor);
void oidc_release_lines(void);

#endif
