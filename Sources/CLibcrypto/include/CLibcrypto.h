#ifndef CLIBCRYPTO_H
#define CLIBCRYPTO_H

// macOS has CryptoKit and Security instead.
#if !__APPLE__

#include <stddef.h>

// The part of libcrypto 3 that is used, declared here so no header package is needed. A pointer without
// a nullability mark may be NULL.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"

typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;
typedef struct bignum_st BIGNUM;
typedef struct ECDSA_SIG_st ECDSA_SIG;
typedef struct engine_st ENGINE;
typedef struct evp_cipher_st EVP_CIPHER;
typedef struct evp_cipher_ctx_st EVP_CIPHER_CTX;
typedef struct evp_md_st EVP_MD;
typedef struct evp_md_ctx_st EVP_MD_CTX;
typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_pkey_ctx_st EVP_PKEY_CTX;
typedef struct ossl_lib_ctx_st OSSL_LIB_CTX;
typedef struct ossl_param_st OSSL_PARAM;
typedef struct ossl_param_bld_st OSSL_PARAM_BLD;
typedef int pem_password_cb(char *buffer, int size, int writing, void *context);

#define LIBCRYPTO_PUBLIC_KEY 0x86             // EVP_PKEY_PUBLIC_KEY
#define LIBCRYPTO_OAEP_PADDING 4              // RSA_PKCS1_OAEP_PADDING
#define LIBCRYPTO_PSS_PADDING 6               // RSA_PKCS1_PSS_PADDING
#define LIBCRYPTO_SALT_AS_DIGEST -1           // RSA_PSS_SALTLEN_DIGEST
#define LIBCRYPTO_GET_TAG 0x10                // EVP_CTRL_AEAD_GET_TAG
#define LIBCRYPTO_SET_TAG 0x11                // EVP_CTRL_AEAD_SET_TAG
#define LIBCRYPTO_WRAP_ALLOW 0x1              // EVP_CIPHER_CTX_FLAG_WRAP_ALLOW
#define LIBCRYPTO_VERSION_STRING 6            // OPENSSL_VERSION_STRING
#define LIBCRYPTO_EVP_UNSUPPORTED 0x308010CUL // ERR_R_UNSUPPORTED of ERR_LIB_EVP

/// The symbols that are looked up: result, name and parameters.
#define LIBCRYPTO_SYMBOLS(X) \
    X(void, ERR_clear_error, (void)) \
    X(unsigned long, ERR_get_error, (void)) \
    X(const EVP_MD *, EVP_sha1, (void)) \
    X(const EVP_MD *, EVP_sha256, (void)) \
    X(const EVP_MD *, EVP_sha384, (void)) \
    X(const EVP_MD *, EVP_sha512, (void)) \
    X(int, EVP_Digest, (const void *, size_t, unsigned char *, unsigned int *, const EVP_MD *, ENGINE *)) \
    X(unsigned char *, HMAC, (const EVP_MD *, const void *, int, const unsigned char *, size_t, \
                              unsigned char *, unsigned int *)) \
    X(EVP_MD_CTX *, EVP_MD_CTX_new, (void)) \
    X(void, EVP_MD_CTX_free, (EVP_MD_CTX *)) \
    X(int, EVP_DigestSignInit, (EVP_MD_CTX *, EVP_PKEY_CTX **, const EVP_MD *, ENGINE *, EVP_PKEY *)) \
    X(int, EVP_DigestSign, (EVP_MD_CTX *, unsigned char *, size_t *, const unsigned char *, size_t)) \
    X(int, EVP_DigestVerifyInit, (EVP_MD_CTX *, EVP_PKEY_CTX **, const EVP_MD *, ENGINE *, EVP_PKEY *)) \
    X(int, EVP_DigestVerify, (EVP_MD_CTX *, const unsigned char *, size_t, const unsigned char *, size_t)) \
    X(int, EVP_PKEY_CTX_set_rsa_padding, (EVP_PKEY_CTX *, int)) \
    X(int, EVP_PKEY_CTX_set_rsa_pss_saltlen, (EVP_PKEY_CTX *, int)) \
    X(int, EVP_PKEY_CTX_set_rsa_mgf1_md, (EVP_PKEY_CTX *, const EVP_MD *)) \
    X(int, EVP_PKEY_CTX_set_rsa_oaep_md, (EVP_PKEY_CTX *, const EVP_MD *)) \
    X(EVP_PKEY_CTX *, EVP_PKEY_CTX_new_from_pkey, (OSSL_LIB_CTX *, EVP_PKEY *, const char *)) \
    X(int, EVP_PKEY_encrypt_init, (EVP_PKEY_CTX *)) \
    X(int, EVP_PKEY_encrypt, (EVP_PKEY_CTX *, unsigned char *, size_t *, const unsigned char *, size_t)) \
    X(int, EVP_PKEY_decrypt_init, (EVP_PKEY_CTX *)) \
    X(int, EVP_PKEY_decrypt, (EVP_PKEY_CTX *, unsigned char *, size_t *, const unsigned char *, size_t)) \
    X(int, EVP_PKEY_derive_init, (EVP_PKEY_CTX *)) \
    X(int, EVP_PKEY_derive_set_peer, (EVP_PKEY_CTX *, EVP_PKEY *)) \
    X(int, EVP_PKEY_derive, (EVP_PKEY_CTX *, unsigned char *, size_t *)) \
    X(EVP_PKEY_CTX *, EVP_PKEY_CTX_new_from_name, (OSSL_LIB_CTX *, const char *, const char *)) \
    X(void, EVP_PKEY_CTX_free, (EVP_PKEY_CTX *)) \
    X(int, EVP_PKEY_fromdata_init, (EVP_PKEY_CTX *)) \
    X(int, EVP_PKEY_fromdata, (EVP_PKEY_CTX *, EVP_PKEY **, int, OSSL_PARAM *)) \
    X(int, EVP_PKEY_keygen_init, (EVP_PKEY_CTX *)) \
    X(int, EVP_PKEY_CTX_set_rsa_keygen_bits, (EVP_PKEY_CTX *, int)) \
    X(int, EVP_PKEY_CTX_set_group_name, (EVP_PKEY_CTX *, const char *)) \
    X(int, EVP_PKEY_generate, (EVP_PKEY_CTX *, EVP_PKEY **)) \
    X(EVP_PKEY *, EVP_PKEY_new_raw_public_key_ex, (OSSL_LIB_CTX *, const char *, const char *, \
                                                   const unsigned char *, size_t)) \
    X(int, EVP_PKEY_get_raw_public_key, (const EVP_PKEY *, unsigned char *, size_t *)) \
    X(int, EVP_PKEY_get_bn_param, (const EVP_PKEY *, const char *, BIGNUM **)) \
    X(int, EVP_PKEY_get_utf8_string_param, (const EVP_PKEY *, const char *, char *, size_t, size_t *)) \
    X(int, EVP_PKEY_is_a, (const EVP_PKEY *, const char *)) \
    X(const char *, EVP_PKEY_get0_type_name, (const EVP_PKEY *)) \
    X(int, EVP_PKEY_get_size, (const EVP_PKEY *)) \
    X(void, EVP_PKEY_free, (EVP_PKEY *)) \
    X(OSSL_PARAM_BLD *, OSSL_PARAM_BLD_new, (void)) \
    X(int, OSSL_PARAM_BLD_push_BN, (OSSL_PARAM_BLD *, const char *, const BIGNUM *)) \
    X(int, OSSL_PARAM_BLD_push_utf8_string, (OSSL_PARAM_BLD *, const char *, const char *, size_t)) \
    X(int, OSSL_PARAM_BLD_push_octet_string, (OSSL_PARAM_BLD *, const char *, const void *, size_t)) \
    X(OSSL_PARAM *, OSSL_PARAM_BLD_to_param, (OSSL_PARAM_BLD *)) \
    X(void, OSSL_PARAM_BLD_free, (OSSL_PARAM_BLD *)) \
    X(void, OSSL_PARAM_free, (OSSL_PARAM *)) \
    X(BIGNUM *, BN_bin2bn, (const unsigned char *, int, BIGNUM *)) \
    X(int, BN_bn2binpad, (const BIGNUM *, unsigned char *, int)) \
    X(int, BN_num_bits, (const BIGNUM *)) \
    X(int, BN_is_zero, (const BIGNUM *)) \
    X(int, BN_cmp, (const BIGNUM *, const BIGNUM *)) \
    X(void, BN_free, (BIGNUM *)) \
    X(ECDSA_SIG *, ECDSA_SIG_new, (void)) \
    X(void, ECDSA_SIG_free, (ECDSA_SIG *)) \
    X(int, ECDSA_SIG_set0, (ECDSA_SIG *, BIGNUM *, BIGNUM *)) \
    X(const BIGNUM *, ECDSA_SIG_get0_r, (const ECDSA_SIG *)) \
    X(const BIGNUM *, ECDSA_SIG_get0_s, (const ECDSA_SIG *)) \
    X(int, i2d_ECDSA_SIG, (const ECDSA_SIG *, unsigned char **)) \
    X(ECDSA_SIG *, d2i_ECDSA_SIG, (ECDSA_SIG **, const unsigned char **, long)) \
    X(const BIO_METHOD *, BIO_s_mem, (void)) \
    X(BIO *, BIO_new, (const BIO_METHOD *)) \
    X(BIO *, BIO_new_mem_buf, (const void *, int)) \
    X(size_t, BIO_ctrl_pending, (BIO *)) \
    X(int, BIO_read, (BIO *, void *, int)) \
    X(int, BIO_free, (BIO *)) \
    X(EVP_PKEY *, PEM_read_bio_PrivateKey, (BIO *, EVP_PKEY **, pem_password_cb *, void *)) \
    X(int, PEM_write_bio_PKCS8PrivateKey, (BIO *, const EVP_PKEY *, const EVP_CIPHER *, const char *, int, \
                                           pem_password_cb *, void *)) \
    X(const EVP_CIPHER *, EVP_aes_128_gcm, (void)) \
    X(const EVP_CIPHER *, EVP_aes_256_gcm, (void)) \
    X(const EVP_CIPHER *, EVP_aes_128_cbc, (void)) \
    X(const EVP_CIPHER *, EVP_aes_256_cbc, (void)) \
    X(const EVP_CIPHER *, EVP_aes_128_wrap, (void)) \
    X(const EVP_CIPHER *, EVP_aes_256_wrap, (void)) \
    X(EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void)) \
    X(void, EVP_CIPHER_CTX_free, (EVP_CIPHER_CTX *)) \
    X(int, EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX *, int, int, void *)) \
    X(void, EVP_CIPHER_CTX_set_flags, (EVP_CIPHER_CTX *, int)) \
    X(int, EVP_CipherInit_ex, (EVP_CIPHER_CTX *, const EVP_CIPHER *, ENGINE *, const unsigned char *, \
                               const unsigned char *, int)) \
    X(int, EVP_CipherUpdate, (EVP_CIPHER_CTX *, unsigned char *, int *, const unsigned char *, int)) \
    X(int, EVP_CipherFinal_ex, (EVP_CIPHER_CTX *, unsigned char *, int *)) \
    X(const char *, OpenSSL_version, (int))

#define LIBCRYPTO_MEMBER(result, name, parameters) result(*_Nonnull name) parameters;
typedef struct {
    LIBCRYPTO_SYMBOLS(LIBCRYPTO_MEMBER)
} Libcrypto;
#undef LIBCRYPTO_MEMBER

/// Loads libcrypto.so.3 at the first call and returns its functions, or NULL with the reason in `failure`.
const Libcrypto *_Nullable libcrypto_load(const char *_Nullable *_Nonnull failure);

/// Returns whether `libcrypto_load` failed because this process or machine could not open more files.
int libcrypto_lacked_descriptors(void);

/// Fills `library` from the shared object `name`. Returns 0, with the reason in `failure`, if that fails.
int libcrypto_open(const char *_Nonnull name, Libcrypto *_Nonnull library, char *_Nonnull failure, size_t size);

#pragma clang diagnostic pop

#endif
#endif
