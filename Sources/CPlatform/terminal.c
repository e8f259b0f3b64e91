#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved_modes;
// A handler on any thread that sees the descriptor must see the modes, too.
static atomic_int taken_descriptor = -1;

int oidc_terminal_width(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int oidc_terminal_height(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

int oidc_has_terminal(void) {
    int descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return errno != ENXIO;
    close(descriptor);
    return 1;
}

void oidc_ignore_stops(void) { signal(SIGTSTP, SIG_IGN); }

int oidc_is_foreground(int descriptor) { return isatty(descriptor) && tcgetpgrp(descriptor) == getpgrp(); }

void oidc_release_lines(void) {
    int descriptor = atomic_exchange(&taken_descriptor, -1);
    if (descriptor >= 0 && oidc_is_foreground(descriptor)) tcsetattr(descriptor, TCSANOW, &saved_modes);
}

int oidc_take_lines(int descriptor) {
    static int is_registered;
    if (!oidc_is_foreground(descriptor)) return ENOTTY;
    struct termios modes;
    if (tcgetattr(descriptor, &modes) != 0) return errno;
    // A shell that stopped and continued this process has set its own modes.
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
    return 0;
}
