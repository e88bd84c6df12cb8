/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See groups.h.
 */
#include "broker/access/groups.h"

#include "base/array.h"
#include "base/text.h"
#include "base/world/worker.h"
#include "broker/access/names.h"

enum { RETRY_LEAST_MS = 2 * SECOND_MS, RETRY_MOST_MS = 5 * MINUTE_MS };

struct group_row {
    char *name;
    bool is_known;
    gid_t number;
    struct error why; /* it is not known */
};

/* While it is under way, it is the thread's. */
struct question {
    struct groups *groups; /* the loop's */
    size_t index;          /* of the group */
    char *name;
    gid_t number;
    int result;
    struct error err;
};

struct groups {
    ARRAY(struct group_row) rows;
    struct loop *loop;     /* NULL: nothing is asked again */
    struct worker *worker; /* NULL: no question was necessary yet */
    struct timer *timer;
    int64_t wait_ms; /* 0: the last question was answered */
    size_t next;     /* where the search for the next question begins */
    void (*heard)(void *context);
    void *context;
};

struct groups *groups_new(void)
{
    return mem_new(sizeof(struct groups));
}

void groups_free(struct groups *groups)
{
    if (!groups)
        return;
    groups_stop(groups);
    for (size_t i = 0; i < groups->rows.count; i++)
        mem_free(groups->rows.items[i].name);
    array_clear(&groups->rows);
    mem_free(groups);
}

size_t groups_add(struct groups *groups, const char *name)
{
    struct group_row *row;

    require(!groups->loop);
    for (size_t i = 0; i < groups->rows.count; i++)
        if (text_equal(groups->rows.items[i].name, name))
            return i;
    row = array_add(&groups->rows);
    row->name = mem_copy_chars(name);
    row->is_known = names_group(name, &row->number, &row->why) == 0;
    return groups->rows.count - 1;
}

int groups_number(const struct groups *groups, size_t index, gid_t *ret_number, struct error *err)
{
    const struct group_row *row;

    require(index < groups->rows.count);
    row = &groups->rows.items[index];
    if (row->is_known) {
        *ret_number = row->number;
        return 0;
    }
    if (err)
        *err = row->why;
    return -1;
}

/* In the worker's thread. */
static void find(void *context)
{
    struct question *question = context;

    question->result = names_group(question->name, &question->number, &question->err);
}

static void question_free(void *context)
{
    struct question *question = context;

    mem_free(question->name);
    mem_free(question);
}

/* The next question follows at once after an answer, because the others may have one too. */
static void hear(void *context)
{
    struct question *question = context;
    struct groups *groups = question->groups;
    struct group_row *row = &groups->rows.items[question->index];

    if (question->result == 0) {
        row->is_known = true;
        row->number = question->number;
        groups->wait_ms = 0;
    } else {
        row->why = question->err;
        groups->wait_ms = groups->wait_ms == 0 ? RETRY_LEAST_MS : 2 * groups->wait_ms;
        if (groups->wait_ms > RETRY_MOST_MS)
            groups->wait_ms = RETRY_MOST_MS;
    }
    question_free(question);
    timer_set(groups->timer, groups->wait_ms);
    groups->heard(groups->context);
}

/* Each in its turn: one that does not exist keeps no other waiting.  NULL: all are known. */
static struct question *choose(struct groups *groups)
{
    const size_t count = groups->rows.count;

    for (size_t i = 0; i < count; i++) {
        size_t index = (groups->next + i) % count;

        if (!groups->rows.items[index].is_known) {
            struct question *question = mem_new(sizeof *question);

            question->groups = groups;
            question->index = index;
            question->name = mem_copy_chars(groups->rows.items[index].name);
            groups->next = index + 1;
            return question;
        }
    }
    return NULL;
}

static void ask(void *context)
{
    struct groups *groups = context;

    struct question *question = choose(groups);

    if (!question)
        return;
    if (!groups->worker)
        groups->worker = worker_new(groups->loop, &question->err);
    if (groups->worker) {
        worker_begin(groups->worker, find, hear, question);
    } else {
        question->result = -1;
        hear(question);
    }
}

void groups_retry(struct groups *groups, struct loop *loop, void (*heard)(void *context),
                  void *context)
{
    require(!groups->loop);
    groups->loop = loop;
    groups->heard = heard;
    groups->context = context;
    groups->wait_ms = RETRY_LEAST_MS;
    groups->next = 0;
    groups->timer = timer_new(loop, ask, groups);
    timer_set(groups->timer, groups->wait_ms);
}

void groups_stop(struct groups *groups)
{
    if (groups->worker)
        worker_abandon(steal(&groups->worker), question_free);
    timer_free(steal(&groups->timer));
    groups->loop = NULL;
}
