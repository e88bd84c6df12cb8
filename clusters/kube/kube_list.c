/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each page is asked for in a later turn of the loop: its token comes in a callback with a piece of
 * the page before, and no request may be sent from such a callback.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
#include "clusters/kube/kube_list.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"
#include "base/world/loop.h"
#include "base/world/pages.h"
#include "clusters/kube/kube_error.h"

#include <string.h>

enum {
    PAGE_ITEMS = 25000, /* as few as a server sends in seconds: each but the first costs it more */
    PAGE_LIMIT = 10000, /* pages of one list: a server that never ends is an error */
    LIST_TIMEOUT_MS = 60 * SECOND_MS,
    LIST_MOST_MS = 10 * MINUTE_MS, /* all pages */
};

struct page {
    struct kube_list *list;
    struct kube_exchange *exchange;
    struct kube_objects *objects; /* NULL: the page is free */
    char *token;                  /* that it was asked for with; NULL: the first */
    char *next;                   /* token of the page after it, "" for none; NULL: not known yet */
    size_t items;
};

struct kube_list {
    struct kube_session *session;
    struct kube_list_request request;
    struct page pages[2];
    struct timer *ask;
    char *token; /* token of the page to request when one is free; NULL: not known, or there is
                    none */
    int count;   /* of pages asked for */
    struct pages walk;
    int64_t began_ms;
    char *resource_version;
};

static struct page *free_page(struct kube_list *list)
{
    for (size_t i = 0; i < COUNT_OF(list->pages); i++)
        if (!list->pages[i].objects)
            return &list->pages[i];
    return NULL;
}

static void page_clear(struct page *page)
{
    kube_cancel(page->exchange);
    kube_objects_free(page->objects);
    mem_free(page->token);
    mem_free(page->next);
    *page = (struct page){ .list = page->list };
}

/* The page names the next one: once, and always the same. */
static int take_next(struct page *page, const char *next, struct error *err)
{
    struct kube_list *list = page->list;

    if (page->next && !text_equal(page->next, next))
        return error_set(err, ERROR_CORRUPT, "metadata/continue changes within a page");
    if (page->next)
        return 0;
    if (next[0] && pages_next(&list->walk, next, err) < 0)
        return -1;
    if (next[0] && loop_now(kube_world(list->session)->loop) - list->began_ms > LIST_MOST_MS)
        return error_set(err, ERROR_TRANSIENT, "the list takes longer than %d minutes",
                         LIST_MOST_MS / MINUTE_MS);
    page->next = mem_copy_chars(next);
    if (next[0]) {
        require(!list->token); /* only the newest page is yet to tell */
        list->token = mem_copy_chars(next);
        timer_set(list->ask, 0);
    }
    return 0;
}

static int read_end(struct page *page, struct error *err)
{
    struct kube_answer answer = { .status = 200, .text = "" };
    owned(json) json_t *head = kube_objects_end(page->objects, err);
    const char *version = NULL, *next = "";
    json_t *items = NULL;

    answer.body = head;
    if (!head || kube_error_of_answer(&answer, err) < 0 ||
        json_need_array(head, "items", &items, err) < 0 ||
        json_need_text(head, "metadata/resourceVersion", &version, err) < 0 ||
        json_find_text(head, "metadata/continue", &next, err) < 0 || take_next(page, next, err) < 0)
        return -1;
    if (version[0] == '\0')
        return error_set(err, ERROR_CORRUPT, "metadata/resourceVersion is empty");
    if (next[0] == '\0')
        page->list->resource_version = mem_copy_chars(version);
    return 0;
}

static void fail(struct kube_list *list, struct error *err)
{
    error_context(err, "cluster %s: list of %s", kube_name(list->session), list->request.path);
    list->request.on_end(list->request.context, NULL, err);
}

static void on_page_end(void *context, const json_t *body, const struct error *err)
{
    struct page *page = context;
    struct kube_list *list = page->list;
    struct error why = { 0 };

    (void)body;
    page->exchange = NULL;
    if (err) {
        list->request.on_end(list->request.context, NULL, err);
        return;
    }
    pages_brought(&list->walk, page->items);
    if (read_end(page, &why) < 0) {
        fail(list, &why);
        return;
    }
    page_clear(page);
    if (list->token)
        timer_set(list->ask, 0);
    else if (!list->pages[0].objects && !list->pages[1].objects)
        list->request.on_end(list->request.context, list->resource_version, NULL);
}

static void on_piece(void *context, const char *bytes, size_t size)
{
    struct page *page = context;
    struct error err = { 0 };

    kube_objects_add(page->objects, bytes, size);
    if (kube_objects_check(page->objects, &err) < 0)
        fail(page->list, &err);
}

/* The head comes before the items; a server may also send it after them. */
static void on_head(void *context, const json_t *head)
{
    struct page *page = context;
    struct error err = { 0 };

    if (json_at(head, "metadata") &&
        take_next(page, json_text_or(head, "metadata/continue", ""), &err) < 0)
        kube_objects_fail(page->objects, &err);
}

static void on_item(void *context, const json_t *item)
{
    struct page *page = context;
    struct error err = { 0 };

    page->items++;
    if (page->list->request.on_item(page->list->request.context, item, &err) < 0)
        kube_objects_fail(page->objects, &err);
}

char *kube_list_page(const char *first, const char *token)
{
    owned(chars) char *rest = token ? url_format("&continue=%s", token) : NULL;

    require(strstr(first, "limit="));
    return text_format("%s%s", first, rest ?: "");
}

static void ask_page(void *context)
{
    struct kube_list *list = context;
    struct page *page = free_page(list);

    if (!page || (list->count > 0 && !list->token))
        return;
    page->token = steal(&list->token);
    page->objects = kube_objects_of_list(list->request.members, on_head, on_item, page);
    owned(chars) char *first = text_format("%s?limit=%d", list->request.path, PAGE_ITEMS);
    owned(chars) char *target = kube_list_page(first, page->token);
    struct kube_call call = {
        .verb = KUBE_STREAM,
        .priority = HTTP_INVENTORY,
        .target = target,
        .timeout_ms = LIST_TIMEOUT_MS,
        .is_long = true,
        .on_chunk = on_piece,
    };

    list->count++;
    page->exchange = kube_send(list->session, &call, on_page_end, page);
}

struct kube_list *kube_list_new(struct kube_session *session,
                                const struct kube_list_request *request)
{
    struct kube_list *list = mem_new(sizeof *list);

    list->session = session;
    list->request = *request;
    list->began_ms = loop_now(kube_world(session)->loop);
    pages_start(&list->walk, PAGE_LIMIT);
    list->ask = timer_new(kube_world(session)->loop, ask_page, list);
    for (size_t i = 0; i < COUNT_OF(list->pages); i++)
        list->pages[i].list = list;
    timer_set(list->ask, 0);
    return list;
}

void kube_list_free(struct kube_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < COUNT_OF(list->pages); i++)
        page_clear(&list->pages[i]);
    timer_free(list->ask);
    pages_clear(&list->walk);
    mem_free(list->token);
    mem_free(list->resource_version);
    mem_free(list);
}
