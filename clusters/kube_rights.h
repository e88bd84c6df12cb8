/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sluice needs to be allowed in a Kubernetes cluster.  role.yaml has the same rights; a test
 * holds the two together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { KUBE_RIGHT_VERBS = 5 };

/* When a right is needed: bits.  0: always. */
enum kube_right_need {
    RIGHT_ON_PRODUCTION = 1,
    RIGHT_ON_RESEARCH = 2,
    RIGHT_WITH_QUOTAS = 4,
    RIGHT_WITH_HPA = 8,   /* a workload with `keeps: hpa` */
    RIGHT_WITH_KEDA = 16, /* a workload with `keeps: keda` */
};

struct kube_right {
    const char *group; /* "": the core group */
    const char *resource;
    const char *verbs[KUBE_RIGHT_VERBS]; /* NULL after the last */
    unsigned need;
    const char *without; /* what happens without it; NULL: sluice cannot move nodes */
};

extern const struct kube_right kube_rights[];
extern const size_t kube_right_count;
