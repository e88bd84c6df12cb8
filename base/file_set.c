/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The next write of the same set writes all of it: what a crash left is replaced or removed.
 */
#include "base/file_set.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char *beside(const char *path)
{
    return text_format("%s.new", path);
}

int file_set_add(struct file_set *set, const char *path, const void *bytes, size_t size,
                 struct error *err)
{
    owned(chars) char *temporary = beside(path);

    if (file_write(temporary, bytes, size, 0666, err) < 0)
        return -1;
    *array_add(&set->paths) = mem_copy_chars(path);
    return 0;
}

static int fail(const char *path, const char *what, struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* Without this a rename may be lost at a power failure. */
static int sync_folder_of(const char *path, struct error *err)
{
    owned(chars) char *folder = file_beside(path, ".");
    owned(fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 || fsync(fd) < 0 ? fail(folder, "sync", err) : 0;
}

int file_set_place(struct file_set *set, struct error *err)
{
    size_t placed = 0;
    int result = 0;

    for (; placed < set->paths.count && result == 0; placed++) {
        owned(chars) char *temporary = beside(set->paths.items[placed]);

        if (rename(temporary, set->paths.items[placed]) < 0)
            result = fail(set->paths.items[placed], "replace", err);
    }
    for (size_t i = 0; i < set->paths.count && result == 0; i++)
        result = sync_folder_of(set->paths.items[i], err);
    file_set_clear(set);
    return result;
}

void file_set_clear(struct file_set *set)
{
    for (size_t i = 0; i < set->paths.count; i++) {
        (void)file_set_is_cut_short(set->paths.items[i], true);
        mem_free(set->paths.items[i]);
    }
    array_clear(&set->paths);
    *set = (struct file_set){ 0 };
}

bool file_set_is_cut_short(const char *path, bool forgets)
{
    owned(chars) char *temporary = beside(path);

    return forgets ? unlink(temporary) == 0 : file_exists(temporary);
}
