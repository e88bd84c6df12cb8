/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice approve: acts that wait for a second person, and that person's decision.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/table.h"

#include <inttypes.h>
#include <stdio.h>

enum { ANSWER_LIMIT = 16 << 20 };

const struct command_option approve_options[] = {
    { "reject", 0, NULL, "reject it instead; needs --reason", false },
    { "reason", 0, "TEXT", "why it is rejected; written to the journal", false },
    { "all", 0, NULL, "list also what waits no more", false },
    { "yes", 'y', NULL, "do not ask for confirmation on a terminal", false },
    ROWS_OPTIONS,
    CLIENT_OPTIONS,
    { 0 },
};

static const char *subject(const json_t *row)
{
    return text_equal(json_text_or(row, "act", ""), "apply") ? "schedules"
                                                             : json_text_or(row, "cluster", "-");
}

static const struct wide_column wide[] = {
    { "CREATED", "created" },       { "LOOKED", "looked" },           { "DECIDED", "decided" },
    { "DECIDED BY", "decided_by" }, { "FINGERPRINT", "fingerprint" }, { 0 },
};

static void print_list(const struct command_call *call, const json_t *answer)
{
    static const char *const titles[] = { "ID", "ACT",  "FOR",   ">NODES", ">LOST GPU-H",
                                          "BY", "ENDS", "STATE", "REASON", NULL };
    owned(table) struct table *table = forms_table(forms_is_wide(call), titles, wide);
    owned(text) struct text *out = text_new(ANSWER_LIMIT);
    const json_t *row;
    size_t i;

    if (json_array_size(json_object_get(answer, "approvals")) == 0) {
        fprintf(stderr, "Nothing waits for a second person.\n");
        return;
    }
    json_array_foreach(json_object_get(answer, "approvals"), i, row) {
        const char *why = json_text_or(row, "why", "");

        table_cell(table, "%s", json_text_or(row, "id", "-"));
        table_cell(table, "%s", json_text_or(row, "act", "-"));
        table_cell(table, "%s", subject(row));
        table_cell(table, "%" PRId64, json_int_or(row, "nodes", 0));
        table_cell(table, "%.1f", json_number_value(json_object_get(row, "lost_gpu_hours")));
        table_cell(table, "%s", json_text_or(row, "by", "-"));
        table_cell(table, "%s", json_text_or(row, "ends", "-"));
        table_cell(table, "%s", json_text_or(row, "state", "-"));
        forms_wide_cells(forms_is_wide(call), table, row, wide);
        table_cell(table, "%s", why[0] != '\0' ? why : json_text_or(row, "reason", "-"));
    }
    table_print(table, out);
    forms_print_table(call, out);
}

/* All that the second person has to know. */
static char *describe(const json_t *row)
{
    owned(text) struct text *out = text_new(ANSWER_LIMIT);
    char held[DURATION_TEXT_SIZE];
    const json_t *part;
    size_t i;

    text_add(out, "%s: %s of %" PRId64 " nodes for %s, asked by %s at %s\n",
             json_text_or(row, "id", "-"), json_text_or(row, "act", "-"),
             json_int_or(row, "nodes", 0), subject(row), json_text_or(row, "by", "-"),
             json_text_or(row, "created", "-"));
    if (json_text_or(row, "reason", "")[0] != '\0')
        text_add(out, "  reason: %s\n", json_text_or(row, "reason", "-"));
    if (json_text_or(row, "from", "")[0] != '\0')
        text_add(out, "  from %s alone\n", json_text_or(row, "from", "-"));
    json_array_foreach(json_object_get(row, "pools"), i, part)
        text_add(out, "  %s +%" PRId64 "\n", json_text_or(part, "pool", "-"),
                 json_int_or(part, "nodes", 0));
    json_array_foreach(json_object_get(row, "changes"), i, part)
        text_add(out, "  window %s: %s %" PRId64 " -> %" PRId64 "\n",
                 json_text_or(part, "window", "-"), json_text_or(part, "pool", "-"),
                 json_int_or(part, "nodes", 0), json_int_or(part, "wanted_nodes", 0));
    if (json_object_get(row, "moves_now"))
        text_add(out, "  moves that begin at once: %" PRId64 "\n",
                 json_int_or(row, "moves_now", 0));
    if (json_object_get(row, "for_s"))
        text_add(out, "  held for %s\n",
                 duration_format(json_int_or(row, "for_s", 0) * SECOND_MS, held));
    text_add(out, "  loses about %.1f GPU-h of research work\n",
             json_number_value(json_object_get(row, "lost_gpu_hours")));
    return text_take(steal(&out));
}

static void print_decision(const json_t *row, struct text *out)
{
    bool is_repeat = json_bool_or(row, "is_repeat", false);
    const char *state = json_text_or(row, "state", "-");

    text_add(out, "%s %s %s by %s at %s%s\n", json_text_or(row, "id", "-"),
             is_repeat ? "was already" : "is", state, json_text_or(row, "decided_by", "-"),
             json_text_or(row, "decided", "-"),
             is_repeat                       ? "; nothing was done again"
             : text_equal(state, "approved") ? "; it is carried out now"
                                             : "; nothing was done");
}

static json_t *find_row(const struct config *config, const char *id, struct error *err)
{
    owned(json) json_t *answer = client_ask(config, HTTP_GET, "/v1/approvals?all=true", NULL, err);
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(answer, "approvals"), i, row)
        if (text_equal(json_text_or(row, "id", ""), id))
            return json_incref(row);
    if (answer)
        error_set(err, ERROR_NOT_FOUND, "there is no approval %.40s: `sluice approve list`", id);
    return NULL;
}

static int list_all(struct command_call *call, const struct config *config)
{
    struct error err = { 0 };
    owned(json) json_t *answer = client_ask(
        config, HTTP_GET, call_flag(call, "all") ? "/v1/approvals?all=true" : "/v1/approvals", NULL,
        &err);

    if (!answer)
        return client_fail(call, &err);
    if (!forms_print(call, answer, &(struct answer_rows){ "approvals", "id" }))
        print_list(call, answer);
    return EXIT_DONE;
}

static int decide(struct command_call *call, const struct config *config)
{
    struct error err = { 0 };
    const char *id = call_argument(call, 0);
    owned(json) json_t *row = find_row(config, id, &err);
    owned(chars) char *shown = row ? describe(row) : NULL;
    owned(json) json_t *request = NULL;
    owned(json) json_t *answer = NULL;

    if (!row)
        return client_fail(call, &err);
    if (text_equal(json_text_or(row, "state", ""), "waits") && !call_flag(call, "reject") &&
        !client_confirm(call, shown, id))
        return EXIT_INTERRUPTED;
    request = json_make("{ss sO sb ss*}", "id", id, "fingerprint",
                        json_object_get(row, "fingerprint"), "is_rejected",
                        (int)call_flag(call, "reject"), "reason", call_text(call, "reason"));
    answer = client_ask(config, HTTP_POST, "/v1/approve", request, &err);
    if (!answer && err.kind == ERROR_UNKNOWN_OUTCOME) /* twice is once */
        answer = client_ask(config, HTTP_POST, "/v1/approve", request, &err);
    if (!answer)
        return client_fail(call, &err);
    client_tell(call, answer, print_decision);
    return EXIT_DONE;
}

int cmd_approve(struct command_call *call)
{
    const char *id = call_argument(call, 0);
    bool is_list = !id || text_equal(id, "list");
    const char *form = call_text_or(call, "output", "table");
    int code = EXIT_DONE;
    owned(config) struct config *config = NULL;

    if (!is_list && (text_equal(form, "csv") || text_equal(form, "name")))
        return call_usage_error(call, "-o %s is for `approve list`", form);
    if (is_list && call_flag(call, "reject"))
        return call_usage_error(call, "--reject needs the ID of what is rejected");
    if (call_flag(call, "reject") && !call_text(call, "reason"))
        return call_usage_error(call, "--reject needs --reason");
    config = client_service(call, &code);
    if (!config)
        return code;
    return is_list ? list_all(call, config) : decide(call, config);
}
