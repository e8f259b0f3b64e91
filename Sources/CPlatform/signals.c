#include "CPlatform.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t first_signal;
static volatile sig_atomic_t signal_count;
static volatile sig_atomic_t wake_up_end = -1;
static int waiting_end = -1;

static const int recorded_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { recorded_signal_count = sizeof recorded_signals / sizeof recorded_signals[0] };
static void (*previous_handlers[recorded_signal_count])(int);

static void (*previous_broken_pipe)(int) = SIG_DFL;
static int ignores_broken_pipes;
static int ignores_file_size;

/// The third signal ends the process whatever it is doing.
static void record(int number) {
    int saved = errno;
    if (first_signal == 0) first_signal = number;
    if (++signal_count >= 3) {
        oidc_release_lines();
        signal(number, SIG_DFL);
        raise(number);
    }
    char byte = 0;
    if (wake_up_end >= 0 && write((int)wake_up_end, &byte, 1) < 0) errno = saved;
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
    action.sa_handler = record;
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < (int)recorded_signal_count; index++) {
        struct sigaction previous;
        if (sigaction(recorded_signals[index], NULL, &previous) != 0) continue;
        previous_handlers[index] = previous.sa_handler;
        if (recorded_signals[index] == SIGHUP && previous.sa_handler == SIG_IGN) continue;
        sigaction(recorded_signals[index], &action, NULL);
    }

    // Whoever started us may have blocked them for its own threads, and a mask is inherited.
    sigset_t ours;
    sigemptyset(&ours);
    for (int index = 0; index < (int)recorded_signal_count; index++) sigaddset(&ours, recorded_signals[index]);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    return 0;
}

int oidc_recorded_interruption(void) { return first_signal; }

int oidc_interruption_descriptor(void) { return waiting_end; }

void oidc_forget_interruptions(void) {
    if (waiting_end < 0) return;
    for (int index = 0; index < (int)recorded_signal_count; index++) {
        struct sigaction current;
        if (sigaction(recorded_signals[index], NULL, &current) == 0 && current.sa_handler == record) {
            signal(recorded_signals[index], previous_handlers[index]);
        }
    }
    int sending = (int)wake_up_end;
    wake_up_end = -1;
    close(sending);
    close(waiting_end);
    waiting_end = -1;
    first_signal = 0;
    signal_count = 0;
}

void oidc_ignore_broken_pipes(void) {
    if (ignores_broken_pipes) return;
    struct sigaction previous;
    if (sigaction(SIGPIPE, NULL, &previous) != 0) return;
    previous_broken_pipe = previous.sa_handler;
    if (previous.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
    // Likewise a limit on the size of files: it is an error of the write, not the end of the process.
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
