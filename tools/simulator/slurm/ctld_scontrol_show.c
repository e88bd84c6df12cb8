/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * scontrol show: lines, or with --json (24.11) what REST has.
 */
#include "tools/simulator/slurm/ctld_shell.h"

#include <strings.h>

struct shown {
    struct ctld_shell *shell;
    const char *name; /* "": all */
    json_t *items;
    int count;
};

static bool is_wanted(struct shown *shown, const char *name)
{
    bool is = shown->name[0] == '\0' || text_equal(shown->name, name);

    shown->count += is;
    return is;
}

static void show_nodes(struct shown *shown)
{
    struct ctld *slurm = shown->shell->slurm;
    void *value;

    for (size_t i = 0; map_next(slurm->nodes, &i, NULL, &value);) {
        const struct ctld_node *node = value;

        if (node->base == CTLD_FUTURE || !is_wanted(shown, node->name))
            continue;
        if (shown->shell->as_json)
            json_array_append_new(shown->items, ctld_show_node(slurm, node));
        else
            ctld_print_node(shown->shell->output->out, slurm, node);
    }
}

static void show_jobs(struct shown *shown)
{
    struct ctld *slurm = shown->shell->slurm;
    ctld_job_list jobs = { 0 };

    if (shown->name[0])
        (void)ctld_jobs_named(slurm, shown->name, &jobs);
    for (size_t i = 0; !shown->name[0] && i < slurm->jobs.count; i++)
        *array_add(&jobs) = slurm->jobs.items[i];
    for (size_t i = 0; i < jobs.count; i++) {
        shown->count++;
        if (shown->shell->as_json)
            json_array_append_new(shown->items, ctld_show_job(slurm, jobs.items[i]));
        else
            ctld_print_job(shown->shell->output->out, slurm, jobs.items[i]);
    }
    array_clear(&jobs);
}

static void show_reservations(struct shown *shown)
{
    struct ctld *slurm = shown->shell->slurm;

    for (size_t i = 0; i < slurm->reservations.count; i++) {
        const struct ctld_reservation *reservation = &slurm->reservations.items[i];

        if (!is_wanted(shown, reservation->name))
            continue;
        if (shown->shell->as_json)
            json_array_append_new(shown->items, ctld_show_reservation(slurm, reservation));
        else
            ctld_print_reservation(shown->shell->output->out, slurm, reservation,
                                   shown->shell->as_seconds);
    }
    if (shown->count == 0 && !shown->name[0] && !shown->shell->as_json)
        text_add(shown->shell->output->out, "No reservations in the system\n");
}

static void show_partitions(struct shown *shown)
{
    struct ctld *slurm = shown->shell->slurm;

    shown->count = 1;
    if (slurm->timeouts > 0) {
        slurm->timeouts--;
        ctld_say_error(shown->shell, "slurm_load_partitions error: Socket timed out on send/recv "
                                     "operation");
        return;
    }
    if (!shown->shell->as_json) {
        ctld_print_partitions(shown->shell->output->out, slurm);
        return;
    }
    json_decref(shown->items);
    shown->items = ctld_show_partitions(slurm, false);
}

static const struct {
    const char *word, *list, *missing;
    void (*show)(struct shown *shown);
} kinds[] = {
    { "node", "nodes", "Node %s not found", show_nodes },
    { "job", "jobs", "slurm_load_jobs error: Invalid job id specified", show_jobs },
    { "partition", "partitions", "Partition %s not found", show_partitions },
    { "reservation", "reservations", "Reservation %s not found", show_reservations },
};

static void print(struct shown *shown, const char *list)
{
    owned(json) json_t *body = ctld_envelope(shown->shell->slurm, list, shown->items, false);
    owned(chars) char *chars = json_print(body);

    text_add(shown->shell->output->out, "%s\n", chars);
}

void ctld_scontrol_show(struct ctld_shell *shell, size_t at)
{
    const char *word = at < shell->words.count ? shell->words.items[at] : "";
    struct shown shown = { .shell = shell,
                           .name = at + 1 < shell->words.count ? shell->words.items[at + 1] : "" };

    if (text_equal(word, "config")) {
        ctld_print_config(shell->output->out, shell->slurm);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t length = strlen(kinds[i].word);

        if (strncasecmp(kinds[i].word, word, length) != 0 ||
            (word[length] && !text_equal(word + length, "s")))
            continue;
        shown.items = json_array();
        kinds[i].show(&shown);
        if (shell->as_json)
            print(&shown, kinds[i].list);
        else
            json_decref(shown.items);
        if (shown.count == 0 && shown.name[0] && !shell->as_json) {
            owned(chars) char *what = mem_copy_chars(kinds[i].missing);
            char *blank = strstr(what, "%s");

            if (blank)
                *blank = '\0';
            ctld_say_error(shell, "%s%s%s", what, blank ? shown.name : "", blank ? blank + 2 : "");
        }
        return;
    }
    ctld_say_error(shell, "invalid entity:%s for keyword:show", word);
}
