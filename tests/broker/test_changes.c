/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Following the changes of a service, in virtual time: one event a second at most, a sign of life
 * every 15 seconds, and no reader that does not keep up.
 */
#include "base/memory.h"
#include "base/text.h"
#include "broker/api/changes.h"
#include "tests/support/unit.h"

#include <string.h>

struct tape {
    int changes, signs, ends;
    bool is_slow;
    char last[64];
};

static bool hear(void *context, const char *bytes, size_t size)
{
    struct tape *tape = context;

    text_copy(tape->last, sizeof tape->last, bytes);
    assert_int_equal(strlen(bytes), size);
    assert_string_equal(bytes + size - 2, "\n\n");
    tape->changes += text_starts_with(bytes, "event: change\ndata: {");
    tape->signs += text_starts_with(bytes, ": alive");
    return !tape->is_slow;
}

static void end(void *context)
{
    struct tape *tape = context;

    tape->ends++;
}

static uint64_t read_revision(const void *context)
{
    return *(const uint64_t *)context;
}

struct scene {
    struct loop *loop;
    uint64_t revision;
    struct changes *changes;
};

static void begin(struct scene *scene)
{
    *scene = (struct scene){ .loop = loop_virtual_new((struct wall_time){ 0 }), .revision = 7 };
    scene->changes = changes_new(scene->loop, read_revision, &scene->revision);
}

static void finish(struct scene *scene)
{
    changes_free(scene->changes);
    loop_free(scene->loop);
}

static void run(struct scene *scene, int64_t ms)
{
    loop_run_until(scene->loop, loop_now(scene->loop) + ms);
}

static struct wall_time ends; /* of the readers that are added */

static int add(struct scene *scene, struct tape *tape, const char *person)
{
    struct error err = { 0 };

    if (changes_check(scene->changes, person, &err) < 0) {
        assert_int_equal(err.kind, ERROR_THROTTLED);
        assert_int_equal(err.retry_after_ms, 10 * SECOND_MS);
        return -1;
    }
    changes_add(scene->changes,
                &(struct changes_reader){
                    .context = tape, .person = person, .ends = ends, .send = hear, .end = end });
    return 0;
}

static void changes_of_a_second_are_one_event(void **state)
{
    struct tape tape = { 0 };
    struct scene scene;

    (void)state;
    begin(&scene);
    assert_int_equal(add(&scene, &tape, "ada"), 0);
    assert_string_equal(tape.last, "event: change\ndata: {\"revision\":7}\n\n");
    for (int i = 0; i < 100; i++) {
        scene.revision++;
        run(&scene, 100);
    }
    assert_in_range(tape.changes, 10, 11);
    run(&scene, SECOND_MS);
    assert_string_equal(tape.last, "event: change\ndata: {\"revision\":107}\n\n");
    assert_int_equal(tape.signs, 0);
    finish(&scene);
    assert_int_equal(tape.ends, 1);
}

static void a_silent_service_shows_that_it_is_alive(void **state)
{
    struct tape tape = { 0 };
    struct scene scene;

    (void)state;
    begin(&scene);
    assert_int_equal(add(&scene, &tape, "ada"), 0);
    run(&scene, 14 * SECOND_MS);
    assert_int_equal(tape.signs, 0);
    run(&scene, 46 * SECOND_MS);
    assert_in_range(tape.signs, 3, 4);
    assert_int_equal(tape.changes, 1);
    finish(&scene);
}

static void a_reader_that_does_not_keep_up_is_dropped_alone(void **state)
{
    struct tape slow = { 0 }, quick = { 0 };
    struct scene scene;

    (void)state;
    begin(&scene);
    assert_int_equal(add(&scene, &slow, "ada"), 0);
    assert_int_equal(add(&scene, &quick, "ben"), 0);
    slow.is_slow = true;
    scene.revision++;
    run(&scene, 5 * SECOND_MS);
    assert_int_equal(slow.ends, 1);
    assert_int_equal(slow.changes, 2);
    assert_int_equal(quick.ends, 0);
    scene.revision++;
    run(&scene, 5 * SECOND_MS);
    assert_int_equal(slow.changes, 2);
    assert_int_equal(quick.changes, 3);
    finish(&scene);
    assert_int_equal(slow.ends, 1);
}

static void a_reader_that_left_is_told_nothing(void **state)
{
    struct tape tape = { 0 };
    struct scene scene;

    (void)state;
    begin(&scene);
    assert_int_equal(add(&scene, &tape, "ada"), 0);
    changes_forget(scene.changes, &tape);
    scene.revision++;
    run(&scene, MINUTE_MS);
    finish(&scene);
    assert_int_equal(tape.changes, 1);
    assert_int_equal(tape.signs + tape.ends, 0);
}

/* Its certificate or token is not looked at again otherwise. */
static void a_reader_ends_with_what_it_has_shown(void **state)
{
    struct tape tape = { 0 }, other = { 0 };
    struct scene scene;

    (void)state;
    begin(&scene);
    ends.ms = loop_wall(scene.loop).ms + MINUTE_MS;
    assert_int_equal(add(&scene, &tape, "ada"), 0);
    ends.ms = 0;
    assert_int_equal(add(&scene, &other, "ben"), 0);
    run(&scene, MINUTE_MS - SECOND_MS);
    assert_int_equal(tape.ends, 0);
    scene.revision++;
    run(&scene, 2 * SECOND_MS);
    assert_int_equal(tape.ends, 1);
    assert_int_equal(other.ends, 0);
    assert_int_equal(other.changes, 2);
    finish(&scene);
}

static void there_are_only_so_many_readers(void **state)
{
    struct tape tapes[CHANGES_READERS_MOST + 1] = { 0 };
    struct scene scene;

    (void)state;
    begin(&scene);
    for (int i = 0; i < CHANGES_READERS_MOST; i++) {
        owned(chars) char *person = text_format("person %d", i / CHANGES_PERSON_MOST);

        assert_int_equal(add(&scene, &tapes[i], person), 0);
        if (i == CHANGES_PERSON_MOST - 1)
            assert_int_equal(add(&scene, &tapes[i + 1], person), -1);
    }
    assert_int_equal(add(&scene, &tapes[CHANGES_READERS_MOST], "one more"), -1);
    changes_forget(scene.changes, &tapes[0]);
    assert_int_equal(add(&scene, &tapes[CHANGES_READERS_MOST], "one more"), 0);
    changes_add(scene.changes, &(struct changes_reader){
                                   .context = &tapes[0], .person = "x", .send = hear, .end = end });
    assert_int_equal(tapes[0].ends, 1);
    assert_int_equal(tapes[0].changes, 1);
    finish(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_of_a_second_are_one_event),
        cmocka_unit_test(a_silent_service_shows_that_it_is_alive),
        cmocka_unit_test(a_reader_that_does_not_keep_up_is_dropped_alone),
        cmocka_unit_test(a_reader_that_left_is_told_nothing),
        cmocka_unit_test(a_reader_ends_with_what_it_has_shown),
        cmocka_unit_test(there_are_only_so_many_readers),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
