/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Journals of earlier builds: each is opened, and read whole.
 */
#include "base/file.h"
#include "base/input/json.h"
#include "base/map.h"
#include "broker/service/service_parts.h"
#include "tests/cli/small_world.h"

#include <sqlite3.h>

static const struct {
    const char *file; /* below tests/golden/journal */
    size_t transfers; /* that are live */
    size_t events;
} journals[] = {
    { "0.1.0-early.sql", 2, 21 },
};

static void write_journal(const char *name, const char *path)
{
    owned(chars) char *source = text_format("%s/tests/golden/journal/%s", SLUICE_SOURCE, name);
    struct error err = { 0 };
    owned(text) struct text *text = file_read(source, 1 << 20, &err);
    sqlite3 *database;

    if (!text)
        fail_msg("%s", err.text);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_exec(database, text->chars, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", source, sqlite3_errmsg(database));
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static size_t size_of(json_t *answer, const char *rows)
{
    size_t size = json_array_size(json_object_get(answer, rows));

    json_decref(answer);
    return size;
}

static void an_earlier_journal_is_read_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(journals); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 1, "");
        owned(chars) char *path = text_format("%s/journal.db", folder);
        owned(json) json_t *status = NULL;
        struct error err = { 0 };

        write_journal(journals[i].file, path);
        rehearsal_kill(rehearsal);
        journal_close(rehearsal->journal);
        rehearsal->journal = journal_sqlite_open(path, &err);
        if (!rehearsal->journal)
            fail_msg("%s: %s", journals[i].file, err.text);
        rehearsal->world.journal = rehearsal->journal;
        if (rehearsal_start(rehearsal, &err) < 0)
            fail_msg("%s: %s", journals[i].file, err.text);
        status = service_status(rehearsal->service);
        assert_string_equal(rehearsal->service->doubt, "");
        assert_int_equal(json_array_size(rehearsal->service->unreadable.records), 0);
        assert_int_equal(transfers_of(rehearsal, false), journals[i].transfers);
        assert_int_equal(json_array_size(json_at(status, "overrides/freezes")), 1);
        assert_int_equal(json_array_size(json_at(status, "overrides/reclaims")), 1);
        assert_int_equal(map_count(rehearsal->service->book), 2);
        assert_int_equal(size_of(service_events(rehearsal->service, 1000, &err), "events"),
                         journals[i].events);
        rehearsal_kill(rehearsal);
        journal_close(rehearsal->journal);
        rehearsal->journal = journal_memory_new();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_earlier_journal_is_read_whole),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
