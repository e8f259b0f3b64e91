#include "CPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/// Signals this close to the first count as the same request to end: `timeout` signals its child, then the
/// group.
enum { burst_milliseconds = 500 };

// Written in a handler on any thread, and read by others.
static atomic_int first_signal;
static atomic_llong first_time;
static atomic_int wake_up_end = -1;
static int waiting_end = -1;

/// The first three are always recorded. The others end the process by default, and are recorded only while a
/// single-use secret is redeemed.
static const int recorded_signals[] = {
    SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGALRM, SIGUSR1,
    SIGUSR2, SIGXCPU, SIGVTALRM, SIGPROF, SIGABRT,
// macOS ignores SIGIO by default, and has neither of the others.
#ifdef __linux__
    SIGIO,   SIGPWR,  SIGSTKFLT,
#endif
};
enum {
    always_recorded_count = 3,
    recorded_signal_count = sizeof recorded_signals / sizeof recorded_signals[0]
};
static void (*previous_handlers[recorded_signal_count])(int);
// macOS has no real-time signals.
#ifdef SIGRTMIN
/// Whether the real-time signals are recorded too. Service managers may stop programs with them.
static atomic_int records_real_time;
#endif

static void (*previous_broken_pipe)(int) = SIG_DFL;
static int ignores_broken_pipes;
static int ignores_file_size;

/// The number of postponements of all threads.
static atomic_int postponements;
static atomic_int was_postponed;
static _Thread_local int own_postponements;
static _Thread_local int scopes;
static _Thread_local int is_left_to_scope;

static long long milliseconds_now(void) {
    struct timespec now;
    // Never 0, which means "no signal yet".
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? now.tv_sec * 1000LL + now.tv_nsec / 1000000 + 1 : 1;
}

/// Restores the terminal and ends the process by a signal.
static void end_by(int number) {
    oidc_release_lines();
    signal(number, SIG_DFL);
    raise(number);
}

/// Records a signal, and ends the process at a second one.
static void record(int number) {
    int saved = errno;
    long long now = milliseconds_now();
    long long first = 0;
    if (atomic_compare_exchange_strong(&first_time, &first, now)) {
        first_signal = number;
        if (atomic_load(&postponements) > 0) was_postponed = 1;
    } else if (now - first >= burst_milliseconds) {
        // Ends by exit, as after a single signal: signals have no default action for the first process of a
        // container.
        oidc_release_lines();
        _exit(128 + number);
    }
    char byte = 0;
    if (wake_up_end >= 0 && write(wake_up_end, &byte, 1) < 0) errno = saved;
    errno = saved;
}

/// Records a signal while any thread postpones signals; otherwise ends the process.
static void record_if_postponed(int number) {
    int saved = errno;
    if (atomic_load(&postponements) > 0) {
        record(number);
    } else {
        end_by(number);
    }
    errno = saved;
}

int oidc_record_interruptions(void) {
    if (waiting_end >= 0) return 0;
    int ends[2];
    int failure = oidc_pipe(ends);
    if (failure != 0) return failure;
    if ((failure = oidc_set_nonblocking(ends[1])) != 0) {
        close(ends[0]);
        close(ends[1]);
        return failure;
    }
    waiting_end = ends[0];
    wake_up_end = ends[1];

    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < (int)recorded_signal_count; index++) {
        struct sigaction previous;
        if (sigaction(recorded_signals[index], NULL, &previous) != 0) continue;
        previous_handlers[index] = previous.sa_handler;
        if (previous.sa_handler == SIG_IGN) continue;
        // Swift's own handler of SIGQUIT, which prints a backtrace, is useless: dumps are forbidden.
        action.sa_handler = index < always_recorded_count ? record : record_if_postponed;
        sigaction(recorded_signals[index], &action, NULL);
    }

    // The parent process may have blocked these signals for its own threads, and the mask is inherited.
    sigset_t ours;
    sigemptyset(&ours);
    for (int index = 0; index < always_recorded_count; index++) sigaddset(&ours, recorded_signals[index]);
    sigaddset(&ours, SIGQUIT);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    return 0;
}

int oidc_recorded_interruption(void) { return first_signal; }

int oidc_interruption_descriptor(void) { return waiting_end; }

void oidc_interrupt(int number) { first_signal = number; }

/// Records the real-time signals that end the process by default. Only a redemption needs this, so it is not
/// done at every start.
static void record_real_time_signals(void) {
#ifdef SIGRTMIN
    // macOS has none.
    if (waiting_end < 0 || atomic_exchange(&records_real_time, 1)) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = record_if_postponed;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        struct sigaction previous;
        if (sigaction(number, NULL, &previous) != 0 || previous.sa_handler != SIG_DFL) continue;
        sigaction(number, &action, NULL);
    }
#endif
}

static void forget_real_time_signals(void) {
#ifdef SIGRTMIN
    // macOS has none.
    if (!atomic_exchange(&records_real_time, 0)) return;
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        struct sigaction current;
        if (sigaction(number, NULL, &current) == 0 && current.sa_handler == record_if_postponed) {
            signal(number, SIG_DFL);
        }
    }
#endif
}

/// Removes the handlers, if there are some.
static void remove_handlers(void) {
    if (waiting_end < 0) return;
    forget_real_time_signals();
    for (int index = 0; index < (int)recorded_signal_count; index++) {
        struct sigaction current;
        if (sigaction(recorded_signals[index], NULL, &current) == 0 &&
            (current.sa_handler == record || current.sa_handler == record_if_postponed)) {
            signal(recorded_signals[index], previous_handlers[index]);
        }
    }
    int sending = (int)wake_up_end;
    wake_up_end = -1;
    close(sending);
    close(waiting_end);
    waiting_end = -1;
    atomic_store(&first_time, 0);
}

void oidc_forget_interruptions(void) {
    remove_handlers();
    first_signal = 0;
    was_postponed = 0;
}

void oidc_postpone_interruptions(void) {
    record_real_time_signals();
    own_postponements++;
    atomic_fetch_add(&postponements, 1);
    // A signal that came just before waits too.
    if (first_signal != 0) was_postponed = 1;
}

void oidc_end_postponement(int is_left) {
    if (is_left && scopes > 0 && !is_left_to_scope) {
        is_left_to_scope = 1;
        return;
    }
    own_postponements--;
    atomic_fetch_sub(&postponements, 1);
}

void oidc_begin_postponement_scope(void) { scopes++; }

void oidc_end_postponement_scope(void) {
    if (--scopes > 0 || !is_left_to_scope) return;
    is_left_to_scope = 0;
    oidc_end_postponement(0);
}

int oidc_interruptions_are_postponed(void) { return own_postponements > 0; }

int oidc_interruption_was_postponed(void) { return was_postponed; }

void oidc_ignore_broken_pipes(void) {
    if (ignores_broken_pipes) return;
    struct sigaction previous;
    if (sigaction(SIGPIPE, NULL, &previous) != 0) return;
    previous_broken_pipe = previous.sa_handler;
    if (previous.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
    // Likewise, exceeding the file size limit becomes an error of `write` instead of the end of the process.
    if (sigaction(SIGXFSZ, NULL, &previous) == 0 && previous.sa_handler == SIG_DFL) {
        signal(SIGXFSZ, SIG_IGN);
        ignores_file_size = 1;
    }
    ignores_broken_pipes = 1;
}

void oidc_restore_broken_pipes(void) {
    if (!ignores_broken_pipes) return;
    signal(SIGPIPE, previous_broken_pipe);
    if (ignores_file_size) signal(SIGXFSZ, SIG_DFL);
    ignores_file_size = 0;
    ignores_broken_pipes = 0;
}

int oidc_file_size_was_default(void) { return ignores_file_size; }

int oidc_broken_pipes_were_default(void) {
    if (ignores_broken_pipes) return previous_broken_pipe == SIG_DFL;
    struct sigaction current;
    return sigaction(SIGPIPE, NULL, &current) == 0 && current.sa_handler == SIG_DFL;
}

static _Atomic(pid_t) receiver;
/// Whether the receiver may be in a session of its own, which gets none of our terminal's signals.
static _Atomic(int) receiver_may_be_elsewhere;
/// The signals that came while there was no receiver, a bit for each number.
static _Atomic(unsigned) kept_signals;
static const int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// Returns whether the terminal sent a signal.
static int is_from_terminal(int number, const siginfo_t *information) {
#ifdef __linux__
    (void)number;
    return information->si_code > 0;
#else
    // macOS sets no code, and names the terminal's program as the sender. In the foreground, the keys that send these
    // two signals are their usual source; a child that gets one twice may take it for impatience.
    (void)information;
    if (number != SIGINT && number != SIGQUIT) return 0;
    for (int descriptor = 0; descriptor < 3; descriptor++) {
        pid_t group = tcgetpgrp(descriptor);
        if (group >= 0) return group == getpgrp();
    }
    return 0;
#endif
}

/// Forwards a signal if another process sent it. The kernel sends the terminal's signals to the whole
/// foreground group, which includes the child, unless that is in another session.
static void pass_on(int number, siginfo_t *information, void *context) {
    (void)context;
    int saved = errno;
    pid_t child = receiver;
    if (child <= 0) {
        unsigned bit = 1u << number;
        atomic_fetch_or(&kept_signals, bit);
        // Another thread may have set the receiver meanwhile, and looked for kept signals before this one.
        child = receiver;
        if (child > 0 && (atomic_fetch_and(&kept_signals, ~bit) & bit)) kill(child, number);
    } else if (!is_from_terminal(number, information)) {
        kill(child, number);
    } else if (receiver_may_be_elsewhere && getsid(child) != getsid(0)) {
        pid_t group = getpgid(child);
        kill(group > 1 ? -group : child, number);
    }
    errno = saved;
}

void oidc_keep_signal(int number) { atomic_fetch_or(&kept_signals, 1u << number); }

void oidc_pass_signals_on(pid_t child, int may_be_elsewhere) {
    receiver_may_be_elsewhere = may_be_elsewhere;
    receiver = child;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigset_t ours;
    sigemptyset(&ours);
    for (size_t index = 0; index < sizeof passed_signals / sizeof passed_signals[0]; index++) {
        struct sigaction previous;
        sigaddset(&ours, passed_signals[index]);
        if (sigaction(passed_signals[index], NULL, &previous) != 0 || previous.sa_handler == SIG_IGN) continue;
        sigaction(passed_signals[index], &action, NULL);
    }
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    if (child <= 0) return;
    unsigned kept = atomic_exchange(&kept_signals, 0);
    for (size_t index = 0; index < sizeof passed_signals / sizeof passed_signals[0]; index++) {
        if (kept & (1u << passed_signals[index])) kill(child, passed_signals[index]);
    }
}

int oidc_is_ignored(int number) {
    struct sigaction current;
    return sigaction(number, NULL, &current) == 0 && current.sa_handler == SIG_IGN;
}

void oidc_stop_passing_signals_on(void) { receiver = 0; }
