/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See http_gate.h.  A bucket is the time at which it is full again.  Each handshake moves that time
 * by one period; it is refused if the time would be further ahead than a whole burst takes.
 */
#include "base/world/http_gate.h"

#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"

#include <sys/resource.h>

enum {
    LOCAL_CONNECTIONS = 256,
    TCP_CONNECTIONS = 512,
    ADDRESS_CONNECTIONS = 64,
    CONNECTIONS_LEAST = 4,
    SHARES_OF_DESCRIPTORS = 4, /* the socket, the metrics port and TLS; one is left for the rest */
    ADDRESSES_MOST = 512,
    TELL_MS = 10 * SECOND_MS,
};

/* An EC key takes a tenth of a millisecond for a handshake, an RSA key of 4,096 bits four. */
static const struct http_rate all_handshakes = { .burst = 50, .period_ms = 20 };
static const struct http_rate address_handshakes = { .burst = 40, .period_ms = 100 };

static const char *const refusal_names[HTTP_REFUSALS] = {
    [HTTP_REFUSED_CONNECTIONS] = "connections",
    [HTTP_REFUSED_ADDRESS_CONNECTIONS] = "address_connections",
    [HTTP_REFUSED_HANDSHAKES] = "handshakes",
    [HTTP_REFUSED_ADDRESS_HANDSHAKES] = "address_handshakes",
};

struct bucket {
    int64_t full_ms;
};

struct refused {
    int64_t count;
    int64_t told; /* of these, how many the log has */
    int64_t told_ms;
    char from[PEER_FROM_SIZE]; /* the last one */
};

struct http_gate {
    struct http_server_limits limits;
    struct bucket all;
    struct map *addresses; /* -> struct bucket */
    struct refused refused[HTTP_REFUSALS];
};

static size_t least(size_t most, size_t share)
{
    if (share < CONNECTIONS_LEAST)
        return CONNECTIONS_LEAST;
    return share < most ? share : most;
}

struct http_server_limits http_server_limits(void)
{
    struct rlimit files = { 0 };
    size_t share = SIZE_MAX;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        share = (size_t)files.rlim_cur / SHARES_OF_DESCRIPTORS;
    return (struct http_server_limits){
        .local_connections = least(LOCAL_CONNECTIONS, share),
        .tcp_connections = least(TCP_CONNECTIONS, share),
        .address_connections = least(ADDRESS_CONNECTIONS, share),
        .handshakes = all_handshakes,
        .address_handshakes = address_handshakes,
    };
}

const char *http_refusal_name(enum http_refusal refusal)
{
    require(refusal < HTTP_REFUSALS);
    return refusal_names[refusal];
}

struct http_gate *http_gate_new(void)
{
    struct http_gate *gate = mem_new(sizeof *gate);

    gate->limits = http_server_limits();
    gate->addresses = map_new(mem_free);
    return gate;
}

void http_gate_free(struct http_gate *gate)
{
    if (!gate)
        return;
    map_free(gate->addresses);
    mem_free(gate);
}

void http_gate_limit(struct http_gate *gate, const struct http_server_limits *limits)
{
    require(limits->handshakes.period_ms > 0 && limits->address_handshakes.period_ms > 0);
    gate->limits = *limits;
}

const struct http_server_limits *http_gate_limits(const struct http_gate *gate)
{
    return &gate->limits;
}

static void forget_idle(struct http_gate *gate, int64_t now_ms)
{
    const char *from;
    void *value;

    for (size_t i = 0; map_next(gate->addresses, &i, &from, &value);)
        if (((const struct bucket *)value)->full_ms <= now_ms)
            map_remove(gate->addresses, from);
}

static bool has_room(const struct bucket *bucket, const struct http_rate *rate, int64_t now_ms)
{
    int64_t full_ms = bucket->full_ms > now_ms ? bucket->full_ms : now_ms;

    return full_ms + rate->period_ms - now_ms <= rate->burst * rate->period_ms;
}

static void take(struct bucket *bucket, const struct http_rate *rate, int64_t now_ms)
{
    bucket->full_ms = (bucket->full_ms > now_ms ? bucket->full_ms : now_ms) + rate->period_ms;
}

/* NULL: too many addresses ask at once. */
static struct bucket *find(struct http_gate *gate, const char *from, int64_t now_ms)
{
    struct bucket *bucket = map_get(gate->addresses, from);

    if (bucket)
        return bucket;
    if (map_count(gate->addresses) >= ADDRESSES_MOST)
        forget_idle(gate, now_ms);
    if (map_count(gate->addresses) >= ADDRESSES_MOST)
        return NULL;
    bucket = mem_new(sizeof *bucket);
    map_set(gate->addresses, from, bucket);
    return bucket;
}

/* The address is asked first: one that floods does not use up what all have. */
bool http_gate_takes_handshake(struct http_gate *gate, const char *from, int64_t now_ms)
{
    const struct http_server_limits *limits = &gate->limits;
    struct bucket *bucket = find(gate, from, now_ms);

    if (bucket && !has_room(bucket, &limits->address_handshakes, now_ms)) {
        http_gate_refuse(gate, HTTP_REFUSED_ADDRESS_HANDSHAKES, from);
        return false;
    }
    if (!bucket || !has_room(&gate->all, &limits->handshakes, now_ms)) {
        http_gate_refuse(gate, HTTP_REFUSED_HANDSHAKES, from);
        return false;
    }
    take(bucket, &limits->address_handshakes, now_ms);
    take(&gate->all, &limits->handshakes, now_ms);
    return true;
}

void http_gate_refuse(struct http_gate *gate, enum http_refusal refusal, const char *from)
{
    gate->refused[refusal].count++;
    text_copy(gate->refused[refusal].from, PEER_FROM_SIZE, from);
}

int64_t http_gate_refused(const struct http_gate *gate, enum http_refusal refusal)
{
    require(refusal < HTTP_REFUSALS);
    return gate->refused[refusal].count;
}

void http_gate_tell(struct http_gate *gate, int64_t now_ms)
{
    for (int i = 0; i < HTTP_REFUSALS; i++) {
        struct refused *refused = &gate->refused[i];

        if (refused->count == refused->told ||
            (refused->told > 0 && now_ms - refused->told_ms < TELL_MS))
            continue;
        log_warn("connections_refused", FIELD_TEXT("limit", refusal_names[i]),
                 FIELD_INT("count", refused->count - refused->told),
                 FIELD_TEXT("last_from", refused->from));
        refused->told = refused->count;
        refused->told_ms = now_ms;
    }
}

size_t http_gate_addresses(const struct http_gate *gate)
{
    return map_count(gate->addresses);
}
