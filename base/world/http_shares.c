/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which connection is closed for a new one when all connections of the unix sockets are in use.
 */
#include "base/world/http_connection.h"

static bool counts(const struct connection *connection)
{
    return connection->fd >= 0 && connection->peer.is_local && !connection->is_doomed;
}

static size_t count_of(const struct connection_list *list, uid_t uid)
{
    const struct connection *connection;
    size_t count = 0;

    TAILQ_FOREACH(connection, list, links)
        count += counts(connection) && connection->peer.uid == uid;
    return count;
}

/* 0: no caller waits for its answer; 1: a request that can be repeated; 2: never closed. */
static int worth(const struct connection *connection)
{
    if (!connection->call)
        return 0;
    return connection->call->method == HTTP_GET ? 1 : 2;
}

struct connection *shares_giver(const struct connection_list *list,
                                const struct connection *newcomer)
{
    size_t most = count_of(list, newcomer->peer.uid);
    uid_t greedy = newcomer->peer.uid;
    struct connection *giver = NULL;
    struct connection *connection;

    TAILQ_FOREACH(connection, list, links)
        if (counts(connection) && connection->peer.uid != greedy) {
            size_t count = count_of(list, connection->peer.uid);

            if (count > most) {
                most = count;
                greedy = connection->peer.uid;
            }
        }
    TAILQ_FOREACH(connection, list, links) /* the oldest come first */
        if (counts(connection) && connection != newcomer && connection->peer.uid == greedy &&
            worth(connection) < (giver ? worth(giver) : 2))
            giver = connection;
    return giver;
}

size_t shares_taken(const struct connection_list *list)
{
    const struct connection *connection;
    size_t count = 0;

    TAILQ_FOREACH(connection, list, links)
        count += counts(connection);
    return count;
}
