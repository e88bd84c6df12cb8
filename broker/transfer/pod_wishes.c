/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See pod_wishes.h.
 */
#include "broker/transfer/pod_wishes.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/transfer/marks.h"

bool wishes_to_leave(const struct pod *pod)
{
    return text_equal(pod_annotation(pod, SLUICE_NOTE_READY), "true");
}

bool wishes_all_to_leave(const struct snapshot *snapshot, const char *node, int *ret_count)
{
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node, &count);

    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!pod_must_leave(pods[i]))
            continue;
        if (!wishes_to_leave(pods[i]))
            return false;
        (*ret_count)++;
    }
    return true;
}

struct wall_time wishes_to_stay(const struct snapshot *snapshot, const char *node,
                                const struct pod **ret_pod)
{
    struct wall_time latest = { 0 };
    size_t count;
    const struct pod *const *pods = snapshot_pods_on(snapshot, node, &count);

    for (size_t i = 0; i < count; i++) {
        const char *text = pod_annotation(pods[i], SLUICE_NOTE_EXTENSION);
        struct wall_time asked;
        struct error err;

        if (text && pod_must_leave(pods[i]) && wall_parse(text, false, &asked, &err) == 0 &&
            asked.ms > latest.ms) {
            latest = asked;
            *ret_pod = pods[i];
        }
    }
    return latest;
}

bool wishes_to_come(const json_t *pod)
{
    const json_t *toleration;
    size_t i;

    json_array_foreach(json_at(pod, "spec/tolerations"), i, toleration) {
        const char *key = json_text_or(toleration, "key", "");
        const char *effect = json_text_or(toleration, "effect", "");
        bool is_any = text_equal(json_text_or(toleration, "operator", ""), "Exists");

        if ((text_equal(key, SLUICE_TAINT_LEAVING) || (key[0] == '\0' && is_any)) &&
            (effect[0] == '\0' || text_equal(effect, "NoSchedule")))
            return true;
    }
    return false;
}
