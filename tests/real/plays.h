/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Plays of two_clusters.c; the state of each is a struct pair that has not begun.
 */
#pragma once

/* T42: one machine in two lacks a GPU, and its host is not used again. */
void seven_of_eight_gpus_are_not_enough(void **state);

/* T44 */
void a_machine_that_never_joins_is_replaced(void **state);

/* T59: the service's clock is right, 90 s ahead and 90 s behind. */
void grace_is_as_long_by_any_clock(void **state);

/* T60: why a transfer will wait, on an announced node with pods of eight kinds. */
void what_is_said_of_a_pod_comes_true(void **state);
