/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The walk along a chain, an exchange at a time.  Keys are replaced five minutes before they end;
 * where that fails, the old ones serve as long as they are good.
 */
#include "providers/aws/aws_login.h"

#include "base/memory.h"
#include "base/text.h"
#include "providers/aws/aws_exchange.h"

#include <string.h>

enum {
    FRESH_MS = 5 * MINUTE_MS,
    USABLE_MS = 30 * SECOND_MS,
    RETRY_MS = 10 * SECOND_MS, /* time between attempts to replace keys that can still be used */
    STS_TIMEOUT_MS = 10 * SECOND_MS,
    LOCAL_TIMEOUT_MS = 2 * SECOND_MS,
    ANSWER_LIMIT = 256 * 1024,
};

struct aws_login {
    struct world *world;
    struct aws_account account;
    struct aws_clock clock;

    struct aws_lease lease; /* without keys.id there is none */
    int64_t ends_ms;        /* by the loop's clock; 0: never */
    int64_t next_try_ms;

    struct aws_chain chain; /* the chain that is walked now; empty: none is */
    size_t at;
    struct aws_lease next;
    struct aws_metadata_talk talk;
    bool is_corrected; /* this walk has corrected the clock */
    struct http_exchange *exchange;
    struct timer *timer;
    struct aws_waiter *first;
    struct aws_waiter **last;
    int waiting;
};

static void walk(struct aws_login *login);

static int64_t left_ms(const struct aws_login *login)
{
    if (!login->lease.keys.id || login->ends_ms == 0)
        return 0;
    return login->ends_ms - loop_now(login->world->loop);
}

static void end_walk(struct aws_login *login)
{
    aws_chain_clear(&login->chain);
    aws_lease_clear(&login->next);
    login->next.ends.ms = 0;
    aws_metadata_clear(&login->talk);
    login->is_corrected = false;
}

/* Calls all present waiters; a caller that asks from inside `ready` waits for the next keys. */
static void tell_all(struct aws_login *login, const struct error *err)
{
    for (int left = login->waiting; left > 0 && login->first; left--) {
        struct aws_waiter *waiter = login->first;

        aws_login_forget(login, waiter);
        waiter->ready(waiter, err ? NULL : &login->lease.keys, err);
    }
}

static void fail(struct aws_login *login, const struct error *err)
{
    static const char *const places[] = {
        [AWS_KEYS] = "keys",
        [AWS_WEB_IDENTITY] = "AssumeRoleWithWebIdentity",
        [AWS_CONTAINER] = "the container's agent",
        [AWS_METADATA] = "the metadata server",
        [AWS_ROLE] = "AssumeRole",
    };
    struct error why = *err;

    if (login->at < login->chain.count)
        error_context(&why, "keys for AWS: %s", places[login->chain.links[login->at].kind]);
    end_walk(login);
    login->next_try_ms = loop_now(login->world->loop) + RETRY_MS;
    tell_all(login, left_ms(login) > USABLE_MS ? NULL : &why);
}

/* The whole chain is walked. */
static void arrive(struct aws_login *login)
{
    struct world *world = login->world;
    int64_t now_ms = aws_clock_now(&login->clock, loop_wall(world->loop)).ms;
    int64_t life_ms = login->next.ends.ms - now_ms;
    struct error err = { 0 };

    if (login->next.ends.ms != 0 && life_ms <= USABLE_MS) {
        login->at--;
        error_set(&err, ERROR_TRANSIENT, "the keys end as they come (is the clock right?)");
        fail(login, &err);
        return;
    }
    aws_lease_clear(&login->lease);
    login->lease = login->next;
    login->next = (struct aws_lease){ 0 };
    login->ends_ms = login->lease.ends.ms == 0 ? 0 : loop_now(world->loop) + life_ms;
    login->next_try_ms = loop_now(world->loop) + RETRY_MS;
    end_walk(login);
    tell_all(login, NULL);
}

/* A link gave keys. */
static void take(struct aws_login *login, struct aws_lease *lease)
{
    aws_lease_clear(&login->next);
    login->next = *lease;
    login->at++;
    walk(login);
}

static int read_answer(struct aws_login *login, const struct http_answer *answer,
                       struct aws_lease *lease, struct error *err)
{
    switch (login->chain.links[login->at].kind) {
    case AWS_CONTAINER:
        return aws_answer_container(answer, lease, err) < 0 ? -1 : 1;
    case AWS_METADATA:
        return aws_answer_metadata(answer, &login->talk, lease, err);
    case AWS_KEYS:
    case AWS_WEB_IDENTITY:
    case AWS_ROLE:
        break;
    }
    return aws_answer_sts(answer, lease, err) < 0 ? -1 : 1;
}

static void on_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct aws_login *login = context;
    struct aws_lease lease = { 0 };
    struct error why = { 0 };
    int result;

    login->exchange = NULL;
    if (err) {
        why = *err;
        if (why.kind == ERROR_UNKNOWN_OUTCOME) /* asking for keys changes nothing */
            why.kind = ERROR_TRANSIENT;
        if (login->chain.links[login->at].kind == AWS_METADATA)
            error_context(&why, "not reached (from a pod it takes a hop limit of 2)");
        fail(login, &why);
        return;
    }
    if (!login->is_corrected &&
        aws_clock_correct(&login->clock, loop_wall(login->world->loop), answer)) {
        login->is_corrected = true;
        walk(login);
        return;
    }
    result = read_answer(login, answer, &lease, &why);
    if (result < 0)
        fail(login, &why);
    else if (result == 0)
        walk(login);
    else
        take(login, &lease);
}

static int write_exchange(struct aws_login *login, const struct aws_link *link,
                          struct aws_exchange *exchange, struct error *err)
{
    const struct aws_scope scope = {
        .region = login->account.region,
        .service = "sts",
        .at = aws_clock_now(&login->clock, loop_wall(login->world->loop)),
    };

    if (link->kind == AWS_CONTAINER)
        return aws_exchange_container(link, exchange, err);
    if (link->kind != AWS_METADATA)
        return aws_exchange_sts(link, &login->next.keys, &scope, exchange, err);
    aws_exchange_metadata(link, &login->talk, exchange);
    return 0;
}

static void send(struct aws_login *login, const struct aws_link *link)
{
    owned(aws_exchange) struct aws_exchange exchange = { 0 };
    struct http_header headers[AWS_EXCHANGE_HEADERS];
    bool is_local = link->kind == AWS_CONTAINER || link->kind == AWS_METADATA;
    struct error err = { 0 };

    if (write_exchange(login, link, &exchange, &err) < 0) {
        fail(login, &err);
        return;
    }
    for (size_t i = 0; i < exchange.header_count; i++)
        headers[i] = (struct http_header){ exchange.headers[i].name, exchange.headers[i].value };

    const struct http_request request = {
        .method = exchange.method,
        .priority = HTTP_RECLAIM,
        .url = exchange.url,
        .headers = headers,
        .header_count = exchange.header_count,
        .body = exchange.body ? exchange.body->chars : NULL,
        .body_size = exchange.body ? exchange.body->length : 0,
        .timeout_ms = is_local ? LOCAL_TIMEOUT_MS : STS_TIMEOUT_MS,
        .answer_limit = ANSWER_LIMIT,
    };

    login->exchange = http_send(login->world->http, &request, on_answer, login);
}

static void walk(struct aws_login *login)
{
    struct aws_link *link = &login->chain.links[login->at];

    if (login->at == login->chain.count) {
        arrive(login);
    } else if (link->kind == AWS_KEYS) {
        struct aws_lease lease = { .keys = link->keys };

        link->keys = (struct aws_keys){ 0 };
        take(login, &lease);
    } else {
        send(login, link);
    }
}

static void on_timer(void *context)
{
    struct aws_login *login = context;
    struct error err = { 0 };
    bool is_early = loop_now(login->world->loop) < login->next_try_ms;

    if (login->chain.count > 0 || !login->first)
        return;
    if (left_ms(login) > FRESH_MS || (left_ms(login) > USABLE_MS && is_early)) {
        tell_all(login, NULL);
        return;
    }
    login->at = 0;
    if (aws_chain_read(&login->account, &login->chain, &err) < 0)
        fail(login, &err);
    else
        walk(login);
}

struct aws_login *aws_login_new(struct world *world, const struct aws_account *account)
{
    struct aws_login *login = mem_new(sizeof *login);

    login->world = world;
    login->account = *account;
    login->last = &login->first;
    login->timer = timer_new(world->loop, on_timer, login);
    return login;
}

void aws_login_free(struct aws_login *login)
{
    if (!login)
        return;
    http_cancel(login->world->http, login->exchange);
    timer_free(login->timer);
    end_walk(login);
    aws_lease_clear(&login->lease);
    mem_free(login);
}

void aws_login_ask(struct aws_login *login, struct aws_waiter *waiter)
{
    waiter->next = NULL;
    *login->last = waiter;
    login->last = &waiter->next;
    login->waiting++;
    timer_set_sooner(login->timer, 0);
}

void aws_login_forget(struct aws_login *login, struct aws_waiter *waiter)
{
    for (struct aws_waiter **at = &login->first; *at; at = &(*at)->next) {
        if (*at != waiter)
            continue;
        *at = waiter->next;
        if (login->last == &waiter->next)
            login->last = at;
        login->waiting--;
        return;
    }
}

bool aws_login_reject(struct aws_login *login, const char *id)
{
    if (!text_equal(login->lease.keys.id, id))
        return true;
    if (login->ends_ms == 0)
        return false;
    aws_lease_clear(&login->lease);
    login->next_try_ms = 0;
    return true;
}

int64_t aws_login_left_ms(const struct aws_login *login)
{
    return login->ends_ms == 0 ? INT64_MAX : left_ms(login);
}

struct aws_clock *aws_login_clock(struct aws_login *login)
{
    return &login->clock;
}
