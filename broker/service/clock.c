/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Jumps of the machine's wall clock.  All that the service decides rests on loop_wall(), which no
 * jump changes: no deadline, notice, freeze or reclaim ends earlier or later than it would have.
 * People and the windows of the week live by the machine's clock, so this file follows it:
 *
 *   small   Less than JUMP_MS apart: followed by at most a tenth of the time that passes.
 *   jump    Said at once (log, event, warning), and followed as a whole when it has stood for a
 *           minute: one commit shifts every stored time, so that as much is left of each as before,
 *           and the windows follow the new clock.
 *   doubt   When most API servers that were asked say that the old clock is right, ours is wrong:
 *           it is not followed for a day, and a warning says so meanwhile.  The servers only choose
 *           between our two clocks; none can name a third.
 *
 * The journal stores pairs of a wall time and a reading of the monotonic clock.  Until the machine
 * reboots, they tell a new process the exact time, whatever the clock was set to meanwhile.  After
 * a reboot it is not known how long the machine was off.  The wall clock is then believed if it
 * went forward, but none of that time counts for the pods of nodes that leave.  Time never goes
 * back.
 */
#include "base/input/json.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/service/service_parts.h"

#include <stdlib.h>

enum {
    JUMP_MS = 5 * SECOND_MS,
    FOLLOW_PART = 10,            /* of the time that passes, for less than a jump */
    STANDS_MS = MINUTE_MS,       /* a jump, before it is followed */
    DOUBTED_MS = DAY_MS,         /* a jump that the servers' clocks speak against */
    ASKED_MS = 5 * MINUTE_MS,    /* between two questions about that */
    TOLD_MS = HOUR_MS,           /* a jump that was followed stays among the warnings */
    WRITTEN_MS = 10 * MINUTE_MS, /* between two records of the clock, while a node moves */
    DRIFT_MS = SECOND_MS,        /* small steps that make a new record due */
};

static const char record_kind[] = "clock";
static const char record_id[] = "wall";

struct clock {
    struct service *service;
    uint64_t rev;       /* of the record; 0: none */
    int64_t written_ms; /* when the last record was written, in loop time */
    int64_t drift_ms;   /* what has been followed since then in small steps */
    int64_t looked_ms;  /* in loop time */
    int64_t away_ms;    /* that counts for no deadline: the machine was started again */
    int64_t jump_ms;    /* by so much the machine's clock is ahead of ours; 0: no jump */
    int64_t jumped_ms;  /* when that was noticed, in loop time */
    struct wall_time jumped;
    int64_t asked_ms; /* the servers, in loop time */
    bool is_doubted;
    int64_t followed_ms; /* the last jump that was; 0: none */
    struct wall_time followed;
};

/* What the journal says of the last process. */
struct stamp {
    bool is_there; /* also one that cannot be read */
    uint64_t rev;
    int64_t wall_ms;
    int64_t loop_ms;
    char boot[64];
};

static int64_t now_of(const struct clock *clock)
{
    return loop_now(clock->service->world->loop);
}

/* An unreadable stamp gives no time: the last event then does. */
static int load_stamp(void *context, const char *id, uint64_t rev, const json_t *value,
                      struct error *err)
{
    struct stamp *stamp = context;
    struct stamp read = { .is_there = true, .rev = rev };
    const char *boot;

    (void)id;
    stamp->is_there = true;
    if (json_need_int(value, "wall", &read.wall_ms, err) < 0 ||
        json_need_int(value, "loop", &read.loop_ms, err) < 0 ||
        json_need_text(value, "boot", &boot, err) < 0)
        return -1;
    text_copy(read.boot, sizeof read.boot, boot);
    *stamp = read;
    return 0;
}

/* After a reboot of the machine: the last event may be newer than the record. */
static int load_newest(struct journal *journal, struct stamp *stamp, struct error *err)
{
    owned(json) json_t *events = journal_events(journal, 1, err);
    int64_t at_ms = json_int_or(json_array_get(events, 0), "at", 0);

    if (!events)
        return -1;
    if (at_ms > stamp->wall_ms)
        stamp->wall_ms = at_ms;
    return 0;
}

/* Our clock goes on where the last process left it. */
static int go_on(struct clock *clock, struct stamp *stamp, struct error *err)
{
    struct world *world = clock->service->world;
    const char *boot = loop_boot(world->loop);
    int64_t now_ms = loop_now(world->loop);
    int64_t ahead_ms;

    if (boot[0] != '\0' && text_equal(boot, stamp->boot) && now_ms >= stamp->loop_ms) {
        loop_wall_move(world->loop,
                       stamp->wall_ms + now_ms - stamp->loop_ms - loop_wall(world->loop).ms);
        return 0;
    }
    if (load_newest(world->journal, stamp, err) < 0)
        return -1;
    ahead_ms = loop_wall(world->loop).ms - stamp->wall_ms;
    if (ahead_ms < 0)
        loop_wall_move(world->loop, -ahead_ms);
    else
        clock->away_ms = ahead_ms;
    return 0;
}

struct clock *clock_open(struct service *service, struct error *err)
{
    struct clock *clock = mem_new(sizeof *clock);
    struct stamp stamp = { 0 };

    clock->service = service;
    clock->looked_ms = now_of(clock);
    if (journal_load(service->world->journal, record_kind, load_stamp, &stamp, err) < 0 ||
        (stamp.is_there && go_on(clock, &stamp, err) < 0)) {
        clock_free(clock);
        return NULL;
    }
    clock->rev = stamp.rev;
    return clock;
}

void clock_free(struct clock *clock)
{
    mem_free(clock);
}

static void put_record(struct clock *clock, struct journal_batch *batch)
{
    const struct loop *loop = clock->service->world->loop;
    owned(json)
        json_t *value = json_make("{sI sI ss}", "wall", (json_int_t)loop_wall(loop).ms, "loop",
                                  (json_int_t)loop_now(loop), "boot", loop_boot(loop));

    journal_put(batch, record_kind, record_id, clock->rev++, value);
    clock->written_ms = now_of(clock);
    clock->drift_ms = 0;
}

/* An event and a line of the log, of one sentence. */
static void tell(const struct clock *clock, struct journal_batch *batch, const char *event,
                 int64_t by_ms, const char *sentence)
{
    struct wall_time now = loop_wall(clock->service->world->loop);
    owned(json) json_t *story = json_make("{ss sI ss}", "event", event, "by_s",
                                          (json_int_t)(by_ms / SECOND_MS), "text", sentence);

    journal_event(batch, now, story);
    log_warn(event, FIELD_INT("by_ms", by_ms), FIELD_TEXT("text", sentence));
}

static void commit(struct clock *clock, struct journal_batch *batch)
{
    struct error err;

    if (journal_commit(clock->service->world->journal, &batch, &err) < 0)
        runner_break(clock->service->runner, &err);
}

static void tell_only(struct clock *clock, const char *event, int64_t by_ms, const char *sentence)
{
    struct journal_batch *batch = journal_batch_new(clock->service->epoch);

    tell(clock, batch, event, by_ms, sentence);
    commit(clock, batch);
}

/* Shifts the times of live transfers, or only of those whose pods still wait. */
static void move_transfers(struct clock *clock, int64_t by_ms, bool of_pods_only,
                           struct journal_batch *batch)
{
    const struct runner *runner = clock->service->runner;
    struct transfer *transfer;

    for (size_t i = 0; (transfer = runner_next_live(runner, &i));) {
        owned(json) json_t *value = NULL;

        if (of_pods_only && (transfer->is_emergency || transfer->step > STEP_FORCE))
            continue;
        transfer_move_clock(transfer, by_ms);
        value = transfer_encode(transfer);
        journal_put(batch, "transfer", transfer->id, transfer->rev++, value);
    }
}

int clock_load(struct clock *clock, struct error *err)
{
    struct journal_batch *batch = journal_batch_new(clock->service->epoch);

    if (clock->away_ms > 0)
        move_transfers(clock, clock->away_ms, true, batch);
    put_record(clock, batch);
    return journal_commit(clock->service->world->journal, &batch, err);
}

/* "1h0m forward". */
static char *describe(int64_t by_ms)
{
    char duration[DURATION_TEXT_SIZE];

    return text_format("%s %s", duration_format(llabs(by_ms), duration),
                       by_ms > 0 ? "forward" : "back");
}

static void ask_servers(struct clock *clock)
{
    const struct config *config = clock->service->config;

    clock->asked_ms = now_of(clock);
    for (size_t i = 0; i < config->cluster_count; i++)
        cluster_ask_clock(fleet_cluster(clock->service->fleet, &config->clusters[i]));
}

/* Whether most servers that reported their clock since the jump have the time that ours had before
   it. */
static bool servers_deny(const struct clock *clock)
{
    const struct config *config = clock->service->config;
    size_t heard = 0;
    size_t denied = 0;

    for (size_t i = 0; i < config->cluster_count; i++) {
        const struct cluster *cluster = fleet_cluster(clock->service->fleet, &config->clusters[i]);
        int64_t ahead_ms;

        if (!cluster_clock(cluster, clock->jumped_ms, &ahead_ms))
            continue;
        heard++;
        denied += llabs(ahead_ms) < JUMP_MS;
    }
    require(denied <= heard);
    return denied * 2 > heard;
}

static void notice(struct clock *clock, int64_t apart_ms)
{
    owned(chars) char *by = describe(apart_ms - clock->jump_ms);
    owned(chars) char *sentence = text_format(
        "the machine's wall clock jumped %s: no deadline is changed", by);

    tell_only(clock, "clock_jumped", apart_ms - clock->jump_ms, sentence);
    clock->jump_ms = apart_ms;
    clock->jumped_ms = now_of(clock);
    clock->jumped = loop_wall(clock->service->world->loop);
    clock->is_doubted = false;
    ask_servers(clock);
}

/* The system clock is again where it would be without the jump. */
static void end_jump(struct clock *clock)
{
    require(clock->jump_ms != 0);
    tell_only(clock, "clock_is_back", -clock->jump_ms,
              "the machine's wall clock is back where it was before it jumped");
    clock->jump_ms = 0;
    clock->is_doubted = false;
}

static void doubt(struct clock *clock)
{
    if (!clock->is_doubted)
        tell_only(clock, "clock_doubted", clock->jump_ms,
                  "the API servers' clocks did not jump with the machine's: it is not followed");
    clock->is_doubted = true;
    if (now_of(clock) - clock->asked_ms >= ASKED_MS)
        ask_servers(clock);
}

/* Follows the jump in whole seconds, which people read; the rest is less than a jump. */
static void follow(struct clock *clock)
{
    struct service *service = clock->service;
    struct journal_batch *batch = journal_batch_new(service->epoch);
    int64_t by_ms = (clock->jump_ms + (clock->jump_ms > 0 ? 1 : -1) * SECOND_MS / 2) / SECOND_MS *
                    SECOND_MS;
    owned(chars) char *by = describe(by_ms);
    owned(chars) char *sentence = text_format(
        "followed the wall clock, %s: as much is left of every deadline as before", by);

    require(by_ms % SECOND_MS == 0 && (by_ms > 0) == (clock->jump_ms > 0));
    loop_wall_move(service->world->loop, by_ms);
    for (size_t i = 0; i < service->config->cluster_count; i++)
        cluster_wall_moved(fleet_cluster(service->fleet, &service->config->clusters[i]));
    move_transfers(clock, by_ms, false, batch);
    attempts_move_clock(service->runner->attempts, by_ms, batch);
    freezes_move_clock(service, by_ms, batch);
    reclaims_move_clock(service, by_ms, batch);
    approvals_move_clock(service, by_ms, batch);
    approve_move_clock(service, by_ms, batch);
    webhooks_move_clock(service->webhooks, by_ms, batch);
    health_move_clock(service->health, by_ms);
    put_record(clock, batch);
    tell(clock, batch, "clock_followed", by_ms, sentence);
    clock->jump_ms = 0;
    clock->is_doubted = false;
    clock->followed_ms = by_ms;
    clock->followed = loop_wall(service->world->loop);
    commit(clock, batch);
    runner_wake(service->runner);
}

static void follow_slowly(struct clock *clock, int64_t apart_ms, int64_t passed_ms)
{
    int64_t most_ms = passed_ms / FOLLOW_PART;
    int64_t by_ms = apart_ms > most_ms ? most_ms : apart_ms < -most_ms ? -most_ms : apart_ms;

    /* Never by more than the difference to the system clock, and never faster than a share of the
       elapsed time. */
    require(llabs(by_ms) <= llabs(apart_ms) && llabs(by_ms) <= llabs(most_ms));
    loop_wall_move(clock->service->world->loop, by_ms);
    clock->drift_ms += by_ms;
}

/* It is no commit of its own: it is written with the next one. */
static void write_later(struct clock *clock)
{
    bool is_old = now_of(clock) - clock->written_ms >= WRITTEN_MS;
    struct journal_batch *batch;

    if (!(is_old && clock->service->runner->live_count > 0) && llabs(clock->drift_ms) < DRIFT_MS)
        return;
    batch = journal_batch_new(clock->service->epoch);
    put_record(clock, batch);
    journal_later(clock->service->world->journal, &batch);
}

void clock_look(struct clock *clock)
{
    struct world *world = clock->service->world;
    int64_t apart_ms = loop_wall_apart(world->loop);
    int64_t now_ms = now_of(clock);
    int64_t passed_ms = now_ms - clock->looked_ms;

    require(passed_ms >= 0); /* the monotonic clock */
    if (clock->service->runner->is_broken)
        return;
    clock->looked_ms = now_ms;
    if (llabs(apart_ms) < JUMP_MS) {
        if (clock->jump_ms != 0)
            end_jump(clock);
        follow_slowly(clock, apart_ms, passed_ms);
    } else if (llabs(apart_ms - clock->jump_ms) >= JUMP_MS) {
        notice(clock, apart_ms);
    } else {
        clock->jump_ms = apart_ms; /* as the two clocks drift */
        if (now_ms - clock->jumped_ms < STANDS_MS)
            return;
        if (now_ms - clock->jumped_ms < DOUBTED_MS && servers_deny(clock))
            doubt(clock);
        else
            follow(clock);
    }
    if (!clock->service->runner->is_broken)
        write_later(clock);
}

void clock_describe(const struct clock *clock, struct health *health)
{
    struct wall_time now = loop_wall(clock->service->world->loop);
    bool is_off = clock->jump_ms != 0;
    struct condition condition = { .kind = CONDITION_CLOCK_OFF,
                                   .since = is_off ? clock->jumped : clock->followed };
    owned(chars) char *by = describe(is_off ? clock->jump_ms : clock->followed_ms);
    char at[WALL_TEXT_SIZE];

    wall_format(wall_whole_second(condition.since.ms), at);
    if (is_off)
        health_add(
            health, &condition,
            text_format("the machine's wall clock jumped %s at %s: no deadline is changed; %s", by,
                        at,
                        clock->is_doubted
                            ? "most API servers have the time from before the jump, and so has "
                              "sluice: set the machine's clock right"
                            : "windows follow it when it has stood for a minute"));
    else if (clock->followed.ms > 0 && now.ms - clock->followed.ms < TOLD_MS)
        health_add(health, &condition,
                   text_format("the machine's wall clock jumped %s, and is followed since %s: "
                               "windows changed with it, deadlines only their names",
                               by, at));
}
