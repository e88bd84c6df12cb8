/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The file that lists the machines: name -> its keys.
 */
#pragma once

#include "base/array.h"
#include "providers/ssh/own.h"
#include "providers/ssh/own_report.h"

struct own_machine {
    char name[INSTANCE_NAME_SIZE];
    struct ssh_place place;
    char *group;       /* that has it as long as it has no marker; NULL: none */
    char *redfish;     /* URL of its system; NULL: it has no fence */
    char *redfish_ca;  /* file, PEM; NULL: the system's authorities */
    char *redfish_key; /* file, "USER:PASSWORD" */
    struct ssh_target target;

    /* What was seen last. */
    bool is_seen;
    struct own_report report;
    int64_t seen_ms;   /* loop time */
    int64_t looked_ms; /* loop time when the last answer failed to come */
    int64_t silent_ms; /* loop time since when nothing is known of it; 0: it answers */
    int64_t mute_ms;   /* loop time since when nothing was heard of it, though it was tried at
                          each look; 0: its sshd answers, or it was not tried */
    char cleared[REQUEST_KEY_SIZE]; /* the order whose token is known to be gone */
    int64_t clearing_ms;            /* loop time of the last try to remove its token; 0: none */
    struct error trouble;           /* why it does not answer */

    /* What its fence said last; see own_is_off(). */
    int64_t power_asked_ms; /* loop time of the last question; 0: none */
    int64_t power_ms;       /* the answer is not older than this */
    bool is_off;
    bool is_power_going; /* the power is being switched off */
};

struct own_machines {
    ARRAY(struct own_machine *) all;
};

/* Reads the file.  Relative paths in it are taken from its folder. */
int own_machines_read(const struct own_account *account, struct own_machines *machines,
                      struct error *err) __attribute__((warn_unused_result));
void own_machines_clear(struct own_machines *machines);
struct own_machine *own_machines_find(const struct own_machines *machines, const char *name);
