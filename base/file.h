/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whole files: read with a limit, written so that a crash leaves the old or the new one.
 */
#pragma once

#include "base/crypto.h"
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* The whole file; more than `limit` bytes is ERROR_INVALID, no such file ERROR_NOT_FOUND. */
struct text *file_read(const char *path, size_t limit, struct error *err)
    __attribute__((warn_unused_result));

/* As file_read(), of an open file; the path is for the sentences. */
struct text *file_read_open(int fd, const char *path, size_t limit, struct error *err)
    __attribute__((warn_unused_result));

/* "PATH: cannot ACT: text of errno", with the kind that follows from errno.  Always -1. */
int file_error(const char *path, const char *act, struct error *err);

/* As file_read(); a gzip file, recognised by its first bytes, is unpacked (limit: unpacked
   bytes). */
struct text *file_read_unpacked(const char *path, size_t limit, struct error *err)
    __attribute__((warn_unused_result));

/* The SHA-256 of a file, in lower-case hexadecimal, without holding the file. */
int file_sha256(const char *path, char out[SHA256_TEXT_SIZE], struct error *err)
    __attribute__((warn_unused_result));

/* The bytes as a gzip file; the same bytes give the same file. */
struct text *file_pack(const void *bytes, size_t size)
    __attribute__((returns_nonnull, warn_unused_result));

/* Writes a new file beside the path, syncs it, renames it to the path, and syncs the folder. */
int file_write(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err)
    __attribute__((warn_unused_result));

/* Whether file_write() can make its new file there now; changes nothing. */
int file_can_write(const char *path, struct error *err) __attribute__((warn_unused_result));

/* Writes a file that is not there yet.  ERROR_CONFLICT: it is, and stays as it was. */
int file_write_new(const char *path, const void *bytes, size_t size, mode_t mode, struct error *err)
    __attribute__((warn_unused_result));

/* mkdir -p. */
int file_make_folder(const char *path, mode_t mode, struct error *err)
    __attribute__((warn_unused_result));

/* The names in a folder that end in `ending`, sorted by byte, without those that begin with a dot;
   free with file_list_free(). */
struct file_list {
    char **names;
    size_t count;
};
int file_list(const char *folder, const char *ending, struct file_list *ret_list, struct error *err)
    __attribute__((warn_unused_result));
void file_list_free(struct file_list *list);

bool file_exists(const char *path);

/* `path` if absolute, else below the folder that holds `beside`; the caller frees it. */
char *file_beside(const char *beside, const char *path) __attribute__((warn_unused_result));

/* An exclusive lock on a file (made when missing), held until closed or the process ends.  A link
   is refused, because another process could choose its target.  ERROR_CONFLICT when another process
   holds the lock.  Returns the descriptor or -1. */
int file_lock(const char *path, struct error *err) __attribute__((warn_unused_result));

/* Raises how many files the process may have open to what it may raise that to, 65,536 at most. */
void file_allow_many(void);

/* A descriptor; negative: none. */
static inline void owned_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
