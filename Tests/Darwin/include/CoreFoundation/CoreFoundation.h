// developer.apple.com/documentation/corefoundation: CFString, CFData, CFDictionary, CFMutableDictionary, CFBoolean.
#pragma once
#include <stdint.h>
typedef const void *CFTypeRef;
typedef long CFIndex;
typedef uint8_t UInt8;
typedef int32_t SInt32;
typedef SInt32 OSStatus;
typedef unsigned char Boolean;
typedef uint32_t CFStringEncoding;
typedef const struct __CFAllocator *CFAllocatorRef;
typedef const struct __CFBoolean *CFBooleanRef;
typedef const struct __CFData *CFDataRef;
typedef const struct __CFDictionary *CFDictionaryRef;
typedef struct __CFDictionary *CFMutableDictionaryRef;
typedef const struct __CFString *CFStringRef;
typedef struct CFDictionaryKeyCallBacks CFDictionaryKeyCallBacks;
typedef struct CFDictionaryValueCallBacks CFDictionaryValueCallBacks;
enum { kCFStringEncodingUTF8 = 0x08000100 };
extern const CFBooleanRef kCFBooleanTrue;
extern const CFDictionaryKeyCallBacks kCFTypeDictionaryKeyCallBacks;
extern const CFDictionaryValueCallBacks kCFTypeDictionaryValueCallBacks;
#define CFSTR(text) ((CFStringRef)__builtin___CFStringMakeConstantString("" text ""))
CFDataRef CFDataCreate(CFAllocatorRef, const UInt8 *, CFIndex);
const UInt8 *CFDataGetBytePtr(CFDataRef);
CFIndex CFDataGetLength(CFDataRef);
CFMutableDictionaryRef CFDictionaryCreateMutable(
    CFAllocatorRef, CFIndex, const CFDictionaryKeyCallBacks *, const CFDictionaryValueCallBacks *);
void CFDictionarySetValue(CFMutableDictionaryRef, const void *, const void *);
void CFRelease(CFTypeRef);
CFStringRef CFStringCreateWithCString(CFAllocatorRef, const char *, CFStringEncoding);
