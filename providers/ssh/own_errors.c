/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See own_errors.h.
 */
#include "providers/ssh/own_errors.h"

#include "base/memory.h"
#include "base/text.h"

static const struct provider_refusal rows[] = {
    { "taken", { NULL }, ERROR_TRANSIENT }, /* another order has the machine: choose another one */
    { "busy", { NULL }, ERROR_TRANSIENT },
    { "failed", { NULL }, ERROR_INVALID },
    { "folder", { NULL }, ERROR_DENIED }, /* a full disk, or no right */
};

int own_errors_read(const struct own_report *report, struct error *err)
{
    if (text_equal(report->answer, "ok"))
        return 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (text_equal(rows[i].code, report->answer))
            return error_set(err, rows[i].kind, "%s", report->text);
    return error_set(err, ERROR_CORRUPT, "it answers \"%s\", which sluice does not know: %s",
                     report->answer, report->text);
}

bool own_refusal(size_t at, struct provider_refusal *ret)
{
    if (at >= COUNT_OF(rows))
        return false;
    *ret = rows[at];
    return true;
}
