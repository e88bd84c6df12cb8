/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ini files: [section] and `key = value` lines; "#" and ";" begin comments, indented lines belong
 * to the key before them (and none of those is of use here).
 */
#include "providers/aws/aws_profile.h"

#include "base/memory.h"
#include "base/trust.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

static const char blanks[] = " \t\r";

static void wipe(struct text *text)
{
    if (text)
        explicit_bzero(text->chars, text->length);
    text_free(text);
}

void aws_profiles_clear(struct aws_profiles *files)
{
    wipe(files->credentials);
    wipe(files->config);
    mem_free(files->credentials_path);
    *files = (struct aws_profiles){ 0 };
}

void aws_profile_clear(struct aws_profile *profile)
{
    aws_keys_clear(&profile->keys);
    mem_free(profile->role);
    mem_free(profile->source);
    mem_free(profile->credential_source);
    mem_free(profile->token_file);
    mem_free(profile->session);
    mem_free(profile->external_id);
    *profile = (struct aws_profile){ 0 };
}

static char *path_of(const char *variable, const char *name)
{
    const char *said = getenv(variable);
    const char *home = getenv("HOME");

    return said && said[0] ? mem_copy_chars(said) : text_format("%s/.aws/%s", home ?: "", name);
}

static int read_one(const char *path, struct text **ret, struct error *err)
{
    struct error why = { 0 };

    *ret = trust_read(path, FILE_LIMIT, &why);
    if (*ret || why.kind == ERROR_NOT_FOUND)
        return 0;
    *err = why;
    return -1;
}

int aws_profiles_read(const char *credentials, struct aws_profiles *ret_files, struct error *err)
{
    owned(chars) char *config = path_of("AWS_CONFIG_FILE", "config");
    owned(aws_profiles) struct aws_profiles files = { 0 };

    files.credentials_path = credentials ? mem_copy_chars(credentials)
                                         : path_of("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    if (read_one(files.credentials_path, &files.credentials, err) < 0 ||
        read_one(config, &files.config, err) < 0)
        return -1;
    *ret_files = files;
    files = (struct aws_profiles){ 0 };
    return 0;
}

/* A piece of a line without blanks round it. */
struct piece {
    const char *chars;
    size_t length;
};

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

/* Whether the section is the profile's: "[profile NAME]" in the config file, which may write
   "[default]" for the default profile; "[NAME]" in the credentials file. */
static bool is_section(struct piece section, const char *name, bool is_config)
{
    static const char word[] = "profile";
    size_t length = strlen(word);

    if (is_config && section.length > length && strncmp(section.chars, word, length) == 0 &&
        strchr(blanks, section.chars[length]))
        return is_piece(trim(section.chars + length, section.length - length), name);
    return (!is_config || text_equal(name, "default")) && is_piece(section, name);
}

static void take_value(struct aws_profile *profile, struct piece name, struct piece value)
{
    const struct {
        const char *name;
        char **field;
    } fields[] = {
        { "aws_access_key_id", &profile->keys.id },
        { "aws_secret_access_key", &profile->keys.secret },
        { "aws_session_token", &profile->keys.token },
        { "role_arn", &profile->role },
        { "source_profile", &profile->source },
        { "credential_source", &profile->credential_source },
        { "web_identity_token_file", &profile->token_file },
        { "role_session_name", &profile->session },
        { "external_id", &profile->external_id },
    };

    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (is_piece(name, fields[i].name) && value.length > 0 && !*fields[i].field)
            *fields[i].field = text_format("%.*s", (int)value.length, value.chars);
}

/* Sets those members of the profile that are still unknown from the file.  True: the file has the
   profile. */
static bool read_profile(const struct text *file, const char *name, bool is_config,
                         struct aws_profile *profile)
{
    bool is_inside = false;
    bool is_found = false;

    for (const char *at = file ? file->chars : ""; *at;) {
        size_t length = strcspn(at, "\n");
        bool is_indented = at[0] == ' ' || at[0] == '\t';
        struct piece line = trim(at, length);
        const char *equals = memchr(line.chars, '=', line.length);
        const char *end = memchr(line.chars, ']', line.length);

        at += length + (at[length] == '\n');
        if (line.length == 0 || line.chars[0] == '#' || line.chars[0] == ';')
            continue;
        if (line.chars[0] == '[' && end) {
            is_inside = is_section(trim(line.chars + 1, (size_t)(end - line.chars - 1)), name,
                                   is_config);
            is_found = is_found || is_inside;
        } else if (is_inside && equals && !is_indented) {
            const char *stop = line.chars + line.length;

            take_value(profile, trim(line.chars, (size_t)(equals - line.chars)),
                       trim(equals + 1, (size_t)(stop - equals - 1)));
        }
    }
    return is_found;
}

int aws_profile_find(const struct aws_profiles *files, const char *name,
                     struct aws_profile *ret_profile, struct error *err)
{
    owned(aws_profile) struct aws_profile profile = { 0 };
    bool is_there = read_profile(files->credentials, name, false, &profile);

    if (!read_profile(files->config, name, true, &profile) && !is_there)
        return error_set(err, ERROR_DENIED, "no keys for AWS: %s %s %s", files->credentials_path,
                         files->credentials ? "has no profile" : "is not there for profile", name);
    *ret_profile = profile;
    profile = (struct aws_profile){ 0 };
    return 0;
}
