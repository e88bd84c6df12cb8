/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One thing that an inspection of a cluster, a pool or a source found.
 */
#pragma once

enum finding_verdict {
    FINDING_RIGHT,    /* as it must be */
    FINDING_DOUBTFUL, /* it works, and something is lost or may go wrong */
    FINDING_WRONG,    /* sluice cannot do its work, or not safely */
};

struct finding {
    enum finding_verdict verdict;
    const char *subject; /* a setting, permission or property, in the words of what was inspected */
    const char *text;    /* what is so, in one sentence without a full stop */
    const char *remedy;  /* what a person does about it; "" if it is right */
};

/* finding is borrowed during the call. */
typedef void (*finding_fn)(void *context, const struct finding *finding);
