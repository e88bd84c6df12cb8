/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of Slurm: each action as a REST request and as a command; and what its refusals
 * mean.
 */
#include "base/input/json.h"
#include "base/text.h"
#include "clusters/slurm/slurm_actions.h"
#include "clusters/slurm/slurm_errors.h"
#include "tests/support/unit.h"

#include <string.h>

static const struct slurm_blanks filled = {
    .node = "n1",
    .state = "DRAIN",
    .reason = "it's sluice's; $(reboot)",
    .job = "12_3",
    .signal = "USR1",
    .whom = "--batch",
    .reservation = "sluice_t-1",
    .starts_s = 1795660000,
};

static void check_line(enum slurm_action action, int release, const char *want)
{
    struct error err = { 0 };
    const struct slurm_command *command = slurm_command_for(action, release);
    owned(chars) char *line = command ? slurm_command_line(command, &filled, &err) : NULL;

    assert_string_equal(line ?: err.text, want);
}

static void commands(void **state)
{
    (void)state;
    check_line(SLURM_LIST_NODES, 2205, "sinfo --json");
    check_line(SLURM_LIST_NODES, 2302, "scontrol --json show nodes");
    check_line(SLURM_LIST_JOBS, 2205, "squeue --json");
    check_line(SLURM_LIST_JOBS, 2411,
               "squeue --json --states=running,suspended,completing,configuring,resizing,"
               "resv_del_hold,requeued,requeue_fed,requeue_hold,revoked,signaling,special_exit,"
               "stage_out,stopped");
    check_line(SLURM_LIST_RESERVATIONS, 2205, "SLURM_TIME_FORMAT=%s scontrol -o show reservations");
    check_line(SLURM_CHANGE_NODE, 2205,
               "scontrol update NodeName=n1 State=DRAIN Reason='it'\\''s sluice'\\''s; $(reboot)'");
    check_line(SLURM_DELETE_NODE, 2411, "scontrol delete NodeName=n1");
    check_line(SLURM_CREATE_RESERVATION, 2205,
               "scontrol create reservation ReservationName=sluice_t-1 Nodes=n1 "
               "StartTime=uts1795660000 Duration=UNLIMITED Users=root Flags=MAINT,IGNORE_JOBS");
    check_line(SLURM_MOVE_RESERVATION, 2205,
               "scontrol update reservation ReservationName=sluice_t-1 StartTime=uts1795660000");
    check_line(SLURM_DELETE_RESERVATION, 2205, "scontrol delete ReservationName=sluice_t-1");
    check_line(SLURM_SIGNAL_JOB, 2205,
               "timeout 4 scancel --batch --signal=USR1 --nodelist=n1 12_3");
    check_line(SLURM_REQUEUE_JOB, 2205, "scontrol requeue 12_3");
    check_line(SLURM_CANCEL_JOB, 2205, "scancel 12_3");
}

static void missing_blanks(void **state)
{
    const struct slurm_blanks none = { .reason = "two\nlines" };
    struct error err = { 0 };

    (void)state;
    assert_null(slurm_command_line(slurm_command_for(SLURM_REQUEUE_JOB, 2205), &none, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_null(slurm_rest_target(SLURM_DELETE_NODE, 42, &none, &err));

    const struct slurm_blanks only_node = { .node = "n1" };
    owned(chars) char *line = slurm_command_line(slurm_command_for(SLURM_CHANGE_NODE, 2411),
                                                 &only_node, &err);
    assert_string_equal(line, "scontrol update NodeName=n1");

    const struct slurm_blanks now = { .node = "n1", .reservation = "r" };
    owned(chars) char *start = slurm_command_line(slurm_command_for(SLURM_CREATE_RESERVATION, 2205),
                                                  &now, &err);
    assert_non_null(strstr(start, " StartTime=now "));
}

static void rest(void **state)
{
    const struct slurm_blanks odd = { .node = "a/b c" };
    struct error err = { 0 };
    owned(chars) char *change = slurm_rest_target(SLURM_CHANGE_NODE, 42, &filled, &err);
    owned(chars) char *list = slurm_rest_target(SLURM_LIST_JOBS, 38, &filled, &err);
    owned(chars) char *escaped = slurm_rest_target(SLURM_DELETE_NODE, 42, &odd, &err);
    owned(json) json_t *body = slurm_rest_body(SLURM_CHANGE_NODE, &filled);
    owned(chars) char *text = json_print(body);

    (void)state;
    assert_string_equal(change, "/slurm/v0.0.42/node/n1");
    assert_string_equal(list, "/slurm/v0.0.38/jobs");
    assert_string_equal(escaped, "/slurm/v0.0.42/node/a%2Fb%20c");
    assert_string_equal(text, "{\"state\":[\"DRAIN\"],\"reason\":\"it's sluice's; $(reboot)\"}");
    assert_null(slurm_rest_body(SLURM_LIST_NODES, &filled));
}

/* REST is used for no more than was seen to work: a signal that it does not know cancels the job,
   and before v0.0.40 a job's number may be its whole array's. */
static void rest_is_careful(void **state)
{
    (void)state;
    assert_int_equal(slurm_actions[SLURM_SIGNAL_JOB].first, 0);
    assert_int_equal(slurm_actions[SLURM_CANCEL_JOB].first, 40);
    for (int i = 0; i < SLURM_ACTION_COUNT; i++) {
        assert_non_null(slurm_actions[i].name);
        assert_non_null(slurm_command_for((enum slurm_action)i, 2205));
        assert_non_null(slurm_command_for((enum slurm_action)i, 2411));
    }
}

static void check_answer(int status, const char *chars, enum error_kind kind)
{
    struct error err = { 0 };
    owned(json) json_t *body = json_parse(chars, strlen(chars), "answer", &err);

    err = (struct error){ 0 };
    assert_int_equal(slurm_check_answer(status, body, &err), kind == ERROR_NONE ? 0 : -1);
    assert_int_equal(err.kind, kind);
}

static void refusals(void **state)
{
    static const struct {
        const char *words;
        enum error_kind kind;
    } rows[] = {
        { "Error creating the reservation: Duplicate reservation name", ERROR_CONFLICT },
        { "slurm_update error: Invalid node name specified", ERROR_NOT_FOUND },
        { "Job is pending execution for job 1", ERROR_NOT_FOUND },
        { "Requested operation is presently disabled for job 2", ERROR_INVALID },
        { "scancel: error: Kill job error on job id 999: Invalid job id specified",
          ERROR_NOT_FOUND },
        { "scontrol: error: failed to delete nodes n1\nRequested nodes are busy", ERROR_CONFLICT },
        { "slurm_update error: Socket timed out on send/recv operation", ERROR_UNKNOWN_OUTCOME },
        { "Unable to contact slurm controller (connect failure)", ERROR_TRANSIENT },
        { "slurm_update error: Access/permission denied", ERROR_DENIED },
        { "scancel: error: Unknown job signal: RTMIN", ERROR_INVALID },
        { "something new", ERROR_TRANSIENT },
    };
    struct error err = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(slurm_check_command(1, rows[i].words, &err), -1);
        assert_int_equal(err.kind, rows[i].kind);
    }
    assert_int_equal(slurm_check_command(0, "", &err), 0);
    assert_int_equal(slurm_check_command(127, "sh: scontrol: not found", &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void answers(void **state)
{
    (void)state;
    check_answer(200, "{\"errors\":[],\"nodes\":[]}", ERROR_NONE);
    /* 22.05 with a bad token, and 24.11 */
    check_answer(500, "{\"errors\":[{\"error\":\"Unspecified error\",\"errno\":-1}],\"nodes\":[]}",
                 ERROR_TRANSIENT);
    check_answer(511,
                 "{\"errors\":[{\"error_number\":1007,\"error\":\"Protocol authentication "
                 "error\"}]}",
                 ERROR_DENIED);
    /* 24.11, of the DELETE of a job, whatever the cause: without slurmctld, too */
    check_answer(500,
                 "{\"status\":[],\"errors\":[{\"description\":\"Signal request failed\","
                 "\"error_number\":1,\"error\":\"Operation not permitted\"}]}",
                 ERROR_TRANSIENT);
    /* a refusal with status 200 */
    check_answer(200,
                 "{\"errors\":[{\"error_number\":2018,\"error\":\"Invalid node name "
                 "specified\"}]}",
                 ERROR_NOT_FOUND);
    check_answer(200,
                 "{\"errors\":[],\"status\":[{\"error\":{\"code\":2017,\"string\":\"Invalid "
                 "job id specified\"}}]}",
                 ERROR_NOT_FOUND);
    check_answer(200, "{\"errors\":[],\"status\":[{\"error\":{\"code\":0}}]}", ERROR_NONE);
    check_answer(401, "{}", ERROR_DENIED);
    check_answer(200, "no JSON", ERROR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands), cmocka_unit_test(missing_blanks),
        cmocka_unit_test(rest),     cmocka_unit_test(rest_is_careful),
        cmocka_unit_test(refusals), cmocka_unit_test(answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
