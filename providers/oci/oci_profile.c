/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines "key=value" under "[SECTION]"; "#" begins a comment.  Texts are slices of the file.
 */
#include "providers/oci/oci_profile.h"

#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/trust.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 256 * 1024, KEY_LIMIT = 64 * 1024 };

static const char DEFAULT[] = "DEFAULT";
static const char blanks[] = " \t\r\n";

enum key {
    KEY_USER,
    KEY_FINGERPRINT,
    KEY_TENANCY,
    KEY_REGION,
    KEY_FILE,
    KEY_PASS,
    KEY_TOKEN,
    KEYS
};

static const char *const names[KEYS] = {
    [KEY_USER] = "user",
    [KEY_FINGERPRINT] = "fingerprint",
    [KEY_TENANCY] = "tenancy",
    [KEY_REGION] = "region",
    [KEY_FILE] = "key_file",
    [KEY_PASS] = "pass_phrase",
    [KEY_TOKEN] = "security_token_file",
};

/* A part of the file without blanks round it; no characters: it is not set. */
struct piece {
    const char *chars;
    size_t length;
};

struct section {
    struct piece values[KEYS];
    bool is_there;
};

static void wipe(struct text *text)
{
    if (text)
        explicit_bzero(text->chars, text->length);
    text_free(text);
}

void oci_profile_clear(struct oci_profile *profile)
{
    secret_free(steal(&profile->key_id));
    secret_free(steal(&profile->key_pem));
    secret_free(steal(&profile->region));
}

static struct piece trim(const char *chars, size_t length)
{
    while (length > 0 && strchr(blanks, chars[0])) {
        chars++;
        length--;
    }
    while (length > 0 && strchr(blanks, chars[length - 1]))
        length--;
    return (struct piece){ chars, length };
}

static bool is_piece(struct piece piece, const char *chars)
{
    return strlen(chars) == piece.length && strncmp(piece.chars, chars, piece.length) == 0;
}

static void take_line(struct piece line, struct section *section)
{
    const char *sign = memchr(line.chars, '=', line.length);
    struct piece key;

    if (!sign)
        return;
    key = trim(line.chars, (size_t)(sign - line.chars));
    for (size_t i = 0; i < KEYS; i++)
        if (is_piece(key, names[i]))
            section->values[i] = trim(sign + 1, line.length - (size_t)(sign + 1 - line.chars));
}

/* The section of that name; lines of others are left out. */
static void read_section(const char *file, const char *name, struct section *section)
{
    bool is_inside = false;

    for (const char *at = file; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        struct piece line = trim(at, strcspn(at, "\n"));

        if (line.length == 0 || line.chars[0] == '#')
            continue;
        if (line.chars[0] == '[' && line.chars[line.length - 1] == ']') {
            is_inside = is_piece(trim(line.chars + 1, line.length - 2), name);
            section->is_there |= is_inside;
        } else if (is_inside) {
            take_line(line, section);
        }
    }
}

static char *text_of(const struct section *section, enum key key)
{
    struct piece piece = section->values[key];

    return piece.length > 0 ? text_format("%.*s", (int)piece.length, piece.chars) : NULL;
}

static int need(const struct section *section, enum key key, char **ret, struct error *err)
{
    *ret = text_of(section, key);
    return *ret ? 0 : error_set(err, ERROR_INVALID, "has no %s", names[key]);
}

/* "~/x" is below the home; other paths must be absolute, because the service has no folder. */
static char *expand(const char *path, struct error *err)
{
    const char *home = getenv("HOME");

    if (path[0] == '~' && path[1] == '/' && home)
        return text_format("%s%s", home, path + 1);
    if (path[0] == '/')
        return mem_copy_chars(path);
    error_set(err, ERROR_INVALID, "%s: expected an absolute path, or one that begins with ~/",
              path);
    return NULL;
}

/* The file that the section names under the key. */
static struct text *read_named(const struct section *section, enum key key, struct error *err)
{
    owned(chars) char *said = NULL;
    owned(chars) char *path = NULL;

    if (need(section, key, &said, err) < 0)
        return NULL;
    path = expand(said, err);
    return path ? trust_read(path, KEY_LIMIT, err) : NULL;
}

static int read_key(const struct section *section, struct oci_profile *profile, struct error *err)
{
    struct text *key;

    if (section->values[KEY_PASS].length > 0)
        return error_set(err, ERROR_INVALID, "pass_phrase: keys with a passphrase are not known");
    key = read_named(section, KEY_FILE, err);
    if (!key)
        return error_context(err, "%s", names[KEY_FILE]);
    profile->key_pem = mem_copy_chars(key->chars);
    wipe(key);
    return 0;
}

/* Of a session that `oci session authenticate` began: the token is the identity. */
static int read_session(const struct section *section, struct oci_profile *profile,
                        struct error *err)
{
    struct text *token = read_named(section, KEY_TOKEN, err);
    struct piece piece;

    if (!token)
        return error_context(err, "%s", names[KEY_TOKEN]);
    piece = trim(token->chars, token->length);
    profile->key_id = text_format("ST$%.*s", (int)piece.length, piece.chars);
    wipe(token);
    return 0;
}

static int read_user(const struct section *section, struct oci_profile *profile, struct error *err)
{
    owned(chars) char *tenancy = NULL;
    owned(chars) char *user = NULL;
    owned(chars) char *fingerprint = NULL;

    if (need(section, KEY_TENANCY, &tenancy, err) < 0 || need(section, KEY_USER, &user, err) < 0 ||
        need(section, KEY_FINGERPRINT, &fingerprint, err) < 0)
        return -1;
    profile->key_id = text_format("%s/%s/%s", tenancy, user, fingerprint);
    return 0;
}

static int read_profile(const char *file, const char *name, struct oci_profile *profile,
                        struct error *err)
{
    struct section section = { 0 };

    read_section(file, DEFAULT, &section);
    section.is_there = false;
    read_section(file, name, &section);
    if (!section.is_there)
        return error_set(err, ERROR_DENIED, "there is no such profile");
    if (section.values[KEY_TOKEN].length > 0 ? read_session(&section, profile, err) < 0
                                             : read_user(&section, profile, err) < 0)
        return -1;
    if (strpbrk(profile->key_id, "\"\r\n"))
        return error_set(err, ERROR_INVALID, "a quote is in tenancy, user or fingerprint");
    profile->region = text_of(&section, KEY_REGION);
    return read_key(&section, profile, err);
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

static char *path_of(const struct oci_account *account)
{
    const char *said = account->credentials ?: environment("OCI_CONFIG_FILE");

    return said ? mem_copy_chars(said) : text_format("%s/.oci/config", environment("HOME") ?: "");
}

int oci_profile_read(const struct oci_account *account, struct oci_profile *ret_profile,
                     struct error *err)
{
    const char *name = account->profile ?: environment("OCI_CLI_PROFILE") ?: DEFAULT;
    owned(chars) char *path = path_of(account);
    struct text *file = trust_read(path, FILE_LIMIT, err);
    owned(oci_profile) struct oci_profile profile = { 0 };
    bool is_read = file != NULL;
    int result = -1;

    if (is_read)
        result = read_profile(file->chars, name, &profile, err);
    wipe(file);
    /* A file that is not there says nothing about the machine that was asked for. */
    if (result < 0 && err && err->kind == ERROR_NOT_FOUND)
        err->kind = ERROR_DENIED;
    if (result < 0)
        return is_read ? error_context(err, "%s: profile %s", path, name) : -1;
    *ret_profile = profile;
    profile = (struct oci_profile){ 0 };
    return 0;
}
