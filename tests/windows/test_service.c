/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tables of service times: their means to the tick, their quantiles, and what is refused of
 * histograms and files.
 */
#include "base/file.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"
#include "windows/servers/service_file.h"
#include "windows/servers/service_time.h"

#include <math.h>
#include <string.h>

static double mean_of(const struct service_time *service)
{
    double sum = 0;

    for (int i = 0; i < SERVICE_TIMES; i++)
        sum += (double)service->ticks[i];
    return sum / SERVICE_TIMES / TICKS_PER_SECOND;
}

static double cv_of(const struct service_time *service)
{
    double mean = mean_of(service);
    double sum = 0;

    for (int i = 0; i < SERVICE_TIMES; i++) {
        double off = (double)service->ticks[i] / TICKS_PER_SECOND - mean;

        sum += off * off;
    }
    return sqrt(sum / SERVICE_TIMES) / mean;
}

static void a_law_gives_its_mean_and_spread(void **state)
{
    static const struct {
        enum service_law law;
        double cv;
        double want_cv;
        const char *name;
    } rows[] = {
        { SERVICE_CONSTANT, 0, 0, "constant" },   { SERVICE_EXPONENTIAL, 1, 1, "exponential" },
        { SERVICE_LOGNORMAL, 1, 1, "lognormal" }, { SERVICE_LOGNORMAL, 0.5, 0.5, "lognormal" },
        { SERVICE_LOGNORMAL, 0, 0, "lognormal" }, { SERVICE_BY_CV, 0, 0, "constant" },
        { SERVICE_BY_CV, 1, 1, "exponential" },   { SERVICE_BY_CV, 0.5, 0.5, "lognormal" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(service_shape) struct service_shape *shape = service_shape_new(rows[i].law, 3.217,
                                                                             rows[i].cv, NULL);
        owned(service_time) struct service_time *service = service_time_shaped(shape);

        assert_true(fabs(mean_of(service) - 3.217) < 1e-6 / SERVICE_TIMES + 1e-11);
        assert_true(fabs(cv_of(service) - rows[i].want_cv) < 0.01);
        assert_string_equal(service_law_name(rows[i].law, rows[i].cv), rows[i].name);
    }
}

/* With the same mean and deviation, the two laws differ: so the law that is said counts. */
static void lognormal_with_the_spread_of_an_exponential_is_another_law(void **state)
{
    owned(service_shape) struct service_shape *shape = service_shape_new(SERVICE_LOGNORMAL, 10, 1,
                                                                         NULL);
    owned(service_time) struct service_time *lognormal = service_time_shaped(shape);
    owned(service_time) struct service_time *exponential = service_time_new(10, 1);

    (void)state;
    assert_true(fabs((double)lognormal->ticks[SERVICE_TIMES / 2] / 7.0711e6 - 1) < 1e-3);
    assert_true(fabs((double)exponential->ticks[SERVICE_TIMES / 2] / 6.9315e6 - 1) < 1e-3);
}

static void a_list_keeps_its_shares(void **state)
{
    const struct service_part parts[] = { { 4, 4, 250 }, { 1, 1, 750 }, { 2, 2, 0 } };
    struct error err = { 0 };
    owned(service_shape) struct service_shape *shape = service_shape_measured(
        parts, COUNT_OF(parts), 0, "list", &err);
    size_t ones = 0;

    (void)state;
    assert_non_null(shape);
    assert_true(fabs(shape->mean_s - 1.75) < 1e-12);

    owned(service_time) struct service_time *service = service_time_shaped(shape);

    for (int i = 0; i < SERVICE_TIMES; i++)
        ones += service->ticks[i] == 1000000;
    assert_int_equal(ones, SERVICE_TIMES * 3 / 4);
    assert_int_equal(service->ticks[SERVICE_TIMES - 1], 4000000);
    assert_true(fabs(shape->cv - cv_of(service)) < 1e-6);
}

static void a_histogram_is_even_within_a_bucket_and_has_the_mean_of_its_sum(void **state)
{
    struct service_bucket buckets[] = { { INFINITY, 1000 }, { 1, 500 }, { 2, 900 }, { 8, 1000 } };
    struct error err = { 0 };
    owned(service_shape) struct service_shape *shape = service_shape_of_histogram(
        &(struct service_histogram){ buckets, COUNT_OF(buckets), 1350, 0 }, "metrics", &err);

    (void)state;
    assert_non_null(shape);
    assert_true(fabs(shape->mean_s - 1.35) < 1e-12);

    owned(service_time) struct service_time *service = service_time_shaped(shape);

    /* 0.5 * 0.5 + 0.4 * 1.5 + 0.1 * 5 = 1.35: nothing is scaled */
    assert_true(fabs(mean_of(service) - 1.35) < 1e-9);
    assert_true(fabs((double)service->ticks[SERVICE_TIMES / 4] / 0.5e6 - 1) < 1e-3);
    assert_true(fabs((double)service->ticks[SERVICE_TIMES * 7 / 10] / 1.5e6 - 1) < 1e-3);

    struct service_bucket again[] = { { 1, 500 }, { 2, 900 }, { 8, 1000 }, { INFINITY, 1000 } };
    owned(service_shape) struct service_shape *slower = service_shape_of_histogram(
        &(struct service_histogram){ again, COUNT_OF(again), 1485, 0 }, "metrics", &err);
    owned(service_time) struct service_time *scaled = service_time_shaped(slower);

    assert_true(fabs(mean_of(scaled) - 1.485) < 1e-9);
    assert_true(fabs((double)scaled->ticks[SERVICE_TIMES / 4] / 0.55e6 - 1) < 1e-3);
}

static void what_lies_above_the_last_bound_is_bounded(void **state)
{
    struct service_bucket few[] = { { 1, 995 }, { INFINITY, 1000 } };
    struct service_bucket many[] = { { 1, 900 }, { INFINITY, 1000 } };
    struct error err = { 0 };
    owned(service_shape) struct service_shape *at_bound = service_shape_of_histogram(
        &(struct service_histogram){ few, 2, 500, 0 }, "m", &err);
    owned(service_shape) struct service_shape *at_most = service_shape_of_histogram(
        &(struct service_histogram){ many, 2, 750, 5 }, "m", &err);

    (void)state;
    assert_non_null(at_bound);
    assert_true(at_bound->parts[1].to_s == 1);
    assert_non_null(at_most);
    assert_true(at_most->parts[1].from_s == 1 && at_most->parts[1].to_s == 5);
}

#define ALL INFINITY

static const struct {
    const char *name;
    struct service_bucket buckets[5];
    size_t count;
    double sum_s;
    double max_s;
    const char *want; /* part of the sentence; NULL: accepted */
} histograms[] = {
    { "a good one", { { 1, 500 }, { 2, 900 }, { ALL, 900 } }, 3, 900, 0, NULL },
    { "falls a little", { { 1, 500 }, { 2, 499 }, { ALL, 600 } }, 3, 700, 9, NULL },
    { "falls", { { 1, 500 }, { 2, 400 }, { ALL, 600 } }, 3, 700, 0, "no histogram" },
    { "ends lower than before",
      { { 1, 500 }, { 2, 800 }, { ALL, 700 } },
      3,
      700,
      0,
      "no histogram" },
    { "no last bucket", { { 1, 500 }, { 2, 900 } }, 2, 900, 0, "+Inf" },
    { "nothing but the last", { { ALL, 900 } }, 1, 900, 0, "no histogram" },
    { "two last ones", { { ALL, 900 }, { ALL, 900 } }, 2, 900, 0, "+Inf" },
    { "empty", { { 0, 0 } }, 0, 0, 0, "0 buckets" },
    { "nothing counted", { { 1, 0 }, { ALL, 0 } }, 2, 0, 0, "0 requests" },
    { "too few", { { 1, 50 }, { ALL, 99 } }, 2, 50, 9, "99 requests" },
    { "not a number of requests", { { 1, NAN }, { ALL, 900 } }, 2, 900, 0, "nan requests" },
    { "no end of requests", { { 1, 100 }, { ALL, INFINITY } }, 2, 900, 0, "inf requests" },
    { "counters that fell", { { 1, -5 }, { ALL, 900 } }, 2, 900, 0, "-5 requests" },
    { "not a number of seconds", { { NAN, 1 }, { ALL, 900 } }, 2, 900, 0, "nan s" },
    { "the same bound twice",
      { { 1, 500 }, { 1, 500 }, { ALL, 500 } },
      3,
      250,
      0,
      "two buckets end at 1" },
    { "less than no time", { { -1, 5 }, { ALL, 900 } }, 2, 900, 0, "took no time" },
    { "an empty bucket below zero", { { -1, 0 }, { 1, 900 }, { ALL, 900 } }, 3, 450, 0, NULL },
    { "too much above the last bound", { { 1, 880 }, { ALL, 900 } }, 2, 500, 0, "service_max" },
    { "a bound below the last bound", { { 8, 880 }, { ALL, 900 } }, 2, 500, 4, "less than the" },
    { "a sum that is no number", { { 1, 900 }, { ALL, 900 } }, 2, NAN, 0, "the sum" },
    { "a sum of other requests", { { 1, 900 }, { ALL, 900 } }, 2, 1800, 0, "the mean of 2 s" },
    { "a sum of fewer requests",
      { { 4, 0 }, { 8, 900 }, { ALL, 900 } },
      3,
      1800,
      0,
      "the mean of 2 s" },
    { "times of more than a day", { { 90000, 900 }, { ALL, 900 } }, 2, 9000, 0, "over a day" },
    { "no time at all", { { 1, 900 }, { ALL, 900 } }, 2, 0, 0, "the sum of the times is 0" },
};

static void a_histogram_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(histograms); i++) {
        struct service_bucket buckets[5];
        struct error err = { 0 };

        memcpy(buckets, histograms[i].buckets, sizeof buckets);

        owned(service_shape) struct service_shape *shape = service_shape_of_histogram(
            &(struct service_histogram){ buckets, histograms[i].count, histograms[i].sum_s,
                                         histograms[i].max_s },
            "m", &err);

        if (histograms[i].want ? shape || !strstr(err.text, histograms[i].want) : !shape)
            fail_msg("%s: %s", histograms[i].name, shape ? "was accepted" : err.text);
        if (!shape)
            continue;

        owned(service_time) struct service_time *service = service_time_shaped(shape);

        assert_true(fabs(mean_of(service) - shape->mean_s) < 1e-9);
    }
}

/* `row`, a hundred times. */
static char *hundred(const char *before, const char *row)
{
    struct text *out = text_new(TEXT_UNBOUNDED);

    text_add(out, "%s", before);
    for (int i = 0; i < 100; i++)
        text_add(out, "%s", row);
    return text_take(out);
}

static void a_file_of_times_is_read_with_and_without_names(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/service.csv", folder);
    owned(chars) char *plain = hundred("", "0.5\n1.5\n");
    const char *const texts[] = { plain, "seconds\n", "seconds,count\n0.5,300\n1.5,300\n",
                                  "0.5,300\n\n1.5,300\n",
                                  "# by hand\nSeconds;Count\n500ms;300\n1.5s;300\n" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        owned(chars) char *whole = text_format("%s%s", texts[i], i == 1 ? plain : "");
        struct error err = { 0 };

        assert_int_equal(file_write(path, whole, strlen(whole), 0600, NULL), 0);

        owned(service_shape) struct service_shape *shape = service_file_read(path, &err);

        if (!shape)
            fail_msg("%zu: %s", i, err.text);
        assert_true(shape->mean_s == 1);
        assert_string_equal(shape->origin, path);
    }
}

static void a_bad_file_of_times_is_refused_with_its_line(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/service.csv", folder);
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        { "", "service.csv: is empty" },
        { "seconds\n1\nx\n", "service.csv:3: seconds: expected a number, found \"x\"" },
        { "1\n-2\n", "service.csv:2: seconds: -2 is not" },
        { "1\nnan\n", "service.csv:2: seconds: expected a number" },
        { "1\n1e99\n", "service.csv:2: seconds: 1e+99 is not" },
        { "1,2\n1,-2\n", "service.csv:2: count: -2 is not" },
        { "1,2\n1\n", "service.csv:2: 1 fields, but the header has 2" },
        { "1,2,3\n", "service.csv:1: 3 columns" },
        { "1\n2\n", "service.csv:1: 2 requests were measured" },
        { "0,500\n", "service.csv:1: a mean of 0 s" },
        { "1,500", "service.csv:1: the last line has no line end" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };

        assert_int_equal(file_write(path, rows[i].text, strlen(rows[i].text), 0600, NULL), 0);
        assert_null(service_file_read(path, &err));
        if (!strstr(err.text, rows[i].want))
            fail_msg("%zu: %s", i, err.text);
    }
}

static void a_table_is_read_as_it_was_written(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/week.service.csv", folder);
    struct service_bucket buckets[] = { { 0.1, 333.3333333 }, { 2.5, 900.7 }, { ALL, 901 } };
    struct error err = { 0 };
    owned(service_shape) struct service_shape *shape = service_shape_of_histogram(
        &(struct service_histogram){ buckets, COUNT_OF(buckets), 777.7, 30 }, "m", &err);
    owned(text) struct text *out = text_new(TEXT_UNBOUNDED);

    (void)state;
    assert_non_null(shape);
    service_table_begin(out);
    service_table_add(out, "chat", shape);
    service_table_add(out, "other", shape);
    assert_int_equal(file_write(path, out->chars, out->length, 0600, NULL), 0);

    owned(service_table) struct service_table *table = service_table_read(path, &err);

    if (!table)
        fail_msg("%s", err.text);
    assert_int_equal(table->count, 2);
    assert_null(service_table_find(table, "third"));
    owned(service_time) struct service_time *was = service_time_shaped(shape);
    owned(service_time) struct service_time *is = service_time_shaped(
        service_table_find(table, "other"));

    assert_memory_equal(was->ticks, is->ticks, sizeof was->ticks);
}

static void a_bad_table_is_refused_with_its_line(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *path = text_format("%s/week.service.csv", folder);
#define HEAD "queue,mean_s,from_s,to_s,count\n"
    static const struct {
        const char *text;
        const char *want;
    } rows[] = {
        { "time,queue,count\n", ":1: expected the columns queue" },
        { HEAD "chat,1,0,2,x\n", ":2: count: expected a number" },
        { HEAD "chat,1,0,2,500\nchat,2,2,3,500\n", ":3: mean_s: 2, and 1 before" },
        { HEAD "chat,1,0,2,500\nchat,1,1,3,500\n", ":2: the times from 0 and from 1 s overlap" },
        { HEAD "chat,1,0,2,500\nb,1,0,2,500\nchat,1,0,2,500\n", ":4: queue chat stands in two" },
        { HEAD "chat,1,0,2,5\n", ":2: 5 requests were measured" },
        { HEAD "chat,0,0,2,500\n", ":2: mean_s: 0" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };

        assert_int_equal(file_write(path, rows[i].text, strlen(rows[i].text), 0600, NULL), 0);
        assert_null(service_table_read(path, &err));
        if (!strstr(err.text, rows[i].want))
            fail_msg("%zu: %s", i, err.text);
    }
}

static void a_table_stands_beside_its_demand(void **state)
{
    static const char *const rows[][2] = {
        { "a/week.csv.gz", "a/week.service.csv" },
        { "week.csv", "week.service.csv" },
        { "week", "week.service.csv" },
        { "a.gz/week.tsv", "a.gz/week.tsv.service.csv" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *path = service_table_path(rows[i][0]);

        assert_string_equal(path, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_law_gives_its_mean_and_spread),
        cmocka_unit_test(lognormal_with_the_spread_of_an_exponential_is_another_law),
        cmocka_unit_test(a_list_keeps_its_shares),
        cmocka_unit_test(a_histogram_is_even_within_a_bucket_and_has_the_mean_of_its_sum),
        cmocka_unit_test(what_lies_above_the_last_bound_is_bounded),
        cmocka_unit_test(a_histogram_that_contradicts_itself_is_refused),
        cmocka_unit_test(a_file_of_times_is_read_with_and_without_names),
        cmocka_unit_test(a_bad_file_of_times_is_refused_with_its_line),
        cmocka_unit_test(a_table_is_read_as_it_was_written),
        cmocka_unit_test(a_bad_table_is_refused_with_its_line),
        cmocka_unit_test(a_table_stands_beside_its_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
