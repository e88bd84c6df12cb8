/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice reclaim: nodes back to production, now.
 */
#include "base/input/json.h"
#include "base/random.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "broker/terminal/bill.h"
#include "broker/terminal/board.h"
#include "broker/terminal/client.h"
#include "broker/terminal/commands.h"
#include "broker/terminal/forms.h"
#include "broker/terminal/leavers.h"
#include "broker/terminal/output.h"
#include "broker/terminal/table.h"

#include <inttypes.h>
#include <stdio.h>

enum { ANSWER_LIMIT = 16 << 20, KEY_DIGITS = 32, KEY_SIZE = 80 };

const struct command_option reclaim_options[] = {
    { "to", 0, "CLUSTER", "the production cluster that needs nodes", false },
    { "from", 0, "CLUSTER", "the research cluster that gives the nodes (default: any)", false },
    { "nodes", 0, "N", "how many nodes", false },
    { "gpus", 0, "N", "how many GPUs, rounded up to whole nodes", false },
    { "for", 0, "DURATION", "how long the nodes stay (default 2h); then the schedule counts again",
      false },
    { "reason", 0, "TEXT", "why; written to the journal", false },
    { "dry-run", 0, NULL, "show what the reclaim would take and cost; do nothing", false },
    { "new", 0, NULL, "start another reclaim, even if the same reclaim is under way", false },
    { "key", 0, "KEY",
      "the request key, with which a script may repeat this request (default: a new key)", false },
    { "all", 0, NULL, "list also reclaims that are over", false },
    { "yes", 'y', NULL, "do not ask for confirmation on a terminal", false },
    ROWS_OPTIONS,
    CLIENT_OPTIONS,
    { 0 },
};

static int64_t gpus_per_node(const struct config *config, const char *cluster)
{
    int64_t least = 0;

    for (size_t i = 0; i < config->pool_count; i++)
        if (text_equal(config->pools[i].cluster->name, cluster) &&
            (least == 0 || config->pools[i].reservation->gpus_per_node < least))
            least = config->pools[i].reservation->gpus_per_node;
    return least;
}

/* The wish in nodes; 0 and an error when it cannot be understood. */
static int64_t wanted_nodes(const struct command_call *call, const struct config *config,
                            struct error *err)
{
    int64_t nodes = 0;
    int64_t gpus = 0;
    int64_t per_node = gpus_per_node(config, call_text(call, "to"));

    if (call_int(call, "nodes", (struct int_range){ 1, 100000 }, &nodes, err) < 0 ||
        call_int(call, "gpus", (struct int_range){ 1, 1000000 }, &gpus, err) < 0)
        return 0;
    if ((nodes == 0) == (gpus == 0)) {
        error_set(err, ERROR_INVALID, "give one of --nodes and --gpus");
        return 0;
    }
    if (nodes == 0 && !config->path) {
        error_set(err, ERROR_INVALID,
                  "--gpus needs a sluice.yaml, which says how many GPUs a node "
                  "has: give --nodes, or --config FILE");
        return 0;
    }
    if (nodes == 0 && per_node == 0) {
        error_set(err, ERROR_INVALID, "cluster %s has no pool", call_text(call, "to"));
        return 0;
    }
    return nodes > 0 ? nodes : (gpus + per_node - 1) / per_node;
}

/* When the nodes can be used, or why that is not known. */
static void add_promise(const json_t *answer, struct text *out)
{
    char p50[DURATION_TEXT_SIZE];
    char p95[DURATION_TEXT_SIZE];
    const json_t *row;
    size_t i;

    if (json_at(answer, "lead_p95_s"))
        text_add(out, "ready in %s (p50), %s (p95)",
                 duration_format(json_int_or(answer, "lead_p50_s", 0) * SECOND_MS, p50),
                 duration_format(json_int_or(answer, "lead_p95_s", 0) * SECOND_MS, p95));
    else
        text_add(out, "ready: not known, for no machine comes to the pool now");
    json_array_foreach(json_object_get(answer, "blocked"), i, row)
        text_add(out, "\n  BLOCKED %s\n ", json_text_or(row, "text", "-"));
}

static void add_nodes(const json_t *answer, struct text *out)
{
    const char *from = json_text_or(answer, "from", "");
    const json_t *row;
    size_t i;
    int64_t accepted = json_int_or(answer, "accepted_nodes", 0);
    int64_t wanted = json_int_or(answer, "wanted_nodes", 0);

    if (accepted > wanted)
        text_add(out, "%" PRId64 " nodes (%" PRId64 ", in whole groups)", accepted, wanted);
    else
        text_add(out, "%" PRId64 " of %" PRId64 " nodes", accepted, wanted);
    text_add(out, " for %s%s%s:", json_text_or(answer, "cluster", "-"), from[0] ? " from " : "",
             from);
    json_array_foreach(json_object_get(answer, "pools"), i, row)
        text_add(out, " %s +%" PRId64, json_text_or(row, "pool", "-"),
                 json_int_or(row, "nodes", 0));
}

static bool is_repeat(const json_t *answer)
{
    return json_bool_or(answer, "is_repeat", false);
}

/* An order that is there already, with its state. */
static char *describe_repeat(const json_t *answer)
{
    owned(text) struct text *out = text_new(ANSWER_LIMIT);

    text_add(out, "Already %s as %s, by %s at %s: ",
             text_equal(json_text_or(answer, "state", ""), "live") ? "under way" : "ordered",
             json_text_or(answer, "id", "-"), json_text_or(answer, "by", "-"),
             json_text_or(answer, "created", "-"));
    add_nodes(answer, out);
    text_add(out,
             "\n%" PRId64 " still lack; promised by %s, held until %s; nothing was added "
             "(--new orders more)\n",
             json_int_or(answer, "lacking_nodes", 0), json_text_or(answer, "promised", "-"),
             json_text_or(answer, "until", "-"));
    return text_take(steal(&out));
}

/* Nothing is accepted before a second person approves it. */
static char *describe_waiting(const json_t *answer)
{
    const char *id = json_text_or(answer, "approval/id", "-");
    const char *from = json_text_or(answer, "approval/from", "");

    return text_format(
        "%s: %s, a reclaim of %" PRId64 " nodes for %s%s%s that %s asked for, until %s\n"
        "Nothing is done before. That person looks at it with: sluice approve %s\n",
        is_repeat(answer) ? "It waits for a second person already" : "It waits for a second person",
        id, json_int_or(answer, "approval/nodes", 0), json_text_or(answer, "cluster", "-"),
        from[0] ? " from " : "", from, json_text_or(answer, "approval/by", "-"),
        json_text_or(answer, "approval/ends", "-"), id);
}

static char *describe(const json_t *answer)
{
    owned(text) struct text *out = text_new(ANSWER_LIMIT);

    if (json_object_get(answer, "approval"))
        return describe_waiting(answer);
    if (is_repeat(answer))
        return describe_repeat(answer);
    add_nodes(answer, out);
    text_add(out, "\nloses about %.1f GPU-h of research work; ",
             json_number_value(json_object_get(answer, "lost_gpu_hours")));
    add_promise(answer, out);
    text_add(out, "; held until %s; notice: none\n", json_text_or(answer, "until", "-"));
    board_unknown(answer, out);
    bill_print(json_object_get(answer, "bill"), out);
    if (json_bool_or(answer, "is_dry_run", false))
        leavers_print(answer, out);
    return text_take(steal(&out));
}

/* A key for this invocation: a repeat after a lost answer is the same order. */
static void make_key(const struct command_call *call, char *out, size_t size)
{
    struct random random;

    text_copy(out, size, call_text_or(call, "key", ""));
    if (out[0] != '\0')
        return;
    random_seed_system(&random);
    random_hex(&random, out, KEY_DIGITS + 1);
}

static json_t *ask(const struct config *config, const struct command_call *call, int64_t nodes,
                   bool is_dry_run, struct error *err)
{
    int64_t for_ms = 2 * HOUR_MS;
    owned(json) json_t *request = NULL;
    char key[KEY_SIZE];
    json_t *answer;

    if (call_duration(call, "for", &for_ms, err) < 0)
        return NULL;
    make_key(call, key, sizeof key);
    request = json_make("{ss ss sI ss sI sb sb ss}", "cluster", call_text(call, "to"), "from",
                        call_text_or(call, "from", ""), "nodes", (json_int_t)nodes, "reason",
                        call_text(call, "reason"), "for_s", (json_int_t)(for_ms / SECOND_MS),
                        "is_dry_run", (int)is_dry_run, "is_new", (int)call_flag(call, "new"), "key",
                        key);
    answer = client_ask(config, HTTP_POST, "/v1/reclaim", request, err);
    if (!answer && err->kind == ERROR_UNKNOWN_OUTCOME)
        answer = client_ask(config, HTTP_POST, "/v1/reclaim", request, err);
    return answer;
}

static const struct wide_column wide[] = {
    { ">WANTED", "wanted_nodes" },
    { "FROM", "from" },
    { "CREATED", "created" },
    { "PROMISED", "promised" },
    { "APPROVED BY", "approved_by" },
    { "ENDED BY", "ended_by" },
    { 0 },
};

static void print_orders(const struct command_call *call, const json_t *answer)
{
    static const char *const titles[] = { "ID",    "CLUSTER", ">NODES", ">LACK", "STATE",
                                          "UNTIL", "BY",      "REASON", NULL };
    owned(table) struct table *table = forms_table(forms_is_wide(call), titles, wide);
    owned(text) struct text *out = text_new(ANSWER_LIMIT);
    const json_t *row;
    size_t i;

    if (json_array_size(json_object_get(answer, "reclaims")) == 0) {
        fprintf(stderr, "No reclaim is under way.\n");
        return;
    }
    json_array_foreach(json_object_get(answer, "reclaims"), i, row) {
        table_cell(table, "%s", json_text_or(row, "id", "-"));
        table_cell(table, "%s", json_text_or(row, "cluster", "-"));
        table_cell(table, "%" PRId64, json_int_or(row, "accepted_nodes", 0));
        table_cell(table, "%" PRId64, json_int_or(row, "lacking_nodes", 0));
        table_cell(table, "%s", json_text_or(row, "state", "-"));
        table_cell(table, "%s", json_text_or(row, "until", "-"));
        table_cell(table, "%s", json_text_or(row, "by", "-"));
        forms_wide_cells(forms_is_wide(call), table, row, wide);
        table_cell(table, "%s", json_text_or(row, "reason", "-"));
    }
    table_print(table, out);
    forms_print_table(call, out);
}

static void print_ended(const json_t *row, struct text *out)
{
    text_add(out,
             "reclaim %s is ended: %s is held at no number by it; what can be undone goes back\n",
             json_text_or(row, "id", "-"), json_text_or(row, "cluster", "-"));
}

static int list_orders(struct command_call *call, const struct config *config)
{
    struct error err = { 0 };
    owned(json) json_t *answer = client_ask(
        config, HTTP_GET, call_flag(call, "all") ? "/v1/reclaims?all=true" : "/v1/reclaims", NULL,
        &err);

    if (!answer)
        return client_fail(call, &err);
    if (!forms_print(call, answer, &(struct answer_rows){ "reclaims", "id" }))
        print_orders(call, answer);
    return EXIT_DONE;
}

static int end_order(struct command_call *call, const struct config *config)
{
    struct error err = { 0 };
    owned(json) json_t *request = json_make("{ss ss}", "id", call_argument(call, 1), "reason",
                                            call_text(call, "reason"));
    owned(json) json_t *answer = client_ask(config, HTTP_POST, "/v1/reclaims/end", request, &err);

    if (!answer)
        return client_fail(call, &err);
    client_tell(call, answer, print_ended);
    return EXIT_DONE;
}

static void print_order(const struct command_call *call, const char *head, const char *text)
{
    owned(chars) char *whole = text_format("%s%s", head, text);

    output_print(call, whole);
}

static int give_order(struct command_call *call, const struct config *config)
{
    struct error err = { 0 };
    owned(json) json_t *answer = NULL;
    owned(chars) char *text = NULL;
    bool waits;
    int64_t nodes = wanted_nodes(call, config, &err);

    if (nodes == 0)
        return call_usage_error(call, "%s", err.text);
    if (!call_flag(call, "dry-run") && client_will_ask(call)) {
        owned(json) json_t *offer = ask(config, call, nodes, true, &err);
        owned(chars) char *offered = offer ? describe(offer) : NULL;

        if (!offer)
            return client_fail(call, &err);
        if (!client_confirm(call, offered, call_text(call, "to")))
            return EXIT_INTERRUPTED;
    }
    answer = ask(config, call, nodes, call_flag(call, "dry-run"), &err);
    if (!answer)
        return client_fail(call, &err);
    text = describe(answer);
    waits = json_object_get(answer, "approval") != NULL;
    if (client_wants_json(call))
        client_print_json(call, answer);
    else
        print_order(call,
                    is_repeat(answer) || waits   ? ""
                    : call_flag(call, "dry-run") ? "Would take "
                                                 : "Accepted: ",
                    text);
    if (waits)
        return EXIT_REFUSED;
    return json_int_or(answer, "accepted_nodes", 0) < nodes ? EXIT_PARTIAL : EXIT_DONE;
}

int cmd_reclaim(struct command_call *call)
{
    const char *verb = call_argument(call, 0);
    bool is_list = text_equal(verb, "list") && !call_argument(call, 1);
    bool is_end = text_equal(verb, "end") && call_argument(call, 1);
    const char *form = call_text_or(call, "output", "table");
    int code = EXIT_DONE;
    owned(config) struct config *config = NULL;

    if (verb && !is_list && !is_end)
        return call_usage_error(call, "expected nothing, list, or: end ID");
    if (!is_list && (text_equal(form, "csv") || text_equal(form, "name")))
        return call_usage_error(call, "-o %s is for `reclaim list`", form);
    if (is_end && !call_text(call, "reason"))
        return call_usage_error(call, "end ID: --reason is required");
    if (!verb && (!call_text(call, "to") || !call_text(call, "reason")))
        return call_usage_error(call, "--to and --reason are required");
    config = client_service(call, &code);
    if (!config)
        return code;
    if (is_list)
        return list_orders(call, config);
    return is_end ? end_order(call, config) : give_order(call, config);
}
