/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lines NAME=VALUE between sluice=1 and end=1.  What a login shell prints before them is skipped.
 */
#include "providers/ssh/own_report.h"

#include "base/memory.h"
#include "base/text.h"

#include <string.h>

static const char *const states[OWN_STATE_COUNT] = {
    [OWN_NONE] = "none", [OWN_PARKED] = "parked",   [OWN_JOINING] = "joining",
    [OWN_IN] = "in",     [OWN_LEAVING] = "leaving",
};

const char *own_state_name(enum own_state state)
{
    require(state < OWN_STATE_COUNT);
    return states[state];
}

static const struct {
    const char *name;
    size_t offset;
    size_t size;
} texts[] = {
#define TEXT(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct own_report, name), sizeof((struct own_report *)0)->name             \
    }
    TEXT(answer), TEXT(text), TEXT(group),  TEXT(key),
    TEXT(kind),   TEXT(step), TEXT(failed), TEXT(in_s),
};

static const struct {
    const char *name;
    size_t offset;
} flags[] = {
    { "running", offsetof(struct own_report, is_running) },
    { "kubelet", offsetof(struct own_report, has_kubelet) },
    { "k3s", offsetof(struct own_report, has_k3s) },
    { "slurmd", offsetof(struct own_report, has_slurmd) },
};

/* False: the value cannot be what machine.sh wrote. */
static bool read_line(struct own_report *report, const char *name, char *value, bool *has_state)
{
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (text_equal(texts[i].name, name)) {
            text_mend(value);
            return text_copy((char *)report + texts[i].offset, texts[i].size, value) ||
                   texts[i].offset == offsetof(struct own_report, text) ||
                   texts[i].offset == offsetof(struct own_report, failed);
        }
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (text_equal(flags[i].name, name)) {
            *(bool *)(void *)((char *)report + flags[i].offset) = text_equal(value, "1");
            return true;
        }
    if (!text_equal(name, "state"))
        return true; /* of a later version */
    for (enum own_state state = 0; state < OWN_STATE_COUNT; state++)
        if (text_equal(states[state], value)) {
            report->state = state;
            *has_state = true;
            return true;
        }
    return false;
}

int own_report_read(const char *output, size_t length, struct own_report *ret_report,
                    struct error *err)
{
    owned(chars) char *copy = text_format("\n%s", output);
    char *at = strlen(output) == length ? strstr(copy, "\nsluice=1\n") : NULL;
    struct own_report report = { 0 };
    bool has_state = false, has_end = false, is_good = true;
    char *line, *rest = at ? at + 1 : NULL;

    while (is_good && !has_end && (line = strsep(&rest, "\n"))) {
        char *value = strchr(line, '=');

        if (!value)
            continue;
        *value++ = '\0';
        has_end = text_equal(line, "end") && text_equal(value, "1");
        is_good = read_line(&report, line, value, &has_state);
    }
    if (!at || !is_good || !has_end || !has_state || report.answer[0] == '\0')
        return error_set(err, ERROR_CORRUPT,
                         "its answer is no report of sluice's script: \"%.80s\"", output);
    *ret_report = report;
    return 0;
}

const char *own_report_daemon(const struct own_report *report)
{
    return report->has_kubelet  ? "kubelet"
           : report->has_k3s    ? "k3s"
           : report->has_slurmd ? "slurmd"
                                : NULL;
}

bool own_report_is_foreign(const struct own_report *report)
{
    return report->state == OWN_NONE && own_report_daemon(report);
}
