/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service's inside, shared by the files of this folder only.
 */
#pragma once

#include "broker/health/health.h"
#include "broker/planning/course.h"
#include "broker/planning/gangs.h"
#include "broker/planning/ledger.h"
#include "broker/planning/losses.h"
#include "broker/planning/plan.h"
#include "broker/planning/targets.h"
#include "broker/service/service.h"
#include "broker/service/unreadable.h"
#include "broker/transfer/effect.h"
#include "broker/transfer/marks.h"
#include "broker/transfer/runner.h"
#include "broker/transfer/side.h"
#include "broker/webhooks/webhooks.h"
#include "windows/forecast/forecast_file.h"

struct scaler;
struct quotas;
struct clock;
struct inquiry;

struct reclaim {
    char *id;    /* of the record */
    char *order; /* the ID of the order; its portions have it in common */
    const struct config_pool *pool;
    int64_t nodes;        /* that this pool is to get */
    int64_t wanted_nodes; /* of the whole order; 0: an older record */
    struct wall_time created;
    struct wall_time ended; /* by a person, before its time; 0: it was not */
    char *ended_by;
    char *end_reason;
    char *key;     /* the client's, for a retry; "": none */
    int64_t level; /* nodes that the pool should have until then */
    struct wall_time until;
    struct wall_time promised; /* when they were to be ready (p95), as promised at acceptance; 0: an
                                  older record */
    char *from;                /* the one research cluster that gives the nodes; "": any */
    char *reason;
    char *by;
    char *approved_by; /* "": it needed no second person */
    uint64_t rev;
};

/* approvals.c: an act that waits for a second person, or has waited. */
enum approval_state { APPROVAL_WAITS, APPROVAL_APPROVED, APPROVAL_REJECTED, APPROVAL_EXPIRED };
struct approval {
    char id[12];
    bool is_apply; /* else a reclaim */
    enum approval_state state;
    char *by;              /* who asked */
    char *decided_by;      /* "": it waits */
    char *reason;          /* of the request; "": an apply has none */
    char *why;             /* of a rejection, or of the end without a decision */
    char *cluster;         /* of a reclaim; "" */
    char *subject;         /* what identifies the schedules of an apply; "" */
    int64_t nodes;         /* that it moves, as far as that was seen */
    double lost_gpu_hours; /* likewise */
    struct wall_time created;
    struct wall_time ends; /* of the waiting */
    struct wall_time decided;
    struct wall_time looked; /* when that was seen */
    json_t *request;         /* what is done when it is approved; NULL: it waits no more */
    json_t *seen;            /* more of it that people see */
    char print[20];          /* identifies all that people see of it */
    uint64_t rev;
};

/* approve.c: nodes that one person has moved alone, and when. */
struct unapproved_act {
    struct wall_time at;
    int64_t nodes;
};
struct unapproved {
    char *person;
    ARRAY(struct unapproved_act) acts; /* in their order */
    uint64_t rev;
};

/* An act that may have to wait, as it is seen now; borrows all. */
struct approval_wish {
    bool is_apply;
    const char *by;
    const char *reason;
    const char *cluster;
    const char *subject;
    int64_t nodes;
    double lost_gpu_hours;
    json_t *request;
    json_t *seen;
};

struct service {
    struct world *world;
    const struct config *config;
    uint64_t epoch;
    struct fleet *fleet;
    struct guard guard;
    struct runner *runner;
    struct scaler *scaler;
    struct quotas *quotas;
    struct webhooks *webhooks;
    ARRAY(struct inquiry *) inquiries; /* plans that wait for dry runs */
    struct clock *clock;
    struct map *book;   /* window -> struct schedule, in force */
    struct map *unfit;  /* window -> why its stored schedule does not fit, chars */
    struct map *named;  /* production nodes that the last applied plan named: "POOL/NODE" -> rank,
                           from 1, as uintptr_t */
    uint64_t named_rev; /* of its record; 0: none */
    int64_t *queued;    /* as config->pools: planned at the last turn, and kept only because so many
                           transfers are under way */
    struct wall_time applied;    /* when schedules came into force last; 0: not known */
    int apply_success;           /* of the last apply since the start: 1, 0; -1: there was none */
    struct map *schedule_revs;   /* window -> journal revision as uint64_t * */
    struct map *schedule_prints; /* window -> SHA-256 of its text */
    struct forecast_file *forecast; /* of the schedules in force; NULL: they came without */
    uint64_t forecast_rev;          /* of its record; 0: none */
    ARRAY(struct reclaim) reclaims;
    ARRAY(struct reclaim) lost_reclaims; /* their pool is not configured: NULL */
    ARRAY(struct approval) approvals;
    ARRAY(struct unapproved) unapproved;
    struct losses losses;
    struct ledger ledger;
    uint64_t ledger_rev;      /* of its record; 0: none */
    int64_t ledger_looked_ms; /* loop times; 0: not yet */
    int64_t ledger_stored_ms;
    bool is_storing_ledger; /* a commit with it is not on the disk yet */
    struct unreadable unreadable;
    struct health *health; /* of the last look */
    struct service_face faces[FACE_PLACES];
    service_reload_fn reload; /* NULL: this service cannot */
    void *reload_context;
    struct timer *timer;
    int64_t started_ms;    /* loop time */
    bool has_turned;       /* at least once */
    uint64_t news;         /* changes of the fleet since then */
    struct course *course; /* of the nodes of each cluster */
    char held[256];        /* why the guard let nothing begin at the last look; "": no reason */
    char refused[512]; /* why the configuration that was read again is not in force; "": it is */
    char doubt[256];   /* why the journal failed its verification; "": it did not */
};

/* survey.c: the facts in the form that the plan wants.  Everything borrowed from the fleet is valid
   until the next turn of the loop. */
struct survey {
    struct plan_input input;
    struct held *held; /* machines in transfers */
    struct plan_pool *pools;
    ARRAY(struct plan_live) live;
    struct gang_book gangs;
    struct map **work;                   /* as config->clusters: node name -> struct node_work */
    const struct config_cluster *asking; /* of survey_make_for(); else NULL */
    bool is_ahead;                       /* of survey_make_ahead() */
};
struct survey *survey_make(struct service *service, const struct map *book)
    __attribute__((returns_nonnull, warn_unused_result));
/* As survey_make(), for a plan that people read: production's nodes are named before their replicas
   have gone. */
struct survey *survey_make_ahead(struct service *service, const struct map *book)
    __attribute__((returns_nonnull, warn_unused_result));
/* As survey_make(), for a reclaim for the cluster that is not accepted yet: it counts machines that
   last long enough for a reclaim, though not for a plan. */
struct survey *survey_make_for(struct service *service, const struct config_cluster *cluster)
    __attribute__((returns_nonnull, warn_unused_result));
/* Whether a plan on it would move anything: a production pool is not at its target. */
bool survey_wants_moves(const struct survey *survey);

/* story.c: notes how many nodes each cluster has, if that is due. */
void story_look(struct service *service);

/* Adds the nodes that may leave, and the work on them, which decides which of them do.  Reads all
   pods: call it only if nodes or costs are needed. */
void survey_weigh(const struct service *service, struct survey *survey);
void survey_free(struct survey *survey);

/* The schedules of the book as of now.  Growth of the cluster (NULL: of the slowest production
   cluster) reaches ahead by the time from the plan to the cordon, and the lead time of each wave of
   a move. */
struct horizon survey_horizon(const struct service *service, const struct map *book,
                              const struct config_cluster *cluster);

/* How long capacity must last for a move of one wave to the cluster (NULL: to the slowest
   production cluster) to pay off: the time that the move takes, and as much again.  A reclaim has
   no notice. */
int64_t survey_pays_off_ms(const struct service *service, const struct config_cluster *cluster,
                           bool is_reclaim);

/* Whether the pool's cluster and the pool's list were seen lately, so that a plan with it rests on
   facts.  Otherwise a sentence that names the stale one. */
bool survey_knows(const struct service *service, const struct config_pool *pool, struct error *err);

/* Whether it was read since the start: before, no number of it is known. */
bool survey_ever_saw(const struct service *service, const struct config_pool *pool);
/* The pools that are not known, of one reservation or (NULL) of all: [{pool, cluster, reservation,
   reason, age_s}]; age_s is null when a part of it was never seen.  Plans leave them out. */
json_t *survey_unknown(const struct service *service, const struct config_reservation *reservation)
    __attribute__((returns_nonnull, warn_unused_result));

/* Whether scheduled moves may begin in the reservation.  Right after a start, before the slowest
   cluster has answered, the best node is not known.  Moves wait for that cluster for at most
   `guard.fresh`. -1 with ERROR_DENIED and the reason. */
int survey_allows_scheduled(const struct service *service,
                            const struct config_reservation *reservation, struct error *err)
    __attribute__((warn_unused_result));

/* advance.c: begins what the plan wants and the guard allows. */
void service_advance(struct service *service);

/* schedules.c */
int schedules_load(struct service *service, struct error *err) __attribute__((warn_unused_result));
/* Parses and checks a full set; NULL and ERROR_INVALID otherwise. */
struct map *schedules_decode(const struct service *service, const json_t *schedules,
                             struct error *err) __attribute__((warn_unused_result));

/* Stored schedules, by whether they fit a configuration: it may have changed since they were
   applied.  One that does not is not in force, and a condition says so. */
struct schedules_fit {
    const struct config *config;
    struct map *book;  /* window -> struct schedule */
    struct map *unfit; /* window -> why it does not, chars */
    struct wall_time now;
};
void schedules_fit(const struct schedules_fit *fit, const char *window, const char *text);

/* bills.c: *ret_file is the one that comes with a full set of schedules, or NULL.  The caller
   frees it; ERROR_INVALID when it is wrong. */
int forecast_decode(const struct service *service, const json_t *schedules,
                    struct forecast_file **ret_file, struct error *err)
    __attribute__((warn_unused_result));
/* Puts their record into their batch, and when that is accepted, takes the file. */
void forecast_put(const struct service *service, const json_t *schedules,
                  struct journal_batch *batch);
void forecast_set(struct service *service, struct forecast_file *file);
int forecast_load(struct service *service, struct error *err) __attribute__((warn_unused_result));

/* story.c: counts what is lent and in transit, if a look is due; what a loss costs; and stores it,
   which breaks the runner if the journal fails. */
int meters_load(struct service *service, struct error *err) __attribute__((warn_unused_result));
void meters_look(struct service *service);
void meters_charge(struct service *service, const struct config_pool *pool, double gpu_s);
void meters_store(struct service *service);

/* service.c: service_new() makes a service that has loaded nothing.  service_load_records() loads
   all records of its journal; without a fleet it starts nothing. */
struct service *service_new(struct world *world, const struct config *config)
    __attribute__((returns_nonnull, warn_unused_result));
int service_load_records(struct service *service, struct error *err)
    __attribute__((warn_unused_result));

/* freezes.c: the reason that a person gives, one line for the status. */
int reason_read(const json_t *request, const char **ret_reason, struct error *err)
    __attribute__((warn_unused_result));

/* freezes.c, reclaims.c; described are those that have not ended. */
int freezes_load(struct service *service, struct error *err) __attribute__((warn_unused_result));
/* Those of clusters, or those of nodes. */
json_t *freezes_describe(const struct service *service, bool of_nodes);
/* Replaces the freezes of the same clusters and nodes, in one commit with their events; one whose
   time has passed ends the freeze.  Takes what they own, also after an error, which breaks the
   runner. */
int freezes_set(struct service *service, struct freeze *freezes, size_t count, struct error *err)
    __attribute__((warn_unused_result));
/* request: until (RFC 3339), or for_s (from now). */
int freeze_read_until(const struct service *service, const json_t *request,
                      struct wall_time *ret_until, struct error *err)
    __attribute__((warn_unused_result));
/* stays.c: transfers of frozen nodes go back, if they can. */
void stays_withdraw(struct service *service);
/* Puts stand-ins for unreadable freezes into the batch that sets those aside. */
void freezes_put_stand_ins(struct service *service, struct journal_batch *batch);
enum { ORDERS_KEPT = 200 }; /* orders that are over and kept; as many as ended transfers */

/* orders.c.  A request is the same order while that is under way, or under the same key as long as
   the order is kept; is_new: only the key counts. */
struct order_wish {
    const struct config_cluster *cluster;
    const char *from; /* as in struct reclaim */
    int64_t nodes;
    struct wall_time until;
    const char *reason;
    const char *by;
    const char *key;
    int64_t for_s;
    bool is_new;
    bool is_dry_run;
    struct approval *approval; /* that `approver` just gave; NULL: there is none */
    const char *approver;
};
/* The present time as it is stored: in whole seconds, rounded down. */
struct wall_time order_time(const struct service *service);
/* Reads the request into the wish, whose texts are then the request's. */
int order_read_wish(const struct service *service, const json_t *request, struct order_wish *wish,
                    struct error *err) __attribute__((warn_unused_result));
/* *ret_order: a portion of the order that the request repeats, or NULL.  ERROR_CONFLICT: its key
   belongs to another order. */
int order_find(const struct service *service, const struct order_wish *wish,
               const struct reclaim **ret_order, struct error *err)
    __attribute__((warn_unused_result));
/* state: live; ended (by `reclaim end`); over (its time has passed).
   {id, state, cluster, wanted_nodes, accepted_nodes, lacking_nodes, pools, ...} */
json_t *order_describe(const struct service *service, const struct survey *survey,
                       const struct reclaim *order)
    __attribute__((returns_nonnull, warn_unused_result));
/* Writes records in one commit, with what the batch has already, and counts their revisions.  The
   events say who gave the order, or who ended it.  Takes the batch; a failure breaks the runner. */
int orders_store(struct service *service, struct journal_batch *batch,
                 struct reclaim *const *portions, size_t count, struct error *err)
    __attribute__((warn_unused_result));
/* Forgets ended orders, with their keys: the oldest over ORDERS_KEPT, and those that have no pool
   any more.  The events keep their story. */
void orders_trim(struct service *service);
/* Whether the reclaim transfer was begun for an order that a person has ended since. */
bool orders_end_covers(const struct service *service, const struct transfer *transfer);
json_t *reclaim_encode(const struct reclaim *reclaim)
    __attribute__((returns_nonnull, warn_unused_result));
/* Fills a record from the journal; its pool and revision are the caller's. */
int reclaim_decode(struct reclaim *reclaim, const char *id, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));
void reclaim_clear(struct reclaim *reclaim);

int reclaims_load(struct service *service, struct error *err) __attribute__((warn_unused_result));
json_t *reclaims_describe(const struct service *service);
void reclaims_clear(struct service *service);

/* The system clock was moved by so much: they end after the same time as before.  Puts their
   records into the batch, and counts them as stored. */
void freezes_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch);
void reclaims_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch);

/* approvals.c */
int approvals_load(struct service *service, struct error *err) __attribute__((warn_unused_result));
void approvals_clear(struct service *service);
/* The approval that an apply of these schedules, or a reclaim under this key or like this one,
   waits for; of an apply also one that was rejected and whose time is not over.  NULL: there is
   none. */
struct approval *approvals_like(struct service *service, const struct approval_wish *wish);
void approvals_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch);
/* Ends what has waited too long or was overtaken, and forgets the oldest that wait no more. */
void approvals_advance(struct service *service);
void approvals_look(const struct service *service, struct health *health);
/* Those that wait, and with `all` the others that are kept. */
json_t *approvals_describe(const struct service *service, bool all);
json_t *approval_describe(const struct approval *approval)
    __attribute__((returns_nonnull, warn_unused_result));
bool approval_waits(const struct service *service, const struct approval *approval);
struct approval *approvals_find(struct service *service, const char *id);
/* What is seen of it now takes the place of what was; put it then. */
void approval_see(struct approval *approval, const struct approval_wish *wish,
                  struct wall_time now);
/* Into the batch, as it is now, with an event; counts as stored. */
void approval_put(struct approval *approval, const char *event, struct wall_time now,
                  struct journal_batch *batch);

/* approve.c: whether an act of the person that moves so many nodes needs a second person.
   ERROR_DENIED: it does, and it is not known who the first is. */
int approve_needs(const struct service *service, const char *by, int64_t nodes, bool *ret_needs,
                  struct error *err) __attribute__((warn_unused_result));
/* The person moves so many nodes alone: that counts for the next acts.  Into the act's batch. */
void approve_count(struct service *service, const char *by, int64_t nodes,
                   struct journal_batch *batch);
int approve_load(struct service *service, struct error *err) __attribute__((warn_unused_result));
void approve_clear(struct service *service);
void approve_move_clock(struct service *service, int64_t by_ms, struct journal_batch *batch);
/* Records a request that is to wait; NULL after an error, which breaks the runner. */
const struct approval *approve_ask(struct service *service, const struct approval_wish *wish,
                                   struct error *err) __attribute__((warn_unused_result));
/* An order that could be stored now; `pools` is taken.  1: it may be; 0: it waits for a second
   person, and *ret_answer says so.  One that was approved must not have grown. */
struct order_act {
    const struct order_wish *wish;
    int64_t nodes;
    json_t *pools;
    double lost_gpu_hours;
};
int approve_order(struct service *service, const struct order_act *act, json_t **ret_answer,
                  struct error *err) __attribute__((warn_unused_result));
/* The answer to a reclaim that waits: nothing is accepted. */
json_t *approve_describe_waiting(const struct order_wish *wish, const struct approval *approval,
                                 bool is_repeat) __attribute__((returns_nonnull));
/* Whether the act still is what was seen, or less of it.  Otherwise the record has the new numbers,
   and the error is ERROR_CONFLICT: people look again. */
int approve_check(struct service *service, struct approval *approval,
                  const struct approval_wish *now, struct error *err)
    __attribute__((warn_unused_result));
/* The approved act is done: into its batch. */
void approve_done(struct service *service, struct approval *approval, const char *by,
                  struct journal_batch *batch);

/* reclaims.c, schedules.c: do what the approval asks for, in the commit that ends its waiting.  An
   error leaves it as it was, or ERROR_CONFLICT: with new numbers. */
int reclaim_approved(struct service *service, struct approval *approval, const char *by,
                     struct error *err) __attribute__((warn_unused_result));
int schedules_approved(struct service *service, struct approval *approval, const char *by,
                       struct error *err) __attribute__((warn_unused_result));

/* schedules.c: the nodes that change their pools at most, in one window, when the book replaces the
   one in force; ret_changes: [{window, pool, nodes, wanted_nodes}]. */
int64_t schedules_size(const struct service *service, const struct map *book, json_t **ret_changes);
/* What identifies the texts in force. */
void schedules_print(const struct service *service, char out[20]);

/* The pool's reclaims in force: whether there are any; all of them. */
bool reclaims_hold(const struct service *service, const struct config_pool *pool);
void reclaims_list(const struct service *service, struct plan_pool *pool);

/* bills.c: the loss of a plan, for people, and the record of teams' losses.  A bill is
   {lost_gpu_hours, nodes, idle_nodes, gangs: [{kind, gang, team, gpus, lost_gpu_hours}], teams:
   [{team, lost_gpu_hours}], blocks_broken, is_exact, alternatives: {random_gpu_hours, ...}}. */
json_t *bill_describe(const struct plan_input *input, const struct plan *plan, enum bill_part part)
    __attribute__((returns_nonnull, warn_unused_result));
/* bills.c: the transfers that the plan begins: [{node, from, to, lost_gpu_hours, due,
   is_emergency}]; in the second function also their `blockers`. */
json_t *moves_describe(const struct plan *plan, enum bill_part part)
    __attribute__((returns_nonnull, warn_unused_result));
json_t *moves_describe_blocked(const struct service *service, const struct plan *plan,
                               enum bill_part part)
    __attribute__((returns_nonnull, warn_unused_result));
int bills_load(struct service *service, struct error *err) __attribute__((warn_unused_result));
/* Records the losses of teams by transfers that begin; a journal that fails breaks the runner. */
void bills_charge(struct service *service, struct survey *survey,
                  const struct plan_transfer *const *transfers, size_t count);

/* scaler.c: replicas of the workloads' Deployments */
struct scaler *scaler_new(struct service *service) __attribute__((warn_unused_result));
void scaler_free(struct scaler *scaler);
int scaler_load(struct scaler *scaler, struct error *err) __attribute__((warn_unused_result));
void scaler_advance(struct scaler *scaler);
/* All Deployments of the cluster have their wanted replicas, and their surplus pods were told to
   stop. */
bool scaler_is_settled(const struct scaler *scaler, const struct config_cluster *cluster);
json_t *scaler_describe(const struct scaler *scaler);

/* quotas.c: Kueue's */
struct quotas *quotas_new(struct service *service) __attribute__((warn_unused_result));
void quotas_free(struct quotas *quotas);
int quotas_load(struct quotas *quotas, struct error *err) __attribute__((warn_unused_result));
void quotas_advance(struct quotas *quotas);
/* Whether nodes may begin to leave the pool at all.  The reserved quotas of its cluster (which are
   never written) fit its static nodes, and each quota that has to shrink can be set. */
int quotas_allow_leaving(const struct quotas *quotas, const struct config_pool *pool,
                         struct error *err) __attribute__((warn_unused_result));
/* Whether leaving nodes of the pool may be cordoned and drained: the quotas have shrunk.
   ERROR_TRANSIENT: they soon will; ERROR_DENIED: they cannot be set. */
int quotas_allow_drain(const struct quotas *quotas, const struct config_pool *pool,
                       struct error *err) __attribute__((warn_unused_result));
json_t *quotas_describe(const struct quotas *quotas);

/* clock.c: jumps of the system clock.  Call open before anything else is read from the journal, and
   load after it; call look every few seconds. describe adds a condition after a jump. */
struct clock *clock_open(struct service *service, struct error *err)
    __attribute__((warn_unused_result));
void clock_free(struct clock *clock);
int clock_load(struct clock *clock, struct error *err) __attribute__((warn_unused_result));
void clock_look(struct clock *clock);
void clock_describe(const struct clock *clock, struct health *health);

/* dry_runs.c: call after the fleet was closed; open questions are forgotten. */
void dry_runs_clear(struct service *service);

/* status.c */
json_t *transfer_describe(const struct service *service, const struct transfer *transfer)
    __attribute__((returns_nonnull, warn_unused_result));
/* {freezes, frozen_nodes, reclaims, approvals: [...]} that have not ended. */
json_t *holds_describe(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* warnings.c: looks which conditions hold, into service->health.  The look at the end of a turn
   logs those that began and ended. */
void service_look(struct service *service, struct survey *survey, bool is_turn);
/* The sentences about objects that cannot be read, which a plan therefore counts cautiously. */
json_t *service_guesses(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* progress.c: adds conditions: reclaims and pools that get nothing, silent clusters, late moves. */
void progress_look(const struct service *service, struct survey *survey, struct health *health);
/* Nodes that the reclaim's pool still lacks of its level; not above 0: none. */
int64_t reclaim_missing(const struct survey *survey, const struct reclaim *reclaim);
/* Whether the pool gets no machines now: it is closed, or the last attempts at it failed.
   ERROR_NO_CAPACITY and a sentence; 0: nothing is known against it. */
int pool_gets_machines(const struct service *service, const struct config_pool *pool,
                       struct error *err) __attribute__((warn_unused_result));

/* "2026-11-17T12:12:05Z", or null for never. */
json_t *json_wall(struct wall_time wall);

static inline void owned_survey(struct survey **survey)
{
    survey_free(*survey);
}
