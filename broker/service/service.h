/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service: the fleet, the plan, the guard and the runner wired together on one world.  The same
 * code runs in real time on real sockets and in virtual time against the simulator.
 *
 * It is level-triggered: after each event and every few seconds it looks at the present state, asks
 * the plan what should begin, asks the guard what may, and begins that.  It remembers nothing that
 * is not in the journal.
 *
 * The functions that answer people return new JSON (the caller frees it) or NULL and an error:
 * ERROR_INVALID the request is wrong, ERROR_DENIED refused by policy, ERROR_NOT_FOUND.
 */
#pragma once

#include "base/world/world.h"
#include "broker/config/config.h"
#include "broker/journal/journal.h"

#include <jansson.h>

struct service;

/* Loads the journal and opens all clusters and pools; nothing is sent yet. */
struct service *service_open(struct world *world, const struct config *config, struct error *err)
    __attribute__((warn_unused_result));

/* Begins to watch and to act. */
void service_start(struct service *service);
void service_close(struct service *service);

/* Whether a service on `next` may continue the work of this one; an error gives the reason.
   Journal and socket must be the same, kubeconfigs and keys readable, and each pool of a transfer
   or reclaim must still exist. */
int service_may_become(const struct service *service, const struct config *next, struct error *err)
    __attribute__((warn_unused_result));

/* The configuration was read again. */
struct reload_note {
    const char *by;              /* the person who asked; NULL: a signal */
    const json_t *changes;       /* of config_changes(); NULL: the new file could not be read */
    const struct error *refusal; /* why the new one is not used; NULL: it is */
};

/* Records it in log and journal.  The status shows a refusal until a later configuration is used.
 */
void service_note_reload(struct service *service, const struct reload_note *note);

/* How people ask for a reload: `sluice serve` does it, for it takes the service with it.  fn
   returns {changes, ...} and begins it, unless is_dry_run; NULL and the reason why nothing changes.
 */
typedef json_t *(*service_reload_fn)(void *context, const char *by, bool is_dry_run,
                                     struct error *err);
void service_on_reload(struct service *service, service_reload_fn fn, void *context);

/* request: {is_dry_run}.  Returns {config, is_dry_run, changes: [{key, change, before, after,
   line}], start}; a dry run also service_unplanned_with().  It takes effect a moment later:
   service_reloaded() then has another `start`. */
json_t *service_reload(struct service *service, const json_t *request, const char *by,
                       struct error *err) __attribute__((warn_unused_result));

/* {config, start (a number that grows with each start and reload), refused (why the configuration
   that was read last is not in force; ""), unplanned: [{window, text}] (without a schedule)}. */
json_t *service_reloaded(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* [{window, text}]: windows in which no scheduled move begins, because their stored schedule does
   not fit the configuration, or because they have none and others have one. */
json_t *service_unplanned(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* The same if the configuration `next` were in force, by what the journal has; from within
   service_after(), or it may wait for the disk. */
json_t *service_unplanned_with(const struct service *service, const struct config *next,
                               struct error *err) __attribute__((warn_unused_result));

/* What the status and the conditions say of that which the service does not know: where it is
   asked, and what was found at what its configuration names.  Any member may be NULL. */
enum service_face_place { FACE_DOORS, FACE_ROUNDS, FACE_PLACES };
struct health;
struct service_face {
    void (*look)(void *context, struct health *health); /* adds conditions */
    void (*describe)(void *context, json_t *status);    /* adds members */
    void *context;
};
void service_set_face(struct service *service, enum service_face_place place,
                      const struct service_face *face);

/* Whether the journal failed and the process should end. */
bool service_is_broken(const struct service *service);

/* Whether it has made its first turn. */
bool service_has_begun(const struct service *service);

/* Another number after each change of what the service knows or has decided: of clusters, pools and
   records.  It starts anywhere. */
uint64_t service_revision(const struct service *service);

/* Changes are in force when their function returns, and are reported when they are on the disk: see
   journal_after(). */
void service_after(struct service *service, journal_after_fn fn, void *context);

/* The zone of the schedules, by its name in the IANA database. */
const char *service_time_zone(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

json_t *service_status(struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));
/* The same with at most so many transfers: those that need an operator first. */
json_t *service_status_of(struct service *service, size_t most)
    __attribute__((returns_nonnull, warn_unused_result));

/* Live transfers, and with `all` also those that ended lately. */
json_t *service_transfers(struct service *service, bool all)
    __attribute__((returns_nonnull, warn_unused_result));
/* By its ID, or by the name of its node, old or new: a live one, else the last. */
json_t *service_transfer(struct service *service, const char *id, struct error *err)
    __attribute__((warn_unused_result));

/* Research nodes that leave within that time, soonest first: {departures: [{leaves, node, cluster,
   pool, to, certainty, due, window, held, jobs}], unnamed_nodes, unknown: [{pool, cluster,
   reservation, reason, age_s}], notice_s}. */
json_t *service_departures(struct service *service, int64_t ahead_ms)
    __attribute__((returns_nonnull, warn_unused_result));

/* Whether some cluster has a node of that name.  -1 with ERROR_NOT_FOUND, or with ERROR_DENIED when
   a cluster that was not seen lately may have it. */
int service_find_node(const struct service *service, const char *name, struct error *err)
    __attribute__((warn_unused_result));

/* The 24 hours before and after now, cluster by cluster: {at, time_zone, since, until, columns,
   clusters: [{cluster, role, static_nodes, course: [[...]], ahead: [{from, window, nodes}]}]}.
   course: a row of `columns` for each look of the service; since: that of the first, null: there
   was none yet.  ahead: of production, what the schedules in force want. */
json_t *service_day(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* The forecast that the schedules in force were planned for: {at, state ("current", "outdated": the
   plan was to be made again before now, "not-asked": planned from last week's demand, "none"),
   windows: [{window, demand_from, demand_to, use_until, is_forecast, is_outdated, need: {gpus:
   {lower, point, bound}, nodes (null: nodes of several sizes)}, why (need is null), queues}],
   scores: [{queue, score}], score}. */
json_t *service_forecast(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* {pools: [{pool, cluster, reservation, lent_gpu_s and unseen_s (of research), transit_gpu_s,
   lost_gpu_s}], prices: [{reservation, price, currency, basis, date}], queue_targets: [{queue,
   percentile, wait_target_s}]}.  The sums of the pools are those in the journal: they never fall.
 */
json_t *service_ledger(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* For metrics only: {counts (tallies_describe()), window_left_s, applied, apply_success, fresh_s,
   sources: [{kind, source, age_s}], orphans: [{provider, cluster, kind, count}], drift: [{cluster,
   kind, count}], forecast}; what is not known is null or left out. */
json_t *service_numbers(struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* How long transfers take: {leads: [leads_describe() and `key`]}. */
json_t *service_leads(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* The last `count` events of the journal, oldest first; from within service_after(), or it may wait
   for the disk. */
json_t *service_events(struct service *service, int64_t count, struct error *err)
    __attribute__((warn_unused_result));

/* Which events: the last `count` of those that fit all other members.  One call looks at 10,000
   events at most, so that it does not hold up the service: a caller asks on with `before`. */
struct event_wish {
    int64_t count;     /* 1 to 10,000 */
    int64_t before;    /* only events with a smaller number; 0: any */
    const char *since; /* so long ago ("2h"), or from then on (RFC 3339); NULL: any */
    const char *node;  /* node, new node or host */
    const char *move;  /* a move's ID, or a transfer's */
    const char *actor; /* the person who asked for it */
    bool acts;         /* only what people did */
};

/* As service_events().  `before` in the answer: ask on with it, because older events may fit; 0:
   none does.  is_cut: there may be older ones although fewer than `count` were found. */
json_t *service_events_of(struct service *service, const struct event_wish *wish, struct error *err)
    __attribute__((warn_unused_result));

/* schedules: {window: text of the schedule file} for every window, or NULL for those in force.
   Returns targets per pool and workload, the transfers that would begin now with their blockers,
   and a fingerprint of the plan's inputs. */
json_t *service_plan(struct service *service, const json_t *schedules, struct error *err)
    __attribute__((warn_unused_result));

/* Asks the API servers, by eviction dry runs, about the uncertain blockers of an answer's
   `transfers`.  Calls done with the answer, which it takes, within a few seconds (maybe at once).
   `dry_runs` in it has the number of questions, of those without an answer, and the clusters that
   could not be asked.  Nothing is changed; done must not ask again at once. */
typedef void (*service_tried_fn)(void *context, json_t *answer); /* the answer is done's */
void service_try(struct service *service, json_t *answer, service_tried_fn done, void *context);

/* Puts schedules in force. fingerprint: from service_plan(), refused (ERROR_CONFLICT) when the
   inputs changed since; NULL: not checked.  Returns the plan, and is_applied: false when it waits
   for a second person; `approval` is that row then. */
json_t *service_apply(struct service *service, const json_t *schedules, const char *fingerprint,
                      const char *by, struct error *err) __attribute__((warn_unused_result));

/* request: {cluster, nodes, reason, for_s, is_dry_run, key, is_new}. The same request while one is
   under way, or the same key, is the same order: the answer has is_repeat, and nothing is added.
   When it waits for a second person, nothing is accepted and the answer has `approval`, its row. */
json_t *service_reclaim(struct service *service, const json_t *request, const char *by,
                        struct error *err) __attribute__((warn_unused_result));

/* {reclaims: [...]}: the orders under way, and with `all` those that are over. */
json_t *service_reclaims(struct service *service, bool all)
    __attribute__((returns_nonnull, warn_unused_result));

/* request: {id, reason}: the order holds no node any more; its transfers that can be undone are
   undone.  Returns the order's row; ERROR_NOT_FOUND, or ERROR_CONFLICT when it is over. */
json_t *service_end_reclaim(struct service *service, const json_t *request, const char *by,
                            struct error *err) __attribute__((warn_unused_result));

/* {approvals: [...]}: the acts that wait for a second person, and with `all` those that have
   waited: {id, act (apply, reclaim), state (waits, approved, rejected, expired), by, cluster,
   nodes, lost_gpu_hours, reason, created, ends, decided, decided_by, why, fingerprint, ...}. */
json_t *service_approvals(struct service *service, bool all)
    __attribute__((returns_nonnull, warn_unused_result));

/* request: {id, fingerprint (of the row that was seen)}: what was asked for is done, unless it has
   grown since, or {id, is_rejected, reason}.  Returns the row, and is_repeat: it was decided so
   before.  ERROR_DENIED: the same person asked; ERROR_CONFLICT. */
json_t *service_approve(struct service *service, const json_t *request, const char *by,
                        struct error *err) __attribute__((warn_unused_result));

/* request: {node (or transfer), until (RFC 3339) or for_s (after its departure), reason}. Answer:
   {transfer, move, node, asked, before, departure (granted), latest, held}. */
json_t *service_hold(struct service *service, const json_t *request, const char *by,
                     struct error *err) __attribute__((warn_unused_result));

/* request: {what (a transfer, a move or a moving node), until or for_s (from now), reason}: those
   of its nodes that can go back do, and are frozen. Answer: {what, reason, by, until, goes_back,
   goes_on: [{transfer, move, node, cluster, step}]}.  ERROR_NOT_FOUND; ERROR_CONFLICT: none can. */
json_t *service_abort(struct service *service, const json_t *request, const char *by,
                      struct error *err) __attribute__((warn_unused_result));

/* request: {what}: ends the freeze of this node, or of the nodes of this transfer or move: {what,
   by, nodes: [{cluster, node}]}; ERROR_NOT_FOUND. */
json_t *service_resume(struct service *service, const json_t *request, const char *by,
                       struct error *err) __attribute__((warn_unused_result));

/* request: {cluster ("" for all), until (RFC 3339) or for_s (from now), reason}, and `node` for one
   node, whose cluster may be left out if only one has it; unfreeze: {cluster, node}.  Both answer
   the freeze.  If another person's holds longer, nothing changes: the answer to freeze is that one,
   with is_kept. */
json_t *service_freeze(struct service *service, const json_t *request, const char *by,
                       struct error *err) __attribute__((warn_unused_result));
json_t *service_unfreeze(struct service *service, const json_t *request, const char *by,
                         struct error *err) __attribute__((warn_unused_result));

/* Hosts in quarantine: {hosts: [{host, provider, pool, machine, until, text}]}. */
json_t *service_hosts(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* request: {host (or provider/host)}; the host is used again: its row as above, and `by`. */
json_t *service_release_host(struct service *service, const json_t *request, const char *by,
                             struct error *err) __attribute__((warn_unused_result));

/* The receivers of messages; borrowed. */
struct webhooks;
struct webhooks *service_webhooks(const struct service *service)
    __attribute__((returns_nonnull, warn_unused_result));

/* For a repair by an operator, while no service has the journal.  Sets aside what a start would set
   aside, gives live transfers their missing claims, and names claims of no transfer.  Adds {kind,
   id, text, is_mended, is_aside} to found for each; is_aside: it was set aside before. */
int service_mend(struct world *world, const struct config *config, json_t *found, struct error *err)
    __attribute__((warn_unused_result));

/* Removes a transfer or record that was set aside, with its claims and effects; adds each to found.
   ERROR_NOT_FOUND: nothing of that name is set aside. */
int service_forget(struct world *world, const char *id, json_t *found, struct error *err)
    __attribute__((warn_unused_result));

static inline void owned_service(struct service **service)
{
    service_close(*service);
}
