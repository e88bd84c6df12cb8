/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The record of a transfer survives the journal, member by member, and what this broker does not
 * know is refused by name.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/transfer/steps.h"
#include "broker/transfer/transfer.h"
#include "providers/gcp/gcp.h"
#include "tests/support/unit.h"

#include <string.h>

static char prod_name[] = "prod-a-east";
static char research_name[] = "research-a-east";
static char group_name[] = "group-of-a-name-that-is-longer-than-fifty-characters-in-all";
static char config_path[] = "sluice.yaml";

static struct gcp_pool places[] = { { .group = prod_name }, { .group = group_name } };
static const struct config_provider google = { .kind = &gcp_kind };
static struct config_pool pools[] = {
    { .name = prod_name, .provider = &google, .own = { NULL, &places[0] } },
    { .name = research_name, .provider = &google, .own = { NULL, &places[1] } },
};
static const struct config config = { .path = config_path, .pools = pools, .pool_count = 2 };

/* Every stored member has a value of its own. */
static struct transfer *full_transfer(void)
{
    struct transfer *transfer = transfer_new();

    text_copy(transfer->id, sizeof transfer->id, "t-0123456789");
    text_copy(transfer->move, sizeof transfer->move, "m-01234567");
    text_copy(transfer->reason, sizeof transfer->reason, "production \"needs\" it");
    text_copy(transfer->held, sizeof transfer->held, "ada: a checkpoint");
    text_copy(transfer->node, sizeof transfer->node, "node-1");
    text_copy(transfer->node_uid, sizeof transfer->node_uid, "uid-1");
    text_copy(transfer->instance, sizeof transfer->instance, "instance-1");
    text_copy(transfer->new_instance, sizeof transfer->new_instance, "instance-2");
    text_copy(transfer->new_provider_id, sizeof transfer->new_provider_id, "gce://p/z/instance-2");
    text_copy(transfer->new_node, sizeof transfer->new_node, "node-2");
    transfer->step = STEP_JOIN;
    transfer->attempt = 3;
    transfer->redrains = 2;
    transfer->source = &pools[1];
    transfer->target = &pools[0];
    transfer->created.ms = 1700000000001;
    transfer->departure.ms = 1700000000002;
    transfer->announced.ms = 1700000000007;
    transfer->due.ms = 1700000000003;
    transfer->step_began.ms = 1700000000004;
    transfer->cordoned.ms = 1700000000005;
    transfer->drain_due.ms = 1700000600005;
    transfer->ended.ms = 1700000000006;
    return transfer;
}

static struct transfer *decode(const json_t *value)
{
    struct error err = { 0 };
    struct transfer *transfer = transfer_decode(&config, value, &err);

    if (!transfer)
        fail_msg("%s", err.text);
    return transfer;
}

static void expect_same(const struct transfer *left, const struct transfer *right)
{
    assert_string_equal(left->id, right->id);
    assert_string_equal(left->move, right->move);
    assert_string_equal(left->reason, right->reason);
    assert_string_equal(left->node, right->node);
    assert_string_equal(left->node_uid, right->node_uid);
    assert_string_equal(left->instance, right->instance);
    assert_string_equal(left->new_instance, right->new_instance);
    assert_string_equal(left->new_provider_id, right->new_provider_id);
    assert_string_equal(left->new_node, right->new_node);
    assert_int_equal(left->state, right->state);
    assert_int_equal(left->step, right->step);
    assert_int_equal(left->attempt, right->attempt);
    assert_int_equal(left->redrains, right->redrains);
    assert_int_equal(left->is_undoing, right->is_undoing);
    assert_int_equal(left->is_emergency, right->is_emergency);
    assert_int_equal(left->is_returning, right->is_returning);
    assert_int_equal(left->is_discarding, right->is_discarding);
    assert_int_equal(left->has_volumes, right->has_volumes);
    assert_int_equal(left->came_untainted, right->came_untainted);
    assert_int_equal(left->stays_exposed, right->stays_exposed);
    assert_ptr_equal(left->source, right->source);
    assert_ptr_equal(left->target, right->target);
    assert_int_equal(left->created.ms, right->created.ms);
    assert_int_equal(left->departure.ms, right->departure.ms);
    assert_int_equal(left->announced.ms, right->announced.ms);
    assert_string_equal(left->held, right->held);
    assert_int_equal(left->due.ms, right->due.ms);
    assert_int_equal(left->step_began.ms, right->step_began.ms);
    assert_int_equal(left->cordoned.ms, right->cordoned.ms);
    assert_int_equal(left->drain_due.ms, right->drain_due.ms);
    assert_int_equal(left->ended.ms, right->ended.ms);
}

static void every_member_comes_back(void **state)
{
    (void)state;
    for (int flags = 0; flags < 128; flags++) {
        owned(transfer) struct transfer *transfer = full_transfer();
        owned(transfer) struct transfer *again = NULL;
        owned(json) json_t *value = NULL;

        transfer->is_undoing = flags & 1;
        transfer->is_emergency = flags & 2;
        transfer->is_returning = flags & 4;
        transfer->is_discarding = flags & 8;
        transfer->has_volumes = flags & 16;
        transfer->came_untainted = flags & 32;
        transfer->stays_exposed = flags & 64;
        value = transfer_encode(transfer);
        again = decode(value);
        expect_same(transfer, again);
        owned(json) json_t *twice = transfer_encode(again);
        assert_true(json_equal(value, twice));
    }
}

static void every_step_and_state_comes_back(void **state)
{
    (void)state;
    for (int step = 0; step < STEP_COUNT; step++) {
        for (int at = 0; at < TRANSFER_STATE_COUNT; at++) {
            owned(transfer) struct transfer *transfer = full_transfer();
            owned(transfer) struct transfer *again = NULL;
            owned(json) json_t *value = NULL;

            transfer->step = step;
            transfer->state = (enum transfer_state)at;
            value = transfer_encode(transfer);
            again = decode(value);
            expect_same(transfer, again);
        }
    }
}

static const char *const later[] = { "came_untainted", "stays_exposed", "redrains", "drain_due",
                                     "new_provider_id" };

static bool is_later(const char *key)
{
    for (size_t i = 0; i < COUNT_OF(later); i++)
        if (text_equal(later[i], key))
            return true;
    return false;
}

static void what_is_not_known_is_refused(void **state)
{
    static const struct {
        const char *key;
        const char *value;
        enum error_kind kind;
        const char *says;
    } cases[] = {
        { "source", "gone-pool", ERROR_INVALID, "gone-pool" },
        { "target", "gone-pool", ERROR_INVALID, "gone-pool" },
        { "step", "teleport", ERROR_CORRUPT, "teleport" },
        { "state", "asleep", ERROR_CORRUPT, "asleep" },
        { "attempt", "x", ERROR_INVALID, "attempt" },
        { "created", "x", ERROR_INVALID, "created" },
        { "is_undoing", "x", ERROR_INVALID, "is_undoing" },
    };
    owned(transfer) struct transfer *transfer = full_transfer();
    owned(json) json_t *good = transfer_encode(transfer);
    const char *key;
    const json_t *member;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        owned(json) json_t *value = json_deep_copy(good);
        struct error err = { 0 };

        json_object_set_new(value, cases[i].key, json_string(cases[i].value));
        assert_null(transfer_decode(&config, value, &err));
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].key, err.text);
        if (cases[i].kind == ERROR_CORRUPT || strstr(cases[i].value, "pool"))
            assert_string_equal(error_kind_name(err.kind), error_kind_name(cases[i].kind));
    }
    json_object_foreach(good, key, member) {
        owned(json) json_t *value = json_deep_copy(good);
        struct error err = { 0 };

        if (is_later(key))
            continue;
        json_object_del(value, key);
        if (transfer_decode(&config, value, &err))
            fail_msg("a record without %s was read", key);
        assert_non_null(strstr(err.text, key));
    }
}

/* The journal of an older version is read: what it did not know is false, or not yet. */
static void later_members_may_be_absent(void **state)
{
    owned(transfer) struct transfer *transfer = full_transfer();
    owned(json) json_t *value = transfer_encode(transfer);
    owned(transfer) struct transfer *again = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(later); i++)
        assert_int_equal(json_object_del(value, later[i]), 0);
    transfer->drain_due.ms = 0;
    transfer->redrains = 0;
    transfer->new_provider_id[0] = '\0';
    again = decode(value);
    expect_same(transfer, again);
}

static void a_step_has_its_name_of_older_journals(void **state)
{
    owned(transfer) struct transfer *transfer = full_transfer();
    owned(json) json_t *value = transfer_encode(transfer);
    owned(transfer) struct transfer *again = NULL;

    (void)state;
    json_object_set_new(value, "step", json_string("hold"));
    again = decode(value);
    assert_int_equal(again->step, STEP_NOTICE);
}

static void a_machine_is_named_by_transfer_and_attempt(void **state)
{
    owned(transfer) struct transfer *transfer = full_transfer();
    char first[64];

    (void)state;
    transfer_name_instance(transfer);
    assert_string_equal(transfer->new_provider_id, ""); /* the list says it, not the name */
    assert_int_equal(strlen(transfer->new_key), 8);
    assert_string_equal(transfer_order(transfer), transfer->new_instance);
    text_copy(first, sizeof first, transfer->new_instance);
    assert_int_equal(strncmp(first, "prod-a-east-", 12), 0);
    assert_int_equal(strlen(first), 12 + 8);
    transfer_name_instance(transfer);
    assert_string_equal(transfer->new_instance, first); /* a repeat makes no second machine */

    transfer->attempt++;
    transfer_name_instance(transfer);
    assert_string_not_equal(transfer->new_instance, first);

    transfer->is_returning = true; /* into the source's group, whose name is cut */
    transfer_name_instance(transfer);
    assert_int_equal(strncmp(transfer->new_instance, group_name, 50), 0);
    assert_int_equal(strlen(transfer->new_instance), 50 + 1 + 8);

    transfer->attempt--;
    transfer->is_returning = false;
    text_copy(transfer->id, sizeof transfer->id, "t-other");
    transfer_name_instance(transfer);
    assert_string_not_equal(transfer->new_instance, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_comes_back),
        cmocka_unit_test(every_step_and_state_comes_back),
        cmocka_unit_test(what_is_not_known_is_refused),
        cmocka_unit_test(later_members_may_be_absent),
        cmocka_unit_test(a_step_has_its_name_of_older_journals),
        cmocka_unit_test(a_machine_is_named_by_transfer_and_attempt),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
