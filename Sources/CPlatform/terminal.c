#include "CPlatform.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved_modes;
static volatile int taken_descriptor = -1;
static volatile sig_atomic_t catches_quit;
static struct sigaction previous_quit;

int oidc_terminal_width(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int oidc_terminal_height(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

int oidc_is_foreground(int descriptor) { return isatty(descriptor) && tcgetpgrp(descriptor) == getpgrp(); }

void oidc_release_lines(void) {
    int descriptor = taken_descriptor;
    if (descriptor < 0) return;
    taken_descriptor = -1;
    if (oidc_is_foreground(descriptor)) tcsetattr(descriptor, TCSANOW, &saved_modes);
    if (catches_quit) sigaction(SIGQUIT, &previous_quit, NULL);
    catches_quit = 0;
}

/// Ends the process, with the terminal as it was.
static void quit(int number) {
    oidc_release_lines();
    signal(number, SIG_DFL);
    raise(number);
}

int oidc_take_lines(int descriptor) {
    static int is_registered;
    if (!oidc_is_foreground(descriptor)) return ENOTTY;
    struct termios modes;
    if (tcgetattr(descriptor, &modes) != 0) return errno;
    // A shell that stopped this process and let it go on has set its own modes.
    const tcflag_t editing = ICANON | ECHO;
    if (taken_descriptor == descriptor && (modes.c_lflag & editing) == 0) return 0;
    taken_descriptor = -1;
    saved_modes = modes;
    taken_descriptor = descriptor;
    if (!is_registered && atexit(oidc_release_lines) == 0) is_registered = 1;
    modes.c_lflag &= ~editing;
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    if (tcsetattr(descriptor, TCSANOW, &modes) != 0) {
        taken_descriptor = -1;
        return errno;
    }
    if (catches_quit) return 0;
    // Swift's own handler of SIGQUIT, which prints a backtrace, is useless: dumps are forbidden.
    if (sigaction(SIGQUIT, NULL, &previous_quit) == 0 && previous_quit.sa_handler != SIG_IGN) {
        catches_quit = signal(SIGQUIT, quit) != SIG_ERR;
        // The parent process may have blocked it for its own threads, and the mask is inherited.
        sigset_t ours;
        sigemptyset(&ours);
        sigaddset(&ours, SIGQUIT);
        pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    }
    return 0;
}
