/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The small world with prod-a in a yard (yard.h), and moves into it and out of it.
 */
#pragma once

#include "tests/cli/yard_mute.h"

static inline char *replaced(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);

    assert_non_null(at);
    return text_format("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

/* The small world with prod-a in a yard, whose provider is of this kind; no service runs yet. */
static inline struct rehearsal *yard_world_at_rest(const struct provider_kind *kind,
                                                   const char *folder, struct http *way)
{
    owned(chars) char *pools = replaced(
        small_config, "reservation: east, provider: google, project: p, group: prod-a-east",
        "reservation: east, provider: lots, lot: prod-a-east");
    owned(chars) char *provider = text_format(
        "providers:\n  lots: {kind: %s, endpoint: 'http://127.0.0.1:1'}\n", kind->account.name);
    owned(chars) char *config = replaced(pools, "providers:\n", provider);
    owned(chars) char *world = text_format("seed: 11\n%s", small_machines);
    struct rehearsal *rehearsal = world_open(folder, config, world, 6, 11);

    yard_open(rehearsal);
    way->verbs = &yard_way_verbs;
    rehearsal->world.http = way;
    return rehearsal;
}

static inline struct rehearsal *yard_world_of(const struct provider_kind *kind, const char *folder,
                                              struct http *way)
{
    struct rehearsal *rehearsal = yard_world_at_rest(kind, folder, way);
    struct error err = { 0 };

    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("%s", err.text);
    return rehearsal;
}

static inline struct rehearsal *yard_world(const char *folder, struct http *way)
{
    return yard_world_of(&yard_kind, folder, way);
}

static inline void close_yard(struct rehearsal *rehearsal)
{
    rehearsal_kill(rehearsal);
    assert_null(yard_exchanges);
    rehearsal_close(rehearsal);
}

/* What was ordered is so many boxes: one for each attempt. */
static inline void expect_orders(const struct rehearsal *rehearsal, int orders)
{
    const struct runner *runner = rehearsal->service->runner;
    int ordered = 0;

    for (size_t i = 0; i < yard.count; i++)
        ordered += yard.boxes[i].key[0] != '\0';
    assert_int_equal(ordered, orders);
    for (size_t i = 0; i < runner->transfers.count; i++)
        assert_int_equal(runner->transfers.items[i]->attempt, orders);
}

static inline void rest(struct rehearsal *rehearsal, int nodes)
{
    for (int64_t ms = 0; ms < 2 * HOUR_MS && !rehearsal->is_dead; ms += MINUTE_MS) {
        rehearsal_run(rehearsal, MINUTE_MS);
        if (!rehearsal->is_dead && nodes_of(rehearsal, "prod-a-east") == nodes &&
            transfers_of(rehearsal, false) == 0)
            break;
    }
    rehearsal_run(rehearsal, rehearsal->is_dead ? 0 : 2 * MINUTE_MS);
}

/* A move of one node into the yard, or out of it. */
struct yard_play {
    bool is_out;
    const struct death *death; /* NULL: the service lives */
    struct yard_fault fault;
    bool asks_twice; /* for a removal too */
    int orders;      /* boxes that are ordered in all; 0: one */
};

struct yard_played {
    int64_t commits;
    int requests;
};

static inline void live_again(struct rehearsal *rehearsal, const struct death *death)
{
    struct error err = { 0 };

    rehearsal_kill(rehearsal);
    if (rehearsal_start(rehearsal, &err) < 0)
        fail_msg("after a death at commit %lld: %s", (long long)death->first, err.text);
}

static inline struct yard_played play_yard(const struct yard_play *play)
{
    owned(test_folder) char *folder = test_folder_new();
    struct http way;
    struct rehearsal *rehearsal = yard_world(folder, &way);
    int nodes = play->is_out ? 5 : 7;
    owned(json) json_t *answer = NULL;
    struct yard_played played;

    rehearsal_run(rehearsal, MINUTE_MS);
    apply(rehearsal, 6, 6);
    rehearsal_run(rehearsal, MINUTE_MS);
    yard.fault = play->fault;
    yard.asks_twice = play->asks_twice;
    if (play->is_out)
        apply(rehearsal, 5, 5);
    else
        answer = reclaim(rehearsal, 1);
    played.commits = rehearsal->commits;
    if (play->death && play->death->is_after)
        rehearsal_kill_after_commit(rehearsal, play->death->first);
    else if (play->death)
        rehearsal_kill_at_commit(rehearsal, play->death->first);
    rest(rehearsal, nodes);
    if (rehearsal->is_dead)
        live_again(rehearsal, play->death);
    rehearsal->kill_at = 0;
    rest(rehearsal, nodes);
    expect_rest(rehearsal, nodes);
    expect_tidy(rehearsal);
    if (!play->is_out)
        expect_orders(rehearsal, play->orders ?: 1);
    played.commits = rehearsal->commits - played.commits;
    played.requests = yard.requests;
    close_yard(rehearsal);
    return played;
}
