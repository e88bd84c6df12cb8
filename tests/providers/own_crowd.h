/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Many machines of one's own in a rack, each with a management controller, and the rack's power.
 * The first half of them is in group a, the second one in group b.
 */
#pragma once

#include "base/file.h"
#include "base/text.h"
#include "providers/ssh/own.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CROWD = 24, SILENCE_MS = 20 * SECOND_MS, FENCE_SILENCE_MS = 15 * SECOND_MS };

#define CROWD_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILLYeqPn2zEamG0SdiP7ldy/I4KmmU8LS2UpN3LRA390"

struct crowd {
    struct http http; /* first */
    struct loop *loop;
    struct world world;
    struct provider *provider;
    struct own_account account;
    struct own_pool a, b;
    char *folder, *machines, *login;
    bool is_dark;      /* no machine answers */
    const char *power; /* what the controllers say; NULL: they do not answer */
    int looks[SSH_PRIORITY_COUNT];
    int64_t silent_ms[CROWD]; /* when a look at it was sent that has no answer; 0: none */
    int questions;
    int asked[CROWD]; /* questions to each controller */
    int lists;        /* that have ended */
    int64_t ended_ms; /* the last one */
    struct instance items[CROWD];
    size_t count;
    struct error err;
};

static inline int crowd_at(const char *text)
{
    return atoi(text) - 1;
}

static inline void crowd_play(void *context, const struct ssh_host *host,
                              const struct ssh_request *request, struct ssh_play *play)
{
    struct crowd *crowd = context;
    int at = crowd_at(host->address + strlen("gpu-"));
    bool is_in_a = at < CROWD / 2;
    int64_t now_ms = loop_now(crowd->loop);

    assert_non_null(strstr(request->command, "look"));
    crowd->looks[request->priority]++;
    assert_true(crowd->silent_ms[at] == 0 || now_ms - crowd->silent_ms[at] >= SILENCE_MS);
    crowd->silent_ms[at] = crowd->is_dark ? now_ms : 0;
    play->delay_ms = crowd->is_dark ? SILENCE_MS : 20;
    if (crowd->is_dark)
        error_set(&play->failure, ERROR_TRANSIENT, "no answer of %s", host->address);
    else
        text_add(play->output,
                 "sluice=1\nanswer=ok\ntext=\nstate=in\ngroup=%s\nkey=0000000a\nkind=script\n"
                 "step=\nend=1\n",
                 is_in_a ? "a" : "b");
}

struct crowd_passage {
    struct crowd *crowd;
    struct timer *timer;
    http_done_fn done;
    void *context;
};

static inline void crowd_on_http(void *context)
{
    struct crowd_passage passage = *(struct crowd_passage *)context;
    owned(chars) char *body = text_format("{\"PowerState\": \"%s\"}", passage.crowd->power ?: "");
    const struct http_answer answer = { .status = 200, .body = body, .body_size = strlen(body) };
    bool is_heard = passage.crowd->power != NULL;
    struct error err = { 0 };

    timer_free(passage.timer);
    mem_free(context);
    error_set(&err, ERROR_TRANSIENT, "no controller");
    passage.done(passage.context, is_heard ? &answer : NULL, is_heard ? NULL : &err);
}

static inline struct http_exchange *
crowd_http(struct http *http, const struct http_request *request, http_done_fn done, void *context)
{
    struct crowd *crowd = (struct crowd *)http;
    struct crowd_passage *passage = mem_new(sizeof *passage);

    assert_int_equal(request->method, HTTP_GET);
    crowd->questions++;
    crowd->asked[crowd_at(request->url + strlen("https://bmc/"))]++;
    *passage = (struct crowd_passage){ crowd, timer_new(crowd->loop, crowd_on_http, passage), done,
                                       context };
    timer_set(passage->timer, crowd->power ? 10 : FENCE_SILENCE_MS);
    return (struct http_exchange *)passage;
}

static inline void crowd_cancel(struct http_exchange *exchange)
{
    timer_free(((struct crowd_passage *)exchange)->timer);
    mem_free(exchange);
}

static inline void crowd_write(struct crowd *crowd)
{
    owned(text) struct text *list = text_new(TEXT_UNBOUNDED);

    for (int i = 1; i <= CROWD; i++)
        text_add(list,
                 "gpu-%d: {address: gpu-%d, host_key: '" CROWD_KEY "', redfish_login: bmc,"
                 " redfish: 'https://bmc/%d'}\n",
                 i, i, i);
    crowd->login = test_folder_write(crowd->folder, "bmc", "admin:secret\n");
    assert_int_equal(chmod(crowd->login, 0600), 0);
    crowd->machines = test_folder_write(crowd->folder, "machines.yaml", list->chars);
}

static inline void crowd_restart(struct crowd *crowd)
{
    struct error err = { 0 };

    provider_close(crowd->provider);
    crowd->provider = provider_open(&crowd->world, &ssh_kind,
                                    (const struct provider_account *)(const void *)&crowd->account,
                                    &err);
    if (!crowd->provider)
        fail_msg("%s", err.text);
}

static inline void crowd_open(struct crowd *crowd)
{
    static const struct http_verbs verbs = { crowd_http, crowd_cancel, NULL };

    *crowd = (struct crowd){ .http.verbs = &verbs, .folder = test_folder_new() };
    crowd_write(crowd);
    crowd->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    crowd->world = (struct world){ .loop = crowd->loop,
                                   .http = &crowd->http,
                                   .ssh = ssh_virtual_new(crowd->loop, crowd_play, crowd) };
    crowd->account = (struct own_account){
        .machines = crowd->machines,
        .access = { .port = 22,
                    .user = (char *)(uintptr_t) "root",
                    .agent = (char *)(uintptr_t) "/run/agent" },
        .folder = "/var/lib/sluice-machine",
        .fence_after_ms = 5 * MINUTE_MS,
    };
    crowd->a = (struct own_pool){ .group = "a", .join = "script", .script = "/s", .zone = "z" };
    crowd->b = (struct own_pool){ .group = "b", .join = "script", .script = "/s", .zone = "z" };
    loop_run_until(crowd->loop, SECOND_MS);
    crowd_restart(crowd);
}

static inline void crowd_close(struct crowd *crowd)
{
    provider_close(crowd->provider);
    ssh_free(crowd->world.ssh);
    loop_free(crowd->loop);
    mem_free(crowd->machines);
    mem_free(crowd->login);
    test_folder_free(crowd->folder);
}

static inline void crowd_on_page(void *context, const struct instance_page *page,
                                 const struct error *err)
{
    struct crowd *crowd = context;

    assert_null(err);
    crowd->count = page->count;
    for (size_t i = 0; i < page->count; i++)
        crowd->items[i] = page->items[i];
    crowd->lists++;
    crowd->ended_ms = loop_now(crowd->loop);
}

static inline void crowd_begin(struct crowd *crowd, const struct own_pool *pool)
{
    provider_list(crowd->provider, (const struct pool_address *)(const void *)pool, NULL,
                  crowd_on_page, crowd);
}

static inline void crowd_wait(struct crowd *crowd, int64_t ms)
{
    loop_run_until(crowd->loop, loop_now(crowd->loop) + ms);
}

/* How long the list takes; the clock stands at its end. */
static inline int64_t crowd_list(struct crowd *crowd, const struct own_pool *pool)
{
    int64_t began_ms = loop_now(crowd->loop);
    int before = crowd->lists;

    crowd_begin(crowd, pool);
    while (crowd->lists == before && loop_now(crowd->loop) < began_ms + HOUR_MS)
        crowd_wait(crowd, 10);
    assert_int_equal(crowd->lists, before + 1);
    return crowd->ended_ms - began_ms;
}

/* How many of the last list have that state. */
static inline int crowd_count(const struct crowd *crowd, enum instance_state state)
{
    int count = 0;

    for (size_t i = 0; i < crowd->count; i++)
        count += crowd->items[i].state == state;
    return count;
}
