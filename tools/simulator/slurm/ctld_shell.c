/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The commands on the login node: scontrol (ctld_scontrol.c), squeue, sinfo, scancel and sbatch.
 */
#include "tools/simulator/slurm/ctld_shell.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>

void ctld_say_error(struct ctld_shell *shell, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_add_arguments(shell->output->errors, format, arguments);
    va_end(arguments);
    text_add(shell->output->errors, "\n");
    shell->output->status = 1;
}

/* As a shell does it: quotes, and nothing else. */
static void split(struct ctld_shell *shell, const char *line)
{
    while (*line) {
        owned(text) struct text *word = text_new(64 << 10);
        char quote = '\0';

        line += strspn(line, " ");
        if (!*line)
            break;
        for (; *line && (quote || *line != ' '); line++) {
            if (quote ? *line == quote : *line == '\'' || *line == '"')
                quote = quote ? '\0' : *line;
            else if (!quote && *line == '\\' && line[1])
                text_add(word, "%c", *++line);
            else
                text_add(word, "%c", *line);
        }
        *array_add(&shell->words) = text_take(steal(&word));
    }
}

const char *ctld_word_value(const struct ctld_shell *shell, size_t at, const char *key)
{
    size_t length = strlen(key);

    for (; at < shell->words.count; at++)
        if (strncasecmp(shell->words.items[at], key, length) == 0 &&
            shell->words.items[at][length] == '=')
            return shell->words.items[at] + length + 1;
    return NULL;
}

bool ctld_read_time(const struct ctld *slurm, const char *text, int64_t *ret_ms)
{
    static const struct {
        const char *word;
        int64_t ms;
    } units[] = {
        { "second", SECOND_MS }, { "minute", MINUTE_MS }, { "hour", HOUR_MS }, { "day", DAY_MS }
    };
    int64_t now_ms = sim_now(slurm->sim);
    struct wall_time wall;
    char *end;

    if (text_equal(text, "now")) {
        *ret_ms = now_ms;
        return true;
    }
    if (text_starts_with(text, "uts")) {
        *ret_ms = strtoll(text + 3, &end, 10) * SECOND_MS - slurm->sim->wall_offset_ms;
        return *end == '\0';
    }
    if (text_starts_with(text, "now+")) {
        long long count = strtoll(text + 4, &end, 10);

        for (size_t i = 0; i < COUNT_OF(units); i++)
            if (text_starts_with(end, units[i].word)) {
                *ret_ms = now_ms + count * units[i].ms;
                return true;
            }
        *ret_ms = now_ms + count * SECOND_MS;
        return *end == '\0';
    }
    owned(chars) char *utc = text_format("%sZ", text);
    struct error err = { 0 };

    if (wall_parse(utc, false, &wall, &err) < 0)
        return false;
    *ret_ms = wall.ms - slurm->sim->wall_offset_ms;
    return true;
}

/* ---- squeue, sinfo ---- */

static void print_json(struct ctld_shell *shell, const char *list, json_t *items)
{
    owned(json) json_t *body = ctld_envelope(shell->slurm, list, items, false);
    owned(chars) char *chars = json_print(body);

    text_add(shell->output->out, "%s\n", chars);
}

/* As --states names it; 22.05 takes the option, and pays no heed to it beside --json. */
static bool is_wanted(const struct ctld_shell *shell, const struct ctld_job *job)
{
    const char *states = ctld_word_value(shell, 1, "--states");
    const char *name = job->is_completing ? "completing" : ctld_job_state_name(job->state);
    size_t length = strlen(name);

    if (!states || shell->slurm->release < 2411)
        return true;
    for (const char *at = states; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncasecmp(at, name, length) == 0)
            return true;
    return false;
}

static void squeue(struct ctld_shell *shell)
{
    json_t *items = json_array();
    struct ctld *slurm = shell->slurm;

    for (size_t i = 0; i < slurm->jobs.count; i++) {
        const struct ctld_job *job = slurm->jobs.items[i];

        if (!is_wanted(shell, job))
            continue;
        if (shell->as_json)
            json_array_append_new(items, ctld_show_job(slurm, job));
        else if (!ctld_job_is_over(job))
            ctld_print_job(shell->output->out, slurm, job);
    }
    if (shell->as_json)
        print_json(shell, "jobs", items);
    else
        json_decref(items);
}

/* 24.11 groups nodes here, and its list has another name. */
static void sinfo(struct ctld_shell *shell)
{
    json_t *items = json_array();
    struct ctld *slurm = shell->slurm;
    void *value;

    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        const struct ctld_node *node = value;

        if (!ctld_is_listed(node))
            continue;
        if (shell->as_json && slurm->release < 2411)
            json_array_append_new(items, ctld_show_node(slurm, node));
        else if (shell->as_json)
            json_array_append_new(items, json_make("{s{s[s]}}", "nodes", "nodes", node->name));
        else
            text_add(shell->output->out, "%s %s\n", node->name, ctld_base_word(node));
    }
    if (shell->as_json)
        print_json(shell, slurm->release < 2411 ? "nodes" : "sinfo", items);
    else
        json_decref(items);
}

/* 22.05 without slurmctld: the exit status is 0, and the list is empty; only `errors` tells. */
static void print_nothing(struct ctld_shell *shell, const char *command)
{
    owned(json) json_t *body = ctld_envelope(
        shell->slurm, text_equal(command, "squeue") ? "jobs" : "nodes", json_array(), false);
    owned(chars) char *chars = NULL;

    ctld_envelope_refuse(shell->slurm, body,
                         &(struct ctld_refusal){ NULL, NULL, -1, "Unspecified error", true });
    chars = json_print(body);
    text_add(shell->output->out, "%s\n", chars);
}

/* ---- scancel ---- */

/* With a filter it lists all jobs first.  The real one tries again for a minute, first after 5 s;
   here it has until `timeout` ends it, or no time at all. */
static void say_kill_error(struct ctld_shell *shell, const char *job, enum ctld_errno error)
{
    if (error == CTLD_ERROR_TRANSITION && shell->is_timed) {
        shell->output->status = 124;
        return;
    }
    ctld_say_error(shell, "scancel: error: Kill job error on job id %s: %s", job,
                   ctld_errno_text(error));
}

static bool is_on(const struct ctld_shell *shell, const char *which, const char *node)
{
    ctld_job_list jobs = { 0 };
    bool is_there = !ctld_jobs_named(shell->slurm, which, &jobs) || !node; /* or refused */

    for (size_t i = 0; node && i < jobs.count; i++)
        for (int k = 0; k < jobs.items[i]->node_count; k++)
            is_there |= jobs.items[i]->nodes[k] && text_equal(jobs.items[i]->nodes[k]->name, node);
    array_clear(&jobs);
    return is_there;
}

static void scancel(struct ctld_shell *shell)
{
    const char *signal = ctld_word_value(shell, 1, "--signal");
    const char *node = ctld_word_value(shell, 1, "--nodelist");
    bool is_batch = false;

    if (signal && !ctld_signal_is_known(signal)) {
        ctld_say_error(shell, "Unknown job signal: %s", signal);
        return;
    }
    if (node && shell->is_timed && sim_now(shell->slurm->sim) < shell->slurm->crowded_ms) {
        shell->output->status = 124;
        return;
    }
    for (size_t i = 1; i < shell->words.count; i++) {
        const char *word = shell->words.items[i];
        enum ctld_errno error;

        is_batch |= text_equal(word, "--batch") || text_equal(word, "-b");
        if (word[0] == '-' || !is_on(shell, word, node))
            continue;
        error = ctld_kill(shell->slurm, word, signal ?: "KILL", is_batch);
        if (error != CTLD_OK && signal)
            say_kill_error(shell, word, error);
    }
}

/* ---- */

static const struct {
    const char *name;
    void (*run)(struct ctld_shell *shell);
} commands[] = {
    { "scontrol", ctld_scontrol }, { "squeue", squeue },      { "sinfo", sinfo },
    { "scancel", scancel },        { "sbatch", ctld_sbatch },
};

static bool says_version(const struct ctld_shell *shell)
{
    return shell->words.count == 2 && (text_equal(shell->words.items[1], "--version") ||
                                       text_equal(shell->words.items[1], "-V"));
}

static void run(struct ctld_shell *shell)
{
    const char *name = shell->words.count ? shell->words.items[0] : "";

    for (size_t i = 0; i < shell->words.count; i++) {
        shell->as_json |= text_equal(shell->words.items[i], "--json");
        shell->as_lines |= text_equal(shell->words.items[i], "-o") ||
                           text_equal(shell->words.items[i], "--oneliner");
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (!text_equal(commands[i].name, name))
            continue;
        if (says_version(shell))
            text_add(shell->output->out, "slurm-wlm %s\n",
                     shell->slurm->release >= 2411 ? "24.11.5" : "22.05.8");
        else if (shell->slurm->is_down && shell->as_json && shell->slurm->release < 2411)
            print_nothing(shell, name);
        else if (shell->slurm->is_down)
            ctld_say_error(shell, "%s: error: %s", name, ctld_errno_text(CTLD_ERROR_CONNECT));
        else
            commands[i].run(shell);
        return;
    }
    text_add(shell->output->errors, "sh: 1: %s: not found\n", name);
    shell->output->status = 127;
}

void sim_slurm_run(struct simulator *sim, struct ctld *slurm, const char *line,
                   struct ctld_output *output)
{
    struct ctld_shell shell = { .slurm = slurm, .output = output };

    (void)sim;
    split(&shell, line);
    while (shell.words.count && strchr(shell.words.items[0], '=') &&
           isupper((unsigned char)shell.words.items[0][0])) {
        shell.as_seconds |= text_equal(shell.words.items[0], "SLURM_TIME_FORMAT=%s");
        mem_free(shell.words.items[0]);
        array_remove(&shell.words, 0);
    }
    if (shell.words.count > 2 && text_equal(shell.words.items[0], "timeout")) {
        shell.is_timed = true;
        for (int i = 0; i < 2; i++) {
            mem_free(shell.words.items[0]);
            array_remove(&shell.words, 0);
        }
    }
    run(&shell);
    for (size_t i = 0; i < shell.words.count; i++)
        mem_free(shell.words.items[i]);
    array_clear(&shell.words);
}

void sim_slurm_run_person(struct simulator *sim, struct ctld *slurm, const char *line,
                          struct ctld_output *output)
{
    sim->is_other_client = true;
    sim_slurm_run(sim, slurm, line, output);
    sim->is_other_client = false;
}
