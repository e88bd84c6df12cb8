/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The frame splitter and the decoders under chance: any cutting of a stream gives the same events,
 * and no damage to bytes or objects does more than give an error.
 */
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "clusters/kube_frames.h"
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
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"5\"}}}";

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

/* Reads all events that there are: "0@1 0@2 "; ends with "!" at an error. */
static void drain(struct kube_frames *frames, struct text *seen)
{
    for (;;) {
        struct error err = { 0 };
        owned(kube_event) struct kube_event event = { 0 };
        int found = kube_frames_next(frames, &event, &err);
        if (found == 0)
            return;
        if (found < 0) {
            assert_int_not_equal(err.kind, ERROR_NONE);
            text_add(seen, "!");
            return;
        }
        text_add(seen, "%d@%s ", (int)event.type,
                 json_text_or(event.object, "metadata/resourceVersion", "?"));
        try_to_decode(event.object);
    }
}

/* The stream in pieces of chance; as drain(), up to the first error. */
static void feed(struct random *random, const char *bytes, size_t size, struct text *seen)
{
    struct kube_frames *frames = kube_frames_new();
    for (size_t at = 0; at < size && !strchr(seen->chars, '!');) {
        size_t length = 1 + random_below(random, random_below(random, 8) == 0 ? size : 40);
        if (length > size - at)
            length = size - at;
        kube_frames_add(frames, bytes + at, length);
        at += length;
        drain(frames, seen);
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
        cmocka_unit_test(any_cutting_gives_the_same_events),
        cmocka_unit_test(damaged_bytes_give_errors_at_worst),
        cmocka_unit_test(damaged_objects_give_errors_at_worst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
