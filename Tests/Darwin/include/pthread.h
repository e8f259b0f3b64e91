// man 3 pthread_create, man 3 pthread_once. The nullability is that of <pthread.h>: Swift imports a thread as an
// optional pointer, and the argument of its function as one that is never nil.
#pragma once
#include <sys/types.h>
#pragma clang assume_nonnull begin
struct _opaque_pthread_t {
    long __sig;
    void *_Nullable __cleanup_stack;
    char __opaque[8176];
};
typedef struct _opaque_pthread_t *pthread_t;
typedef struct _opaque_pthread_attr_t {
    long __sig;
    char __opaque[56];
} pthread_attr_t;
typedef struct _opaque_pthread_once_t {
    long __sig;
    char __opaque[8];
} pthread_once_t;
typedef struct _opaque_pthread_mutex_t {
    long __sig;
    char __opaque[56];
} pthread_mutex_t;
#define PTHREAD_MUTEX_INITIALIZER {0x32AAABA7, {0}}
#define PTHREAD_ONCE_INIT {0x30B1BCBA, {0}}
int pthread_create(
    pthread_t _Nullable *restrict, const pthread_attr_t *_Nullable restrict, void *_Nullable (*)(void *),
    void *_Nullable restrict);
int pthread_detach(pthread_t);
int pthread_join(pthread_t, void *_Nullable *_Nullable);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);
int pthread_once(pthread_once_t *, void (*)(void));
#pragma clang assume_nonnull end
