/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See endings.h.
 */
#include "broker/api/endings.h"

#include "base/text.h"

enum {
    EXPIRES_SOON_MS = 14 * DAY_MS,
    LIST_SOON_MS = HOUR_MS, /* lists are renewed every few hours or days */
};

struct ending {
    const char *path;        /* of the file */
    const char *what;        /* "certificate" */
    const char *consequence; /* once it has ended */
    struct wall_time end;    /* INT64_MAX: there is none */
    int64_t soon_ms;         /* so long before it is told */
};

static void look(const struct ending *ending, struct wall_time now, struct health *health)
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

void endings_look(const struct config_listen *listen, const struct tls_identity *identity,
                  struct wall_time now, struct health *health)
{
    const struct ending endings[] = {
        { listen->certificate, "certificate", "clients refuse it", tls_identity_ends(identity),
          EXPIRES_SOON_MS },
        { listen->client_ca, "authority of client certificates",
          "no client certificate of it is believed", tls_identity_authorities_end(identity),
          EXPIRES_SOON_MS },
        { listen->client_crl, "revocation list",
          "no client certificate of its authority is believed", tls_identity_lists_end(identity),
          LIST_SOON_MS },
    };

    for (size_t i = 0; i < COUNT_OF(endings); i++)
        look(&endings[i], now, health);
}
