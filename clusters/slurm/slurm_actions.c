/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * In a command line "[ ... {blank}]" is left out if the blank is.
 *
 * No action of REST on a job is used before v0.0.40: there /job/{job_id} takes only a number, and
 * the number of an array's last task is that of the whole array.
 */
#include "clusters/slurm/slurm_actions.h"

#include "base/input/json.h"
#include "base/text.h"
#include "base/url.h"

#include <string.h>

/* Jobs that hold nodes, and none that only wait.  squeue compares the whole state: a job that runs
   and is signalled is "signaling", so each word that may stand beside "running" is here. */
#define HOLDING                                                                                    \
    "running,suspended,completing,configuring,resizing,resv_del_hold,requeued,requeue_fed,"        \
    "requeue_hold,revoked,signaling,special_exit,stage_out,stopped"

const struct slurm_action_row slurm_actions[SLURM_ACTION_COUNT] = {
    [SLURM_LIST_NODES] = { "list nodes",
                           "nodes",
                           false,
                           HTTP_GET,
                           36,
                           43,
                           "nodes",
                           "",
                           { { 2302, "scontrol --json show nodes", SLURM_JSON },
                             { 0, "sinfo --json", SLURM_JSON } } },
    [SLURM_LIST_JOBS] = { "list jobs",
                          "jobs",
                          false,
                          HTTP_GET,
                          36,
                          43,
                          "jobs",
                          "",
                          { { 2411, "squeue --json --states=" HOLDING, SLURM_JSON },
                            { 0, "squeue --json", SLURM_JSON } } },
    /* REST does not tell the preemption mode: up to v0.0.38 it is always "disabled", from v0.0.40
       on it is missing. */
    [SLURM_LIST_PARTITIONS] = { "list partitions",
                                "partitions",
                                false,
                                HTTP_GET,
                                0,
                                0,
                                "",
                                "",
                                { { 0, "scontrol -o show partitions", SLURM_LINES } } },
    [SLURM_LIST_RESERVATIONS] = { "list reservations",
                                  "reservations",
                                  false,
                                  HTTP_GET,
                                  36,
                                  43,
                                  "reservations",
                                  "",
                                  { { 2302, "scontrol --json show reservations", SLURM_JSON },
                                    { 0, "SLURM_TIME_FORMAT=%s scontrol -o show reservations",
                                      SLURM_LINES } } },
    [SLURM_READ_CONFIG] = { "read the configuration",
                            NULL,
                            false,
                            HTTP_GET,
                            0,
                            0,
                            "",
                            "",
                            { { 0, "scontrol show config", SLURM_CONFIG } } },
    [SLURM_CHANGE_NODE] = { "change a node",
                            NULL,
                            true,
                            HTTP_POST,
                            40,
                            43,
                            "node/{node_name}",
                            "state[] reason comment",
                            { { 0,
                                "scontrol update NodeName={node}[ State={state}][ Reason={reason}]"
                                "[ Comment={comment}]",
                                SLURM_NOTHING } } },
    [SLURM_DELETE_NODE] = { "delete a node",
                            NULL,
                            true,
                            HTTP_DELETE,
                            40,
                            43,
                            "node/{node_name}",
                            "",
                            { { 0, "scontrol delete NodeName={node}", SLURM_NOTHING } } },
    [SLURM_CREATE_RESERVATION] = { "create a reservation",
                                   NULL,
                                   true,
                                   HTTP_POST,
                                   0,
                                   0,
                                   "",
                                   "",
                                   { { 0,
                                       "scontrol create reservation ReservationName={reservation} "
                                       "Nodes={node}"
                                       " StartTime={starts} Duration=UNLIMITED Users=root "
                                       "Flags=MAINT,IGNORE_JOBS",
                                       SLURM_NOTHING } } },
    [SLURM_MOVE_RESERVATION] = { "move a reservation",
                                 NULL,
                                 true,
                                 HTTP_POST,
                                 0,
                                 0,
                                 "",
                                 "",
                                 { { 0,
                                     "scontrol update reservation ReservationName={reservation} "
                                     "StartTime={starts}",
                                     SLURM_NOTHING } } },
    [SLURM_DELETE_RESERVATION] = { "delete a reservation",
                                   NULL,
                                   true,
                                   HTTP_DELETE,
                                   0,
                                   0,
                                   "",
                                   "",
                                   { { 0, "scontrol delete ReservationName={reservation}",
                                       SLURM_NOTHING } } },
    /* REST cancels the job if it does not know the signal or the flag.  scancel tries again for a
       minute, first after 5 s, while a job that was requeued cannot be signalled, and so would
       reach it on another node: it gets no time for that, and looks itself where the job is. */
    [SLURM_SIGNAL_JOB] = { "signal a job",
                           NULL,
                           true,
                           HTTP_DELETE,
                           0,
                           0,
                           "",
                           "",
                           { { 0,
                               "timeout 4 scancel[ {whom}] --signal={signal} --nodelist={node} "
                               "{job}",
                               SLURM_NOTHING } } },
    [SLURM_REQUEUE_JOB] = { "requeue a job",
                            NULL,
                            true,
                            HTTP_POST,
                            0,
                            0,
                            "",
                            "",
                            { { 0, "scontrol requeue {job}", SLURM_NOTHING } } },
    [SLURM_CANCEL_JOB] = { "cancel a job",
                           NULL,
                           true,
                           HTTP_DELETE,
                           40,
                           43,
                           "job/{job_id}",
                           "",
                           { { 0, "scancel {job}", SLURM_NOTHING } } },
    [SLURM_COMMENT_JOB] = { "comment on a job",
                            NULL,
                            true,
                            HTTP_POST,
                            0,
                            0,
                            "",
                            "",
                            { { 0, "scontrol update JobId={job} AdminComment={comment}",
                                SLURM_NOTHING } } },
    [SLURM_READ_SCRIPT] = { "read a batch script",
                            NULL,
                            false,
                            HTTP_GET,
                            0,
                            0,
                            "",
                            "",
                            { { 0, "scontrol write batch_script {job} -", SLURM_TEXT } } },
};

const struct slurm_command *slurm_command_for(enum slurm_action action, int release)
{
    const struct slurm_action_row *row = &slurm_actions[action];

    for (size_t i = 0; i < COUNT_OF(row->commands); i++)
        if (row->commands[i].line && row->commands[i].since <= release)
            return &row->commands[i];
    return NULL;
}

/* ---- filling in ---- */

/* The blank of this name, without braces; NULL: left out. The caller frees it. */
static char *value_of(const struct slurm_blanks *blanks, const char *name, size_t length)
{
    const struct {
        const char *name;
        const char *value;
    } rows[] = {
        { "node", blanks->node },       { "node_name", blanks->node },
        { "state", blanks->state },     { "reason", blanks->reason },
        { "comment", blanks->comment }, { "job", blanks->job },
        { "job_id", blanks->job },      { "signal", blanks->signal },
        { "whom", blanks->whom },       { "reservation", blanks->reservation },
    };

    if (length == strlen("starts") && memcmp(name, "starts", length) == 0)
        return blanks->starts_s != 0 ? text_format("uts%lld", (long long)blanks->starts_s)
                                     : mem_copy_chars("now");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return mem_copy_chars(rows[i].value);
    require(!"a blank of the table");
    return NULL;
}

static void quote_for_shell(struct text *out, const char *value)
{
    if (value[0] != '\0' &&
        strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:-") ==
            strlen(value)) {
        text_add(out, "%s", value);
        return;
    }
    text_add(out, "'");
    for (; *value; value++)
        text_add(out, *value == '\'' ? "'\\''" : "%c", *value);
    text_add(out, "'");
}

/* Fills the template from *at up to `end`.  False: a blank is missing. */
static bool fill(struct text *out, const char *at, const char *end,
                 const struct slurm_blanks *blanks, void (*quote)(struct text *, const char *))
{
    for (; at < end; at++) {
        if (*at == '[') {
            const char *close = strchr(at, ']');
            size_t before = out->length;

            if (!fill(out, at + 1, close, blanks, quote))
                text_end_at(out, before);
            at = close;
        } else if (*at == '{') {
            const char *close = strchr(at, '}');
            owned(chars) char *value = value_of(blanks, at + 1, (size_t)(close - at - 1));

            if (!value || !text_is_one_line(value))
                return false;
            quote(out, value);
            at = close;
        } else {
            text_add(out, "%c", *at);
        }
    }
    return true;
}

static char *filled(const char *template, const struct slurm_blanks *blanks,
                    void (*quote)(struct text *, const char *), struct error *err)
{
    owned(text) struct text *out = text_new(64 << 10);

    if (fill(out, template, template + strlen(template), blanks, quote))
        return text_take(steal(&out));
    (void)error_set(err, ERROR_INVALID, "the request \"%s\" lacks a value", template);
    return NULL;
}

char *slurm_command_line(const struct slurm_command *command, const struct slurm_blanks *blanks,
                         struct error *err)
{
    return filled(command->line, blanks, quote_for_shell, err);
}

char *slurm_rest_target(enum slurm_action action, int version, const struct slurm_blanks *blanks,
                        struct error *err)
{
    const struct slurm_action_row *row = &slurm_actions[action];
    owned(chars) char *tail = filled(row->path, blanks, url_add_escaped, err);

    return tail ? text_format("/slurm/v0.0.%d/%s", version, tail) : NULL;
}

json_t *slurm_rest_body(enum slurm_action action, const struct slurm_blanks *blanks)
{
    const char *at = slurm_actions[action].body;
    json_t *body = at[0] != '\0' ? json_object() : NULL;

    while (*at) {
        size_t length = strcspn(at, "[ ");
        owned(chars) char *name = text_format("%.*s", (int)length, at);
        owned(chars) char *value = value_of(blanks, at, length);

        if (value)
            json_put(body, name, at[length] == '[' ? json_make("[s]", value) : json_text(value));
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    return body;
}
