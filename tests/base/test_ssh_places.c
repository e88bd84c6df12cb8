/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many SSH commands run at a time: those of a lower priority leave places to the others.
 */
#include "base/ssh/ssh_places.h"
#include "base/text.h"
#include "tests/support/unit.h"

static const struct ssh_host jump = { .address = "gate" };

/* Takes all that it can for machines of their own; how many. */
static size_t take_all(struct ssh_places *places, enum ssh_priority priority, bool has_jump)
{
    size_t count = 0;

    for (int i = 0; i < 2 * SSH_SESSIONS; i++) {
        owned(chars) char *address = text_format("%d-%d", (int)priority, i);
        const struct ssh_host host = { .address = address, .jump = has_jump ? &jump : NULL };

        count += ssh_places_take(places, &host, priority);
    }
    return count;
}

static void lower_priorities_leave_places(void **state)
{
    (void)state;
    for (int has_jump = 0; has_jump < 2; has_jump++) {
        owned(ssh_places) struct ssh_places *places = ssh_places_new();
        size_t all = has_jump ? SSH_SESSIONS_PER_HOST : SSH_SESSIONS;

        assert_int_equal(take_all(places, SSH_SILENT, has_jump), all / 2);
        assert_int_equal(take_all(places, SSH_SILENT, has_jump), 0);
        assert_int_equal(take_all(places, SSH_SWEEP, has_jump), all / 4);
        assert_int_equal(take_all(places, SSH_SWEEP, has_jump), 0);
        assert_int_equal(take_all(places, SSH_COMMAND, has_jump), all / 4);
        assert_int_equal(take_all(places, SSH_COMMAND, has_jump), 0);
    }
}

/* What was refused has taken nothing, and what ended makes room. */
static void a_place_is_free_again(void **state)
{
    owned(ssh_places) struct ssh_places *places = ssh_places_new();
    const struct ssh_host host = { .address = "gpu-1", .jump = &jump };
    const struct ssh_host beside = { .address = "gpu-2" };

    (void)state;
    for (int i = 0; i < SSH_SESSIONS_PER_HOST; i++)
        assert_true(ssh_places_take(places, &host, SSH_COMMAND));
    assert_false(ssh_places_take(places, &jump, SSH_COMMAND));
    for (int i = 0; i < SSH_SESSIONS_PER_HOST; i++)
        assert_true(ssh_places_take(places, &beside, SSH_COMMAND));
    assert_false(ssh_places_take(places, &beside, SSH_COMMAND));
    ssh_places_leave(places, &host);
    assert_true(ssh_places_take(places, &jump, SSH_COMMAND));
    assert_false(ssh_places_take(places, &host, SSH_COMMAND));
    ssh_places_leave(places, &jump);
    assert_true(ssh_places_take(places, &host, SSH_COMMAND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lower_priorities_leave_places),
        cmocka_unit_test(a_place_is_free_again),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
