/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The environment, then the ini file: [profile] sections with `key = value` lines, "#" and ";"
 * begin comments.
 */
#include "providers/aws_credentials.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CREDENTIALS_LIMIT = 1 << 20 };

static const char blanks[] = " \t\r";

/* $name, when it has something in it. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

static bool keys_of_environment(struct aws_keys *keys)
{
    const char *id = environment("AWS_ACCESS_KEY_ID");
    const char *secret = environment("AWS_SECRET_ACCESS_KEY");

    if (!id || !secret)
        return false;
    keys->id = mem_copy_chars(id);
    keys->secret = mem_copy_chars(secret);
    keys->token = mem_copy_chars(environment("AWS_SESSION_TOKEN"));
    return true;
}

static char *path_of_file(void)
{
    const char *said = environment("AWS_SHARED_CREDENTIALS_FILE");
    const char *home = environment("HOME");

    return said ? mem_copy_chars(said) : text_format("%s/.aws/credentials", home ?: "");
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *chars)
{
    size_t length;

    chars += strspn(chars, blanks);
    length = strlen(chars);
    while (length > 0 && strchr(blanks, chars[length - 1]))
        chars[--length] = '\0';
    return chars;
}

static void take_value(struct aws_keys *keys, const char *name, const char *value)
{
    char **field = text_equal(name, "aws_access_key_id")       ? &keys->id
                   : text_equal(name, "aws_secret_access_key") ? &keys->secret
                   : text_equal(name, "aws_session_token")     ? &keys->token
                                                               : NULL;

    if (!field || value[0] == '\0')
        return;
    if (*field)
        explicit_bzero(*field, strlen(*field));
    mem_free(*field);
    *field = mem_copy_chars(value);
}

/* Whether the profile is in the file at all. */
static bool read_profile(char *chars, const char *profile, struct aws_keys *keys)
{
    bool is_inside = false;
    bool is_found = false;

    while (*chars) {
        size_t length = strcspn(chars, "\n");
        char *next = chars + length + (chars[length] == '\n');

        chars[length] = '\0';

        char *line = trim(chars);
        char *end = strchr(line, ']');
        char *equals = strchr(line, '=');

        if (line[0] == '[' && end) {
            *end = '\0';
            is_inside = text_equal(trim(line + 1), profile);
            is_found = is_found || is_inside;
        } else if (is_inside && line[0] != '#' && line[0] != ';' && equals) {
            *equals = '\0';
            take_value(keys, trim(line), trim(equals + 1));
        }
        chars = next;
    }
    return is_found;
}

static int keys_of_file(const char *path, const char *profile, struct aws_keys *keys,
                        struct error *err)
{
    struct error why = { 0 };
    owned(text) struct text *bytes = file_read(path, CREDENTIALS_LIMIT, &why);
    bool is_found;

    if (!bytes)
        return error_set(err, ERROR_DENIED, "no keys for AWS: not in the environment, and %s",
                         why.text);
    is_found = read_profile(bytes->chars, profile, keys);
    explicit_bzero(bytes->chars, bytes->length);
    if (is_found && keys->id && keys->secret)
        return 0;
    return error_set(
        err, ERROR_DENIED, "no keys for AWS: %s has no %s%s", path,
        is_found ? "aws_access_key_id and aws_secret_access_key in profile " : "profile ", profile);
}

int aws_keys_read(const struct aws_account *account, struct aws_keys *ret_keys, struct error *err)
{
    owned(chars) char *path = account->credentials ? mem_copy_chars(account->credentials)
                                                   : path_of_file();
    const char *profile = account->profile ?: environment("AWS_PROFILE");
    owned(aws_keys) struct aws_keys keys = { 0 };

    if ((account->credentials || account->profile || !keys_of_environment(&keys)) &&
        keys_of_file(path, profile ?: "default", &keys, err) < 0)
        return -1;
    *ret_keys = keys;
    keys = (struct aws_keys){ 0 };
    return 0;
}
