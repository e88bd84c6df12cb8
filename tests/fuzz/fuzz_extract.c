/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Members cut out of an object as its bytes arrive, against a filter of the whole object.
 */
#include "clusters/kube/kube_extract.h"
#include "tests/fuzz/fuzz.h"

static const struct kube_member owner[] = { { "name", NULL }, { "uid", NULL }, { NULL, NULL } };
static const struct kube_member metadata[] = {
    { "name", NULL }, { "labels", NULL }, { "ownerReferences", owner }, { NULL, NULL }
};
static const struct kube_member members[] = { { "metadata", metadata },
                                              { "kind", NULL },
                                              { NULL, NULL } };

static json_t *filter(const json_t *value, const struct kube_member *wanted);

static json_t *filter_array(const json_t *array, const struct kube_member *wanted)
{
    json_t *out = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach(array, i, item)
        json_array_append_new(out, filter(item, wanted));
    return out;
}

/* What should be left of it, by the plain way. */
static json_t *filter(const json_t *value, const struct kube_member *wanted)
{
    json_t *out;

    if (!wanted || !json_is_object(value))
        return wanted && json_is_array(value) ? filter_array(value, wanted) : json_deep_copy(value);
    out = json_object();
    for (const struct kube_member *member = wanted; member->name; member++) {
        const json_t *found = json_object_get(value, member->name);

        if (found)
            json_object_set_new(out, member->name, filter(found, member->members));
    }
    return out;
}

/* The first byte says into which pieces the rest is cut. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *at = (const char *)bytes + 1;
    const char *end = (const char *)bytes + size;
    struct kube_extract *extract;
    const struct text *result = NULL;
    struct error err = { 0 };
    owned(json) json_t *whole = NULL;

    if (size < 2 || *at != '{')
        return 0;
    extract = kube_extract_new("fuzz", members);
    while (at && at < end && !result) {
        const char *stop = at + 1 + bytes[0] % 16 < end ? at + 1 + bytes[0] % 16 : end;

        at = kube_extract_add(extract, at, stop, &err);
        result = at ? kube_extract_result(extract) : NULL;
    }
    if (!at)
        fuzz_expect_error(&err);
    whole = json_loadb((const char *)bytes + 1, size - 1, JSON_REJECT_DUPLICATES, NULL);
    if (whole && at && result) {
        owned(json) json_t *want = filter(whole, members);
        owned(json) json_t *got = json_loadb(result->chars, result->length, 0, NULL);
        /* A name that is written with escapes is kept whole: it could be any. */
        owned(json) json_t *read = got ? filter(got, members) : NULL;

        require(got && json_equal(want, read));
    }
    kube_extract_free(extract);
    return 0;
}
