/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the side of Kubernetes clusters keeps for the runner, for its parts.
 */
#pragma once

struct announcements;
struct dry_runs;
struct gate;
struct runner;
struct side;
struct suspensions;

extern const struct side side_kube;

struct kube_side {
    struct gate *gate;
    struct suspensions *suspensions;
    struct announcements *announcements;
    struct dry_runs *dry_runs;
};

/* Borrowed, until the runner is closed. */
struct kube_side *kube_side_of(const struct runner *runner) __attribute__((returns_nonnull));
