/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A list as its bytes arrive: the same objects, however it is cut into pieces.
 */
#include "clusters/kube/kube_objects.h"
#include "tests/fuzz/fuzz.h"

static void on_head(void *context, const json_t *head)
{
    (void)context;
    require(json_is_object(head));
}

static void on_object(void *context, const json_t *object)
{
    require(json_is_object(object));
    ++*(int *)context;
}

static int read_in_pieces(const char *bytes, size_t size, size_t piece, bool *ret_is_good)
{
    int count = 0;
    struct kube_objects *objects = kube_objects_of_list(NULL, on_head, on_object, &count);
    struct error err = { 0 };
    json_t *list;

    for (size_t at = 0; at < size; at += piece)
        kube_objects_add(objects, bytes + at, size - at < piece ? size - at : piece);
    list = kube_objects_end(objects, &err);
    *ret_is_good = list != NULL;
    if (!list)
        fuzz_expect_error(&err);
    json_decref(list);
    kube_objects_free(objects);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    bool whole_is_good, cut_is_good;
    int whole, cut;

    if (size < 2)
        return 0;
    whole = read_in_pieces((const char *)bytes + 1, size - 1, size - 1, &whole_is_good);
    cut = read_in_pieces((const char *)bytes + 1, size - 1, 1 + bytes[0] % 16, &cut_is_good);
    require(whole_is_good == cut_is_good);
    require(!whole_is_good || whole == cut);
    return 0;
}
