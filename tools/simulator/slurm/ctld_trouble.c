/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What slurmrestd answers when slurmctld refuses the token, or does not answer: each request has
 * its own form.  24.11 tells the two apart; 22.05 does so only for the DELETE of a job.
 */
#include "tools/simulator/slurm/ctld.h"

enum {
    UNSPECIFIED = -1,
    NOT_PERMITTED = 1,
    BAD_TOKEN = 1007,
    NO_SERVER = 1800,
    ZERO_BYTES = 5005,
    NO_RESERVATION = CTLD_ERROR_RESERVATION,
};

enum form { LONG, SHORT, SILENT }; /* SHORT: {error, errno}; SILENT: the status says it alone */

static const struct row {
    const char *verb;
    const char *list; /* NULL: the answer has none */
    enum form form;
    const char *description, *source;
    int bad_token, no_server; /* numbers of the errors */
} rows_2205[] = {
    { "slurm_ping", NULL, LONG, "slurmctld config is unable to load", "slurm_load_ctl_conf",
      UNSPECIFIED, UNSPECIFIED },
    { "slurm_nodes", "nodes", SHORT, NULL, NULL, UNSPECIFIED, UNSPECIFIED },
    { "slurm_node", "nodes", SHORT, NULL, NULL, UNSPECIFIED, UNSPECIFIED },
    { "slurm_jobs", "jobs", LONG, "Failed while looking for jobs", "slurm_load_jobs", UNSPECIFIED,
      UNSPECIFIED },
    { "slurm_job", "jobs", LONG, "Unable to find JobId=", "slurm_load_job", UNSPECIFIED,
      UNSPECIFIED },
    { "slurm_kill", NULL, LONG, "unable to kill JobId=", "slurm_kill_job", ZERO_BYTES, NO_SERVER },
    { "slurm_partitions", "partitions", SHORT, NULL, NULL, UNSPECIFIED, UNSPECIFIED },
    { "slurm_reservations", "reservations", SHORT, NULL, NULL, UNSPECIFIED, UNSPECIFIED },
    { "slurm_reservation", "reservations", SHORT, NULL, NULL, NO_RESERVATION, NO_RESERVATION },
}, rows_2411[] = {
    { "slurm_nodes", NULL, LONG, "Failure to query nodes", "_dump_nodes", BAD_TOKEN, NO_SERVER },
    { "slurm_node", NULL, LONG, "Failure to query node ", "_dump_nodes", BAD_TOKEN, NO_SERVER },
    { "slurm_change_node", NULL, LONG, "Failure to update node ", "_update_node", BAD_TOKEN,
      NO_SERVER },
    { "slurm_delete_node", NULL, LONG, "Failure to update node ", "op_handler_node", BAD_TOKEN,
      NO_SERVER },
    { "slurm_jobs", "jobs", LONG, "Unable to query jobs", "slurm_load_jobs()", BAD_TOKEN,
      NO_SERVER },
    { "slurm_job", "jobs", LONG, "Unable to query JobId=", "_handle_job_get", BAD_TOKEN,
      UNSPECIFIED },
    { "slurm_kill", "status", LONG, "Signal request failed", "slurm_kill_jobs()", BAD_TOKEN,
      NOT_PERMITTED },
    { "slurm_partitions", NULL, SILENT, NULL, NULL, BAD_TOKEN, NO_SERVER },
    { "slurm_reservations", NULL, LONG, "Unable to query reservations",
      "slurm_load_reservations()", BAD_TOKEN, NO_SERVER },
    { "slurm_reservation", NULL, LONG, "Unable to query reservations",
      "slurm_load_reservations()", BAD_TOKEN, NO_SERVER },
    { "slurm_reconfigure", NULL, LONG, "slurm_reconfigure() failed", "op_handler_reconfigure",
      BAD_TOKEN, NO_SERVER },
};

static const struct {
    int number;
    int status; /* of 24.11; 22.05 always answers 500 */
    const char *words;
} errors[] = {
    { UNSPECIFIED, 500, "Unspecified error" },
    { NOT_PERMITTED, 500, "Operation not permitted" },
    { BAD_TOKEN, 511, "Protocol authentication error" },
    { NO_SERVER, 502, "Unable to contact slurm controller (connect failure)" },
    { ZERO_BYTES, 500, "Zero Bytes were transmitted or received" },
    { NO_RESERVATION, 500, "Requested reservation is invalid" },
};

static const struct row *row_of(const struct ctld *slurm, const char *verb)
{
    bool is_new = slurm->release >= 2411;
    const struct row *rows = is_new ? rows_2411 : rows_2205;
    size_t count = is_new ? COUNT_OF(rows_2411) : COUNT_OF(rows_2205);
    size_t i = 0;

    while (i < count && !text_equal(rows[i].verb, verb))
        i++;
    require(i < count);
    return &rows[i];
}

void ctld_answer_trouble(struct sim_call *call, const struct ctld *slurm, const char *name,
                         bool is_bad_token)
{
    const struct row *row = row_of(slurm, call->verb);
    const char *start = row->description ?: "";
    bool is_named = start[0] != '\0' && strchr(" =", start[strlen(start) - 1]);
    owned(chars) char *description = text_format("%s%s", start, is_named ? name : "");
    json_t *body = ctld_envelope(slurm, row->list, row->list ? json_array() : NULL, true);
    int number = is_bad_token ? row->bad_token : row->no_server;
    size_t i = 0;

    while (errors[i].number != number)
        i++;
    if (row->form != SILENT)
        ctld_envelope_refuse(slurm, body,
                             &(struct ctld_refusal){ .description = description,
                                                     .source = row->source,
                                                     .number = number,
                                                     .error = errors[i].words,
                                                     .is_short = row->form == SHORT });
    sim_answer_json(call->answer, slurm->release >= 2411 ? errors[i].status : 500, body);
}
