// man 4 termios
#pragma once
typedef unsigned long tcflag_t;
typedef unsigned char cc_t;
typedef unsigned long speed_t;
#define VMIN 16
#define VTIME 17
#define NCCS 20
#define ECHO 0x00000008
#define ICANON 0x00000100
#define TCSANOW 0
#define TCIFLUSH 1
struct termios {
    tcflag_t c_iflag;
    tcflag_t c_oflag;
    tcflag_t c_cflag;
    tcflag_t c_lflag;
    cc_t c_cc[NCCS];
    speed_t c_ispeed;
    speed_t c_ospeed;
};
int tcflush(int, int);
int tcgetattr(int, struct termios *);
int tcsetattr(int, int, const struct termios *);
