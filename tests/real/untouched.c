/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See untouched.h.
 */
#include "tests/real/untouched.h"

#include "base/text.h"
#include "tests/support/unit.h"

#include <string.h>

json_t *untouched_of(const json_t *node)
{
    json_t *said = json_make("{s:s, s:b, s:o, s:o, s:o}", "uid",
                             json_text_or(node, "metadata/uid", ""), "closed",
                             json_is_true(json_at(node, "spec/unschedulable")), "labels",
                             json_object(), "notes", json_object(), "taints", json_array());
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(json_at(node, "metadata/labels"), key, value) {
        if (!text_starts_with(key, "beta.kubernetes.io/"))
            json_object_set(json_object_get(said, "labels"), key, value);
    }
    json_object_foreach(json_at(node, "metadata/annotations"), key, value) {
        if (strstr(key, "sluice.dev/"))
            json_object_set(json_object_get(said, "notes"), key, value);
    }
    json_array_foreach(json_at(node, "spec/taints"), i, value) {
        if (strstr(json_text_or(value, "key", ""), "sluice.dev/"))
            json_array_append(json_object_get(said, "taints"), value);
    }
    return said;
}

size_t untouched_count(const json_t *before, const json_t *after)
{
    const char *name;
    const json_t *was, *is;
    size_t count = 0;

    json_object_foreach((json_t *)(uintptr_t)before, name, was) {
        is = json_object_get(after, name);
        if (is && !json_equal(was, is)) {
            owned(chars) char *was_chars = json_print(was);
            owned(chars) char *is_chars = json_print(is);

            fail_msg("%s was %s and is %s", name, was_chars, is_chars);
        }
        count += is != NULL;
    }
    return count;
}

bool untouched_serves(const json_t *said)
{
    owned(chars) char *chars = json_print(said);

    return !json_is_true(json_object_get(said, "closed")) && !strstr(chars, "sluice.dev/leaving") &&
           !strstr(chars, "sluice.dev/starting") && !strstr(chars, "sluice.dev/transfer");
}
