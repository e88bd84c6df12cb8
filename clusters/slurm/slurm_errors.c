/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The words are those of Slurm's own list of errors (slurm_errno), which did not change from 22.05
 * to 24.11; their numbers are in few answers.
 */
#include "clusters/slurm/slurm_errors.h"

#include "base/input/json.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *words;
    enum error_kind kind;
} rows[] = {
    { "Invalid job id specified", ERROR_NOT_FOUND },
    { "Job/step already completing or completed", ERROR_NOT_FOUND },
    { "Job is pending execution", ERROR_NOT_FOUND }, /* it was requeued already */
    { "Invalid node name specified", ERROR_NOT_FOUND },
    { "Requested reservation is invalid", ERROR_NOT_FOUND },
    { "Reservation not found", ERROR_NOT_FOUND },
    { "Duplicate reservation name", ERROR_CONFLICT },
    { "Reservation already started", ERROR_CONFLICT },
    { "Reservation request overlaps", ERROR_CONFLICT },
    { "Requested nodes are busy", ERROR_CONFLICT },
    { "Invalid node state specified", ERROR_CONFLICT },
    { "Requested operation is presently disabled", ERROR_INVALID }, /* requeue with --no-requeue */
    { "Unknown job signal", ERROR_INVALID },
    { "Access/permission denied", ERROR_DENIED },
    { "Invalid user id", ERROR_DENIED },
    { "Invalid authentication credential", ERROR_DENIED },
    { "Authentication failure", ERROR_DENIED },
    { "Protocol authentication error", ERROR_DENIED },
    { "command not found", ERROR_INVALID },
    { "unrecognized option", ERROR_INVALID },
    { "Unable to contact slurm controller", ERROR_TRANSIENT },
    { "Connection refused", ERROR_TRANSIENT },
    { "Slurm backup controller in standby mode", ERROR_TRANSIENT },
    { "Slurm temporarily unable to accept job", ERROR_TRANSIENT },
    { "Server too busy", ERROR_THROTTLED },
    { "RPC rate limit exceeded", ERROR_THROTTLED },
    { "Socket timed out", ERROR_UNKNOWN_OUTCOME },
    { "Zero Bytes were transmitted or received", ERROR_UNKNOWN_OUTCOME },
    { "Unexpected message received", ERROR_UNKNOWN_OUTCOME },
};

enum error_kind slurm_error_kind(const char *words)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (strstr(words, rows[i].words))
            return rows[i].kind;
    return ERROR_TRANSIENT;
}

/* What is worth reading of one of the answer's errors. */
static const char *words_of(const json_t *item)
{
    const char *words = json_text_or(item, "error", "");
    const char *more = json_text_or(item, "description", "");

    return words[0] != '\0' && !text_equal(words, "Unspecified error") ? words
           : more[0] != '\0'                                           ? more
           : words[0] != '\0'                                          ? words
                                                                       : "an error without words";
}

/* What the answer complains of; NULL: nothing.  24.11 answers the DELETE of a job with `errors`
   empty, and says of each job whether it succeeded. */
static const char *complaint_of(const json_t *body)
{
    const json_t *errors = json_object_get(body, "errors");
    const json_t *row;
    size_t i;

    if (json_array_size(errors) > 0)
        return words_of(json_array_get(errors, 0));
    json_array_foreach(json_object_get(body, "status"), i, row)
        if (json_int_or(row, "error/code", 0) != 0)
            return json_text_or(row, "error/string", "an error without words");
    return NULL;
}

int slurm_check_answer(int status, const json_t *body, struct error *err)
{
    const char *words = complaint_of(body);
    enum error_kind kind = words ? slurm_error_kind(words) : ERROR_TRANSIENT;

    if (status == 200 && body && !words)
        return 0;
    if (status == 401 || status == 403 || status == 511)
        kind = ERROR_DENIED;
    if (words)
        return error_set(err, kind, "slurmrestd answered %d: %.300s", status, words);
    if (status == 200)
        return error_set(err, ERROR_CORRUPT, "slurmrestd answered with no JSON object");
    return error_set(err, kind, "slurmrestd answered %d", status);
}

enum { TIMED_OUT = 124 }; /* what `timeout` ends with if it ended the command */

int slurm_check_command(int status, const char *errors, struct error *err)
{
    char told[300];
    size_t length = strlen(errors);

    while (length > 0 && isspace((unsigned char)errors[length - 1])) /* the end of its last line */
        length--;
    text_print(told, sizeof told, "%.*s", (int)length, errors);
    if (status == 0)
        return 0;
    if (status == 127)
        return error_set(err, ERROR_INVALID, "Slurm's commands are not on the PATH there: %s",
                         told);
    if (status == TIMED_OUT)
        return error_set(err, ERROR_UNKNOWN_OUTCOME, "it was ended before it was done: %s", told);
    return error_set(err, slurm_error_kind(errors), "it ended with status %d: %s", status,
                     told[0] != '\0' ? told : "no words");
}
