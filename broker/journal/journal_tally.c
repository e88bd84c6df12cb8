/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The tally's file is one line of fixed length, written in one piece, with a checksum: a damaged
 * one is never taken for another number.
 */
#include "broker/journal/journal_tally.h"

#include "base/crypto.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] = "sluice tally 1 ";

enum { DIGITS = 19, SUM = 16, HEAD = sizeof head - 1, LINE = HEAD + DIGITS + 1 + SUM + 1 };

static void write_line(int64_t commits, char out[LINE + 1])
{
    char sum[SHA256_TEXT_SIZE];
    char number[DIGITS + 2];

    text_print(number, sizeof number, "%019" PRId64, commits);
    crypto_sha256_text(number, DIGITS, sum);
    text_print(out, LINE + 1, "%s%.*s %.*s\n", head, DIGITS, number, SUM, sum);
}

static char *path_of(const char *journal_path)
{
    return text_format("%s.tally", journal_path);
}

int64_t tally_read(const char *journal_path)
{
    owned(chars) char *path = path_of(journal_path);
    owned(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char found[LINE + 1] = "";
    char wanted[LINE + 1];
    int64_t commits;

    if (fd < 0)
        return errno == ENOENT ? TALLY_MISSING : TALLY_UNREADABLE;
    if (pread(fd, found, LINE, 0) != LINE)
        return TALLY_UNREADABLE;
    commits = strtoll(found + HEAD, NULL, 10);
    if (commits < 0)
        return TALLY_UNREADABLE;
    write_line(commits, wanted);
    return memcmp(found, wanted, LINE) == 0 ? commits : TALLY_UNREADABLE;
}

int tally_open(const char *journal_path, struct error *err)
{
    owned(chars) char *path = path_of(journal_path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    return fd < 0 ? error_errno(err, ERROR_DENIED, "%s: cannot open it to write", path) : fd;
}

bool tally_write(int fd, int64_t commits)
{
    char line[LINE + 1];
    ssize_t written;

    write_line(commits, line);
    do
        written = pwrite(fd, line, LINE, 0);
    while (written < 0 && errno == EINTR);
    return written == LINE;
}
