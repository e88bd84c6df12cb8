/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * scontrol: what it changes.
 */
#include "tools/simulator/slurm/ctld_shell.h"

#include <stdlib.h>
#include <strings.h>

static const char *word(const struct ctld_shell *shell, size_t at)
{
    return at < shell->words.count ? shell->words.items[at] : "";
}

/* Whether each KEY=VALUE from `at` on has a known key; otherwise it is said. */
static bool are_known(struct ctld_shell *shell, size_t at, const char *const *known)
{
    for (; at < shell->words.count; at++) {
        size_t length = strcspn(word(shell, at), "=");
        bool is_known = false;

        for (size_t i = 0; known[i]; i++)
            is_known |= strlen(known[i]) == length &&
                        strncasecmp(known[i], word(shell, at), length) == 0;
        if (is_known)
            continue;
        ctld_say_error(shell, "Update of this parameter is not supported: %s\nRequest aborted",
                       word(shell, at));
        return false;
    }
    return true;
}

static void update_node(struct ctld_shell *shell, size_t at, const char *name)
{
    static const char *const known[] = { "NodeName", "State", "Reason", "Comment", "Extra", NULL };
    const struct ctld_node_change change = {
        .state = ctld_word_value(shell, at, "State"),
        .reason = ctld_word_value(shell, at, "Reason"),
        .comment = ctld_word_value(shell, at, "Comment"),
        .extra = ctld_word_value(shell, at, "Extra"),
        .user = shell->slurm->sim->is_other_client ? "person" : "root",
    };
    enum ctld_errno error;

    if (!are_known(shell, at, known))
        return;
    if (change.state && !change.reason &&
        (strcasecmp(change.state, "DRAIN") == 0 || strcasecmp(change.state, "DOWN") == 0)) {
        ctld_say_error(shell, "You must specify a reason when DOWNING or DRAINING a node. Request "
                              "denied");
        return;
    }
    error = ctld_update_node(shell->slurm, name, &change);
    if (error == CTLD_ERROR_WORD)
        ctld_say_error(shell, "Invalid input: state=%s\nRequest aborted", change.state);
    else if (error != CTLD_OK)
        ctld_say_error(shell, "slurm_update error: %s", ctld_errno_text(error));
}

static void update_job(struct ctld_shell *shell, size_t at, const char *which)
{
    static const char *const known[] = { "JobId", "Comment", "AdminComment", NULL };
    const char *comment = ctld_word_value(shell, at, "Comment");
    const char *admin = ctld_word_value(shell, at, "AdminComment");
    ctld_job_list jobs = { 0 };

    if (!are_known(shell, at, known))
        return;
    if (!ctld_jobs_named(shell->slurm, which, &jobs))
        ctld_say_error(shell, "Invalid job id specified for job %s", which);
    for (size_t i = 0; i < jobs.count; i++) {
        if (comment)
            text_copy(jobs.items[i]->comment, sizeof jobs.items[i]->comment, comment);
        if (admin)
            text_copy(jobs.items[i]->admin_comment, sizeof jobs.items[i]->admin_comment, admin);
    }
    array_clear(&jobs);
}

/* ---- reservations ---- */

static bool read_flags(const char *list, unsigned *ret_flags)
{
    static const struct {
        const char *word;
        unsigned flag;
    } rows[] = { { "MAINT", CTLD_MAINT }, { "IGNORE_JOBS", CTLD_IGNORE_JOBS } };

    while (*list) {
        size_t length = strcspn(list, ",");
        bool is_known = false;

        for (size_t i = 0; i < COUNT_OF(rows); i++)
            if (strlen(rows[i].word) == length && strncasecmp(rows[i].word, list, length) == 0) {
                *ret_flags |= rows[i].flag;
                is_known = true;
            }
        if (!is_known)
            return false;
        list += length + (list[length] == ',');
    }
    return true;
}

/* -1: said. */
static int read_reservation(struct ctld_shell *shell, size_t at, struct ctld_reservation *ret)
{
    const char *start = ctld_word_value(shell, at, "StartTime");
    const char *duration = ctld_word_value(shell, at, "Duration");
    const char *flags = ctld_word_value(shell, at, "Flags");
    bool is_endless = duration && (strcasecmp(duration, "UNLIMITED") == 0 ||
                                   strcasecmp(duration, "infinite") == 0);

    text_copy(ret->name, sizeof ret->name, ctld_word_value(shell, at, "ReservationName") ?: "");
    text_copy(ret->nodes, sizeof ret->nodes, ctld_word_value(shell, at, "Nodes") ?: "");
    text_copy(ret->users, sizeof ret->users, ctld_word_value(shell, at, "Users") ?: "");
    if ((start && !ctld_read_time(shell->slurm, start, &ret->start_ms)) ||
        (flags && !read_flags(flags, &ret->flags))) {
        ctld_say_error(shell, "scontrol: error: Invalid start time or flags");
        return -1;
    }
    if (is_endless)
        ret->end_ms = ret->start_ms + (INT64_C(1) << 32) * SECOND_MS;
    else if (duration)
        ret->end_ms = (ret->start_ms ?: sim_now(shell->slurm->sim)) +
                      ctld_leading(duration) * MINUTE_MS;
    return 0;
}

static void create_reservation(struct ctld_shell *shell, size_t at)
{
    struct ctld_reservation wanted = { 0 };
    enum ctld_errno error;

    if (read_reservation(shell, at, &wanted) < 0)
        return;
    if (!wanted.users[0]) {
        ctld_say_error(shell, "scontrol: error: Either Users/Groups and/or Accounts must be "
                              "specified.  No reservation created.");
        return;
    }
    error = ctld_create_reservation(shell->slurm, &wanted);
    if (error == CTLD_OK)
        text_add(shell->output->out, "Reservation created: %s\n", wanted.name);
    else
        ctld_say_error(shell, "Error creating the reservation: %s", ctld_errno_text(error));
}

static void update_reservation(struct ctld_shell *shell, size_t at)
{
    struct ctld_reservation wanted = { 0 };
    enum ctld_errno error;

    if (read_reservation(shell, at, &wanted) < 0)
        return;
    error = ctld_update_reservation(shell->slurm, &wanted);
    if (error == CTLD_OK)
        text_add(shell->output->out, "Reservation updated.\n");
    else
        ctld_say_error(shell, "Error updating the reservation: %s", ctld_errno_text(error));
}

/* ---- verbs ---- */

static void update(struct ctld_shell *shell, size_t at)
{
    const char *node = ctld_word_value(shell, at, "NodeName");
    const char *job = ctld_word_value(shell, at, "JobId");

    if (node)
        update_node(shell, at, node);
    else if (job)
        update_job(shell, at, job);
    else if (ctld_word_value(shell, at, "ReservationName"))
        update_reservation(shell, at);
    else
        ctld_say_error(shell, "No valid entity in update command");
}

static void create(struct ctld_shell *shell, size_t at)
{
    const char *node = ctld_word_value(shell, at, "NodeName");
    const char *state = ctld_word_value(shell, at, "State");
    enum ctld_errno error;

    if (strcasecmp(word(shell, at), "reservation") == 0 ||
        ctld_word_value(shell, at, "ReservationName")) {
        create_reservation(shell, at);
        return;
    }
    if (!node) {
        ctld_say_error(shell, "No valid entity in create command");
        return;
    }
    error = ctld_create_node(shell->slurm, node, state ?: "");
    if (error == CTLD_ERROR_NODE_STATE)
        ctld_say_error(shell, "scontrol: error: Only State=FUTURE and State=CLOUD allowed for "
                              "nodes created by scontrol");
    if (error != CTLD_OK)
        ctld_say_error(shell, "Error creating node(s): %s", ctld_errno_text(error));
}

static void delete (struct ctld_shell *shell, size_t at)
{
    const char *node = ctld_word_value(shell, at, "NodeName");
    const char *reservation = ctld_word_value(shell, at, "ReservationName")
                                  ?: ctld_word_value(shell, at, "Reservation");
    enum ctld_errno error = node          ? ctld_delete_node(shell->slurm, node)
                            : reservation ? ctld_delete_reservation(shell->slurm, reservation)
                                          : CTLD_ERROR_RESERVATION;

    if (node && error != CTLD_OK)
        ctld_say_error(shell, "scontrol: error: failed to delete nodes %s\ndelete_node %s: %s",
                       node, word(shell, at), ctld_errno_text(error));
    else if (error != CTLD_OK)
        ctld_say_error(shell, "delete_reservation %s: %s", word(shell, at), ctld_errno_text(error));
}

static void order(struct ctld_shell *shell, size_t at)
{
    const char *verb = word(shell, at - 1);
    const char *which = word(shell, at);
    enum ctld_errno error = text_starts_with(verb, "requeue")
                                ? ctld_requeue(shell->slurm, which, text_equal(verb, "requeuehold"))
                                : ctld_hold(shell->slurm, which, text_equal(verb, "hold"));

    if (error != CTLD_OK)
        ctld_say_error(shell, "%s for job %s", ctld_errno_text(error), which);
}

static void reconfigure(struct ctld_shell *shell, size_t at)
{
    (void)at;
    ctld_reread(shell->slurm, false);
}

static void ping(struct ctld_shell *shell, size_t at)
{
    (void)at;
    text_add(shell->output->out, "Slurmctld(primary) at login is UP\n");
}

/* Also of a job that is not there the exit status is 0. */
static void write_script(struct ctld_shell *shell, size_t at)
{
    ctld_job_list jobs = { 0 };

    if (!ctld_jobs_named(shell->slurm, word(shell, at + 1), &jobs) ||
        jobs.items[0]->has_lost_script)
        text_add(shell->output->errors, "job script retrieval failed: Invalid job id specified\n");
    else if (jobs.items[0]->signal[0] && !jobs.items[0]->is_signal_hidden)
        text_add(shell->output->out, "#!/bin/sh\n#SBATCH --signal=%s\nexec train\n",
                 jobs.items[0]->signal);
    else
        text_add(shell->output->out, "#!/bin/sh\nexec train\n");
    array_clear(&jobs);
}

static const struct {
    const char *word;
    const char *verb; /* as reports count it */
    void (*run)(struct ctld_shell *shell, size_t at);
} verbs[] = {
    { "show", "slurm_show", ctld_scontrol_show },
    { "update", "slurm_update", update },
    { "create", "slurm_create", create },
    { "delete", "slurm_delete", delete },
    { "requeue", "slurm_requeue", order },
    { "requeuehold", "slurm_requeue", order },
    { "hold", "slurm_hold", order },
    { "release", "slurm_hold", order },
    { "reconfigure", "slurm_reconfigure", reconfigure },
    { "ping", "slurm_ping", ping },
    { "write", "slurm_script", write_script },
};

void ctld_scontrol(struct ctld_shell *shell)
{
    size_t at = 1;

    while (word(shell, at)[0] == '-')
        at++;
    if (shell->as_json && shell->slurm->release < 2411) {
        ctld_say_error(shell, "scontrol: unrecognized option '--json'\nTry \"scontrol --help\" for "
                              "more information");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (text_equal(verbs[i].word, word(shell, at))) {
            verbs[i].run(shell, at + 1);
            return;
        }
    ctld_say_error(shell, "invalid keyword: %s", word(shell, at));
}
