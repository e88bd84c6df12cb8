/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A pool's Machines, and one by its name.
 */
#include "base/array.h"
#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/capi/capi_call.h"
#include "providers/capi/capi_machine.h"
#include "providers/capi/capi_verbs.h"

#include <inttypes.h>

static int read_page(const json_t *body, json_t **ret_items, const char **ret_next,
                     struct error *err)
{
    *ret_next = "";
    if (json_need_array(body, "items", ret_items, err) < 0)
        return -1;
    return json_find_text(body, "metadata/continue", ret_next, err);
}

/* Frees first: the caller may close the provider. */
static void finish_list(struct capi_call *call, const struct instance_page *page)
{
    provider_list_fn listed = call->listed;
    void *context = call->context;

    capi_call_free(call);
    listed(context, page, NULL);
}

/* No Machine: a selector finds none where the name is wrong, too, and a MachinePool may have
   machines without Machines. */
static void on_size_of_empty(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    struct instance_page none = { 0 };
    struct capi_group group;
    struct error why = { 0 };

    if (err) {
        capi_finish_failed(call, err);
        return;
    }
    if (capi_read_group(body, &group, &why) == 0 && group.present > 0)
        error_set(&why, call->is_pool ? ERROR_INVALID : ERROR_TRANSIENT,
                  "it has %" PRId64 " replicas, and no Machine is listed%s", group.present,
                  call->is_pool ? ": its provider makes no Machines, so no chosen one can leave"
                                : "");
    if (why.kind != ERROR_NONE)
        capi_finish_failed(call, &why);
    else
        finish_list(call, &none);
}

static void on_list(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    ARRAY(struct instance) instances = { 0 };
    const struct error *shortfall = NULL;
    struct error why = { 0 };
    json_t *items = NULL;
    const json_t *item;
    const char *next;
    size_t at;

    if (err) {
        capi_finish_failed(call, err);
        return;
    }
    int result = read_page(body, &items, &next, &why);

    json_array_foreach(items, at, item) {
        if (result == 0)
            result = capi_read_machine(item, array_add(&instances), &why);
    }
    for (size_t i = 0; result == 0 && i < instances.count; i++)
        if (instances.items[i].trouble.kind != ERROR_NONE)
            shortfall = &instances.items[i].trouble;

    struct instance_page page = {
        .items = instances.items,
        .count = instances.count,
        .next = result == 0 && next[0] != '\0' ? next : NULL,
        .shortfall = shortfall,
    };

    if (result < 0)
        capi_finish_failed(call, &why);
    else if (page.count == 0 && !page.next && call->at == 0)
        capi_read_size(call, on_size_of_empty);
    else
        finish_list(call, &page);
    array_clear(&instances);
}

void capi_list(struct provider *provider, const struct pool_address *pool, const char *page,
               provider_list_fn done, void *context)
{
    struct capi_call *call = capi_call_new(provider, pool);
    owned(chars) char *target = capi_list_target(call, page);

    call->at = page != NULL; /* later pages may be empty */
    call->listed = done;
    call->context = context;
    capi_send(call, &(struct capi_request){ .action = CAPI_LIST_MACHINES, .target = target },
              on_list);
}

static void on_look(void *context, const json_t *body, const struct error *err)
{
    struct capi_call *call = context;
    provider_look_fn looked = call->looked;
    void *own = call->context;
    struct instance instance;
    struct error why = { 0 };

    if (err && err->kind == ERROR_NOT_FOUND) {
        capi_finish_done(call, "", NULL);
        return;
    }
    if (err) {
        capi_finish_failed(call, err);
        return;
    }
    if (capi_read_machine(body, &instance, &why) == 0 && !capi_is_of_pool(call, body))
        error_set(&why, ERROR_INVALID, "Machine %s is of another pool", instance.name);
    if (why.kind != ERROR_NONE) {
        capi_finish_failed(call, &why);
        return;
    }
    capi_call_free(call);
    looked(own, &instance, NULL);
}

void capi_look(struct provider *provider, const struct pool_address *pool, const char *instance,
               provider_look_fn done, void *context)
{
    struct capi_call *call = capi_call_new(provider, pool);
    owned(chars) char *name = url_format("/%s", instance);
    owned(chars) char *target = text_format("%s%s", call->machines, name);

    call->looked = done;
    call->context = context;
    capi_send(call, &(struct capi_request){ .action = CAPI_GET_MACHINE, .target = target },
              on_look);
}
