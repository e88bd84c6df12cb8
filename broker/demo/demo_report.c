/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See demo_report.h.
 */
#include "broker/demo/demo_report.h"

#include "base/input/json.h"
#include "base/text.h"
#include "broker/terminal/board.h"
#include "broker/terminal/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RESEARCH_PERCENT_MIN = 20, OUT_LIMIT = 1 << 18 };

static double real_at(const json_t *json, const char *path)
{
    return json_number_value(json_at(json, path));
}

static json_t *wall_json(struct wall_time wall)
{
    char text[WALL_TEXT_SIZE];

    return wall.ms == 0 ? json_null() : json_text(wall_format(wall, text));
}

/* GPU-hours of research against a production that holds its greatest window round the clock. */
static json_t *research_report(const struct demo_play *play, const json_t *truth)
{
    const struct config *config = play->rehearsal->config;
    double hours = (double)json_int_or(truth, "elapsed_ms", 0) / (double)HOUR_MS;
    double all_gpus = 0;
    double static_gpus = 0;
    double offered = real_at(truth, "research/gpu_hours_offered");

    for (size_t i = 0; i < play->world->layout->count; i++) {
        int peak = 0;

        for (size_t w = 0; w < config->windows->count; w++) {
            int wanted = demo_wanted(config, play->schedules[w], i);

            peak = wanted > peak ? wanted : peak;
        }
        all_gpus += 8.0 * (double)config->reservations[i].nodes;
        static_gpus += 8.0 * ((double)config->reservations[i].nodes - peak);
    }
    return json_make("{sf sf sf sf sf sI}", "offered_gpu_hours", offered, "offered_percent",
                     100 * offered / (all_gpus * hours), "static_peak_gpu_hours",
                     static_gpus * hours, "gained_gpu_hours", offered - static_gpus * hours,
                     "lost_gpu_hours", real_at(truth, "research/gpu_hours_lost"), "evicted_jobs",
                     (json_int_t)json_int_or(truth, "research/jobs_evicted", 0));
}

/* A queue without engines has no tokens: null. */
static json_t *token_time(bool is_known, double seconds)
{
    return is_known ? json_real(seconds) : json_null();
}

static json_t *queues_report(const struct demo_play *play, const json_t *truth)
{
    const struct config *config = play->rehearsal->config;
    json_t *rows = json_array();

    for (size_t i = 0; i < config->queue_count; i++) {
        const struct config_queue *queue = &config->queues[i];
        const json_t *own = json_object_get(json_object_get(truth, "queues"), queue->name);
        double target_s = (double)queue->wait_target_ms / 1000;
        bool has_tokens = engine_has_tokens(queue->service->engine);
        bool has_target = queue->ttft_target_s > 0;
        double ttft_s = real_at(own, "first_token/p98_s");
        bool is_met = real_at(own, "all/p98_s") <= target_s &&
                      (!has_target || ttft_s <= queue->ttft_target_s);

        json_array_append_new(
            rows,
            json_make("{ss sI sf sf sf sf so so sb}", "queue", queue->name, "requests",
                      (json_int_t)json_int_or(own, "all/count", 0), "wait_p98_s",
                      real_at(own, "all/p98_s"), "wait_p98_high_s", real_at(own, "high/p98_s"),
                      "wait_p98_low_s", real_at(own, "low/p98_s"), "wait_target_s", target_s,
                      "ttft_p98_s", token_time(has_tokens, ttft_s), "ttft_target_s",
                      token_time(has_target, queue->ttft_target_s), "is_met", (int)is_met));
    }
    return rows;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static json_t *transfers_report(const struct demo_play *play)
{
    owned(json) json_t *all = service_transfers(play->rehearsal->service, true);
    const json_t *rows = json_object_get(all, "transfers");
    double *leads = mem_new_array(json_array_size(rows), sizeof *leads);
    size_t done = 0;
    size_t other = 0;
    owned(json) json_t *moves = json_object();
    const json_t *row;
    json_t *report;
    size_t i;

    json_array_foreach(rows, i, row) {
        if (text_equal(json_text_or(row, "state", ""), "done"))
            leads[done++] = (double)json_int_or(row, "lead_s", 0);
        else
            other++;
        json_object_set_new(moves, json_text_or(row, "move", ""), json_true());
    }
    qsort(leads, done, sizeof *leads, by_size);
    report = json_make("{sI sI sI sf sf sf}", "moves", (json_int_t)json_object_size(moves), "nodes",
                       (json_int_t)done, "not_done", (json_int_t)other, "lead_min_s",
                       done ? leads[0] : 0.0, "lead_p50_s", done ? leads[done / 2] : 0.0,
                       "lead_max_s", done ? leads[done - 1] : 0.0);
    mem_free(leads);
    return report;
}

static json_t *windows_report(const struct demo_play *play)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < play->edge_count; i++) {
        const struct demo_edge *edge = &play->edges[i];
        bool is_ready = edge->is_over && edge->ready_since.ms > 0;
        struct local_time local = time_zone_local(play->rehearsal->config->windows->zone,
                                                  edge->begins);
        owned(chars) char *begins = text_format("%02d:%02d %s", local.minute_of_day / 60,
                                                local.minute_of_day % 60, local.abbreviation);

        json_array_append_new(
            rows, json_make("{ss ss so si si sb so}", "window", edge->window, "local", begins,
                            "begins", wall_json(edge->begins), "wanted_nodes",
                            edge->wanted[0] + edge->wanted[1], "ready_nodes",
                            edge->ready[0] + edge->ready[1], "is_ready", (int)is_ready, "margin_s",
                            is_ready ? json_integer((edge->begins.ms - edge->ready_since.ms) / 1000)
                                     : json_null()));
    }
    return rows;
}

json_t *demo_report_make(const struct demo_play *play)
{
    owned(json) json_t *truth = simulator_report(play->rehearsal->simulator);
    const struct referee *referee = simulator_referee(play->rehearsal->simulator);

    rehearsal_violations(play->rehearsal);
    return json_make("{ss sf so so so so s{si ss}}", "demand", play->world->source, "elapsed_hours",
                     (double)json_int_or(truth, "elapsed_ms", 0) / (double)HOUR_MS, "research",
                     research_report(play, truth), "queues", queues_report(play, truth),
                     "transfers", transfers_report(play), "windows", windows_report(play),
                     "referee", "violations", (int)referee_violation_count(referee), "trace",
                     json_text_or(truth, "trace", "-"));
}

static void print_windows(const json_t *report, struct text *out)
{
    static const char *const titles[] = { "WINDOW",  ">BEGINS", ">WANTED", ">READY",
                                          ">MARGIN", "STATE",   NULL };
    owned(table) struct table *table = table_new(titles);
    char margin[DURATION_TEXT_SIZE];
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(report, "windows"), i, row) {
        bool is_ready = json_bool_or(row, "is_ready", false);

        table_cell(table, "%s", json_text_or(row, "window", "-"));
        table_cell(table, "%s", json_text_or(row, "local", "-"));
        table_cell(table, "%" PRId64, json_int_or(row, "wanted_nodes", 0));
        table_cell(table, "%" PRId64, json_int_or(row, "ready_nodes", 0));
        table_cell(table, "%s",
                   is_ready ? duration_format(json_int_or(row, "margin_s", 0) * SECOND_MS, margin)
                            : "-");
        table_cell(table, "%s", is_ready ? "OK" : "LATE");
    }
    table_print(table, out);
}

static void cell_of_seconds(struct table *table, const json_t *seconds)
{
    if (json_is_null(seconds))
        table_cell(table, "-");
    else
        table_cell(table, "%.2fs", json_number_value(seconds));
}

static void print_queues(const json_t *report, struct text *out)
{
    static const char *const titles[] = { "QUEUE",    ">REQUESTS", ">P98",      ">P98 HIGH",
                                          ">P98 LOW", ">TARGET",   ">TTFT P98", ">TARGET",
                                          "STATE",    NULL };
    owned(table) struct table *table = table_new(titles);
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(report, "queues"), i, row) {
        table_cell(table, "%s", json_text_or(row, "queue", "-"));
        table_cell(table, "%" PRId64, json_int_or(row, "requests", 0));
        table_cell(table, "%.2fs", real_at(row, "wait_p98_s"));
        table_cell(table, "%.2fs", real_at(row, "wait_p98_high_s"));
        table_cell(table, "%.2fs", real_at(row, "wait_p98_low_s"));
        table_cell(table, "%.0fs", real_at(row, "wait_target_s"));
        cell_of_seconds(table, json_object_get(row, "ttft_p98_s"));
        cell_of_seconds(table, json_object_get(row, "ttft_target_s"));
        table_cell(table, "%s", json_bool_or(row, "is_met", false) ? "OK" : "OVER");
    }
    table_print(table, out);
}

static void print_research(const json_t *report, struct text *out)
{
    char least[DURATION_TEXT_SIZE];
    char median[DURATION_TEXT_SIZE];
    char most[DURATION_TEXT_SIZE];

    text_add(out,
             "research   %.0f GPU-hours, %.1f %% of all; %.0f more than when production keeps its "
             "peak\n",
             real_at(report, "research/offered_gpu_hours"),
             real_at(report, "research/offered_percent"),
             real_at(report, "research/gained_gpu_hours"));
    text_add(out, "jobs       %" PRId64 " evicted (requeued), %.1f GPU-hours of work lost\n",
             json_int_or(report, "research/evicted_jobs", 0),
             real_at(report, "research/lost_gpu_hours"));
    text_add(out,
             "moves      %" PRId64 " moves of %" PRId64
             " nodes; lead time %s to %s, median %s; %" PRId64 " still moving or withdrawn\n",
             json_int_or(report, "transfers/moves", 0), json_int_or(report, "transfers/nodes", 0),
             duration_format((int64_t)real_at(report, "transfers/lead_min_s") * SECOND_MS, least),
             duration_format((int64_t)real_at(report, "transfers/lead_max_s") * SECOND_MS, most),
             duration_format((int64_t)real_at(report, "transfers/lead_p50_s") * SECOND_MS, median),
             json_int_or(report, "transfers/not_done", 0));
    text_add(out, "referee    %" PRId64 " violations (trace %s)\n",
             json_int_or(report, "referee/violations", 0),
             json_text_or(report, "referee/trace", "-"));
}

void demo_report_print(const json_t *report)
{
    owned(text) struct text *out = text_new(OUT_LIMIT);

    text_add(out, "\nPlayed %.0f hours of demand (%s).\n\n", real_at(report, "elapsed_hours"),
             json_text_or(report, "demand", "-"));
    print_windows(report, out);
    text_add(out, "\n");
    print_queues(report, out);
    text_add(out, "\n");
    print_research(report, out);
    text_add(
        out, "%s\n",
        demo_report_is_good(report)
            ? "Every window's production was ready at its start."
            : "NOT GOOD: a promise was broken, a window was late, or research got too little.");
    fputs(out->chars, stdout);
}

bool demo_report_is_good(const json_t *report)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(report, "windows"), i, row)
        if (!json_bool_or(row, "is_ready", false))
            return false;
    return json_int_or(report, "referee/violations", 1) == 0 &&
           real_at(report, "research/offered_percent") > RESEARCH_PERCENT_MIN;
}
