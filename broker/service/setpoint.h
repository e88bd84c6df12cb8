/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A setpoint: one number in an object of a cluster that is kept at what is wanted (a Deployment's
 * replicas, a Kueue quota).  Level-triggered: read, compare, write when different.  A write is
 * journaled before and after, and repeating it is harmless, because it names the number itself.
 *
 * Another controller that changes the number wins: after sluice has found its number changed twice,
 * it leaves the number alone until another one is wanted, and names the field manager that did it.
 */
#pragma once

#include "broker/service/service_parts.h"

enum { DIAL_REVERSALS = 2 };

struct setpoint;

struct setpoint_kind {
    const char *name; /* of the journal's records and events: "scale", "quota" */

    /* Adds what names it to its record and its events. */
    void (*tell)(const struct setpoint *setpoint, json_t *members);
};

struct setpoint {
    struct service *service;
    const struct setpoint_kind *kind;
    const struct side_number *number; /* how its cluster keeps it */
    const void *of;                   /* what the configuration says of it */
    const struct config_cluster *cluster;
    char *id;       /* of the journal's record */
    int64_t value;  /* as last read; -1: unknown */
    int64_t wanted; /* -1: it is left alone */
    json_t *object; /* as last read; NULL: none */
    bool is_under_way;
    bool is_checked; /* it may be written, as of the last read */
    int64_t read_ms; /* when the last read was asked for */
    int64_t not_before_ms;
    int64_t sent;    /* by the write under way: `wanted` may change meanwhile */
    int64_t written; /* what our last accepted write set; -1: none */
    int reversals;   /* of it, by another controller */
    char fighter[64];
    char trouble[256];
    bool is_refused; /* the trouble is of a write: it lasts until a write is accepted, or the number
                        is right without one */
    uint64_t rev;
};

/* what: service, kind, number, cluster, `of`, and `id`, which is taken. */
void setpoint_init(struct setpoint *setpoint, const struct setpoint *what);
void setpoint_clear(struct setpoint *setpoint);

/* Goes on towards `wanted`; -1: leaves it alone. */
void setpoint_advance(struct setpoint *setpoint, int64_t wanted);

/* Keeps `value` known, and sets nothing. */
void setpoint_watch(struct setpoint *setpoint);

/* Another writer has set it back so often that it is left alone, and it is not as planned. */
bool setpoint_is_contested(const struct setpoint *setpoint);

/* Read, at its planned value, and followed; true also for one that is left alone. */
bool setpoint_is_settled(const struct setpoint *setpoint);

/* Loads from the journal: its revision, the number written, and the manager that changed it back.
 */
int setpoint_load(struct setpoint *setpoint, uint64_t rev, const json_t *value, struct error *err)
    __attribute__((warn_unused_result));
