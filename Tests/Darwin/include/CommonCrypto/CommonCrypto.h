// man 3cc CCCrypt
#pragma once
#include <sys/types.h>
enum { kCCSuccess = 0 };
typedef int CCCryptorStatus;
enum { kCCEncrypt = 0, kCCDecrypt };
typedef unsigned CCOperation;
enum { kCCAlgorithmAES = 0 };
typedef unsigned CCAlgorithm;
enum { kCCOptionPKCS7Padding = 1 };
typedef unsigned CCOptions;
CCCryptorStatus CCCrypt(CCOperation, CCAlgorithm, CCOptions, const void *, size_t, const void *, const void *, size_t,
                        void *, size_t, size_t *);
