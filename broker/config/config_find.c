/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where sluice.yaml is: a file that was named comes before one that is near, and that before one
 * that is installed.  Outside a git checkout only the current folder is near: above it stand other
 * people's files.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKED_LENGTH_MAX = 400 };

/* Removes the last name; false when only the root is left. */
static bool go_up(char *folder)
{
    char *slash = strrchr(folder, '/');

    if (!slash || slash[1] == '\0')
        return false;
    slash[slash == folder ? 1 : 0] = '\0';
    return true;
}

static bool is_in_checkout(const char *folder)
{
    owned(chars) char *above = mem_copy_chars(folder);

    do {
        owned(chars) char *mark = text_format("%s/.git", above);

        if (file_exists(mark))
            return true;
    } while (go_up(above));
    return false;
}

/* The path when a file is there; otherwise NULL, and the path is added to the list for the
   error. */
static char *candidate(char *path, struct text *looked)
{
    if (file_exists(path))
        return path;
    text_add(looked, "%s%s", looked->length ? ", " : "", path);
    mem_free(path);
    return NULL;
}

/* sluice.yaml in the current folder, or in one above it inside the same checkout. */
static char *find_near(struct text *looked)
{
    char folder[PATH_MAX];

    if (!getcwd(folder, sizeof folder))
        return NULL;
    bool may_go_up = is_in_checkout(folder);
    for (;;) {
        owned(chars) char *mark = text_format("%s/.git", folder);
        const char *slash = text_equal(folder, "/") ? "" : "/";
        char *path = candidate(text_format("%s%ssluice.yaml", folder, slash), looked);

        if (path)
            return path;
        if (!may_go_up || file_exists(mark) || !go_up(folder))
            return NULL;
    }
}

static char *find_installed(struct text *looked)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;

    if (xdg && xdg[0] == '/')
        path = candidate(text_format("%s/sluice/config.yaml", xdg), looked);
    else if (home && home[0] == '/')
        path = candidate(text_format("%s/.config/sluice/config.yaml", home), looked);
    return path ? path : candidate(mem_copy_chars("/etc/sluice/config.yaml"), looked);
}

/* A file that was asked for by name is that or nothing. */
static char *find_said(const char *path, const char *by, struct error *err)
{
    if (file_exists(path))
        return mem_copy_chars(path);
    error_set(err, ERROR_NOT_FOUND, "there is no file %s (%s)", path, by);
    return NULL;
}

char *config_find(const char *option, struct error *err)
{
    const char *environment = getenv("SLUICE_CONFIG");

    if (option)
        return find_said(option, "--config", err);
    if (environment && environment[0])
        return find_said(environment, "$SLUICE_CONFIG", err);

    owned(text) struct text *looked = text_new(LOOKED_LENGTH_MAX);
    char *path = find_near(looked);

    if (!path)
        path = find_installed(looked);
    if (!path)
        error_set(err, ERROR_NOT_FOUND, "no sluice.yaml; looked at %s%s", looked->chars,
                  looked->is_cut ? "..." : "");
    return path;
}

struct config *config_remote_only(void)
{
    return mem_new(sizeof(struct config));
}
