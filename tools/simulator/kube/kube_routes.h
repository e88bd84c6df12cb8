/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the API server answers, as tables: each file has the routes of its objects at its bottom.
 * The first row that fits a request answers it.
 */
#pragma once

#include "tools/simulator/model/model.h"

struct kube_route {
    unsigned methods; /* ON(...), or ANY_METHOD */
    const char *path; /* from "api" or "apis" on; "*" is any one part */
    const char *verb; /* for faults and the referee; NULL: none, or the answer sets it */
    /* parts: those of the path, from "api" or "apis" on. */
    void (*answer)(struct sim_call *call, char **parts);
};

#define ON(method) (1u << HTTP_##method)
#define ANY_METHOD (~0u)

/* Each ends with an empty row. */
extern const struct kube_route kube_core_routes[];       /* kube_api.c */
extern const struct kube_route kube_create_routes[];     /* kube_create.c */
extern const struct kube_route kube_budget_routes[];     /* kube_budgets.c */
extern const struct kube_route kube_rule_routes[];       /* kube_admission.c */
extern const struct kube_route kube_volume_routes[];     /* kube_volumes.c */
extern const struct kube_route kube_deployment_routes[]; /* kube_scale.c */
extern const struct kube_route kube_device_routes[];     /* kube_devices.c */
extern const struct kube_route kube_access_routes[];     /* kube_access.c */
