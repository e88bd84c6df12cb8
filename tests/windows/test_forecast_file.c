/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The forecast's file: its exact shape, that it reads back, and what is refused.
 */
#include "tests/support/unit.h"
#include "windows/forecast/forecast_file.h"

#include <string.h>

#define SCORE                                                                                      \
    "{\"days\": 12, \"covered\": 11, \"loss\": 0.321, \"loss_last_week\": 0.500, "                 \
    "\"loss_last_week_10\": 0.400}"
#define ROW                                                                                        \
    "{\"queue\": \"chat\", \"replicas\": 31, \"gpus\": 62, \"point\": 27.10, \"lower\": 24.00, "   \
    "\"share\": 0.9000, \"method\": \"profile\", \"basis\": \"rank\", \"score\": " SCORE "}"
#define TIMES                                                                                      \
    "      \"demand_from\": \"2026-11-09T00:00:00Z\",\n"                                           \
    "      \"demand_to\": \"2026-11-16T00:00:00Z\",\n"                                             \
    "      \"use_until\": \"2026-11-23T00:00:00Z\",\n"

static const char file_text[] =
    "{\n  \"kind\": \"forecast\",\n  \"version\": 1,\n  \"windows\": [\n"
    "    {\n      \"window\": \"day\",\n" TIMES "      \"is_forecast\": true,\n"
    "      \"queues\": [\n"
    "        " ROW ",\n"
    "        {\"queue\": \"im\\\"age\", \"replicas\": 4, \"gpus\": 8.5, "
    "\"no_forecast\": \"no-days\"},\n"
    "        {\"queue\": \"new\", \"replicas\": 2, \"gpus\": 2, \"point\": 1.00, \"lower\": 0.50, "
    "\"share\": 0.9500, \"method\": \"last-week\", \"basis\": \"prior\", \"stale\": \"no-data\", "
    "\"score\": {\"days\": 0, \"covered\": 0}}\n"
    "      ]\n    },\n"
    "    {\n      \"window\": \"night\",\n" TIMES "      \"is_forecast\": false,\n"
    "      \"queues\": []\n    }\n  ]\n}\n";

static void what_is_printed_reads_back(void **state)
{
    struct error err = { 0 };
    owned(forecast_file) struct forecast_file *file = forecast_file_parse(
        file_text, strlen(file_text), "forecast.json", &err);
    owned(text) struct text *text = text_new(1 << 16);
    const struct forecast_file_window *day;

    (void)state;
    if (!file)
        fail_msg("%s", err.text);
    forecast_file_print(file, text);
    assert_string_equal(text->chars, file_text);
    day = forecast_file_find(file, "day");
    assert_true(day->is_forecast);
    assert_int_equal(day->rows.items[0].replicas, 31);
    assert_int_equal(day->rows.items[0].score.covered, 11);
    assert_string_equal(day->rows.items[1].lack, "no-days");
    assert_string_equal(day->rows.items[2].stale, "no-data");
    assert_int_equal(forecast_file_find(file, "night")->rows.count, 0);
    assert_null(forecast_file_find(file, "noon"));
}

static void a_window_is_replaced_and_the_others_stay(void **state)
{
    owned(forecast_file) struct forecast_file *file = forecast_file_parse(
        file_text, strlen(file_text), "forecast.json", NULL);
    struct forecast_file_window *day = forecast_file_add(file, "day");

    (void)state;
    assert_int_equal(file->windows.count, 2);
    assert_int_equal(day->rows.count, 0);
    forecast_file_add_row(day, "chat")->replicas = 7;
    assert_int_equal(forecast_file_find(file, "day")->rows.items[0].replicas, 7);
    assert_non_null(forecast_file_find(file, "night"));
}

/* The file with one text replaced by another is refused, and the error says where. */
static void what_is_wrong_is_refused(void **state)
{
    static const struct {
        const char *was, *is, *says;
    } cases[] = {
        { "\"version\": 1", "\"version\": 2", "forecast.json: it is not a forecast of version 1" },
        { "\"kind\": \"forecast\"", "\"kind\": \"plan\"", "it is not a forecast" },
        { "\"windows\"", "\"window\"", "window: there is no such key" },
        { "\"window\": \"night\"", "\"window\": \"day\"", "window day is there twice" },
        { "\"queue\": \"new\"", "\"queue\": \"chat\"", "window day: queue chat is there twice" },
        { "\"point\": 27.10", "\"point\": -1", "queue chat: point: expected a number from 0" },
        { "\"point\": 27.10", "\"point\": null", "queue chat: point: expected a number" },
        { "\"share\": 0.9000", "\"share\": 90", "share: expected a number from 0 to 1" },
        { "\"covered\": 11", "\"covered\": 13", "score: covered: expected a whole number" },
        { "\"lower\": 24.00", "\"lowest\": 24.00", "lowest: there is no such key" },
        { "\"replicas\": 31", "\"replicas\": 31.5", "queue chat: replicas" },
        { "\"basis\": \"rank\"", "\"basis\": \"<b>\"", "basis: expected a short word" },
        { "\"no_forecast\": \"no-days\"", "\"no_forecast\": \"no-days\", \"point\": 1",
          "both a forecast and why there is none" },
        { "\"use_until\": \"2026-11-23T00:00:00Z\"", "\"use_until\": \"Monday\"",
          "window day: use_until" },
        { "\"is_forecast\": true,", "", "is_forecast" },
        { "]\n}\n", "]\n", "forecast.json" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *at = strstr(file_text, cases[i].was);
        struct error err = { 0 };

        assert_non_null(at);

        owned(chars) char *bytes = text_format("%.*s%s%s", (int)(at - file_text), file_text,
                                               cases[i].is, at + strlen(cases[i].was));
        owned(forecast_file) struct forecast_file *file = forecast_file_parse(
            bytes, strlen(bytes), "forecast.json", &err);

        if (file || !strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].is, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_reads_back),
        cmocka_unit_test(a_window_is_replaced_and_the_others_stay),
        cmocka_unit_test(what_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
