/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A journal's files as they were when its process died after so many commits, and ways in which the
 * log's last write may have come to the disk.
 */
#pragma once

#include "base/input/json.h"
#include "base/text.h"
#include "broker/journal/journal.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMITS = 16, WAL_HEADER = 32, FRAME_SIZE = 24 + 4096 };

/* What was on the disk when the process died, and what the journal held after each commit. */
struct disk {
    char *folder;
    char *path;
    char *wal_path;
    struct text *file; /* both as bytes */
    struct text *wal;
    char *tally_path;
    struct text *tallies[COMMITS + 1];
    size_t wal_sizes[COMMITS + 1];
    char *dumps[COMMITS + 1];
};

static inline int add_row(void *context, int count, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < count; i++)
        text_add(context, "%s ", values[i] ? values[i] : "-");
    text_add(context, "\n");
    return 0;
}

/* All that a file holds, as SQLite alone reads it; changes its log. */
static inline char *dump_file(const char *path)
{
    static const char *const questions[] = {
        "SELECT kind, id, rev, value FROM record ORDER BY kind, id",
        "SELECT name, holder FROM claim ORDER BY name",
        "SELECT seq, at_ms, hash, value FROM event ORDER BY seq",
    };
    struct text *out = text_new(1 << 20);
    sqlite3 *plain = NULL;

    assert_int_equal(sqlite3_open(path, &plain), SQLITE_OK);
    for (size_t i = 0; i < COUNT_OF(questions); i++)
        sqlite3_exec(plain, questions[i], add_row, out, NULL);
    assert_int_equal(sqlite3_close(plain), SQLITE_OK);
    return text_take(out);
}

/* Of copies: the journal itself goes on. */
static inline void note_state(struct disk *disk, int commit)
{
    owned(chars) char *copy = text_format("%s/copy.db", disk->folder);
    owned(chars) char *copy_wal = text_format("%s-wal", copy);
    owned(text) struct text *file = test_file_read(disk->path);
    owned(text) struct text *wal = test_file_read(disk->wal_path);

    test_file_write(copy, file->chars, file->length);
    test_file_write(copy_wal, wal->chars, wal->length);
    disk->tallies[commit] = test_file_read(disk->tally_path);
    disk->wal_sizes[commit] = wal->length;
    disk->dumps[commit] = dump_file(copy);
}

static inline void add_commit(struct journal *journal, uint64_t epoch, int number)
{
    struct journal_batch *batch = journal_batch_new(epoch);
    owned(json) json_t *event = json_make("{ss si}", "event", "step", "number", number);
    owned(chars) char *mine = text_format("thing-%d", number);
    owned(chars) char *name = text_format("node/%d", number);
    owned(json) json_t *value = json_make("{si ss}", "number", number, "text", "waits for a node");
    struct error err = { 0 };

    journal_put(batch, "thing", mine, 0, value);
    journal_put(batch, "thing", "common", (uint64_t)number - 1, value);
    journal_claim(batch, name, mine);
    journal_event(batch, (struct wall_time){ 1000 * number }, event);
    if (journal_commit(journal, &batch, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void open_disk(struct disk *disk)
{
    struct error err = { 0 };
    struct journal *journal;
    uint64_t epoch;

    *disk = (struct disk){ .folder = test_folder_new() };
    disk->path = text_format("%s/journal.db", disk->folder);
    disk->wal_path = text_format("%s-wal", disk->path);
    disk->tally_path = text_format("%s.tally", disk->path);
    journal = journal_sqlite_open(disk->path, &err);
    assert_non_null(journal);
    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0);
    note_state(disk, 0);
    for (int i = 1; i <= COMMITS; i++) {
        add_commit(journal, epoch, i);
        note_state(disk, i);
    }
    disk->file = test_file_read(disk->path);
    disk->wal = test_file_read(disk->wal_path);
    journal_close(journal);
}

static inline void close_disk(struct disk *disk)
{
    for (int i = 0; i <= COMMITS; i++) {
        mem_free(disk->dumps[i]);
        text_free(disk->tallies[i]);
    }
    text_free(disk->file);
    text_free(disk->wal);
    mem_free(disk->path);
    mem_free(disk->wal_path);
    mem_free(disk->tally_path);
    test_folder_free(disk->folder);
}

static inline void cut(char *wal, size_t *size, size_t at)
{
    (void)wal;
    *size = at;
}

static inline void flip(char *wal, size_t *size, size_t at)
{
    (void)size;
    wal[at] ^= (char)(1 << at % 8);
}

/* A file system that had grown the file, and not written what is in it. */
static inline void blank(char *wal, size_t *size, size_t at)
{
    memset(wal + at, 0, *size - at);
}

/* One sector of the write is missing, what follows came through. */
static inline void drop(char *wal, size_t *size, size_t at)
{
    memset(wal + at, 0x5a, *size - at < 512 ? *size - at : 512);
}

static const struct {
    const char *name;
    void (*tear)(char *wal, size_t *size, size_t at);
} tears[] = { { "cut", cut }, { "flip", flip }, { "blank", blank }, { "drop", drop } };

enum { FLIP = 1 };

/* As before anything was acknowledged. */
static inline void remove_tally(const struct disk *disk)
{
    unlink(disk->tally_path);
}

/* As it was when that commit had been acknowledged. */
static inline void write_tally(const struct disk *disk, int commit)
{
    test_file_write(disk->tally_path, disk->tallies[commit]->chars, disk->tallies[commit]->length);
}

static inline void write_torn(const struct disk *disk, size_t tear, size_t at)
{
    size_t size = disk->wal->length;
    char *wal = mem_new_array(size, 1);

    memcpy(wal, disk->wal->chars, size);
    tears[tear].tear(wal, &size, at);
    test_file_write(disk->path, disk->file->chars, disk->file->length);
    test_file_write(disk->wal_path, wal, size);
    mem_free(wal);
}

/* A thousand small files, each synced many times, need no real disk. */
static inline void disk_in_memory(void)
{
    if (access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 0);
}
