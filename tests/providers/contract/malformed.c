/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers that are not what the cloud meant: cut, with other bytes, without a member, of another
 * type.  No crash, no list that is taken for complete after a cut answer, and no write on the
 * ground of one.  SLUICE_SWEEP=all damages 100,000 answers of all kinds together.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "tests/providers/contract/contract.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 60, ALL = 200000, PLAYS_PER_WORLD = 20 };

enum damage {
    CUT,      /* within its first half: no reader can take it for whole */
    NOISE,    /* bytes that are no text of any form */
    BYTES,    /* a few others */
    SWAPPED,  /* one member has another type, or is away */
    REPEATED, /* twice */
    DAMAGES
};

/* The way out, on which one answer is damaged. */
struct way {
    struct http http;
    struct http *inner;
    struct random random;
    enum damage damage;
    int wait;            /* answers until the one that is damaged; -1: none is */
    bool is_of_read;     /* the damaged one */
    size_t damaged;      /* answers so far */
    size_t writes_after; /* requests that change something, after it */
};

struct passage {
    struct way *way;
    struct http_exchange *inner;
    http_chunk_fn on_chunk;
    http_done_fn done;
    void *context;
    bool is_mutation;
};

/* Replaces the value after a random colon or between random tags. */
static void swap_member(struct random *random, const char *body, size_t size, struct text *out)
{
    static const char *const values[] = { "null", "[]",   "{}",          "-1",
                                          "1e99", "\"\"", "\"\\u0000\"", "9223372036854775808" };
    size_t from = size > 0 ? random_below(random, size) : 0;
    size_t at = from;

    while (at < size && body[at] != ':' && body[at] != '>')
        at++;
    text_add_bytes(out, body, at < size ? at + 1 : size);
    if (at >= size)
        return;
    text_add(out, "%s", values[random_below(random, COUNT_OF(values))]);
    for (at++; at < size && !strchr(",}]<", body[at]);)
        at++;
    text_add_bytes(out, body + at, size - at);
}

static struct text *damaged(struct way *way, const char *body, size_t size)
{
    struct text *out = text_new(64 << 20);
    uint64_t count = 1 + random_below(&way->random, 4);

    switch (way->damage) {
    case CUT:
        text_add_bytes(out, body, size > 1 ? random_below(&way->random, size / 2) : 0);
        return out;
    case NOISE:
        for (size_t i = 0; i < 1 + size % 300; i++) {
            char byte = (char)(128 + random_below(&way->random, 64));

            text_add_bytes(out, &byte, 1);
        }
        return out;
    case BYTES:
        text_add_bytes(out, body, size);
        for (uint64_t i = 0; i < count && size > 0; i++)
            out->chars[random_below(&way->random, size)] = (char)random_below(&way->random, 256);
        return out;
    case SWAPPED:
        swap_member(&way->random, body, size, out);
        return out;
    case REPEATED:
        text_add_bytes(out, body, size);
        text_add_bytes(out, body, size);
        return out;
    case DAMAGES:
        break;
    }
    return out;
}

static bool is_its_turn(struct way *way, const struct passage *passage)
{
    if (way->wait != 0) {
        way->wait -= way->wait > 0;
        return false;
    }
    way->wait = -1;
    way->is_of_read = !passage->is_mutation;
    way->damaged++;
    return true;
}

static void pass_chunk(void *context, const char *bytes, size_t size)
{
    struct passage *passage = context;

    if (!is_its_turn(passage->way, passage)) {
        passage->on_chunk(passage->context, bytes, size);
        return;
    }
    owned(text) struct text *other = damaged(passage->way, bytes, size);

    passage->on_chunk(passage->context, other->chars, other->length);
}

static void pass_answer(void *context, const struct http_answer *answer, const struct error *err)
{
    struct passage passage = *(struct passage *)context;

    mem_free(context);
    if (!answer || answer->body_size == 0 || !is_its_turn(passage.way, &passage)) {
        passage.done(passage.context, answer, err);
        return;
    }
    owned(text) struct text *other = damaged(passage.way, answer->body, answer->body_size);
    struct http_answer changed = *answer;

    changed.body = other->chars;
    changed.body_size = other->length;
    passage.done(passage.context, &changed, NULL);
}

static struct http_exchange *way_send(struct http *http, const struct http_request *request,
                                      http_done_fn done, void *context)
{
    struct way *way = (struct way *)http;
    struct http_request inner = *request;
    struct passage *passage = mem_new(sizeof *passage);

    way->writes_after += way->wait < 0 && request->is_mutation;
    *passage =
        (struct passage){ way, NULL, request->on_chunk, done, context, request->is_mutation };
    if (request->on_chunk)
        inner.on_chunk = pass_chunk;
    passage->inner = http_send(way->inner, &inner, pass_answer, passage);
    return (struct http_exchange *)passage;
}

static void way_cancel(struct http_exchange *exchange)
{
    struct passage *passage = (struct passage *)exchange;

    http_cancel(passage->way->inner, passage->inner);
    mem_free(passage);
}

static const struct http_verbs way_verbs = { .send = way_send, .cancel = way_cancel };

/* One call; whether it was a list. */
static bool call_one(struct contract *it, uint64_t number)
{
    struct contract_order order = contract_order((int)(number % 90));

    text_copy(order.instance, sizeof order.instance, it->before[0].name);
    switch (number % 6) {
    case 0:
        contract_list(it);
        return true;
    case 1:
        if (provider_can_look(it->provider))
            contract_look(it, it->before[0].name);
        return false;
    case 2:
        contract_create_once(it, &order);
        return false;
    case 3:
        contract_remove_once(it, &order);
        return false;
    case 4:
        if (it->kind->kind->cancel)
            contract_cancel_once(it, &order);
        return false;
    default:
        if (provider_can_inspect(it->provider))
            contract_inspect(it);
        return false;
    }
}

static void play_one(struct contract *it, struct way *way, uint64_t number)
{
    int wanted = contract_wanted(it);
    bool is_list;

    way->damage = (enum damage)random_below(&way->random, DAMAGES);
    way->wait = (int)(random_below(&way->random, 6) / 3 * random_below(&way->random, 3));
    way->is_of_read = false;
    way->writes_after = 0;
    it->err = (struct error){ 0 };
    is_list = call_one(it, number);
    if (way->damage > NOISE || !way->is_of_read)
        return;
    if (way->writes_after > 0 || contract_wanted(it) != wanted)
        fail_msg("%s, play %llu: a write after an answer that cannot be read", it->kind->name,
                 (unsigned long long)number);
    if (is_list && it->err.kind == ERROR_NONE)
        fail_msg("%s, play %llu: a list of a cut answer", it->kind->name,
                 (unsigned long long)number);
}

static void malformed_answers_have_no_effect(const struct contract_kind *kind)
{
    bool is_whole = getenv("SLUICE_SWEEP") != NULL;
    size_t answers = 0;
    uint64_t plays = is_whole ? ALL / contract_kind_count + 1 : FEW;

    for (uint64_t i = 0; i < plays;) {
        struct contract it;
        struct way way = { .http = { &way_verbs } };

        contract_open(&it, kind, 2, "");
        random_seed(&way.random, random_mix(i, kind->name, 0, 0));
        way.inner = it.world.http;
        it.world.http = &way.http;
        for (int k = 0; k < PLAYS_PER_WORLD && i < plays; k++)
            play_one(&it, &way, i++);
        contract_close(&it);
        answers += way.damaged;
    }
    assert_in_range(answers, plays / 3, plays);
    print_message("sweep malformed: %zu answers of %s\n", answers, kind->name);
}

const struct contract_case contract_malformed[] = {
    { "malformed_answers_have_no_effect", malformed_answers_have_no_effect },
    { NULL, NULL },
};
