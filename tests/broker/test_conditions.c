/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of conditions, and looks: what holds, since when, and what began and ended.
 */
#include "base/input/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/health/health.h"
#include "tests/support/document.h"
#include "tests/support/unit.h"

static void the_worst_stands_first_in_the_table(void **state)
{
    (void)state;
    for (int i = 0; i < CONDITION_KINDS; i++) {
        const struct condition_row *row = condition_row((enum condition_kind)i);

        assert_non_null(row->id);
        assert_true(row->affects[0] != '\0' && row->advice[0] != '\0');
        assert_true(row->severity == SEVERITY_NOTE || row->word[0] != '\0' ||
                    i == CONDITION_GANG_SUSPENDED);
        if (i > 0)
            assert_true(row->severity <= condition_row((enum condition_kind)(i - 1))->severity);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(row->id, condition_row((enum condition_kind)k)->id);
    }
}

static void the_page_has_each_condition(void **state)
{
    owned(chars) char *page = conditions_page();

    (void)state;
    document_check("docs/health.md", "conditions", page);
}

static void note_told(void *context, const struct condition *condition, const char *text,
                      bool holds)
{
    text_add(context, "%s%s %s; ", holds ? "+" : "-", condition->what, text);
}

/* "pool|sentence|since|advice;" of each that holds. */
static char *held(const struct health *health)
{
    owned(json) json_t *described = health_describe(health);
    struct text *out = text_new(4096);
    const json_t *row;
    size_t i;

    text_add(out, "%s %s: ", json_text_or(described, "severity", ""),
             json_text_or(described, "word", ""));
    json_array_foreach(json_object_get(described, "conditions"), i, row)
        text_add(out, "%s|%s|%s|%s; ", json_text_or(row, "what", ""), json_text_or(row, "text", ""),
                 json_text_or(row, "since", ""), json_text_or(row, "advice", ""));
    return text_take(out);
}

struct fact {
    enum condition_kind kind;
    const char *what;
    const char *text;
    int64_t since_s;
    const char *advice;
};

/* One look a row: the facts, then what holds and what was told. */
static const struct {
    int64_t now_s;
    struct fact facts[4];
    const char *held;
    const char *told; /* NULL: a look that tells nothing */
} looks[] = {
    { 60, { { 0 } }, "ok : ", "" },
    { 120,
      { { CONDITION_NODE_STRAY, "n", "marked", 0, "take it off" },
        { CONDITION_POOL_CLOSED, "a", "closed, 1", 0, "wait" } },
      "warning CLOSED: a|closed, 1|1970-01-01T00:02:00Z|wait; "
      "n|marked|1970-01-01T00:02:00Z|take it off; ",
      "+a closed, 1; +n marked; " },
    /* the sentence changes, the time does not; a sentence is said once */
    { 180,
      { { CONDITION_POOL_CLOSED, "a", "closed, 2", 0, "wait" },
        { CONDITION_POOL_CLOSED, "b", "closed, 2", 0, "wait" } },
      "warning CLOSED: a|closed, 2|1970-01-01T00:02:00Z|wait; ",
      "-n marked; " },
    /* a fact's own time wins, and of one thing two sentences are one condition */
    { 240,
      { { CONDITION_POOL_CLOSED, "a", "closed, 3", 30, "wait" },
        { CONDITION_POOL_CLOSED, "a", "closed for good", 0, "wait" } },
      "warning CLOSED: a|closed, 3|1970-01-01T00:00:30Z|wait; "
      "a|closed for good|1970-01-01T00:02:00Z|wait; ",
      "" },
    { 300, { { 0 } }, "ok : ", "-a closed, 3; " },
    /* it begins again, and is dated again */
    { 360,
      { { CONDITION_POOL_CLOSED, "a", "closed, 4", 0, "wait" } },
      "warning CLOSED: a|closed, 4|1970-01-01T00:06:00Z|wait; ",
      "+a closed, 4; " },
    /* what holds only at a silent look is not told; what still holds is, with its time */
    { 420,
      { { CONDITION_POOL_CLOSED, "b", "closed", 0, "wait" },
        { CONDITION_NODE_STRAY, "n", "marked", 0, "take it off" } },
      "warning CLOSED: b|closed|1970-01-01T00:07:00Z|wait; "
      "n|marked|1970-01-01T00:07:00Z|take it off; ",
      NULL },
    { 480,
      { { CONDITION_POOL_CLOSED, "a", "closed, 5", 0, "wait" },
        { CONDITION_POOL_CLOSED, "b", "closed", 0, "wait" } },
      "warning CLOSED: a|closed, 5|1970-01-01T00:08:00Z|wait; b|closed|1970-01-01T00:07:00Z|wait; ",
      "+b closed; " },
};

/* What may pass before anyone is to see it is seen by no face; then it is dated by its first look.
 */
static void a_quiet_condition_is_shown_when_it_lasts(void **state)
{
    static const char *const shown[] = { "", "", "marked, 2", "marked, 3" };
    owned(health) struct health *health = health_new();
    owned(text) struct text *told = text_new(4096);

    (void)state;
    for (int look = 0; look < 4; look++) {
        const struct condition quiet = { .kind = CONDITION_PRODUCTION_SHORT,
                                         .what = "a",
                                         .quiet_ms = 20 * SECOND_MS };
        const struct condition other = { .kind = CONDITION_NODE_STRAY, .what = "n" };
        owned(json) json_t *described = NULL;

        health_begin(health);
        health_add(health, &quiet, text_format("marked, %d", look));
        health_add(health, &other, mem_copy_chars("stray"));
        health_end(health, (struct wall_time){ (100 + 10 * look) * SECOND_MS }, note_told, told);
        described = health_describe(health);
        assert_string_equal(json_text_or(described, "severity", ""),
                            look < 2 ? "note" : "critical");
        assert_string_equal(json_text_or(described, "word", "-"), look < 2 ? "" : "SHORT");
        assert_int_equal(json_array_size(json_object_get(described, "conditions")),
                         look < 2 ? 1 : 2);
        if (look >= 2)
            assert_string_equal(
                json_text_or(json_array_get(json_object_get(described, "conditions"), 0), "text",
                             ""),
                shown[look]);
    }
    assert_string_equal(told->chars, "+n stray; +a marked, 2; ");
}

/* A clock that is set back by an hour does not hide it for an hour. */
static void a_quiet_condition_outlives_no_jump_of_the_clock(void **state)
{
    const struct condition quiet = { .kind = CONDITION_PRODUCTION_SHORT,
                                     .what = "a",
                                     .quiet_ms = 20 * SECOND_MS };
    owned(health) struct health *health = health_new();
    owned(json) json_t *described = NULL;

    (void)state;
    for (int look = 0; look < 2; look++) {
        health_begin(health);
        health_add(health, &quiet, mem_copy_chars("marked"));
        health_end(health, (struct wall_time){ 2 * HOUR_MS - look * HOUR_MS }, NULL, NULL);
    }
    described = health_describe(health);
    assert_string_equal(json_text_or(described, "severity", ""), "critical");
}

static void a_condition_is_dated_by_its_first_look(void **state)
{
    owned(health) struct health *health = health_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(looks); i++) {
        owned(text) struct text *told = text_new(4096);
        owned(chars) char *now = NULL;

        health_begin(health);
        for (size_t k = 0; looks[i].facts[k].text; k++) {
            const struct fact *fact = &looks[i].facts[k];
            const struct condition condition = { .kind = fact->kind,
                                                 .since = { fact->since_s * SECOND_MS },
                                                 .what = fact->what,
                                                 .advice = fact->advice };

            health_add(health, &condition, mem_copy_chars(fact->text));
        }
        health_end(health, (struct wall_time){ looks[i].now_s * SECOND_MS },
                   looks[i].told ? note_told : NULL, told);
        now = held(health);
        assert_string_equal(now, looks[i].held);
        assert_string_equal(told->chars, looks[i].told ?: "");
    }
}

#define AT "1970-01-01T00:01:00Z"

/* What is told as a warning, because perhaps only an answer is awaited, does not stand before what
   is critical: faces take the sentence of the first, and the word of the whole. */
static void the_first_has_the_word_of_the_whole(void **state)
{
    static const struct {
        struct condition conditions[2];
        const char *held;
    } rows[] = {
        { { { .kind = CONDITION_CLUSTER_UNREACHABLE, .what = "r", .is_early = true },
            { .kind = CONDITION_PRODUCTION_SHORT, .what = "p" } },
          "critical SHORT: p|1|" AT "|do; r|0|" AT "|do; " },
        { { { .kind = CONDITION_JOURNAL_DOUBT, .what = "j" },
            { .kind = CONDITION_POOL_STALE, .what = "s", .is_early = true } },
          "warning STALE: s|1|" AT "|do; j|0|" AT "|do; " },
        { { { .kind = CONDITION_FROZEN, .what = "f" },
            { .kind = CONDITION_POOL_STALE, .what = "s", .is_early = true } },
          "warning STALE: s|1|" AT "|do; f|0|" AT "|do; " },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(health) struct health *health = health_new();
        owned(json) json_t *described = NULL;
        owned(chars) char *now = NULL;
        const char *word;

        health_begin(health);
        for (size_t k = 0; k < COUNT_OF(rows[i].conditions); k++) {
            struct condition condition = rows[i].conditions[k];

            condition.advice = "do";
            health_add(health, &condition, text_format("%zu", k));
        }
        health_end(health, (struct wall_time){ 60 * SECOND_MS }, NULL, NULL);
        described = health_describe(health);
        word = json_text_or(json_array_get(json_object_get(described, "conditions"), 0), "word",
                            "-");
        assert_string_equal(json_text_or(described, "word", ""), word);
        now = held(health);
        assert_string_equal(now, rows[i].held);
    }
}

/* A metric has one sample of each triple: the time of the first that holds. */
static void of_several_conditions_the_first_has_the_date(void **state)
{
    static const struct condition conditions[] = {
        { .kind = CONDITION_POOL_CLOSED, .since = { 40250 }, .what = "a", .cluster = "p" },
        { .kind = CONDITION_POOL_CLOSED, .since = { 40000 }, .what = "b", .cluster = "p" },
        { .kind = CONDITION_POOL_CLOSED, .since = { 50000 }, .what = "c", .cluster = "p" },
        { .kind = CONDITION_POOL_CLOSED, .since = { 30000 }, .what = "d", .cluster = "q" },
        { .kind = CONDITION_NODE_STRAY, .since = { 20000 }, .what = "n", .cluster = "p" },
    };
    owned(health) struct health *health = health_new();
    owned(text) struct text *have = text_new(4096);
    owned(json) json_t *described = NULL;
    owned(json) json_t *dates = NULL;
    const json_t *row;
    size_t i;

    (void)state;
    health_begin(health);
    for (i = 0; i < COUNT_OF(conditions); i++)
        health_add(health, &conditions[i], mem_copy_chars(conditions[i].what));
    health_end(health, (struct wall_time){ 60 * SECOND_MS }, NULL, NULL);
    described = health_describe(health);
    dates = conditions_dates(described);
    json_array_foreach(dates, i, row)
        text_add(have, "%s %s %s %s; ", json_text_or(row, "id", ""),
                 json_text_or(row, "severity", ""), json_text_or(row, "cluster", ""),
                 json_text_or(row, "since", ""));
    assert_string_equal(have->chars, "pool_closed warning p 1970-01-01T00:00:40Z; "
                                     "pool_closed warning q 1970-01-01T00:00:30Z; "
                                     "node_stray note p 1970-01-01T00:00:20Z; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_stands_first_in_the_table),
        cmocka_unit_test(the_page_has_each_condition),
        cmocka_unit_test(a_quiet_condition_is_shown_when_it_lasts),
        cmocka_unit_test(a_quiet_condition_outlives_no_jump_of_the_clock),
        cmocka_unit_test(a_condition_is_dated_by_its_first_look),
        cmocka_unit_test(the_first_has_the_word_of_the_whole),
        cmocka_unit_test(of_several_conditions_the_first_has_the_date),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
