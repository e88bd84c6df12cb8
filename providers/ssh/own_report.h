/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a machine reports: the answer of each verb of machine.sh, and its marker.  Pure functions.
 */
#pragma once

#include "base/error.h"
#include "providers/common/provider.h"

#include <stdbool.h>
#include <stddef.h>

enum own_state { OWN_NONE, OWN_PARKED, OWN_JOINING, OWN_IN, OWN_LEAVING, OWN_STATE_COUNT };

struct own_report {
    char answer[16]; /* "ok", or a row of own_errors.c */
    char text[420];
    enum own_state state;
    char group[64];
    char key[REQUEST_KEY_SIZE]; /* of the order that it joined for; "": none */
    char kind[16];
    char step[24];    /* the last finished one */
    char failed[420]; /* why the steps ended early; "": they did not */
    char in_s[24];    /* seconds since it has joined; "": not, or not known */
    bool is_running;  /* steps run now */
    bool has_kubelet, has_k3s, has_slurmd;
};

/* ERROR_CORRUPT: it is not such a report, or not a whole one. */
int own_report_read(const char *output, size_t length, struct own_report *ret_report,
                    struct error *err) __attribute__((warn_unused_result));

const char *own_state_name(enum own_state state);

/* "kubelet", "k3s" or "slurmd", which runs, is enabled or has options; NULL: none of them. Machines
   with a marker report none. */
const char *own_report_daemon(const struct own_report *report);

/* Whether it has a member of a cluster and no marker that says which. */
bool own_report_is_foreign(const struct own_report *report);
