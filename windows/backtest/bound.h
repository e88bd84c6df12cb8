/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A provable lower bound on the node-hours, moves counted (moves.h), of each plan that meets the
 * target of one queue in every span, as judge() judges.  A plan has n_t nodes in slot t, and so at
 * most g n_t servers (g: servers of a node).
 *
 * What is true of every such plan.  Services are given in the order of starts, so the k-th start is
 * at the first moment, not before the k-th arrival or the (k-1)-th start, at which fewer are busy
 * than there are servers.  By induction over k:
 *
 *  1. More servers in any slot make no start later.
 *  2. Nor do they make a low request start later: of the first k starts, those that no high request
 *     takes are max over j <= k of (j - high arrivals up to start j), and with starts no later this
 *     is no less.  (High requests can start later; they are not counted unless there are no low.)
 *  3. So at least f_t(n) of those who arrive in slot t are late if it has n nodes, f_t(n) being how
 *     many are when all other slots have servers without end and nobody is busy when a segment
 *     begins (the judge lets those who are busy then vanish where servers are too few for them);
 *     and the sum of f_t(n_t) over a span is at most what its target allows.
 *  4. All service is done by servers of the plan, but for what withdrawn ones finish, at most the
 *     longest service a server withdrawn, and what is left when a segment ends: those who came
 *     within the last T, as many overdue as the target allows to be (the last of their class, since
 *     each class is served in its order), and what that many servers have in hand.
 *
 * The bound is the Lagrangian dual of: the least cost of n under 3 (a price for each span) and 4 (a
 * price).  It holds for all prices; good ones are found by subgradients, and the best one counts.
 * For given prices the least cost is a path (moves_staged()), exactly; where moves cost nothing,
 * many nodes are looked at in groups, which cost what their fewest do and serve as their most.
 */
#pragma once

#include "windows/backtest/moves.h"
#include "windows/backtest/occurrence.h"

/* The bound over the slots from `first` on, with the slots before free.  Spans that begin there
   must meet the target.  The services are those of the requests that arrive there, because the k-th
   start, which takes the k-th service, is not before the k-th arrival.  Infinite when no plan with
   nodes_max nodes meets the target.  Without a cost of moves and with one server per node it bounds
   server-hours.  For several repetitions the greatest bound holds.  Nodes in slots that are not
   counted (cost->counted) cost nothing; no request may arrive in them, so that they do no work. */
double bound_node_hours(const struct occurrence_setup *setup, size_t first, int servers_per_node,
                        const struct moves_cost *cost);
