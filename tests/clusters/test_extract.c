/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The wanted members of an object: what stays, what goes, and that it does not depend on where the
 * bytes are cut.
 */
#include "base/input/json.h"
#include "base/random.h"
#include "clusters/kube/kube_extract.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct kube_member condition[] = { { "type", NULL }, { "ok", NULL }, { NULL, NULL } };
static const struct kube_member status[] = { { "conditions", condition },
                                             { "phase", NULL },
                                             { NULL, NULL } };
static const struct kube_member none[] = { { NULL, NULL } };
static const struct kube_member wanted[] = {
    { "name", NULL }, { "labels", NULL }, { "status", status }, { "empty", none }, { NULL, NULL }
};

/* The result, or the error, then what comes after the object; in pieces. */
static char *extract_in_pieces(const char *chars, size_t piece)
{
    struct error err = { 0 };
    struct kube_extract *extract = kube_extract_new("case", wanted);
    const char *at = chars, *end = chars + strlen(chars);
    char *said = NULL;

    while (at && at < end && !kube_extract_result(extract)) {
        at = kube_extract_add(extract, at, (size_t)(end - at) < piece ? end : at + piece, &err);
        if (at == end)
            break;
    }
    if (!at)
        said = text_format("%s", err.text);
    else
        said = text_format(
            "%s|%s", kube_extract_result(extract) ? kube_extract_result(extract)->chars : "not yet",
            at);
    kube_extract_free(extract);
    return said;
}

static void what_is_not_wanted_goes_with_a_comma(void **state)
{
    static const struct {
        const char *object;
        const char *want;
    } cases[] = {
        { "{}rest", "{}|rest" },
        { "{\"name\":\"a\"},{", "{\"name\":\"a\"}|,{" },
        { "{\"x\":1}", "{}|" },
        { "{\"x\":1,\"y\":[2],\"z\":{\"name\":3}}", "{}|" },
        { "{\"x\":1,\"name\":\"a\"}", "{\"name\":\"a\"}|" },
        { "{\"name\":\"a\",\"x\":1}", "{\"name\":\"a\"}|" },
        { "{\"name\":\"a\" , \"x\":{} , \"y\":[]\n}", "{\"name\":\"a\" }|" },
        { "{ \"x\" : \"}\\\"]\" , \"name\" : \"a,\\\"b\" }", "{  \"name\" : \"a,\\\"b\" }|" },
        { "{\"labels\":{\"x\":\"1\",\"type\":[{\"y\":{}}]},\"x\":\"\"}",
          "{\"labels\":{\"x\":\"1\",\"type\":[{\"y\":{}}]}}|" },
        { "{\"status\":{\"conditions\":[{\"type\":\"A\",\"at\":\"1\"},{\"at\":{},\"ok\":true},7,"
          "[{\"at\":1}]],\"other\":[[{}]],\"phase\":{\"at\":1}}}",
          "{\"status\":{\"conditions\":[{\"type\":\"A\"},{\"ok\":true},7,[{}]],"
          "\"phase\":{\"at\":1}}}|" },
        { "{\"status\":[{\"conditions\":7,\"x\":8}],\"empty\":{\"a\":1}}",
          "{\"status\":[{\"conditions\":7}],\"empty\":{}}|" },
        { "{\"status\":\"phase\",\"empty\":null}", "{\"status\":\"phase\",\"empty\":null}|" },
        /* a longer and a shorter name, one inside of a text, one that is written otherwise */
        { "{\"names\":1,\"nam\":2,\"\":3}", "{}|" },
        { "{\"x\":\"\\\"name\\\":1\",\"y\":\"name\"}", "{}|" },
        { "{\"n\\u0061me\":{\"x\":1},\"y\":2}", "{\"n\\u0061me\":{\"x\":1}}|" },
        /* damage that stays stays visible */
        { "{\"name\":\"a\",}", "{\"name\":\"a\",}|" },
        { "{\"name\":\"a\" \"x\":1}", "{\"name\":\"a\"}|" },
        { "{\"name\":\"a\",,\"x\":1}", "{\"name\":\"a\",}|" },
        { "{\"name\"::\"a\"}", "{\"name\"::\"a\"}|" },
        { "{:1,\"name\":]", "{:1,\"name\":]|" },
        { "{\"x\":\"abc\", :1}", "{ :1}|" },
        { "{\"name\":1, :1}", "{\"name\":1, :1}|" },
        { "{\"name\":\"a\"", "not yet|" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (size_t piece = 1; piece < 60; piece++) {
            owned(chars) char *said = extract_in_pieces(cases[i].object, piece);

            if (strcmp(said, cases[i].want) != 0)
                fail_msg("%s in pieces of %zu: %s", cases[i].object, piece, said);
        }
    }
}

static const struct kube_member *member_of(const struct kube_member *members, const char *name)
{
    for (; members->name; members++)
        if (text_equal(members->name, name))
            return members;
    return NULL;
}

/* The same from the decoded object. */
static json_t *prune(const json_t *value, const struct kube_member *members)
{
    const char *name = NULL;
    size_t i = 0;
    json_t *part = NULL, *pruned = json_is_array(value) ? json_array() : json_object();

    json_array_foreach(value, i, part)
        json_array_append_new(pruned, prune(part, members));
    json_object_foreach((json_t *)(uintptr_t)value, name, part) {
        const struct kube_member *member = members ? member_of(members, name) : NULL;

        if (!members || member)
            json_object_set_new(pruned, name, prune(part, member ? member->members : NULL));
    }
    if (json_is_array(value) || json_is_object(value))
        return pruned;
    json_decref(pruned);
    return json_deep_copy(value);
}

static json_t *random_value(struct random *random, int depth)
{
    static const char *const names[] = { "name", "labels", "status", "conditions", "type",
                                         "ok",   "empty",  "x",      "}, {b:",     "" };
    uint64_t kind = random_below(random, depth > 6 ? 3 : 6);
    json_t *value = NULL;

    if (kind < 3)
        return kind == 0 ? json_integer(7) : kind == 1 ? json_string("}]\",{:") : json_null();
    value = kind == 3 ? json_array() : json_object();
    for (uint64_t count = random_below(random, 5); count > 0; count--) {
        json_t *part = random_value(random, depth + 1);

        if (json_is_array(value))
            json_array_append_new(value, part);
        else
            json_object_set_new(value, names[random_below(random, COUNT_OF(names))], part);
    }
    return value;
}

static void any_object_is_as_if_it_had_been_decoded_before(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct random random;
        struct error err = { 0 };

        random_seed(&random, seed);
        owned(json) json_t *object = json_object();
        for (int i = 0; i < 4; i++)
            json_object_update_new(object, random_value(&random, 0));
        owned(json) json_t *want = prune(object, wanted);
        owned(chars) char *chars = seed % 2 ? json_print(object) : json_print_pretty(object);
        owned(chars) char *said = extract_in_pieces(chars, 1 + random_below(&random, 90));
        owned(json) json_t *got = json_parse(said, strcspn(said, "|"), "result", &err);

        if (!got || !json_equal(got, want))
            fail_msg("seed %llu: %s gives %s", (unsigned long long)seed, chars, said);
    }
}

/* A name that goes on after the end of a C string is another name. */
static void a_nul_is_a_byte_like_others(void **state)
{
    static const char object[] = "{\"name\0name\":{\"x\":1},\"x\":1,\"name\":2\0,\"y\":1}";
    struct error err = { 0 };
    struct kube_extract *extract = kube_extract_new("case", wanted);
    const struct text *kept;
    (void)state;
    assert_non_null(kube_extract_add(extract, object, object + sizeof object - 1, &err));
    kept = kube_extract_result(extract);
    assert_int_equal(kept->length, sizeof "{\"name\":2.}" - 1);
    assert_memory_equal(kept->chars, "{\"name\":2\0}", kept->length);
    kube_extract_free(extract);
}

/* Four million colons, of which none follows a name, are read in one pass: quadratic work would
   take hours. */
static void nothing_is_looked_at_again(void **state)
{
    struct error err = { 0 };
    struct kube_extract *extract = kube_extract_new("case", wanted);
    owned(text) struct text *object = text_new(1 << 23);
    (void)state;
    text_add(object, "{\"name\"");
    while (object->length <= 1 << 22)
        text_add_bytes(object, "::::::::::::::::", 16);
    assert_null(kube_extract_add(extract, object->chars, object->chars + object->length, &err));
    kube_extract_free(extract);
}

/* What is left out is bounded, too, in bytes and in brackets. */
static void an_endless_object_is_an_error(void **state)
{
    static const struct {
        const char *start, *fill, *want;
    } cases[] = {
        { "{\"labels\":\"", "xx", "case: longer than 4194304 bytes" },
        { "{\"x\":\"", "xx", "case: longer than 16777216 bytes as it was sent" },
        { "{\"x\":[", "1,", "as it was sent" },
        { "{\"x\":", "[[", "brackets are open" },
        { "{\"labels\":", "[[", "brackets are open" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        struct kube_extract *extract = kube_extract_new("case", wanted);
        owned(text) struct text *block = text_new(1 << 20);
        const char *start = cases[i].start, *after = start;

        while (block->length < 1 << 18)
            text_add(block, "%s", cases[i].fill);
        after = kube_extract_add(extract, start, start + strlen(start), &err);
        for (int k = 0; k < 80 && after; k++)
            after = kube_extract_add(extract, block->chars, block->chars + block->length, &err);
        assert_null(after);
        assert_non_null(strstr(err.text, cases[i].want));
        kube_extract_free(extract);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_wanted_goes_with_a_comma),
        cmocka_unit_test(any_object_is_as_if_it_had_been_decoded_before),
        cmocka_unit_test(a_nul_is_a_byte_like_others),
        cmocka_unit_test(nothing_is_looked_at_again),
        cmocka_unit_test(an_endless_object_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
