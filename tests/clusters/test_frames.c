/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The frame splitter and the decoders under chance: any cutting of a stream gives the same events,
 * and no damage to bytes or objects does more than give an error.
 */
#include "base/input/json.h"
#include "base/random.h"
#include "base/text.h"
#include "clusters/kube/kube_frames.h"
#include "clusters/snapshot.h"
#include "tests/support/unit.h"

#include <string.h>

static const char stream[] =
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u-a\","
    "\"namespace\":\"s\",\"resourceVersion\":\"1\",\"labels\":{\"k\":\"v\"},"
    "\"annotations\":{\"kubernetes.io/config.mirror\":\"m\"},\"finalizers\":[\"f\"],"
    "\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"j\",\"controller\":true}],"
    "\"creationTimestamp\":\"2026-11-17T12:12:05Z\"},\"spec\":{\"nodeName\":\"n\","
    "\"taints\":[{\"key\":\"t\",\"effect\":\"NoSchedule\"}],\"unschedulable\":true,"
    "\"terminationGracePeriodSeconds\":30,\"providerID\":\"gce://p/z/a\",\"containers\":["
    "{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"8\"}}}]},\"status\":{\"phase\":\"Running\","
    "\"startTime\":\"2026-11-17T12:12:06Z\",\"allocatable\":{\"nvidia.com/gpu\":\"8\"},"
    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}}\n"
    "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"resourceVersion\":\"2\"}}}\r\n"
    "\n"
    "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"3\"}}}\n"
    "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"4\"}}}\n"
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\"}}";

/* Decodes what it can of an object, both ways, as the watch would. */
static void try_to_decode(const json_t *object)
{
    struct error err = { 0 };
    node_free(node_decode(object, &err));
    struct error pod_err = { 0 };
    pod_free(pod_decode(object, &pod_err));
    assert_true(err.kind == ERROR_NONE || err.kind == ERROR_CORRUPT);
    assert_true(pod_err.kind == ERROR_NONE || pod_err.kind == ERROR_CORRUPT);
}

/* Notes the event: "0@1 ". */
static int note_event(void *context, enum kube_event_type type, const json_t *object,
                      struct error *err)
{
    struct text *seen = context;
    (void)err;
    assert_null(strchr(seen->chars, '!'));
    text_add(seen, "%d@%s ", (int)type, json_text_or(object, "metadata/resourceVersion", "?"));
    try_to_decode(object);
    return 0;
}

/* The stream in pieces of chance, up to the first error, which is noted as "!". */
static void feed(struct random *random, const char *bytes, size_t size, struct text *seen)
{
    struct kube_frames *frames = kube_frames_new(NULL, note_event, seen);
    for (size_t at = 0; at < size && !strchr(seen->chars, '!');) {
        struct error err = { 0 };
        size_t length = 1 + random_below(random, random_below(random, 8) == 0 ? size : 40);
        if (length > size - at)
            length = size - at;
        if (kube_frames_add(frames, bytes + at, length, &err) < 0) {
            assert_int_not_equal(err.kind, ERROR_NONE);
            text_add(seen, "!");
        }
        at += length;
    }
    kube_frames_free(frames);
}

static void any_cutting_gives_the_same_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct random random;
        random_seed(&random, seed);
        owned(text) struct text *seen = text_new(4096);
        feed(&random, stream, strlen(stream), seen);
        if (!text_equal(seen->chars, "0@1 0@2 2@3 1@4 "))
            fail_msg("seed %d: %s", (int)seed, seen->chars);
    }
}

static void damaged_bytes_give_errors_at_worst(void **state)
{
    (void)state;
    int errors = 0;
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        struct random random;
        random_seed(&random, seed);
        owned(text) struct text *bytes = text_new(sizeof stream);
        owned(text) struct text *seen = text_new(4096);
        text_add_bytes(bytes, stream, strlen(stream));
        for (uint64_t left = 1 + random_below(&random, 4); left > 0; left--)
            bytes->chars[random_below(&random, bytes->length)] = (char)random_below(&random, 256);
        feed(&random, bytes->chars, bytes->length, seen);
        errors += strchr(seen->chars, '!') ? 1 : 0;
    }
    assert_true(errors > 1000);
}

/* Prints the object, or refuses it when it asks for that. */
static int print_object(void *context, enum kube_event_type type, const json_t *object,
                        struct error *err)
{
    owned(chars) char *chars = json_print(object);
    if (json_at(object, "refuse"))
        return error_set(err, ERROR_CORRUPT, "refused");
    text_add(context, "%d%s ", (int)type, chars);
    return 0;
}

static void a_stream_says_what_was_wrong_with_it(void **state)
{
    static const struct {
        const char *bytes, *seen, *error;
        int count;
    } cases[] = {
        { "{\"type\":\"ADDED\",\"object\":{\"managedFields\":[{\"b\":1}],\"b\":[2]}}\n",
          "0{\"b\":[2]} ", "", 1 },
        { "{\"type\":\"DELETED\",\"object\":{}}\n{\"type\":\"BOOKMARK\",\"object\":{}}", "1{} 2{} ",
          "", 2 },
        { "{\"type\":\"ADDED\",\"object\":{\"a\"", "", "", 0 },
        { "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\","
          "\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}}\n",
          "", "too old", -1 },
        { "{\"type\":\"ERROR\",\"object\":{}}\n", "", "an ERROR event without a Status", -1 },
        { "{\"type\":\"MOVED\",\"object\":{}}\n", "", "unknown type \"MOVED\"", -1 },
        { "{\"type\":\"ADDED\"}\n", "", "object: missing", -1 },
        { "{\"type\":\"ADDED\",\"object\":{\"refuse\":1}}\n{\"type\":\"ADDED\",\"object\":{}}", "",
          "refused", -1 },
        { "[{}]", "", "event: there is a '['", -1 },
        { "{},{}", "", "type: missing", -1 },
        { "]", "", "event: there is a ']'", -1 },
        { "<html>", "", "event: there is a '<'", -1 },
    };
    static const struct kube_member wanted[] = { { "b", NULL },      { "refuse", NULL },
                                                 { "kind", NULL },   { "code", NULL },
                                                 { "reason", NULL }, { "message", NULL },
                                                 { "status", NULL }, { NULL, NULL } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { 0 };
        owned(text) struct text *seen = text_new(4096);
        struct kube_frames *frames = kube_frames_new(wanted, print_object, seen);
        const char *bytes = cases[i].bytes;

        assert_int_equal(kube_frames_add(frames, bytes, strlen(bytes), &err), cases[i].count);
        assert_string_equal(seen->chars, cases[i].seen);
        if (!strstr(err.text, cases[i].error))
            fail_msg("%s: %s", bytes, err.text);
        if (cases[i].count < 0) /* it stays broken, until the reset */
            assert_int_equal(kube_frames_add(frames, "{", 1, &err), -1);
        kube_frames_reset(frames);
        assert_int_equal(kube_frames_add(frames, cases[1].bytes, strlen(cases[1].bytes), &err), 2);
        kube_frames_free(frames);
    }
}

/* Another value in place of one of the object's, at any depth. */
static void damage(struct random *random, json_t *value)
{
    size_t count = json_is_object(value) ? json_object_size(value) : json_array_size(value);
    if (count == 0)
        return;
    size_t chosen = random_below(random, count);
    void *iterator = json_object_iter(value);
    for (size_t i = 0; iterator && i < chosen; i++)
        iterator = json_object_iter_next(value, iterator);
    json_t *inner = iterator ? json_object_iter_value(iterator) : json_array_get(value, chosen);
    if ((json_is_object(inner) || json_is_array(inner)) && random_below(random, 5) > 0) {
        damage(random, inner);
        return;
    }
    json_t *other = NULL;
    switch (random_below(random, 7)) {
    case 0:
        other = json_null();
        break;
    case 1:
        other = json_integer((json_int_t)random_next(random));
        break;
    case 2:
        other = json_string("");
        break;
    case 3:
        other = json_make("[s, i, {}]", "x", 1);
        break;
    case 4:
        other = json_make("{s:n, s:[]}", "a", "b");
        break;
    case 5:
        other = json_true();
        break;
    default:
        other = json_real(1e300);
        break;
    }
    if (iterator)
        json_object_iter_set_new(value, iterator, other);
    else
        json_array_set_new(value, chosen, other);
}

static void damaged_objects_give_errors_at_worst(void **state)
{
    (void)state;
    struct error err = { 0 };
    const char *end = strchr(stream, '\n');
    owned(json) json_t *whole = json_parse(stream, (size_t)(end - stream), "stream", &err);
    assert_non_null(whole);
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        struct random random;
        random_seed(&random, seed);
        owned(json) json_t *copy = json_deep_copy(json_at(whole, "object"));
        for (uint64_t left = 1 + random_below(&random, 3); left > 0; left--)
            damage(&random, copy);
        try_to_decode(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_says_what_was_wrong_with_it),
        cmocka_unit_test(any_cutting_gives_the_same_events),
        cmocka_unit_test(damaged_bytes_give_errors_at_worst),
        cmocka_unit_test(damaged_objects_give_errors_at_worst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
