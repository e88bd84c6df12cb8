/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The controllers behind objects that own gangs; see kube_gangs.c.
 */
#pragma once

struct kube_cluster;
struct simulator;

/* After any change of an owner or of its pods: they are reviewed, a little later. */
void sim_gangs_soon(struct simulator *sim, struct kube_cluster *cluster);
