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
    if (taken_descriptor >= 0) return 0;
    if (!oidc_is_foreground(descriptor)) return ENOTTY;
    if (tcgetattr(descriptor, &saved_modes) != 0) return errno;
    if (!is_registered && atexit(oidc_release_lines) == 0) is_registered = 1;
    struct termios modes = saved_modes;
    modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    modes.c_cc[VMIN] = 1;
    modes.c_cc[VTIME] = 0;
    if (tcsetattr(descriptor, TCSANOW, &modes) != 0) return errno;
    taken_descriptor = descriptor;
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
