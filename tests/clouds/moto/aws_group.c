/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * aws_group URL ROLE GROUP ZONE VERB [NAME]: one verb of sluice's provider of AWS, at a service
 * that answers all APIs under one URL; "-" for no role.  VERB is list, remove or protect (NAME: the
 * machine) or create (NAME: the way to grow).  Prints the error's kind, "none" for none, and the
 * machines.  Keys come from the environment.  Run by tests/clouds/moto.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/world/http.h"
#include "providers/aws/aws.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 1200, STEP_MS = 50, CALLS = 6 };

struct play {
    struct world world;
    bool is_answered;
    struct error err;
    char progress[256];
    json_t *machines;
};

static void note(struct play *play, const struct error *err)
{
    play->is_answered = true;
    play->err = err ? *err : (struct error){ 0 };
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    static const char *const states[INSTANCE_STATE_COUNT] = {
        [INSTANCE_CREATING] = "creating", [INSTANCE_RUNNING] = "running",
        [INSTANCE_DELETING] = "deleting", [INSTANCE_OTHER] = "other",
        [INSTANCE_PARKED] = "parked",
    };
    struct play *play = context;

    note(play, err);
    for (size_t i = 0; page && i < page->count; i++)
        json_array_append_new(play->machines,
                              json_make("[s, s, s]", page->items[i].name,
                                        states[page->items[i].state], page->items[i].provider_id));
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    struct play *play = context;

    note(play, err);
    if (err && err->cause == &provider_goes_on)
        text_copy(play->progress, sizeof play->progress, operation);
}

static void await(struct play *play)
{
    play->is_answered = false;
    for (int i = 0; i < STEPS && !play->is_answered; i++)
        loop_run_until(play->world.loop, loop_now(play->world.loop) + STEP_MS);
    if (play->is_answered)
        return;
    fprintf(stderr, "aws_group: no answer within a minute\n");
    exit(1);
}

typedef void change_fn(struct provider *provider, const struct pool_address *pool,
                       const struct provider_order *order, provider_done_fn done, void *context);

static change_fn *find_change(const char *verb)
{
    static const struct {
        const char *verb;
        change_fn *change;
    } changes[] = {
        { "remove", provider_remove },
        { "create", provider_create },
        { "protect", provider_protect },
    };

    for (size_t i = 0; i < COUNT_OF(changes); i++)
        if (text_equal(verb, changes[i].verb))
            return changes[i].change;
    return NULL;
}

/* Calls again with the progress it was told, as the caller of a provider does. */
static void carry_out(struct play *play, struct provider *provider, const struct pool_address *pool,
                      change_fn *change, const char *instance)
{
    for (int calls = 0; calls < CALLS; calls++) {
        owned(chars) char *progress = mem_copy_chars(play->progress);
        const struct provider_order order = {
            .instance = instance,
            .request_key = "0a",
            .request_id = "11111111-2222-4333-8444-555555555555",
            .progress = progress,
        };

        change(provider, pool, &order, on_done, play);
        await(play);
        if (play->err.cause != &provider_goes_on)
            return;
    }
}

int main(int argc, char **argv)
{
    struct random random = { 0 };
    struct error err = { 0 };
    struct play play = { 0 };

    mem_setup();
    if (argc < 6 || argc > 7 || (!find_change(argv[5]) && !text_equal(argv[5], "list"))) {
        fprintf(stderr, "usage: aws_group URL ROLE GROUP ZONE list|remove|create|protect [NAME]\n");
        return 64;
    }

    const char *url = argv[1], *verb = argv[5], *name = argc == 7 ? argv[6] : NULL;
    change_fn *change = find_change(verb);
    const struct aws_settings settings = {
        .whose = { .region = "us-east-1",
                   .role = text_equal(argv[2], "-") ? NULL : argv[2],
                   .sts_endpoint = url },
        .autoscaling_endpoint = url,
        .ec2_endpoint = url,
        .eks_endpoint = url,
    };
    const struct aws_pool place = { .group = argv[3],
                                    .zone = argv[4],
                                    .grow = text_equal(verb, "create") ? name : "auto" };
    const struct pool_address *pool = (const struct pool_address *)(const void *)&place;

    play.world.loop = loop_libevent_new(&err);
    play.world.http = play.world.loop ? http_curl_new(play.world.loop, NULL, &err) : NULL;
    play.world.random = &random;
    play.machines = json_array();

    struct provider *provider =
        play.world.http
            ? provider_open(&play.world, &aws_kind,
                            (const struct provider_account *)(const void *)&settings, &err)
            : NULL;

    if (!provider) {
        fprintf(stderr, "aws_group: %s\n", err.text);
        return 1;
    }
    if (text_equal(verb, "list")) {
        provider_list(provider, pool, NULL, on_page, &play);
        await(&play);
    } else {
        carry_out(&play, provider, pool, change, text_equal(verb, "create") ? NULL : name);
    }

    owned(json) json_t *result = json_make(
        "{s:s, s:s, s:o}", "error",
        play.err.kind == ERROR_NONE ? "none" : error_kind_name(play.err.kind), "text",
        play.err.text, "machines", play.machines);
    owned(chars) char *chars = json_print(result);

    puts(chars);
    provider_close(provider);
    http_free(play.world.http);
    loop_free(play.world.loop);
    return 0;
}
