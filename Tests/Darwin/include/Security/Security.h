// developer.apple.com/documentation/security: Keychain items, and Security Framework Result Codes.
#pragma once
#include <CoreFoundation/CoreFoundation.h>
enum {
    errSecSuccess = 0,
    errSecUserCanceled = -128,
    errSecAuthFailed = -25293,
    errSecItemNotFound = -25300,
    errSecInteractionNotAllowed = -25308,
};
extern const CFStringRef kSecAttrAccount;
extern const CFStringRef kSecAttrComment;
extern const CFStringRef kSecAttrLabel;
extern const CFStringRef kSecAttrService;
extern const CFStringRef kSecClass;
extern const CFStringRef kSecClassGenericPassword;
extern const CFStringRef kSecReturnData;
extern const CFStringRef kSecUseAuthenticationUI __attribute__((deprecated));
extern const CFStringRef kSecUseAuthenticationUIFail __attribute__((deprecated));
extern const CFStringRef kSecValueData;
OSStatus SecItemAdd(CFDictionaryRef, CFTypeRef *);
OSStatus SecItemCopyMatching(CFDictionaryRef, CFTypeRef *);
OSStatus SecItemDelete(CFDictionaryRef);
OSStatus SecKeychainGetUserInteractionAllowed(Boolean *) __attribute__((deprecated));
OSStatus SecKeychainSetUserInteractionAllowed(Boolean) __attribute__((deprecated));
