/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See transfer_page.h.
 */
#include "broker/terminal/transfer_page.h"

#include "base/input/json.h"
#include "base/timestamp.h"
#include "broker/terminal/leavers.h"

/* In this order, those that are known; what matters at night comes first. */
static const struct {
    const char *label;
    const char *member;
    const char *note; /* behind it */
} lines[] = {
    { "Node", "node", "" },
    { "From", "from", "" },
    { "To", "to", "" },
    { "Waits for", "waits_for", "" },
    { "Since", "since", "" },
    { "Attempt", "attempt", "" },
    { "Expected", "expected", " (of 20 nodes, 19 are ready sooner)" },
    { "", "expected_p50", " (half are ready sooner)" },
    { "Due", "due", "" },
    { "Departs", "departure", "" },
    { "Announced", "announced", "" },
    { "Put off by", "held", "" },
    { "Machine", "instance", "" },
    { "New machine", "new_instance", "" },
    { "New node", "new_node", "" },
    { "Reason", "reason", "" },
    { "Created", "created", "" },
    { "Move", "move", "" },
};

static void add_line(struct text *out, const char *label, const char *text)
{
    owned(chars) char *shown = text_format("%s%s", label, label[0] ? ":" : "");
    owned(chars) char *tame = mem_copy_chars(text);

    text_tame(tame, false);
    text_add(out, "%-15s %s\n", shown, tame);
}

/* "drain", and what is special about it. */
static char *step_of(const json_t *transfer)
{
    static const struct {
        const char *member;
        const char *text;
    } marks[] = {
        { "is_emergency", "a reclaim" },
        { "is_undoing", "undoing: the node stays in its pool" },
        { "is_returning", "returning: the machine goes back to the pool that it came from" },
        { "needs_operator", "needs a person" },
    };
    bool is_live = text_equal(json_text_or(transfer, "state", ""), "live");
    struct text *step = text_new(TEXT_UNBOUNDED);

    text_add(step, "%s", json_text_or(transfer, is_live ? "step" : "state", "-"));
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        if (json_bool_or(transfer, marks[i].member, false))
            text_add(step, "; %s", marks[i].text);
    return text_take(step);
}

static void add_member(struct text *out, const json_t *transfer, size_t at)
{
    const json_t *value = json_object_get(transfer, lines[at].member);
    owned(chars) char *number = json_is_integer(value) ? json_print(value) : NULL;
    const char *text = number ?: json_text_or(transfer, lines[at].member, "");
    owned(chars) char *whole = text_format("%s%s", text, lines[at].note);

    if (text[0] != '\0')
        add_line(out, lines[at].label, whole);
}

void transfer_page(const json_t *transfer, struct text *out)
{
    const char *id = json_text_or(transfer, "transfer", "-");
    owned(chars) char *step = step_of(transfer);
    owned(chars) char *history = text_format("`sluice events --move %s`", id);
    char lead[DURATION_TEXT_SIZE];

    add_line(out, "Transfer", id);
    add_line(out, "Step", step);
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        add_member(out, transfer, i);
    if (json_at(transfer, "lead_s"))
        add_line(out, "Lead time",
                 duration_format(json_int_or(transfer, "lead_s", 0) * SECOND_MS, lead));
    add_line(out, "History", history);
    if (json_array_size(json_object_get(transfer, "blockers")) > 0)
        text_add(out, "Blockers:\n");
    leavers_blockers(json_object_get(transfer, "blockers"), out);
}
