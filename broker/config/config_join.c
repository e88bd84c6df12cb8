/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What must hold in the lists of `join`.  A name with a mistake in it would keep every new machine
 * waiting until it is discarded, so it is refused here.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/text_items.h"
#include "broker/config/config_tables.h"

#include <string.h>

/* A key of a label or taint, or a DaemonSet as NAMESPACE/NAME: one slash at most. */
static bool is_key(const char *item, size_t length, bool needs_slash)
{
    const char *slash = memchr(item, '/', length);

    if (!config_is_name(item, length))
        return false;
    if (!slash)
        return !needs_slash;
    return slash != item && slash + 1 < item + length &&
           !memchr(slash + 1, '/', length - (size_t)(slash + 1 - item));
}

static int check_list(const struct config *config, const char *key, const char *list,
                      const char *expected, struct error *err)
{
    const struct yaml_node *join = yaml_get(yaml_root(config->document), "join");
    bool needs_slash = text_equal(key, "daemons");
    bool is_good = !list || list[0] != '\0';
    const char *rest = list;
    const char *item;
    size_t length;

    while (is_good && text_items_next(&rest, &item, &length))
        is_good = is_key(item, length, needs_slash);
    return is_good
               ? 0
               : yaml_error(err, yaml_get(join, key),
                            "expected %s with commas between them, found \"%s\"", expected, list);
}

int config_check_join(const struct config *config, struct error *err)
{
    const struct config_join *join = &config->join;
    const struct yaml_node *node = yaml_get(yaml_root(config->document), "join");

    if (join->stable_ms >= join->deadline_ms)
        return yaml_error(err, yaml_get(node, "stable") ?: yaml_get(node, "deadline"),
                          "stable is not shorter than deadline: no machine would ever serve");
    if (check_list(config, "startup_taints", join->startup_taints, "taints' keys", err) < 0 ||
        check_list(config, "labels", join->labels, "labels' keys", err) < 0)
        return -1;
    return check_list(config, "daemons", join->daemons, "NAMESPACE/NAME", err);
}
