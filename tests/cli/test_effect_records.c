/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Records of effects of which a start can make nothing: each is told for what it is.
 */
#include "tests/cli/stepwise.h"

/* Whether the journal has it as unreadable, for this reason. */
struct sought {
    const char *id;
    const char *why;
    bool is_found;
};

static int seek(void *context, const char *id, uint64_t rev, const json_t *value, struct error *err)
{
    struct sought *sought = context;

    (void)id;
    (void)rev;
    (void)err;
    if (!text_equal(json_text_or(value, "id", ""), sought->id))
        return 0;
    assert_string_equal(json_text_or(value, "why", ""), sought->why);
    sought->is_found = true;
    return 0;
}

static void write_effect(struct rehearsal *rehearsal, const char *id)
{
    struct journal_batch *batch;
    owned(json)
        json_t *value = json_make("{ss ss ss ss si si}", "state", "intent", "outcome", "none",
                                  "text", "", "name", "n", "generation", 0, "sent", 1);
    struct error err = { 0 };
    uint64_t epoch;

    rehearsal->is_dead = false; /* the store answers another process */
    assert_int_equal(journal_begin_epoch(rehearsal->journal, &epoch, &err), 0);
    batch = journal_batch_new(epoch);
    journal_put(batch, "effect", id, 0, value);
    assert_int_equal(journal_commit(rehearsal->journal, &batch, &err), 0);
}

static void what_an_effect_record_cannot_be_is_said(void **state)
{
    static const struct {
        const char *tail; /* of its id, after the transfer's */
        const char *why;  /* NULL: it stays where it is */
    } cases[] = {
        { "/frobnicate/x", "there is no kind of effect called 'frobnicate'" },
        { "/remove", "it names no object" },
        { "-gone/remove/x", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(test_folder) char *folder = test_folder_new();
        owned(rehearsal) struct rehearsal *rehearsal = small_rehearsal(folder, 11, "");
        const struct transfer *transfer = reclaimed(rehearsal, STEP_CORDON);
        owned(text) struct text *id = text_new(256);
        struct sought sought = { .why = cases[i].why };
        struct error err = { 0 };

        assert_non_null(transfer);
        text_add(id, "%s", transfer->id);
        text_add(id, "%s", cases[i].tail);
        sought.id = id->chars;
        rehearsal_kill(rehearsal);
        write_effect(rehearsal, id->chars);
        assert_int_equal(rehearsal_start(rehearsal, &err), 0);
        assert_int_equal(journal_each(rehearsal->journal, JOURNAL_UNREADABLE, seek, &sought, &err),
                         0);
        assert_int_equal(sought.is_found, cases[i].why != NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_effect_record_cannot_be_is_said),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
