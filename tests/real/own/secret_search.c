/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See secret_search.h.
 */
#include "tests/real/own/secret_search.h"

#include "base/crypto.h"
#include "base/file.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

enum { SEED_SIZE = 32, PROCESS_MOST = 1 << 20 };

void secret_search_clear(struct secret_search *search)
{
    for (size_t i = 0; i < search->secrets.count; i++)
        text_free(search->secrets.items[i]);
    array_clear(&search->secrets);
}

void secret_search_add(struct secret_search *search, const void *bytes, size_t size)
{
    struct text *secret = text_new(size + 1);

    assert_true(size >= 10); /* a shorter one is found by chance */
    text_add_bytes(secret, bytes, size);
    *array_add(&search->secrets) = secret;
}

/* The seed stands behind the type, the public key, and the length of both keys together. */
static void add_seed(struct secret_search *search, const struct text *block)
{
    static const char type[] = "ssh-ed25519";
    size_t length = sizeof type - 1;
    const char *end = block->chars + block->length;
    const char *first = memmem(block->chars, block->length, type, length);
    const char *second;
    owned(text) struct text *hex = text_new(2 * SEED_SIZE + 1);

    assert_non_null(first);
    second = memmem(first + 1, (size_t)(end - first - 1), type, length);
    assert_non_null(second);
    second += length + 4 + SEED_SIZE + 4;
    assert_true(second + 2 * SEED_SIZE <= end);
    /* The public key follows its seed. */
    assert_memory_equal(second + SEED_SIZE, second - 4 - SEED_SIZE, SEED_SIZE);
    for (int i = 0; i < SEED_SIZE; i++)
        text_add(hex, "%02x", (unsigned char)second[i]);
    secret_search_add(search, second, SEED_SIZE);
    secret_search_add(search, hex->chars, hex->length);
}

void secret_search_add_key(struct secret_search *search, const char *path)
{
    owned(text) struct text *file = test_file_read(path);
    owned(text) struct text *all = text_new(file->length + 1);
    char *line, *rest = file->chars;
    struct error err = { 0 };

    while ((line = strsep(&rest, "\n"))) {
        if (line[0] == '-' || line[0] == '\0')
            continue;
        text_add(all, "%s", line);
        if (strlen(line) >= 16)
            secret_search_add(search, line, strlen(line));
    }
    owned(text) struct text *block = crypto_decode_base64(all->chars, &err);

    if (!block)
        fail_msg("%s: %s", path, err.text);
    add_seed(search, block);
}

static void look_in(struct secret_search *search, const char *where, const void *bytes, size_t size)
{
    for (size_t i = 0; i < search->secrets.count && search->found[0] == '\0'; i++) {
        const struct text *secret = search->secrets.items[i];

        if (memmem(bytes, size, secret->chars, secret->length))
            text_print(search->found, sizeof search->found, "%s has secret %zu", where, i);
    }
}

/* What the file has now, NULL without it: a process may end at any time. */
static struct text *read_now(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct text *text = fd < 0 ? NULL : text_new(PROCESS_MOST);
    char bytes[4096];
    ssize_t size;

    while (text && (size = read(fd, bytes, sizeof bytes)) > 0)
        text_add_bytes(text, bytes, (size_t)size);
    if (fd >= 0)
        close(fd);
    return text;
}

static bool has(const struct text *text, const char *words, size_t size)
{
    return memmem(text->chars, text->length, words, size);
}

static void look_at_process(struct secret_search *search, const char *process)
{
    static const char *const files[] = { "cmdline", "environ" };

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        owned(chars) char *path = text_format("/proc/%s/%s", process, files[i]);
        owned(text) struct text *text = read_now(path);

        if (!text)
            continue;
        look_in(search, path, text->chars, text->length);
        search->processes += i == 0;
        search->has_seen_join |= i == 0 && has(text, "kubeadm\0join", 13);
        search->has_seen_service |= i == 0 && has(text, "sluice\0serve", 13);
    }
}

void secret_search_processes(struct secret_search *search)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;

    assert_non_null(folder);
    while ((entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at_process(search, entry->d_name);
    closedir(folder);
}

int secret_search_files(struct secret_search *search, const char *folder)
{
    DIR *open_folder = opendir(folder);
    const struct dirent *entry;
    int count = 0;

    assert_non_null(open_folder);
    while ((entry = readdir(open_folder))) {
        owned(chars) char *path = text_format("%s/%s", folder, entry->d_name);

        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            count += secret_search_files(search, path);
        } else if (entry->d_type == DT_REG) {
            owned(text) struct text *text = test_file_read(path);

            look_in(search, path, text->chars, text->length);
            count++;
        }
    }
    closedir(open_folder);
    return count;
}

static int look_at_table(struct secret_search *search, sqlite3 *journal, const char *table)
{
    owned(chars) char *sql = text_format("SELECT * FROM \"%s\"", table);
    sqlite3_stmt *rows;
    int values = 0;

    assert_int_equal(sqlite3_prepare_v2(journal, sql, -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(rows); i++) {
            const void *bytes = sqlite3_column_blob(rows, i);

            look_in(search, table, bytes ?: "", (size_t)sqlite3_column_bytes(rows, i));
            values++;
        }
    assert_int_equal(sqlite3_finalize(rows), SQLITE_OK);
    return values;
}

int secret_search_tables(struct secret_search *search, const char *path)
{
    sqlite3 *journal;
    sqlite3_stmt *tables;
    int values = 0;

    assert_int_equal(sqlite3_open_v2(path, &journal, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(journal,
                                        "SELECT name FROM sqlite_schema WHERE type = 'table'", -1,
                                        &tables, NULL),
                     SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW)
        values += look_at_table(search, journal, (const char *)sqlite3_column_text(tables, 0));
    assert_int_equal(sqlite3_finalize(tables), SQLITE_OK);
    assert_int_equal(sqlite3_close(journal), SQLITE_OK);
    return values;
}
