// The other side is keychain_services.c.
#ifndef __APPLE__
#include "CKeychain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The part of libsecret 0.18 and GLib 2 that is used. Prototypes and numbers are written out, so no development
// package is needed; both libraries keep them within their major version.

typedef struct {
    uint32_t domain;
    int code;
    char *message;
} glib_error;

typedef struct glib_list {
    void *data;
    struct glib_list *next;
    struct glib_list *previous;
} glib_list;

/// libsecret's `SecretSchema`.
typedef struct {
    const char *name;
    int flags;
    struct {
        const char *name;
        int type;
    } attributes[32];
    int reserved;
    void *reserved_pointers[7];
} secret_schema;

static const secret_schema schema = {
    .name = "io.github.oidc.Session",
    .attributes = {{"application", 0}, {"session", 0}, {"entry", 0}},
};

enum {
    SEARCH_ALL = 1 << 1,
    SEARCH_UNLOCK = 1 << 2,
    SEARCH_LOAD_SECRETS = 1 << 3,
    SERVICE_OPEN_SESSION = 1 << 1,
};

#define KEYCHAIN_SYMBOLS(X)                                                                                   \
    X(void *, secret_service_get_sync, (int flags, void *canceller, glib_error **error))                      \
    X(glib_list *, secret_service_search_sync,                                                                \
      (void *service, const secret_schema *schema, void *attributes, int flags, void *canceller,              \
       glib_error **error))                                                                                   \
    X(int, secret_service_unlock_sync,                                                                        \
      (void *service, glib_list *objects, void *canceller, glib_list **unlocked, glib_error **error))         \
    X(void *, secret_collection_for_alias_sync,                                                               \
      (void *service, const char *alias, int flags, void *canceller, glib_error **error))                     \
    X(int, secret_collection_get_locked, (void *collection))                                                  \
    X(int, secret_item_get_locked, (void *item))                                                              \
    X(void *, secret_item_get_secret, (void *item))                                                           \
    X(const char *, secret_value_get, (void *value, size_t *length))                                          \
    X(void, secret_value_unref, (void *value))                                                                \
    X(int, secret_password_storev_sync,                                                                       \
      (const secret_schema *schema, void *attributes, const char *collection, const char *label,              \
       const char *password, void *canceller, glib_error **error))                                            \
    X(int, secret_password_clearv_sync,                                                                       \
      (const secret_schema *schema, void *attributes, void *canceller, glib_error **error))                   \
    X(void *, g_hash_table_new, (void *hash, void *equal))                                                    \
    X(int, g_hash_table_insert, (void *table, const void *key, const void *value))                            \
    X(void, g_hash_table_unref, (void *table))                                                                \
    X(void, g_list_free, (glib_list *list))                                                                   \
    X(void, g_object_unref, (void *object))                                                                   \
    X(void, g_error_free, (glib_error *error))                                                                \
    X(void *, g_cancellable_new, (void))                                                                      \
    X(void, g_cancellable_cancel, (void *canceller))

static struct {
#define KEYCHAIN_FIELD(result, name, parameters) result(*name) parameters;
    KEYCHAIN_SYMBOLS(KEYCHAIN_FIELD)
#undef KEYCHAIN_FIELD
    void *g_str_hash;
    void *g_str_equal;
} lib;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_loaded;
static char load_problem[512];

static void load_once(void) {
    void *handle = dlopen("libsecret-1.so.0", RTLD_LAZY | RTLD_LOCAL);
    if (handle == NULL) {
        const char *reason = dlerror();
        snprintf(load_problem, sizeof load_problem, "%s", reason != NULL ? reason : "libsecret cannot be loaded");
        return;
    }
    // A handle's symbols include those of the libraries that it needs: GLib, GObject and GIO.
    const char *missing = NULL;
#define KEYCHAIN_FIND(result, name, parameters)                                                               \
    *(void **)&lib.name = dlsym(handle, #name);                                                               \
    if (*(void **)&lib.name == NULL) missing = #name;
    KEYCHAIN_SYMBOLS(KEYCHAIN_FIND)
#undef KEYCHAIN_FIND
    lib.g_str_hash = dlsym(handle, "g_str_hash");
    lib.g_str_equal = dlsym(handle, "g_str_equal");
    if (lib.g_str_hash == NULL || lib.g_str_equal == NULL) missing = "g_str_hash";
    is_loaded = missing == NULL;
    if (!is_loaded) snprintf(load_problem, sizeof load_problem, "libsecret is too old (no %s)", missing);
}

static bool load(char *problem, size_t size) {
    pthread_once(&once, load_once);
    if (!is_loaded) snprintf(problem, size, "%s", load_problem);
    return is_loaded;
}

void *oidc_keychain_make_canceller(void) {
    pthread_once(&once, load_once);
    return is_loaded ? lib.g_cancellable_new() : NULL;
}
void oidc_keychain_cancel(void *canceller) { lib.g_cancellable_cancel(canceller); }
void oidc_keychain_free_canceller(void *canceller) { lib.g_object_unref(canceller); }

/// Writes the reason of an error, frees it, and returns the result for it.
static int failed(glib_error *error, const char *otherwise, char *problem, size_t size) {
    if (error == NULL) {
        snprintf(problem, size, "%s", otherwise);
        return OIDC_KEYCHAIN_DISMISSED;
    }
    snprintf(problem, size, "%s", error->message);
    lib.g_error_free(error);
    return OIDC_KEYCHAIN_FAILED;
}

static void *attributes_of(const char *entry) {
    void *table = lib.g_hash_table_new(lib.g_str_hash, lib.g_str_equal);
    lib.g_hash_table_insert(table, "application", "oidc");
    lib.g_hash_table_insert(table, "entry", entry);
    return table;
}

/// Finds an entry. If it is locked, `item` is NULL and the result is OIDC_KEYCHAIN_LOCKED or, if the user did
/// not unlock it when prompted, OIDC_KEYCHAIN_DISMISSED.
static int find(
    const char *entry, bool may_prompt, void *canceller, void **item, char *problem, size_t size) {
    *item = NULL;
    if (!load(problem, size)) return OIDC_KEYCHAIN_NO_LIBRARY;
    if (may_prompt) {
        int result = oidc_keychain_check(1, canceller, problem, size);
        if (result != OIDC_KEYCHAIN_OK) return result;
    }
    glib_error *error = NULL;
    void *service = lib.secret_service_get_sync(SERVICE_OPEN_SESSION, canceller, &error);
    if (service == NULL) return failed(error, "the Secret Service does not answer", problem, size);
    void *attributes = attributes_of(entry);
    int flags = SEARCH_LOAD_SECRETS | (may_prompt ? SEARCH_UNLOCK : 0);
    glib_list *items = lib.secret_service_search_sync(service, &schema, attributes, flags, canceller, &error);
    lib.g_hash_table_unref(attributes);
    lib.g_object_unref(service);
    if (error != NULL) return failed(error, "", problem, size);
    if (items == NULL) {
        // GNOME Keyring does not find the items of a keyring that was never unlocked.
        bool is_locked = oidc_keychain_check(0, canceller, problem, size) == OIDC_KEYCHAIN_LOCKED;
        return is_locked ? OIDC_KEYCHAIN_LOCKED : OIDC_KEYCHAIN_ABSENT;
    }
    *item = items->data;
    for (glib_list *rest = items->next; rest != NULL; rest = rest->next) lib.g_object_unref(rest->data);
    lib.g_list_free(items);
    if (!lib.secret_item_get_locked(*item)) return OIDC_KEYCHAIN_OK;
    lib.g_object_unref(*item);
    *item = NULL;
    return may_prompt ? OIDC_KEYCHAIN_DISMISSED : OIDC_KEYCHAIN_LOCKED;
}

int oidc_keychain_check(int may_prompt, void *canceller, char *problem, size_t size) {
    if (!load(problem, size)) return OIDC_KEYCHAIN_NO_LIBRARY;
    glib_error *error = NULL;
    void *service = lib.secret_service_get_sync(SERVICE_OPEN_SESSION, canceller, &error);
    if (service == NULL) return failed(error, "the Secret Service does not answer", problem, size);
    void *collection = lib.secret_collection_for_alias_sync(service, "default", 0, canceller, &error);
    int result = OIDC_KEYCHAIN_OK;
    if (error != NULL) {
        result = failed(error, "", problem, size);
    } else if (collection == NULL) {
        // libsecret makes one when a secret is stored, which prompts for a password.
        snprintf(problem, size, "there is no default keychain");
        result = may_prompt ? OIDC_KEYCHAIN_OK : OIDC_KEYCHAIN_FAILED;
    } else if (lib.secret_collection_get_locked(collection)) {
        result = OIDC_KEYCHAIN_LOCKED;
        if (may_prompt) {
            glib_list objects = {collection, NULL, NULL};
            glib_list *unlocked = NULL;
            int count = lib.secret_service_unlock_sync(service, &objects, canceller, &unlocked, &error);
            if (error != NULL) {
                result = failed(error, "", problem, size);
            } else {
                result = count > 0 ? OIDC_KEYCHAIN_OK : OIDC_KEYCHAIN_DISMISSED;
            }
            for (glib_list *rest = unlocked; rest != NULL; rest = rest->next) lib.g_object_unref(rest->data);
            lib.g_list_free(unlocked);
        }
    }
    if (collection != NULL) lib.g_object_unref(collection);
    lib.g_object_unref(service);
    return result;
}

int oidc_keychain_get(
    const char *entry, int may_prompt, void *canceller, char *secret, size_t secret_size, char *problem,
    size_t size) {
    void *item;
    int result = find(entry, may_prompt, canceller, &item, problem, size);
    if (result != OIDC_KEYCHAIN_OK) return result;
    void *value = lib.secret_item_get_secret(item);
    size_t length = 0;
    const char *bytes = value != NULL ? lib.secret_value_get(value, &length) : NULL;
    if (bytes == NULL || length + 1 > secret_size) {
        result = OIDC_KEYCHAIN_ABSENT;
    } else {
        memcpy(secret, bytes, length);
        secret[length] = 0;
    }
    if (value != NULL) lib.secret_value_unref(value);
    lib.g_object_unref(item);
    return result;
}

int oidc_keychain_store(
    const char *entry, const char *session, const char *label, const char *secret, int may_prompt, void *canceller,
    char *problem, size_t size) {
    int result = oidc_keychain_check(may_prompt, canceller, problem, size);
    if (result != OIDC_KEYCHAIN_OK) return result;
    glib_error *error = NULL;
    void *attributes = attributes_of(entry);
    lib.g_hash_table_insert(attributes, "session", session);
    int is_stored =
        lib.secret_password_storev_sync(&schema, attributes, "default", label, secret, canceller, &error);
    lib.g_hash_table_unref(attributes);
    return is_stored ? OIDC_KEYCHAIN_OK : failed(error, "the prompt was closed", problem, size);
}

int oidc_keychain_erase(const char *entry, int may_prompt, void *canceller, char *problem, size_t size) {
    void *item;
    int result = find(entry, may_prompt, canceller, &item, problem, size);
    if (result != OIDC_KEYCHAIN_OK) return result;
    lib.g_object_unref(item);
    glib_error *error = NULL;
    void *attributes = attributes_of(entry);
    lib.secret_password_clearv_sync(&schema, attributes, canceller, &error);
    lib.g_hash_table_unref(attributes);
    return error == NULL ? OIDC_KEYCHAIN_OK : failed(error, "", problem, size);
}
#endif
