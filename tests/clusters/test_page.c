/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A page of a list, cut anywhere; what a snapshot shares; what is found by node and provider.
 */
#include "base/index.h"
#include "base/input/json.h"
#include "base/shared_text.h"
#include "base/text.h"
#include "clusters/kube/kube_objects.h"
#include "tests/support/unit.h"

#include <string.h>

static void note_item(void *context, const json_t *item)
{
    owned(chars) char *chars = json_print(item);

    text_add(context, "%s;", chars);
}

static void look_at_head(void *context, const json_t *head)
{
    (void)context;
    assert_true(json_is_object(head));
}

/* The items, one after the other, then the head or the error. */
static char *read_in_pieces(const char *page_chars, size_t piece)
{
    static const struct kube_member wanted[] = { { "a", NULL },   { "b", NULL },
                                                 { "not", NULL }, { "is", NULL },
                                                 { "t", NULL },   { "metadata", wanted },
                                                 { NULL, NULL } };
    struct error err = { 0 };
    struct text *said = text_new(4096);
    struct kube_objects *page = kube_objects_of_list(wanted, look_at_head, note_item, said);
    size_t length = strlen(page_chars);

    for (size_t at = 0; at < length; at += piece)
        kube_objects_add(page, page_chars + at, length - at < piece ? length - at : piece);
    owned(json) json_t *head = kube_objects_end(page, &err);
    owned(chars) char *chars = head ? json_print(head) : NULL;
    text_add(said, "%s", chars ?: err.text);
    kube_objects_free(page);
    return text_take(said);
}

static void a_page_is_read_wherever_it_is_cut(void **state)
{
    static const struct {
        const char *page;
        const char *want; /* its beginning */
    } cases[] = {
        { "{\"metadata\":{\"continue\":\"x\"},\"items\":[{\"a\":1},\n {\"b\":[{\"items\":[2]}]}]}",
          "{\"a\":1};{\"b\":[{\"items\":[2]}]};{\"metadata\":{\"continue\":\"x\"},\"items\":[]}" },
        { "{\"items\" : [ ] ,\"kind\":\"L\"}", "{\"items\":[],\"kind\":\"L\"}" },
        { "{\"items\":[{\"t\":\"a]}\\\"{[,\\\\\"}]}", "{\"t\":\"a]}\\\"{[,\\\\\"};{\"items\":[]}" },
        { "{\"note\":{\"items\":[{\"not\":1}]},\"items\":[{\"is\":1}]}",
          "{\"is\":1};{\"note\":{\"items\":[{\"not\":1}]},\"items\":[]}" },
        { "{\"\\\"items\":[{\"not\":1}]}", "{\"\\\"items\":[{\"not\":1}]}" },
        { "{\"items\":[{\"metadata\":{\"managedFields\" : [{\"a\":[\"]\"]},[]],\"a\":[1]},"
          "\"a\":[],\"c\":[[{}]]}]}",
          "{\"metadata\":{\"a\":[1]},\"a\":[]};{\"items\":[]}" },
        { "{\"images\":[1],\"items\":[]}", "{\"images\":[1],\"items\":[]}" },
        { "{\"items\":null}", "{\"items\":null}" },
        { "{\"items\":[{\"a\":1} {\"b\":2}]}", "{\"a\":1};item: there is a '{'" },
        { "{\"items\":[{\"a\":1},]}", "{\"a\":1};item: there is a ']'" },
        { "{\"items\":[,{\"a\":1}]}", "item: there is a ','" },
        { "{\"items\":[7]}", "item: there is a '7'" },
        { "{\"items\":[[]]}", "item: there is a '['" },
        { "{\"items\":[{\"a\":}]}", "item:" },
        { "{\"items\":[{\"a\":1}", "{\"a\":1};answer:" },
        { "{\"items\":[{\"a\":1}]", "{\"a\":1};answer:" },
        { "{\"items\":[]}} {", "a '}' closes nothing" },
        { "<html>", "answer:" },
        { "", "answer:" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (size_t piece = 1; piece < 40; piece++) {
            owned(chars) char *said = read_in_pieces(cases[i].page, piece);

            if (!text_starts_with(said, cases[i].want))
                fail_msg("%s in pieces of %zu: %s", cases[i].page, piece, said);
        }
    }
}

static void an_endless_item_is_an_error(void **state)
{
    struct error err = { 0 };
    owned(text) struct text *said = text_new(64);
    struct kube_objects *page = kube_objects_of_list(NULL, look_at_head, note_item, said);
    char block[4096];
    (void)state;
    memset(block, 'x', sizeof block);
    kube_objects_add(page, "{\"items\":[{\"a\":\"", 16);
    for (int i = 0; i < 1100; i++)
        kube_objects_add(page, block, sizeof block);
    kube_objects_add(page, "\"}]}", 4);
    assert_null(kube_objects_end(page, &err));
    assert_non_null(strstr(err.text, "longer than"));
    kube_objects_free(page);
}

static void equal_texts_are_held_once_and_forgotten(void **state)
{
    struct shared_pool *pool = shared_pool_new();
    const char *first = shared_text_of("alike");
    const char *second = shared_text_of("alike");
    (void)state;
    shared_pool_take(pool, &first);
    shared_pool_take(pool, &first); /* again: nothing changes */
    shared_pool_take(pool, &second);
    assert_ptr_equal(first, second);
    for (int i = 0; i < 5000; i++) {
        owned(chars) char *chars = text_format("passing %d", i);
        const char *text = shared_text_of(chars);

        shared_pool_take(pool, &text);
        assert_string_equal(text, chars);
        shared_text_drop(text);
    }
    assert_true(shared_pool_count(pool) <= 256); /* what has no owner does not stay */
    shared_text_drop(first);
    shared_pool_free(pool);
    assert_string_equal(second, "alike"); /* outlives the pool */
    shared_text_drop(second);
}

static void a_packed_map_is_found_by_key(void **state)
{
    (void)state;
    owned(json) json_t *object = json_make("{s:s, s:s, s:i, s:s}", "a", "1", "empty", "", "odd", 7,
                                           "b", "a");
    const char *packed = packed_map_new(object, NULL);
    const char *none = packed_map_new(NULL, NULL);

    assert_string_equal(packed_map_get(packed, "a"), "1");
    assert_string_equal(packed_map_get(packed, "b"), "a");
    assert_string_equal(packed_map_get(packed, "empty"), "");
    assert_null(packed_map_get(packed, "odd"));
    assert_null(packed_map_get(packed, "1")); /* a value is no key */
    assert_null(packed_map_get(none, "a"));
    shared_text_drop(packed);
    shared_text_drop(none);
}

static void an_index_follows_what_moves(void **state)
{
    int a, b, c;
    size_t count = 0;
    (void)state;
    owned(index) struct index *index = index_new();
    index_change(index, "", NULL, "n1", &a);
    index_change(index, "", NULL, "n1", &b);
    index_change(index, "", NULL, "", &c); /* not bound yet */
    assert_ptr_equal(index_find(index, "n1", &count)[0], &a);
    assert_int_equal(count, 2);
    index_change(index, "n1", &a, "n1", &c); /* another state of the same pod: in its place */
    assert_ptr_equal(index_find(index, "n1", &count)[0], &c);
    index_change(index, "n1", &b, "n2", &b);
    assert_int_equal((index_find(index, "n1", &count), count), 1);
    index_change(index, "n1", &c, "", NULL);
    assert_null(index_find(index, "n1", &count));
    assert_int_equal(count, 0);
    assert_ptr_equal(index_find(index, "n2", &count)[0], &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_read_wherever_it_is_cut),
        cmocka_unit_test(an_endless_item_is_an_error),
        cmocka_unit_test(equal_texts_are_held_once_and_forgotten),
        cmocka_unit_test(a_packed_map_is_found_by_key),
        cmocka_unit_test(an_index_follows_what_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
