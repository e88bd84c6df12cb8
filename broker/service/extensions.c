/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Extensions: a person or a pod asks to keep a node after its departure time.  The granted time is
 * in the transfer, on the node and on the board.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "broker/service/service_parts.h"
#include "broker/transfer/notice.h"

enum { LONGEST_S = DAY_MS / SECOND_MS };

static struct transfer *find(struct service *service, const char *what)
{
    struct runner *runner = service->runner;

    for (size_t i = runner->transfers.count; i-- > 0;) {
        struct transfer *transfer = runner->transfers.items[i];

        if (transfer->state == TRANSFER_LIVE &&
            (text_equal(transfer->id, what) || text_equal(transfer->node, what)))
            return transfer;
    }
    return NULL;
}

/* The time that is asked for: `until`, or `for_s` after the departure. */
static int read_asked(const json_t *request, const struct transfer *transfer,
                      struct wall_time *ret_asked, struct error *err)
{
    const char *until = NULL;
    int64_t for_s;

    if (json_find_text(request, "until", &until, err) < 0)
        return -1;
    if (until)
        return wall_parse(until, false, ret_asked, err);
    if (json_need_int(request, "for_s", &for_s, err) < 0)
        return -1;
    if (for_s < 1 || for_s > LONGEST_S)
        return error_set(err, ERROR_INVALID, "for_s: from 1 to %d", LONGEST_S);
    ret_asked->ms = transfer->departure.ms + for_s * SECOND_MS;
    return 0;
}

json_t *service_hold(struct service *service, const json_t *request, const char *by,
                     struct error *err)
{
    const char *what;
    const char *reason;
    struct transfer *transfer;
    struct wall_time asked;
    struct wall_time before;
    owned(chars) char *who = NULL;

    if (json_need_text(request, "node", &what, err) < 0 || reason_read(request, &reason, err) < 0)
        return NULL;
    transfer = find(service, what);
    if (!transfer) {
        error_set(err, ERROR_NOT_FOUND, "no live transfer has the name or the node %.100s", what);
        return NULL;
    }
    before = transfer->departure;
    if (read_asked(request, transfer, &asked, err) < 0)
        return NULL;
    who = text_format("%.64s: %.90s", by, reason);
    if (notice_extend(service->runner, transfer, asked, who, err) < 0)
        return NULL;
    runner_wake(service->runner);
    return json_make("{ss ss ss ss so so so so ss}", "kind", "hold", "transfer", transfer->id,
                     "move", transfer->move, "node", transfer->node, "asked", json_wall(asked),
                     "before", json_wall(before), "departure", json_wall(transfer->departure),
                     "latest", json_wall(notice_latest(service->runner, transfer)), "held",
                     transfer->held);
}
