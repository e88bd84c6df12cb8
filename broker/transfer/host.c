/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See host.h.
 */
#include "broker/transfer/host.h"

#include "base/log.h"
#include "base/text.h"
#include "broker/transfer/runner.h"

enum { AGAIN_MS = MINUTE_MS };

struct host_look {
    struct runner *runner;
    char machine[INSTANCE_NAME_SIZE]; /* about which was asked last */
    char host[INSTANCE_HOST_SIZE];
    int64_t asked_ms;
    bool is_under_way;
    bool is_settled;
};

static void answered(void *context, const char *host, const struct error *err)
{
    struct host_look *look = context;

    require(look->is_under_way);
    look->is_under_way = false;
    look->is_settled = true;
    if (err)
        log_info("host_unknown", FIELD_TEXT("machine", look->machine),
                 FIELD_TEXT("text", err->text));
    else
        text_copy(look->host, sizeof look->host, host);
    runner_wake(look->runner);
}

static struct host_look *look_of(struct runner *runner, struct transfer *transfer)
{
    if (!transfer->host) {
        transfer->host = mem_new(sizeof *transfer->host);
        transfer->host->runner = runner;
    }
    return transfer->host;
}

void host_ask(struct runner *runner, struct transfer *transfer)
{
    const struct config_pool *goal = transfer_goal(transfer);
    struct provider *provider = fleet_provider(runner->fleet, goal);
    struct host_look *look = look_of(runner, transfer);
    int64_t now = loop_now(runner->world->loop);
    const struct instance *listed;

    /* An answer about an earlier machine may still come: it is ignored. */
    if (look->is_under_way)
        return;
    if (!text_equal(look->machine, transfer->new_instance)) {
        text_copy(look->machine, sizeof look->machine, transfer->new_instance);
        look->host[0] = '\0';
        look->is_settled = !provider_tells_host(provider);
        look->asked_ms = 0;
    }
    listed = map_get(fleet_pool(runner->fleet, goal)->instances, look->machine);
    if (listed && listed->host[0] != '\0') {
        text_copy(look->host, sizeof look->host, listed->host);
        look->is_settled = true;
    }
    if (look->host[0] != '\0' || !provider_tells_host(provider) ||
        (look->asked_ms > 0 && now - look->asked_ms < AGAIN_MS))
        return;
    require(look->machine[0] != '\0');
    look->is_under_way = true;
    look->asked_ms = now;
    provider_host(provider, goal->own.settings, look->machine, answered, look);
}

const char *host_of(const struct transfer *transfer)
{
    const struct host_look *look = transfer->host;

    return look && text_equal(look->machine, transfer->new_instance) ? look->host : "";
}

bool host_is_settled(const struct transfer *transfer)
{
    const struct host_look *look = transfer->host;

    return look && look->is_settled && text_equal(look->machine, transfer->new_instance);
}

bool host_is_under_way(const struct host_look *look)
{
    return look && look->is_under_way;
}
