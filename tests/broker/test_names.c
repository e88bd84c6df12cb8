/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Names of users and groups behind a directory server that is slow, fails, or has large groups.
 */
#include "base/memory.h"
#include "base/text.h"
#include "broker/access/groups.h"
#include "broker/access/names.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int asked;  /* questions so far */
static atomic_bool hangs; /* the directory server answers nothing */
static atomic_int stuck;  /* questions that wait for it */
static int code;          /* of the next answers */
static size_t needed;     /* a smaller buffer is ERANGE */
static bool is_absent;    /* there is no such name */

static int answer(size_t size, bool *ret_found)
{
    stuck++;
    asked++;
    while (hangs)
        usleep(1000);
    stuck--;
    *ret_found = code == 0 && size >= needed && !is_absent;
    return code != 0 ? code : size < needed ? ERANGE : 0;
}

static int find_user(uid_t uid, struct passwd *entry, char *buffer, size_t size,
                     struct passwd **found)
{
    bool is_found;
    int result = answer(size, &is_found);

    if (is_found) {
        text_print(buffer, size, "user%u-%d", (unsigned)uid, asked);
        entry->pw_name = buffer;
        *found = entry;
    }
    return result;
}

static int find_group(const char *name, struct group *entry, char *buffer, size_t size,
                      struct group **found)
{
    bool is_found;
    int result = answer(size, &is_found);

    (void)name;
    (void)buffer;
    if (is_found) {
        entry->gr_gid = 700;
        *found = entry;
    }
    return result;
}

static int set_up(void **state)
{
    static const struct names_source source = { find_user, find_group };

    (void)state;
    asked = code = 0;
    hangs = false;
    needed = 0;
    is_absent = false;
    names_set_source(&source);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    names_set_source(NULL);
    return 0;
}

static void expect_user(struct names *names, uid_t uid, int64_t now_ms, const char *wanted)
{
    char name[40];

    names_user(names, uid, (struct wall_time){ now_ms }, name, sizeof name);
    assert_string_equal(name, wanted);
}

static void a_name_is_asked_for_once_a_minute(void **state)
{
    owned(names) struct names *names = names_new();

    (void)state;
    for (int i = 0; i < 1000; i++)
        expect_user(names, 7, 5000 + i, "user7-1");
    expect_user(names, 8, 5000, "user8-2");
    expect_user(names, 7, 5000 + MINUTE_MS - 1, "user7-1");
    expect_user(names, 7, 5000 + MINUTE_MS, "user7-3");
    expect_user(names, 7, 1, "user7-4"); /* the clock was set back */
    is_absent = true;
    expect_user(names, 9, 5000, "uid 9");
    expect_user(names, 9, 6000, "uid 9");
    assert_int_equal(asked, 5);
}

struct told {
    struct loop *loop;
    int times, overs;
};

static void tell(void *context, bool is_over)
{
    struct told *told = context;

    told->times++;
    told->overs += is_over;
    loop_stop(told->loop);
}

/* Several wait for one user, and one for another. */
static void names_are_found_out_in_a_thread(void **state)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);
    owned(names) struct names *names = names_new();
    struct told told = { .loop = loop }, other = { .loop = loop };

    (void)state;
    assert_false(names_has(names, 7, loop_wall(loop)));
    for (int i = 0; i < 3; i++)
        names_learn(names, loop, 7, tell, &told);
    names_learn(names, loop, 8, tell, &other);
    assert_int_equal(told.times, 0);
    while (told.times < 3 || other.times < 1)
        loop_run(loop);
    assert_int_equal(told.times + told.overs, 3);
    assert_int_equal(other.times + other.overs, 1);
    assert_true(names_has(names, 7, loop_wall(loop)));
    expect_user(names, 7, loop_wall(loop).ms, "user7-1");
    expect_user(names, 8, loop_wall(loop).ms, "user8-2");
    assert_int_equal(asked, 2);
}

/* Questions that were left to their threads end, too, and count. */
static void await_questions(int times)
{
    while (asked < times || stuck > 0)
        usleep(1000);
}

/* Each that waits is told when the question is given up, or its context would be lost. */
static void who_waits_for_a_name_is_told_at_the_end(void **state)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);
    struct names *names = names_new();
    struct told told = { .loop = loop };

    (void)state;
    for (uid_t uid = 7; uid < 10; uid++)
        names_learn(names, loop, uid, tell, &told);
    names_stop(names);
    assert_int_equal(told.times, 3);
    assert_int_equal(told.overs, 3);
    names_learn(names, loop, 7, tell, &told);
    names_free(names);
    assert_int_equal(told.overs, 4);
    await_questions(2);
}

static void expect_told(const struct names *names, uid_t uid, struct loop *loop, const char *wanted)
{
    char name[40];

    names_tell(names, uid, loop_wall(loop), name, sizeof name);
    assert_string_equal(name, wanted);
}

static void run_until_asked(struct loop *loop, int times)
{
    while (asked < times || stuck > 0)
        loop_run_until(loop, loop_now(loop) + 10);
    loop_run_until(loop, loop_now(loop) + 50); /* the answer is heard in a turn of its own */
}

static void an_old_name_is_used_while_it_is_asked_again(void **state)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);
    owned(names) struct names *names = names_new();
    struct told told = { .loop = loop };

    (void)state;
    expect_told(names, 7, loop, "uid 7");
    names_learn(names, loop, 7, tell, &told);
    loop_run(loop);
    names_renew(names, loop, 7); /* it is new */
    loop_wall_move(loop, 2 * MINUTE_MS);
    assert_true(names_has(names, 7, loop_wall(loop)));
    for (int i = 0; i < 3; i++)
        names_renew(names, loop, 7);
    expect_told(names, 7, loop, "user7-1");
    run_until_asked(loop, 2);
    expect_told(names, 7, loop, "user7-2");
    code = EIO;
    loop_wall_move(loop, 2 * MINUTE_MS);
    names_renew(names, loop, 7);
    run_until_asked(loop, 3);
    expect_told(names, 7, loop, "user7-2"); /* a failure takes no name away */
    loop_wall_move(loop, HOUR_MS);
    assert_false(names_has(names, 7, loop_wall(loop)));
    expect_told(names, 7, loop, "uid 7");
    assert_int_equal(asked, 3);
}

/* And the answer is used when it comes. */
static void nobody_waits_for_ever(void **state)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);
    owned(names) struct names *names = names_new();
    struct told told = { .loop = loop };

    (void)state;
    names_pin(names, 0);
    hangs = true;
    names_learn(names, loop, 7, tell, &told);
    names_learn(names, loop, 8, tell, &told);
    assert_true(names_has(names, 0, loop_wall(loop)));
    loop_skip(loop, NAMES_WAIT_MS);
    while (told.times < 2)
        loop_run(loop);
    assert_int_equal(told.overs, 0);
    expect_told(names, 7, loop, "uid 7");
    expect_told(names, 8, loop, "uid 8");
    assert_true(names_has(names, 8, loop_wall(loop)));
    hangs = false;
    run_until_asked(loop, 2);
    expect_told(names, 7, loop, "user7-2");
    loop_wall_move(loop, 10 * HOUR_MS);
    names_renew(names, loop, 0);
    expect_told(names, 0, loop, "user0-1");
    assert_int_equal(asked, 2);
}

static void ignore(void *context)
{
    (void)context;
}

/* The service's stop and its reload are in the loop. */
static void the_end_waits_for_no_directory_server(void **state)
{
    owned(loop) struct loop *loop = loop_libevent_new(NULL);
    struct names *names = names_new();
    struct groups *groups = groups_new();
    struct told told = { .loop = loop };

    (void)state;
    code = EIO;
    (void)groups_add(groups, "people");
    groups_retry(groups, loop, ignore, NULL);
    hangs = true;
    names_learn(names, loop, 7, tell, &told);
    loop_skip(loop, MINUTE_MS);
    while (stuck < 2)
        loop_run_until(loop, loop_now(loop) + 10);
    groups_free(groups);
    names_free(names);
    assert_int_equal(stuck, 2);
    hangs = false;
    await_questions(3);
}

static void what_is_kept_is_bounded(void **state)
{
    owned(names) struct names *names = names_new();
    char name[40];

    (void)state;
    for (uid_t uid = 0; uid < 5000; uid++)
        names_user(names, uid, (struct wall_time){ 1000 }, name, sizeof name);
    names_user(names, 4999, (struct wall_time){ 1000 }, name, sizeof name);
    assert_int_equal(asked, 5000);
    names_user(names, 0, (struct wall_time){ 1000 }, name, sizeof name);
    assert_int_equal(asked, 5001);
}

static void a_failed_question_is_no_absence(void **state)
{
    static const struct {
        const char *name;
        int code;
        size_t needed;
        bool is_absent;
        int result;
        enum error_kind kind;
        gid_t group;
    } rows[] = {
        { "people", 0, 0, false, 0, ERROR_NONE, 700 },
        { "people", 0, 1 << 20, false, 0, ERROR_NONE, 700 }, /* a group of many members */
        { "people", 0, 0, true, -1, ERROR_INVALID, 0 },
        { "people", EIO, 0, false, -1, ERROR_TRANSIENT, 0 },
        { "people", ENOENT, 0, false, -1, ERROR_TRANSIENT, 0 }, /* glibc: a source is missing */
        { "people", 0, SIZE_MAX, false, -1, ERROR_TRANSIENT, 0 },
        { "61001", EIO, 0, false, 0, ERROR_NONE, 61001 },
        { "61001", 0, 0, false, 0, ERROR_NONE, 61001 },
        { "-1", 0, 0, true, -1, ERROR_INVALID, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        gid_t group = 0;

        code = rows[i].code;
        needed = rows[i].needed;
        is_absent = rows[i].is_absent;
        assert_int_equal(names_group(rows[i].name, &group, &err), rows[i].result);
        assert_int_equal(err.kind, rows[i].kind);
        assert_int_equal(group, rows[i].group);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_name_is_asked_for_once_a_minute, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_found_out_in_a_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_waits_for_a_name_is_told_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_name_is_used_while_it_is_asked_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nobody_waits_for_ever, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_waits_for_no_directory_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_kept_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_question_is_no_absence, set_up, tear_down),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
