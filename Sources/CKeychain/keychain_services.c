// The other side is secret_service.c.
#ifdef __APPLE__
#include "CKeychain.h"

#include <Security/Security.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

// Generic passwords of Keychain Services: the service is "oidc", the account is the entry. Written from Apple's
// documentation; it has not been run.

// Nothing that is not deprecated keeps the keychains that are files from prompting, and a program without an entitlement
// has no other keychain.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

static pthread_mutex_t quiet = PTHREAD_MUTEX_INITIALIZER;

/// Disables prompts of this whole process, unless the call may prompt; `end_call` restores them.
static Boolean begin_call(int may_prompt) {
    Boolean previous = 1;
    if (may_prompt) return previous;
    pthread_mutex_lock(&quiet);
    SecKeychainGetUserInteractionAllowed(&previous);
    SecKeychainSetUserInteractionAllowed(0);
    return previous;
}

static OSStatus end_call(OSStatus status, int may_prompt, Boolean previous) {
    if (may_prompt) return status;
    SecKeychainSetUserInteractionAllowed(previous);
    pthread_mutex_unlock(&quiet);
    // A keychain that is unlocked, but asks before it gives this program the item.
    return status == errSecAuthFailed ? errSecInteractionNotAllowed : status;
}

// There is nothing to cancel: the system ends its prompts itself.
void *oidc_keychain_make_canceller(void) { return NULL; }
void oidc_keychain_cancel(void *canceller) { (void)canceller; }
void oidc_keychain_free_canceller(void *canceller) { (void)canceller; }

static CFStringRef text(const char *bytes) {
    return CFStringCreateWithCString(NULL, bytes, kCFStringEncodingUTF8);
}

static CFMutableDictionaryRef query_of(const char *entry, int may_prompt) {
    CFMutableDictionaryRef query =
        CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFStringRef account = text(entry);
    CFDictionarySetValue(query, kSecClass, kSecClassGenericPassword);
    CFDictionarySetValue(query, kSecAttrService, CFSTR("oidc"));
    if (account != NULL) {
        CFDictionarySetValue(query, kSecAttrAccount, account);
        CFRelease(account);
    }
    if (!may_prompt) CFDictionarySetValue(query, kSecUseAuthenticationUI, kSecUseAuthenticationUIFail);
    return query;
}

static int result_of(OSStatus status, char *problem, size_t size) {
    switch (status) {
    case errSecSuccess: return OIDC_KEYCHAIN_OK;
    case errSecItemNotFound: return OIDC_KEYCHAIN_ABSENT;
    case errSecInteractionNotAllowed: return OIDC_KEYCHAIN_LOCKED;
    case errSecAuthFailed:
    case errSecUserCanceled: return OIDC_KEYCHAIN_DISMISSED;
    default: snprintf(problem, size, "Keychain Services error %d", (int)status); return OIDC_KEYCHAIN_FAILED;
    }
}

int oidc_keychain_check(int may_prompt, void *canceller, char *problem, size_t size) {
    char secret[1];
    int result = oidc_keychain_get("probe", may_prompt, canceller, secret, sizeof secret, problem, size);
    return result == OIDC_KEYCHAIN_ABSENT ? OIDC_KEYCHAIN_OK : result;
}

int oidc_keychain_get(
    const char *entry, int may_prompt, void *canceller, char *secret, size_t secret_size, char *problem,
    size_t size) {
    (void)canceller;
    CFMutableDictionaryRef query = query_of(entry, may_prompt);
    CFDictionarySetValue(query, kSecReturnData, kCFBooleanTrue);
    CFTypeRef found = NULL;
    Boolean previous = begin_call(may_prompt);
    OSStatus status = end_call(SecItemCopyMatching(query, &found), may_prompt, previous);
    int result = result_of(status, problem, size);
    CFRelease(query);
    if (result != OIDC_KEYCHAIN_OK) return result;
    CFIndex length = CFDataGetLength((CFDataRef)found);
    if ((size_t)length + 1 > secret_size) {
        result = OIDC_KEYCHAIN_ABSENT;
    } else {
        memcpy(secret, CFDataGetBytePtr((CFDataRef)found), (size_t)length);
        secret[length] = 0;
    }
    CFRelease(found);
    return result;
}

int oidc_keychain_store(
    const char *entry, const char *session, const char *label, const char *secret, int may_prompt, void *canceller,
    char *problem, size_t size) {
    int result = oidc_keychain_erase(entry, may_prompt, canceller, problem, size);
    if (result != OIDC_KEYCHAIN_OK && result != OIDC_KEYCHAIN_ABSENT) return result;
    CFMutableDictionaryRef item = query_of(entry, may_prompt);
    CFStringRef name = text(label), comment = text(session);
    CFDataRef data = CFDataCreate(NULL, (const UInt8 *)secret, (CFIndex)strlen(secret));
    if (name != NULL) CFDictionarySetValue(item, kSecAttrLabel, name);
    if (comment != NULL) CFDictionarySetValue(item, kSecAttrComment, comment);
    CFDictionarySetValue(item, kSecValueData, data);
    Boolean previous = begin_call(may_prompt);
    result = result_of(end_call(SecItemAdd(item, NULL), may_prompt, previous), problem, size);
    if (name != NULL) CFRelease(name);
    if (comment != NULL) CFRelease(comment);
    CFRelease(data);
    CFRelease(item);
    return result;
}

int oidc_keychain_erase(const char *entry, int may_prompt, void *canceller, char *problem, size_t size) {
    (void)canceller;
    CFMutableDictionaryRef query = query_of(entry, may_prompt);
    Boolean previous = begin_call(may_prompt);
    int result = result_of(end_call(SecItemDelete(query), may_prompt, previous), problem, size);
    CFRelease(query);
    return result;
}
#endif
