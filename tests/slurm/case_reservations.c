/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases: reservations.
 */
#include "tests/slurm/slurm_stage.h"

#define NAME "sluice_t-1"

static int64_t now_s(const struct stage *stage)
{
    return loop_wall(stage->loop).ms / SECOND_MS;
}

static void reserve(struct stage *stage, int64_t after_s)
{
    const struct slurm_blanks blanks = { .node = "n1",
                                         .reservation = NAME,
                                         .starts_s = now_s(stage) + after_s };

    if (!stage_ask(stage, SLURM_CREATE_RESERVATION, &blanks))
        fail_msg("%s", stage->err.text);
}

void a_reservation_is_read(struct stage *stage)
{
    int64_t began_s = now_s(stage);
    struct slurm_reservation one;

    reserve(stage, 600);
    assert_true(stage_has_reservation(stage, NAME, &one));
    assert_string_equal(one.nodes, "n1");
    assert_true(one.is_maintenance);
    assert_true(one.start_s >= began_s + 600 && one.start_s <= began_s + 630);
}

void a_reservation_keeps_long_jobs_away(struct stage *stage)
{
    owned(chars) char *longer = NULL;
    owned(chars) char *shorter = NULL;

    reserve(stage, 600);
    longer = stage_submit(stage, SCRIPT_PLAIN, 600, "--nodelist=n1 --gpus=1 --time=20");
    shorter = stage_submit(stage, SCRIPT_PLAIN, 60, "--nodelist=n1 --gpus=1 --time=2");
    stage_await_job(stage, shorter, SLURM_JOB_RUNNING);
    assert_int_equal(stage_job(stage, longer).state, SLURM_JOB_PENDING);
}

void a_reservation_ignores_jobs_if_told(struct stage *stage)
{
    owned(chars) char *job = stage_submit(stage, SCRIPT_PLAIN, 900,
                                          "--nodelist=n1 --gpus=1 --time=20");
    struct slurm_reservation one;

    stage_await_job(stage, job, SLURM_JOB_RUNNING);
    assert_int_equal(stage_run(stage, "scontrol create reservation ReservationName=other Nodes=n1 "
                                      "StartTime=now+60seconds Duration=60 Users=root Flags=MAINT"),
                     1);
    assert_true(stage_said(stage, "Requested nodes are busy"));
    reserve(stage, 60);
    assert_true(stage_has_reservation(stage, NAME, &one));
    assert_int_equal(stage_job(stage, job).state, SLURM_JOB_RUNNING);
}

void a_reservation_moves(struct stage *stage)
{
    struct slurm_blanks blanks = { .reservation = NAME };
    struct slurm_reservation one;
    int64_t start_s;

    reserve(stage, 600);
    assert_true(stage_has_reservation(stage, NAME, &one));
    start_s = one.start_s;
    blanks.starts_s = start_s + 300;
    if (!stage_ask(stage, SLURM_MOVE_RESERVATION, &blanks))
        fail_msg("%s", stage->err.text);
    assert_true(stage_has_reservation(stage, NAME, &one));
    assert_int_equal(one.start_s, start_s + 300);
    blanks.reservation = "nope";
    assert_false(stage_ask(stage, SLURM_MOVE_RESERVATION, &blanks));
    assert_int_equal(stage->err.kind, ERROR_NOT_FOUND);
}

void a_reservation_that_began_stays(struct stage *stage)
{
    const struct slurm_blanks blanks = { .reservation = NAME, .starts_s = now_s(stage) + 600 };
    struct slurm_reservation one;

    reserve(stage, 0);
    stage_pass(stage, 2 * SECOND_MS);
    assert_false(stage_ask(stage, SLURM_MOVE_RESERVATION, &blanks));
    assert_int_equal(stage->err.kind, ERROR_CONFLICT);
    assert_true(stage_has_reservation(stage, NAME, &one));
    assert_true(one.start_s < blanks.starts_s);
}

void a_reservation_ends(struct stage *stage)
{
    const struct slurm_blanks blanks = { .reservation = NAME };
    struct slurm_reservation one;

    reserve(stage, 600);
    if (!stage_ask(stage, SLURM_DELETE_RESERVATION, &blanks))
        fail_msg("%s", stage->err.text);
    assert_false(stage_has_reservation(stage, NAME, &one));
    assert_false(stage_ask(stage, SLURM_DELETE_RESERVATION, &blanks));
    assert_int_equal(stage->err.kind, ERROR_NOT_FOUND);
}

void a_reservation_has_one_name(struct stage *stage)
{
    const struct slurm_blanks blanks = { .node = "n2",
                                         .reservation = NAME,
                                         .starts_s = now_s(stage) + 600 };

    reserve(stage, 600);
    assert_false(stage_ask(stage, SLURM_CREATE_RESERVATION, &blanks));
    assert_int_equal(stage->err.kind, ERROR_CONFLICT);
}

void a_reservation_has_no_past(struct stage *stage)
{
    assert_int_equal(stage_run(stage, "scontrol create reservation ReservationName=old Nodes=n1 "
                                      "StartTime=2020-01-01T00:00:00 Duration=60 Users=root "
                                      "Flags=MAINT"),
                     1);
    assert_true(stage_said(stage, "Invalid time specified"));
    assert_int_equal(stage_run(stage, "scontrol create reservation ReservationName=r Nodes=nope "
                                      "StartTime=now Duration=60 Users=root Flags=MAINT"),
                     1);
    assert_true(stage_said(stage, "Invalid node name specified"));
    assert_int_equal(stage_run(stage, "scontrol create reservation ReservationName=r Nodes=n1 "
                                      "StartTime=now Duration=60 Flags=MAINT"),
                     1);
    assert_true(stage_said(stage, "Either Users/Groups and/or Accounts must be specified"));
}

void an_endless_reservation_ends_far_away(struct stage *stage)
{
    struct slurm_reservation one;

    reserve(stage, 600);
    assert_true(stage_has_reservation(stage, NAME, &one));
    assert_true(one.end_s - one.start_s > 300LL * 24 * 3600);
}
