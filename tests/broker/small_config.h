/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A configuration of one pool, to which tests append the section that they are about.
 */
#pragma once

static const char small_head[] =
    "time_zone: UTC\n"
    "clusters:\n"
    "  prod: {role: production, kubeconfig: p}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  pe: {cluster: prod, reservation: east, provider: cloud, project: x, group: pe}\n"
    "queues:\n"
    "  chat: {wait_target: 20s, service: 30s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, gpus: 2, clusters: {prod: {}}}\n";
