/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The list of an agent pool: first the pool itself, which says whether an operation runs, how many
 * machines AKS was asked for, and why they did not come; then the machines, page by page.
 *
 * The token of a page is "COUNT URL": so many machines came before it.
 */
#include "base/input/json.h"
#include "base/url.h"
#include "providers/azure/azure_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *azure_listed_name(const struct azure *azure, const char *name)
{
    return map_get(azure->listed, name) ?: name;
}

static void remember_name(struct azure *azure, const char *name, const char *listed)
{
    if (text_equal(name, listed))
        map_remove(azure->listed, name);
    else
        map_set(azure->listed, name, mem_copy_chars(listed));
}

/* The token goes to the host of our settings only. */
static int check_host(const struct azure *azure, const char *link, struct error *err)
{
    struct url ours, theirs;
    struct error why = { 0 };

    require(url_parse(azure->base, &ours, &why) == 0);
    if (url_parse(link, &theirs, &why) == 0 && text_equal(ours.scheme, theirs.scheme) &&
        text_equal(ours.host, theirs.host) && ours.port == theirs.port)
        return 0;
    return error_set(err, ERROR_CORRUPT, "nextLink: \"%.120s\" is of another host", link);
}

int azure_read_page(struct azure_call *call, const json_t *body, const char **ret_next,
                    struct error *err)
{
    const struct azure_place place = { .zone = call->zone };
    json_t *items = NULL;
    const json_t *item = NULL;
    const char *next = NULL;
    const char *listed;
    size_t at = 0;

    if (json_need_array(body, "value", &items, err) < 0 ||
        json_find_text(body, "nextLink", &next, err) < 0)
        return -1;
    json_array_foreach(items, at, item) {
        struct instance *machine = array_add(&call->machines);

        if (azure_read_machine(item, &place, machine, &listed, err) < 0)
            return -1;
        remember_name(call->azure, machine->name, listed);
    }
    if (next && next[0] == '\0')
        next = NULL;
    if (next && check_host(call->azure, next, err) < 0)
        return -1;
    *ret_next = next;
    return 0;
}

struct azure_memory *azure_memory_of(const struct azure_call *call)
{
    struct azure_memory *memory = map_get(call->azure->memories, call->pool_url);

    if (!memory) {
        memory = azure_memory_new();
        map_set(call->azure->memories, call->pool_url, memory);
    }
    return memory;
}

/* The page outlives the call, which is freed first. */
static void finish_page(struct azure_call *call, const char *next, const struct error *shortfall)
{
    owned(chars) char *token = next ? text_format("%" PRId64 " %s",
                                                  call->seen + (int64_t)call->machines.count, next)
                                    : NULL;
    struct instance *items = call->machines.items;
    const struct instance_page page = {
        .items = items,
        .count = call->machines.count,
        .next = token,
        .shortfall = shortfall,
    };

    call->machines.items = NULL;
    azure_call_finish(call, &page, "");
    mem_free(items);
}

static void finish_list(struct azure_call *call)
{
    struct azure_memory *memory = azure_memory_of(call);
    int64_t listed = call->seen + (int64_t)call->machines.count;
    struct error trouble = memory->trouble;

    azure_memory_end(memory, loop_now(call->azure->world->loop));
    finish_page(call, NULL,
                trouble.kind != ERROR_NONE && memory->wanted > listed ? &trouble : NULL);
}

static void on_machines(struct azure_call *call, const struct http_answer *answer,
                        const json_t *body, struct error *err)
{
    const char *next = NULL;
    struct error why = { 0 };

    (void)answer;
    if (err || azure_read_page(call, body, &next, &why) < 0) {
        azure_call_fail(call, err ?: &why);
        return;
    }
    for (size_t i = 0; i < call->machines.count; i++)
        azure_memory_judge(azure_memory_of(call), &call->machines.items[i]);
    if (next)
        finish_page(call, next, NULL);
    else
        finish_list(call);
}

static void on_pool(struct azure_call *call, const struct http_answer *answer, const json_t *body,
                    struct error *err)
{
    struct error why = { 0 };
    struct azure_pool pool;

    (void)answer;
    if (err || azure_pool_read(body, &pool, &why) < 0) {
        azure_call_fail(call, err ?: &why);
        return;
    }
    owned(chars) char *url = azure_call_url(call, "/machines");

    azure_memory_begin(azure_memory_of(call), body, &pool, call->asked_ms);
    azure_call_send(call, AZURE_LIST_MACHINES, url, on_machines);
}

void azure_list(struct provider *provider, const struct pool_address *pool, const char *page,
                provider_list_fn done, void *context)
{
    struct azure_call *call = azure_call_new((struct azure *)provider, pool, "list");
    char *rest = NULL;

    call->listed = done;
    call->context = context;
    call->asked_ms = loop_now(call->azure->world->loop);
    if (page) {
        call->seen = strtoll(page, &rest, 10);
        require(*rest == ' '); /* ours */
        azure_call_send(call, AZURE_LIST_MACHINES, rest + 1, on_machines);
        return;
    }
    owned(chars) char *url = azure_call_url(call, "");

    azure_call_send(call, AZURE_GET_POOL, url, on_pool);
}
