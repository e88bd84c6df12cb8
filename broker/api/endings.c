/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See endings.h.
 */
#include "broker/api/endings.h"

#include "base/text.h"

void ending_look(const struct ending *ending, struct wall_time now, struct health *health)
{
    struct condition condition = { .kind = CONDITION_CERTIFICATE_EXPIRES, .what = ending->path };
    char text[WALL_TEXT_SIZE];

    if (ending->end.ms == INT64_MAX || ending->end.ms - now.ms >= ending->soon_ms)
        return;
    wall_format(ending->end, text);
    if (ending->end.ms <= now.ms) {
        condition.kind = CONDITION_CERTIFICATE_EXPIRED;
        condition.since = ending->end;
        health_add(health, &condition,
                   text_format("the %s in %s ended at %s: %s", ending->what, ending->path, text,
                               ending->consequence));
    } else {
        health_add(health, &condition,
                   text_format("the %s in %s ends at %s", ending->what, ending->path, text));
    }
}
