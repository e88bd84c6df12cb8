/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One page, well-formed as XML, with nothing in it that is fetched or run.
 */
#include "broker/backtest/backtest_course.h"
#include "broker/backtest/backtest_missed.h"
#include "broker/backtest/backtest_plot.h"
#include "broker/backtest/backtest_print.h"
#include "broker/terminal/html.h"
#include "windows/backtest/equal.h"

#include <string.h>

/* Colours that colour-blind readers can tell apart, on white and on black. */
static const char style[] =
    ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#ddd}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#161616;--line:#3a3a3a}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:60rem;margin:2rem auto;padding:0 1rem}\n"
    "table{border-collapse:collapse;font-size:13px}"
    "td,th{padding:.2rem .5rem;text-align:right;border-bottom:1px solid var(--line)}"
    "td:first-child,th:first-child,.name{text-align:left}.below{opacity:.6}\n"
    "code{font-size:13px;overflow-wrap:anywhere}svg{width:100%;height:auto}\n"
    ".axis{fill:var(--ink);font:12px system-ui,sans-serif}.grid{stroke:var(--line)}\n"
    ".wanted,.bound{stroke:var(--ink);stroke-dasharray:2 4}\n"
    "polyline{fill:none;stroke-width:1.6}circle{stroke-width:1.6}circle.chosen{stroke:var(--ink)}\n"
    ".c0{stroke:#888;fill:#888}.c1{stroke:#e69f00;fill:#e69f00}.c2{stroke:#56b4e9;fill:#56b4e9}\n"
    ".c3{stroke:#cc79a7;fill:#cc79a7}.c4{stroke:#b8a800;fill:#b8a800}"
    ".c5{stroke:#d55e00;fill:#d55e00}\n"
    ".c6{stroke:#b00020;fill:#b00020}.c7{stroke:#009e73;fill:#009e73}"
    ".c8{stroke:#0072b2;fill:#0072b2}.c9{stroke:#7b3fa0;fill:#7b3fa0}\n"
    ".line{fill:none;stroke-width:1.3}.need{fill:var(--ink);opacity:.18}.small{font-size:10px}"
    "summary{cursor:pointer}.missed{stroke:var(--ink);stroke-width:.6}\n"
    "polyline.c0,polyline.c1,polyline.c2,polyline.c3,polyline.c4,polyline.c5,polyline.c6,"
    "polyline.c7,polyline.c8,polyline.c9{fill:none}\n";

static void add_item(void *context, const char *chars)
{
    struct text *out = context;

    text_add(out, "<li>");
    html_add_text(chars, out);
    text_add(out, "</li>\n");
}

/* measure: NULL where no level met enough. */
static void add_share(bool is_known, double share, struct text *out)
{
    if (is_known)
        text_add(out, "<td>%.1f</td>", 100 * share);
    else
        text_add(out, "<td>-</td>");
}

static void add_limit(const struct backtest *backtest, struct text *out)
{
    text_add(out, "<tr><td>bound</td><td>100.0</td>");
    if (backtest->has_recovered)
        text_add(out, "<td>&lt;=%.1f</td>", 100 * backtest->limit.recovered);
    else
        text_add(out, "<td>-</td>");
    text_add(out,
             "<td>-</td><td>&lt;=%.0f</td><td>-</td><td>-</td><td>-</td><td>-</td><td>-</td>"
             "<td>-</td></tr>\n",
             backtest->limit.research_h);
}

static void add_table(const struct backtest_inputs *inputs, const struct backtest *backtest,
                      struct text *out)
{
    text_add(out, "<table><thead><tr><th>policy</th><th>met %%</th><th>recovered %%</th>"
                  "<th>at equal %%</th><th>research GPU-hours</th><th>late %%</th>"
                  "<th>worst wait / target</th><th>moves a week</th><th>transit GPU-hours</th>"
                  "<th>evicted GPU-hours</th><th>shortage GPU-hours</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < backtest->count; i++) {
        const struct backtest_row *row = &backtest->rows[i];
        const struct measure *measure = &row->tuned;
        double at_equal = 0;
        bool is_known = equal_recovered(backtest, row, inputs->setup.attainment, &at_equal);

        text_add(out, "<tr%s><td>%s</td>",
                 backtest_is_ranked(inputs, measure) ? "" : " class=\"below\"", row->policy->name);
        add_share(measure->spans > 0, measure->attainment, out);
        add_share(backtest->has_recovered, measure->recovered, out);
        add_share(is_known && measure->spans > 0, at_equal, out);
        text_add(out,
                 "<td>%.0f</td><td>%.2f</td><td>%.1f</td><td>%.1f</td><td>%.0f</td><td>%.0f</td>"
                 "<td>%.1f</td></tr>\n",
                 measure->research_h, 100 * measure->violations, measure->worst,
                 measure->moves_a_week, measure->transit_h, measure->evicted_h,
                 measure->shortage_h);
    }
    if (backtest->has_limit)
        add_limit(backtest, out);
    text_add(out,
             "</tbody></table>\n<p>Paler rows did not reach the attainment: they are ranked on "
             "it alone.</p>\n");
}

static void add_policies(const struct backtest *backtest, struct text *out)
{
    text_add(out, "<h2>Policies</h2>\n<ul>\n");
    for (size_t i = 0; i < backtest->count; i++) {
        const struct policy *policy = backtest->rows[i].policy;

        text_add(out, "<li><b>%s</b>: ", policy->name);
        html_add_text(policy->meaning, out);
        if (policy->parameter)
            text_add(out, " (%s, %zu values%s)", policy->parameter, policy->level_count,
                     policy->is_tuned   ? ", chosen by the weeks before"
                     : policy->is_share ? ", as many as the attainment allows"
                                        : "");
        text_add(out, "</li>\n");
    }
    text_add(out, "</ul>\n");
}

void backtest_html(const struct backtest_inputs *inputs, const struct backtest *backtest,
                   const char *command, struct text *out)
{
    text_add(out,
             "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>"
             "<meta charset=\"utf-8\"/><meta name=\"viewport\" "
             "content=\"width=device-width\"/><title>sluice backtest</title>\n<style>%s</style>"
             "</head>\n<body>\n<h1>Ways to plan, judged on weeks they had not seen</h1>\n",
             style);
    backtest_plot(backtest, inputs->setup.attainment, out);
    add_table(inputs, backtest, out);
    backtest_course(inputs, backtest, out);
    backtest_missed_html(inputs, backtest, out);
    text_add(out, "<h2>How it was judged</h2>\n<ul>\n");
    backtest_basis(inputs, backtest, add_item, out);
    text_add(out, "</ul>\n");
    add_policies(backtest, out);
    text_add(out, "<h2>What this does not say</h2>\n<ul>\n");
    for (size_t i = 0; backtest_caveats[i]; i++)
        add_item(out, backtest_caveats[i]);
    text_add(out, "</ul>\n<p>Made by <code>");
    html_add_text(command, out);
    text_add(out, "</code></p>\n</body>\n</html>\n");
}
