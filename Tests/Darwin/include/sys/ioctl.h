// man 2 ioctl, man 4 tty: TIOCGWINSZ is _IOR('t', 104, struct winsize), FIONREAD is _IOR('f', 127, int).
#pragma once
struct winsize {
    unsigned short ws_row;
    unsigned short ws_col;
    unsigned short ws_xpixel;
    unsigned short ws_ypixel;
};
#define TIOCGWINSZ 0x40087468UL
#define FIONREAD 0x4004667fUL
int ioctl(int, unsigned long, ...);
