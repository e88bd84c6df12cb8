/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The map: order, replacement, removal while iterating, and a random walk against a plain list.
 */
#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/support/unit.h"

#include <string.h>

static char *keys_of(const struct map *map)
{
    struct text *keys = text_new(TEXT_UNBOUNDED);
    const char *key;

    for (size_t at = 0; map_next(map, &at, &key, NULL);)
        text_add(keys, "%s ", key);
    return text_take(keys);
}

static void assert_keys(const struct map *map, const char *want)
{
    owned(chars) char *keys = keys_of(map);

    assert_string_equal(keys, want);
}

static int freed;

static void count_free(void *value)
{
    (void)value;
    freed++;
}

static void iterates_in_the_order_of_insertion(void **state)
{
    owned(map) struct map *map = map_new(NULL);
    char value[] = "v";

    (void)state;
    assert_null(map_get(map, "a"));
    for (const char *at = "zyxwvutsrqponmlkjihgfedcba"; *at; at++)
        map_set(map, (const char[]){ *at, '\0' }, value);
    assert_int_equal(map_count(map), 26);
    assert_keys(map, "z y x w v u t s r q p o n m l k j i h g f e d c b a ");
    map_set(map, "y", &value[1]);
    assert_ptr_equal(map_get(map, "y"), &value[1]);
    assert_int_equal(map_count(map), 26);
    map_remove(map, "z");
    map_set(map, "z", value);
    assert_keys(map, "y x w v u t s r q p o n m l k j i h g f e d c b a z ");
}

static void frees_each_value_once(void **state)
{
    struct map *map = map_new(count_free);
    int values[4];

    (void)state;
    freed = 0;
    map_set(map, "a", &values[0]);
    map_set(map, "a", &values[1]);
    assert_int_equal(freed, 1);
    map_set(map, "a", &values[1]); /* the same value again is no replacement */
    assert_int_equal(freed, 1);
    map_set(map, "b", &values[2]);
    assert_ptr_equal(map_take(map, "b"), &values[2]);
    assert_int_equal(freed, 1);
    assert_null(map_take(map, "b"));
    assert_true(map_remove(map, "a"));
    assert_false(map_remove(map, "a"));
    assert_int_equal(freed, 2);
    map_set(map, "c", &values[3]);
    map_free(map);
    assert_int_equal(freed, 3);
    map_free(NULL);
}

static void the_current_item_may_be_removed(void **state)
{
    owned(map) struct map *map = map_new(NULL);
    const char *key;
    int value, seen = 0;

    (void)state;
    for (int i = 0; i < 100; i++) {
        owned(chars) char *name = text_format("%d", i);

        map_set(map, name, &value);
    }
    for (size_t at = 0; map_next(map, &at, &key, NULL); seen++)
        if (seen % 2 == 0)
            assert_true(map_remove(map, key));
    assert_int_equal(seen, 100);
    assert_int_equal(map_count(map), 50);
    assert_null(map_get(map, "0"));
    assert_non_null(map_get(map, "1"));
}

static void can_be_used_after_clearing(void **state)
{
    owned(map) struct map *map = map_new(NULL);
    int value;

    (void)state;
    map_clear(map);
    map_set(map, "a", &value);
    map_set(map, "b", &value);
    map_clear(map);
    assert_int_equal(map_count(map), 0);
    assert_null(map_get(map, "a"));
    map_set(map, "c", &value);
    assert_keys(map, "c ");
}

struct model {
    ARRAY(int) order;
    int *values[300];
};

static void step(struct model *model, struct map *map, struct random *random)
{
    static int marks[8];
    int key = (int)random_below(random, COUNT_OF(model->values));
    int *value = &marks[random_below(random, COUNT_OF(marks))];
    owned(chars) char *name = text_format("%d", key);

    if (random_below(random, 5) < 2) {
        assert_int_equal(map_remove(map, name), model->values[key] != NULL);
        for (size_t i = 0; model->values[key] && i < model->order.count; i++)
            if (model->order.items[i] == key) {
                array_remove(&model->order, i);
                break;
            }
        model->values[key] = NULL;
        return;
    }
    if (model->values[key] == NULL)
        *array_add(&model->order) = key;
    model->values[key] = value;
    map_set(map, name, value);
}

static void agrees_with_a_plain_list(void **state)
{
    owned(map) struct map *map = map_new(NULL);
    struct model model = { 0 };
    struct random random;

    (void)state;
    random_seed(&random, 1);
    for (int round = 0; round < 20000; round++) {
        size_t at = 0;
        const char *key;
        void *value;

        step(&model, map, &random);
        assert_int_equal(map_count(map), model.order.count);
        for (size_t i = 0; round % 500 == 0 && i < model.order.count; i++) {
            owned(chars) char *name = text_format("%d", model.order.items[i]);

            assert_true(map_next(map, &at, &key, &value));
            assert_string_equal(key, name);
            assert_ptr_equal(value, model.values[model.order.items[i]]);
            assert_ptr_equal(map_get(map, name), value);
        }
    }
    array_clear(&model.order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterates_in_the_order_of_insertion),
        cmocka_unit_test(frees_each_value_once),
        cmocka_unit_test(the_current_item_may_be_removed),
        cmocka_unit_test(can_be_used_after_clearing),
        cmocka_unit_test(agrees_with_a_plain_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
