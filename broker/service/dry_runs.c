/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For a plan that is read, each side in turn runs eviction dry runs for its uncertain blockers.
 */
#include "base/input/json.h"
#include "broker/service/service_parts.h"

/* One plan that is waited for. */
struct inquiry {
    struct service *service;
    size_t next; /* side that is asked */
    json_t *answer;
    service_tried_fn done;
    void *context;
};

static void inquiry_free(struct inquiry *inquiry)
{
    json_decref(inquiry->answer);
    mem_free(inquiry);
}

void dry_runs_clear(struct service *service)
{
    for (size_t i = 0; i < service->inquiries.count; i++)
        inquiry_free(service->inquiries.items[i]);
    array_clear(&service->inquiries);
}

static void finish(struct inquiry *inquiry)
{
    struct service *service = inquiry->service;

    for (size_t i = service->inquiries.count; i-- > 0;)
        if (service->inquiries.items[i] == inquiry)
            array_remove(&service->inquiries, i);
    inquiry->done(inquiry->context, steal(&inquiry->answer));
    inquiry_free(inquiry);
}

static void ask_next(void *context)
{
    struct inquiry *inquiry = context;
    const struct runner *runner = inquiry->service->runner;
    size_t at = inquiry->next++;

    if (at < runner->side_count)
        runner->sides[at].side->ask_dry_runs(runner->sides[at].state, inquiry->answer, ask_next,
                                             inquiry);
    else
        finish(inquiry);
}

void service_try(struct service *service, json_t *answer, service_tried_fn done, void *context)
{
    struct inquiry *inquiry = mem_new(sizeof *inquiry);

    *inquiry = (struct inquiry){
        .service = service,
        .answer = answer,
        .done = done,
        .context = context,
    };
    *array_add(&service->inquiries) = inquiry;
    ask_next(inquiry);
}
