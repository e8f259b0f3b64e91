#ifndef CKEYCHAIN_H
#define CKEYCHAIN_H

#include <stddef.h>

#pragma clang assume_nonnull begin

// The system's keychain: the Secret Service through libsecret, which is loaded when it is first used, or Keychain
// Services on macOS.

enum {
    OIDC_KEYCHAIN_OK = 0,
    OIDC_KEYCHAIN_ABSENT = 1,
    /// The keychain is locked, and prompting was not allowed.
    OIDC_KEYCHAIN_LOCKED = 2,
    OIDC_KEYCHAIN_FAILED = 3,
    /// libsecret is not installed or cannot be loaded.
    OIDC_KEYCHAIN_NO_LIBRARY = 4,
    /// The user closed the prompt, or the call was canceled.
    OIDC_KEYCHAIN_DISMISSED = 5,
};

/// Makes an object that ends a call from another thread; NULL if the library is missing.
void *_Nullable oidc_keychain_make_canceller(void);
void oidc_keychain_cancel(void *canceller);
void oidc_keychain_free_canceller(void *canceller);

// Each returns one of the results above, and writes the reason of a failure to `problem`.

/// Checks that the default keychain can be written. With `may_prompt`, the system may ask the user to unlock it.
int oidc_keychain_check(int may_prompt, void *_Nullable canceller, char *problem, size_t size);

/// Reads the secret of an entry.
int oidc_keychain_get(
    const char *entry, int may_prompt, void *_Nullable canceller, char *secret, size_t secret_size, char *problem,
    size_t size);

/// Stores the secret of an entry in the default keychain, under a label that users see.
int oidc_keychain_store(
    const char *entry, const char *session, const char *label, const char *secret, int may_prompt,
    void *_Nullable canceller, char *problem, size_t size);

/// Removes an entry.
int oidc_keychain_erase(
    const char *entry, int may_prompt, void *_Nullable canceller, char *problem, size_t size);

#pragma clang assume_nonnull end

#endif
