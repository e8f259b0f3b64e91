#include "CStartup.h"

#include <stdlib.h>

/* What Swift's library names of libm, so that a start has one shared library less to map. The three that are
   called, for the sizes of its hash tables and for numbers with a fraction, are here; the others are passed on
   to libm, loaded at the first call. */
#if defined(OIDC_RELEASE) && defined(__GLIBC__)

#include <dlfcn.h>

static void *libm(const char *name) {
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    if (!function) abort();
    return function;
}

#define PASSED_ON(type, name, parameters, arguments) \
    type name parameters { \
        static type(*function) parameters; \
        if (!function) function = (type(*) parameters)libm(#name); \
        return function arguments; \
    }
#define OF_ONE(name) \
    PASSED_ON(double, name, (double x), (x)) \
    PASSED_ON(float, name##f, (float x), (x)) \
    PASSED_ON(long double, name##l, (long double x), (x))
#define OF_TWO(name) \
    PASSED_ON(double, name, (double x, double y), (x, y)) \
    PASSED_ON(float, name##f, (float x, float y), (x, y)) \
    PASSED_ON(long double, name##l, (long double x, long double y), (x, y))
#define OF_THREE(name) \
    PASSED_ON(double, name, (double x, double y, double z), (x, y, z)) \
    PASSED_ON(float, name##f, (float x, float y, float z), (x, y, z)) \
    PASSED_ON(long double, name##l, (long double x, long double y, long double z), (x, y, z))

/* Every double from here on is whole, as are the infinities; what is no number is less than nothing. */
static int is_whole(double x) { return !(x > -0x1p52 && x < 0x1p52); }

double trunc(double x) { return is_whole(x) ? x : __builtin_copysign((double)(long long)x, x); }

double ceil(double x) {
    double whole = trunc(x);
    return whole < x ? __builtin_copysign(whole + 1, x) : whole;
}

double floor(double x) {
    double whole = trunc(x);
    return whole > x ? whole - 1 : whole;
}

PASSED_ON(float, ceilf, (float x), (x))
PASSED_ON(long double, ceill, (long double x), (x))
PASSED_ON(float, floorf, (float x), (x))
PASSED_ON(long double, floorl, (long double x), (x))
PASSED_ON(float, truncf, (float x), (x))
PASSED_ON(long double, truncl, (long double x), (x))
OF_ONE(cos)
OF_ONE(exp)
OF_ONE(exp2)
OF_ONE(log)
OF_ONE(log10)
OF_ONE(log2)
OF_ONE(nearbyint)
OF_ONE(rint)
OF_ONE(round)
OF_ONE(sin)
OF_ONE(sqrt)
OF_TWO(fmod)
OF_TWO(remainder)
OF_THREE(fma)

#endif
