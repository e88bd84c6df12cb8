/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One cluster: its snapshot, kept by list and watch, and the clock of its servers.  What changes it
 * is by kind of cluster: for Kubernetes see kube_verbs.h.
 */
#pragma once

#include "base/error.h"
#include "base/finding.h"
#include "base/input/settings.h"
#include "base/world/world.h"
#include "clusters/kube/kube_login.h"
#include "clusters/snapshot.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster;
struct cluster_kind;

struct cluster_settings {
    const char *name;
    const struct cluster_kind *kind;
    const void *own; /* the kind's own keys of `clusters.NAME`: the struct that its table fills */
    kube_log_in_fn log_in;                   /* NULL: no cluster has a login */
    const struct accelerators *accelerators; /* borrowed as long as the cluster; NULL: none */
};

/* What sluice does in a cluster: rights that only other parts need are not missed. */
struct cluster_needs {
    bool is_production;
    bool is_research;
    bool has_quotas;
    bool has_protected_classes; /* victims.protected_classes names some */
    bool has_hpa;               /* a workload with `keeps: hpa` */
    bool has_keda;              /* a workload with `keeps: keda` */
};

/* Who is told what an inspection finds.  done: it has ended; the cluster must not be closed from
   inside. */
struct cluster_inspector {
    finding_fn found;
    void (*done)(void *context);
    void *context;
};

/* The operations of a kind of cluster; the functions are those below. */
struct cluster_kind {
    struct settings_kind settings; /* its keys of `clusters.NAME`; its name is the kind's */
    bool keeps_replicas;           /* workloads run in it, whose number its side keeps */
    bool keeps_quotas;             /* it has quotas, which its side keeps */
    bool may_host;                 /* nodes of another cluster may run in it as pods */
    bool may_lodge;                /* its nodes may run as pods of another cluster */
    const char *pools_need;        /* a setting that may be absent if it has no pools; NULL: none */
    struct cluster *(*open)(struct world *world, const struct cluster_settings *settings,
                            struct error *err);
    void (*close)(struct cluster *cluster);
    void (*watch)(struct cluster *cluster);
    void (*watch_more)(struct cluster *cluster);
    void (*ask_clock)(struct cluster *cluster);
    bool (*clock)(const struct cluster *cluster, int64_t since_ms, int64_t *ret_ahead_ms);
    int64_t (*held)(const struct cluster *cluster);
    const char *(*trouble)(const struct cluster *cluster);
    bool (*is_heard)(const struct cluster *cluster);
    void (*inspect)(struct cluster *cluster, const struct cluster_needs *needs,
                    const struct cluster_inspector *inspector); /* NULL: the kind cannot */
};

/* The kinds that there are, NULL at the end.  kinds.c holds the table and nothing else, so that a
   test program can link a table of its own. */
extern const struct cluster_kind *const cluster_kinds[];

/* The kind of that name; NULL: there is none.  And what the kinds know of `clusters.NAME`, by
   number; NULL after the last. */
const struct cluster_kind *cluster_kind_find(const char *name);
const struct settings_kind *cluster_kind_settings(size_t at);

/* Reads its files; nothing is sent yet. */
struct cluster *cluster_open(struct world *world, const struct cluster_settings *settings,
                             struct error *err) __attribute__((warn_unused_result));
void cluster_close(struct cluster *cluster);

/* Begins to list and watch nodes and pods, without end, with backoff; `news` is called in a turn of
   the loop after the snapshot changed. */
typedef void (*cluster_news_fn)(void *context);
void cluster_watch(struct cluster *cluster, cluster_news_fn news, void *context);

/* Also lists and watches the other objects about work and devices that the kind knows.  A cluster
   without them stays usable. */
void cluster_watch_more(struct cluster *cluster);

/* The server's clock, which each answer carries.  ask_clock: sends a request for its clock alone.
   clock: by how many ms it is ahead of loop_wall(); false when no answer came after since_ms (loop
   time).  wall_moved: loop_wall() was moved; converts the snapshot's times again. */
void cluster_ask_clock(struct cluster *cluster);
bool cluster_clock(const struct cluster *cluster, int64_t since_ms, int64_t *ret_ahead_ms);
void cluster_wall_moved(struct cluster *cluster);

const char *cluster_name(const struct cluster *cluster);
const struct snapshot *cluster_snapshot(const struct cluster *cluster);

/* Bytes that its objects take, with those of a list under way. */
int64_t cluster_held(const struct cluster *cluster);

/* The last failure of list or watch, "" when all is well; and how many failed in a row. */
const char *cluster_trouble(const struct cluster *cluster);

/* After how long without a word from it something is wrong, though nothing has failed yet.  An API
   server sends a bookmark about every minute; Slurm is asked in rounds. */
int64_t cluster_silent_ms(const struct cluster *cluster);

/* Whether nodes and pods were read without trouble the last time.  A cluster in which only budgets
   or devices may not be listed counts as read. */
bool cluster_is_heard(const struct cluster *cluster);

/* Asks the cluster whether it answers and whether our account has its rights; changes nothing.  One
   inspection at a time.  False: this kind cannot be inspected. */
bool cluster_inspect(struct cluster *cluster, const struct cluster_needs *needs,
                     const struct cluster_inspector *inspector);

static inline void owned_cluster(struct cluster **cluster)
{
    cluster_close(*cluster);
}
