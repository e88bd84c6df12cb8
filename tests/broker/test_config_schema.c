/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The schema of sluice.yaml: it says something of each key, and its patterns take what the readers
 * take.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "tests/broker/small_config.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <regex.h>
#include <string.h>

static void check_leaves(const char *path, const json_t *schema);

static void check_below(const char *path, const char *word, const json_t *schemas)
{
    const char *key;
    json_t *schema;

    json_object_foreach((json_t *)(uintptr_t)schemas, key, schema) {
        owned(chars) char *below = text_format("%s %s%s", path, word, key);

        check_leaves(below, schema);
    }
}

static void check_leaves(const char *path, const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    const json_t *members = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *choices = json_object_get(schema, "anyOf");
    const json_t *choice;
    size_t i;

    if (!type && !choices)
        fail_msg("%s: the schema says nothing", path);
    if (text_equal(json_string_value(type), "object") && !members && !json_is_object(others))
        fail_msg("%s: the schema does not say what is in it", path);
    if (text_equal(json_string_value(type), "array") && !json_object_get(schema, "items"))
        fail_msg("%s: the schema does not say what is in the list", path);
    check_below(path, "", members);
    check_below(path, "", json_object_get(schema, "patternProperties"));
    if (json_is_object(others)) {
        owned(chars) char *below = text_format("%s *", path);

        check_leaves(below, others);
    }
    if (json_object_get(schema, "items"))
        check_leaves(path, json_object_get(schema, "items"));
    json_array_foreach(choices, i, choice)
        check_leaves(path, choice);
}

static void no_key_is_without_a_type(void **state)
{
    owned(json) json_t *schema = config_schema();

    (void)state;
    check_leaves("sluice.yaml", schema);
}

static bool matches(const char *pattern, const char *text)
{
    regex_t regex;
    int result;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    result = regexec(&regex, text, 0, NULL, 0);
    regfree(&regex);
    return result == 0;
}

static bool has_item(const json_t *list, const char *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        if (text_equal(json_string_value(item), text))
            return true;
    return false;
}

/* A text against the part of the schema that speaks of texts. */
static bool fits(const json_t *schema, const char *text)
{
    const json_t *names = json_object_get(schema, "enum");
    const char *pattern = json_text_or(schema, "pattern", NULL);
    const json_t *parts = json_object_get(schema, "allOf");
    const json_t *part;
    size_t i;

    if (json_object_get(schema, "anyOf")) /* first, one text; then a list of them */
        return fits(json_array_get(json_object_get(schema, "anyOf"), 0), text);
    json_array_foreach(parts, i, part)
        if (!fits(part, text))
            return false;
    return (!names || has_item(names, text)) && (!pattern || matches(pattern, text));
}

/* A key of a mapping whose keys are dates or words. */
static bool fits_key(const json_t *schema, const char *key)
{
    const char *pattern;
    json_t *value;

    json_object_foreach(json_object_get(schema, "patternProperties"), pattern, value)
        if (matches(pattern, key))
            return true;
    return json_object_get(json_object_get(schema, "properties"), key) != NULL;
}

static bool is_read(const char *folder, const char *section, const char *key)
{
    owned(chars) char *text = text_format("%s%s", small_head, section);
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);
    struct error err = { 0 };
    owned(config) struct config *config = config_read(path, &err);

    return config || !strstr(err.text, key);
}

#define WINDOW "properties/windows/additionalProperties/properties/"
#define EVENT "properties/events/additionalProperties/properties/"

/* A part of the schema, and where the text stands: % in the section.  The key is the one that a
   refusal names. */
static const struct place {
    const char *schema;
    const char *section;
    const char *key;
    const char *texts[24];
} places[] = {
    { WINDOW "days",
      "windows:\n  w: {days: %, from: '00:00', to: '24:00'}\n",
      "w.days",
      { "mon", "mon-fri", "Sat-Mon", "SUNDAY", "thurs", "wednesday-thursday", "mo", "monkey", "fir",
        "mon-", "-fri", "mon-fri-sat", "mon tue", "daily", "weekday" } },
    { WINDOW "from",
      "windows:\n  w: {days: mon-sun, from: '%', to: '24:00'}\n",
      "w.from",
      { "00:00", "8:30", "08:30", "23:59", "24:00", "25:00", "8", "8:3", "08:60", "008:30",
        "8:30pm", "-8:30", "noon" } },
    { WINDOW "to",
      "windows:\n  w: {days: mon-sun, from: '00:00', to: '%'}\n",
      "w.to",
      { "0:00", "20:00", "24:00", "24:01", "20:0", "20.00" } },
    { "properties/windows/propertyNames",
      "windows:\n  %: {days: mon-sun, from: '00:00', to: '24:00'}\n",
      "name has up to 63",
      { "w", "week-day", "2nd", "-w", "Week", "w_1", "w.x",
        "a23456789012345678901234567890123456789012345678901234567890123",
        "a234567890123456789012345678901234567890123456789012345678901234" } },
    { EVENT "from",
      "events:\n  e: {from: '%', to: '2099-01-01 00:00', multiplier: 2}\n",
      "e.from",
      { "2026-12-01 09:00", "2026-12-01T09:00", "2026-12-01T09:00:00Z", "2026-12-01t09:00+01:00",
        "2026-12-01 09:00-0530", "2026-12-01T09:00:00.000Z", "2026-12-01T09:00:30Z", "2026-12-01",
        "09:00", "2026-13-01 09:00", "2026-12-32 09:00", "2026-12-01 24:00", "2026-12-01 9:00",
        "2026-12-01 09:00 Z", "tomorrow" } },
    { "properties/events/propertyNames",
      "events:\n  %: {from: '2026-12-01 09:00', to: '2026-12-01 10:00', multiplier: 2}\n",
      "name has up to 63",
      { "launch", "launch-2", "Launch", "la unch" } },
    { "properties/holidays/properties/as",
      "holidays: {country: US, as: %}\n",
      "holidays.as",
      { "sunday", "sat", "Monday", "sun-mon", "never" } },
    { "properties/holidays/properties/country",
      "holidays: {country: %}\n",
      "holidays.country",
      { "US", "DE", "us", "XX", "Germany" } },
    { "properties/holidays",
      "holidays: {'%': sunday}\n",
      "expected a date",
      { "2026-12-25", "2026-12-32", "2026-00-10", "26-12-25", "12-25", "christmas" } },
    { "properties/accelerators/propertyNames",
      "accelerators: {%: 1}\n",
      "expected a resource",
      { "example.com/npu", "npu.example.com", "gpu", "/gpu.x", "gpu.x/", "a.b c", "." } },
};

static void patterns_take_what_the_readers_take(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(json) json_t *schema = config_schema();
    size_t good = 0, bad = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const struct place *place = &places[i];
        const json_t *part = json_at(schema, place->schema);
        const char *mark = strchr(place->section, '%');

        assert_non_null(part);
        for (const char *const *text = place->texts; *text; text++) {
            owned(chars) char *section = text_format("%.*s%s%s", (int)(mark - place->section),
                                                     place->section, *text, mark + 1);
            bool is_good = is_read(folder, section, place->key);
            bool is_told = json_object_get(part, "patternProperties") ? fits_key(part, *text)
                                                                      : fits(part, *text);

            good += is_good;
            bad += !is_good;
            if (is_good != is_told)
                fail_msg("%s: \"%s\" is %s by the reader, and not so by the schema", place->schema,
                         *text, is_good ? "taken" : "refused");
        }
    }
    assert_true(good > 20 && bad > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_is_without_a_type),
        cmocka_unit_test(patterns_take_what_the_readers_take),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
