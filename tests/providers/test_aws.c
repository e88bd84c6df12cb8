/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Auto Scaling groups: orders whose answers cannot be trusted, names of machines, places.
 */
#include "providers/aws/aws_task.h"
#include "tests/providers/aws_bench.h"

/* Two orders go as one number, and its answer is lost.  Each was sent, so neither asks again: the
   second would otherwise get a second machine. */
static void an_unknown_outcome_counts_as_sent(void **state)
{
    const struct script_step steps[] = {
        GROUP("1", ONE), GROUP("1", ONE), GROUP("1", ONE), BROKEN, GROUP("3", ONE), GROUP("3", ONE),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(create(&bench, "a", ""), ERROR_TRANSIENT);
    assert_string_equal(bench.operation, "1>2");
    assert_int_equal(create(&bench, "b", ""), ERROR_TRANSIENT);
    assert_string_equal(bench.operation, "2>3");
    begin_create(&bench, "a", "1>2");
    begin_create(&bench, "b", "2>3");
    assert_int_equal(answer_of(&bench, 2), ERROR_NONE); /* of b */
    assert_non_null(strstr(bench.script->transcript->chars, "DesiredCapacity=3"));
    assert_int_equal(create(&bench, "a", "1>2"), ERROR_NONE);
    bench_close(&bench);
}

/* A number that was refused was not sent: its orders plan again. */
static void a_refused_number_is_planned_again(void **state)
{
    const struct script_step steps[] = {
        GROUP("1", ONE),
        GROUP("1", ONE),
        GROUP("1", ONE),
        ASK(ASG, 400, "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>"),
        GROUP("3", ONE),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    create(&bench, "a", "");
    create(&bench, "b", "");
    begin_create(&bench, "a", "1>2");
    begin_create(&bench, "b", "2>3");
    assert_int_equal(answer_of(&bench, 2), ERROR_TRANSIENT);
    assert_ptr_equal(bench.err.cause, &provider_goes_on);
    assert_string_equal(bench.operation, "3>4");
    bench_close(&bench);
}

#define STATE_OF(state)                                                                            \
    ASK(ASG, 200,                                                                                  \
        "<R><DescribeAutoScalingInstancesResult><AutoScalingInstances>" MEMBER(                    \
            "i-02", state) "</AutoScalingInstances></DescribeAutoScalingInstancesResult></R>")
#define STATE STATE_OF("InService")

/* Whatever cannot be read of an answer to a change: the change may have been made. */
static void a_change_that_is_answered_in_nonsense_may_be_made(void **state)
{
    static const struct script_step answers[] = {
        ASK(ASG, 200, "no XML"),
        ASK(ASG, 200, ""),
        ASK(ASG, 200, "<!DOCTYPE a><a/>"),
        { .method = HTTP_POST, .url = ASG, .fails = ERROR_CORRUPT },
        { .method = HTTP_POST, .url = ASG, .fails = ERROR_UNKNOWN_OUTCOME },
        ASK(ASG, 500, "no XML"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        const struct script_step size[] = { GROUP("1", ONE), answers[i] };
        const struct script_step removal[] = { GROUP("2", TWO), STATE, answers[i] };
        struct bench bench;

        bench_open(&bench, size, COUNT_OF(size));
        assert_int_equal(create(&bench, "a", "1>2"), ERROR_UNKNOWN_OUTCOME);
        bench_close(&bench);
        bench_open(&bench, removal, COUNT_OF(removal));
        assert_int_equal(take_away(&bench, "i-02"), ERROR_UNKNOWN_OUTCOME);
        bench_close(&bench);
    }
}

/* The group's list may be old, also after a restart: an instance's own record decides. */
static void a_removal_believes_the_record_of_the_instance(void **state)
{
    static const struct {
        struct script_step record;
        enum error_kind kind;
    } rows[] = {
        { STATE_OF("Terminating:Wait"), ERROR_NONE },
        { STATE_OF("Terminated"), ERROR_NONE },
        { STATE_OF("Standby"), ERROR_CONFLICT },
        { ASK(ASG, 200, "<R><DescribeAutoScalingInstancesResult/></R>"), ERROR_CORRUPT },
        { BROKEN, ERROR_TRANSIENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = { GROUP("2", TWO), rows[i].record };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        assert_int_equal(take_away(&bench, "i-02"), rows[i].kind);
        bench_close(&bench);
    }
}

#define AT_EC2(state)                                                                              \
    ASK(EC2, 200,                                                                                  \
        "<R><reservationSet><item><instancesSet><item><instanceId>i-02</instanceId>"               \
        "<instanceState><name>" state "</name></instanceState><placement><availabilityZone>eu-1a"  \
        "</availabilityZone></placement></item></instancesSet></item></reservationSet></R>")

/* The record may be old, too: a removal that may have arrived also asks EC2. */
static void a_removal_in_doubt_asks_twice(void **state)
{
    const struct script_step steps[] = {
        GROUP("2", TWO), STATE, BROKEN, GROUP("2", TWO), STATE, AT_EC2("shutting-down"),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    assert_int_equal(take_away(&bench, "i-02"), ERROR_UNKNOWN_OUTCOME);
    assert_int_equal(take_away(&bench, "i-02"), ERROR_NONE);
    bench_close(&bench);
}

#define GONE                                                                                       \
    ASK(EC2, 400,                                                                                  \
        "<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code>"                         \
        "</Error></Errors></Response>")
#define TERMINATING                                                                                \
    ASK(ASG, 200,                                                                                  \
        "<R><TerminateInstanceInAutoScalingGroupResult><Activity><ActivityId>a-1</ActivityId>"     \
        "</Activity></TerminateInstanceInAutoScalingGroupResult></R>")

/* What is remembered of a removal ends with its instance, or a service of years would remember
   each one. */
static void a_removal_is_forgotten_with_its_instance(void **state)
{
    const struct script_step ends[] = { GONE, AT_EC2("terminated") };
    const struct script_step stays[] = { AT_EC2("shutting-down"), AT_EC2("running"),
                                         ASK(EC2, 500, "") };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends) + COUNT_OF(stays); i++) {
        bool is_gone = i < COUNT_OF(ends);
        const struct script_step steps[] = { GROUP("2", TWO), STATE, TERMINATING,
                                             is_gone ? ends[i] : stays[i - COUNT_OF(ends)] };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        const struct map *asked = ((const struct aws *)bench.provider)->asked;

        assert_int_equal(take_away(&bench, "i-02"), ERROR_NONE);
        assert_int_equal(map_count(asked), 1);
        look(&bench, "i-02");
        assert_int_equal(map_count(asked), is_gone ? 0 : 1);
        bench_close(&bench);
    }
}

/* A read changes nothing, so it never has an unknown outcome. */
static void a_list_that_is_nonsense_is_no_list(void **state)
{
    static const struct {
        struct script_step answer;
        enum error_kind kind;
    } answers[] = {
        { ASK(ASG, 200, "no XML"), ERROR_CORRUPT },
        { { .method = HTTP_POST, .url = ASG, .fails = ERROR_CORRUPT }, ERROR_CORRUPT },
        { { .method = HTTP_POST, .url = ASG, .fails = ERROR_UNKNOWN_OUTCOME }, ERROR_TRANSIENT },
        { BROKEN, ERROR_TRANSIENT },
        { GROUP("1", MEMBER("x-01", "InService")), ERROR_CORRUPT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct bench bench;

        bench_open(&bench, &answers[i].answer, 1);
        assert_int_equal(list(&bench), answers[i].kind);
        bench_close(&bench);
    }
}

/* As the cloud controller writes it: ZONE is whole, and the ID is one. */
static void a_provider_id_has_the_zone_and_the_id(void **state)
{
    static const struct {
        const char *provider_id;
        const char *name; /* NULL: of another pool */
    } ids[] = {
        { "aws:///eu-1a/i-01", "i-01" },
        { "aws:///eu-1a/i-0123456789abcdef0", "i-0123456789abcdef0" },
        { "aws:///eu-1b/i-01", NULL },
        { "aws:///eu-1ab/i-01", NULL },
        { "aws:///eu-1/i-01", NULL },
        { "aws:////i-01", NULL },
        { "aws:///eu-1a/i-", NULL },
        { "aws:///eu-1a/i-01/x", NULL },
        { "aws:///eu-1a/x/i-01", NULL },
        { "aws://eu-1a/i-01", NULL },
        { "gce:///eu-1a/i-01", NULL },
        { "", NULL },
    };
    const struct script_step steps[] = { GROUP("1", ONE) };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        char name[INSTANCE_NAME_SIZE] = "";
        size_t claim = 7;
        bool is_read = provider_read_id(bench.provider, bench_address(), ids[i].provider_id, name,
                                        &claim);

        if (is_read != (ids[i].name != NULL) || (is_read && !text_equal(name, ids[i].name)))
            fail_msg("%s: %s", ids[i].provider_id, is_read ? name : "not read");
        assert_true(!is_read || claim == 0); /* IDs do not say which group they are of */
    }
    assert_int_equal(list(&bench), ERROR_NONE);
    assert_string_equal(bench.items[0].provider_id, "aws:///eu-1a/i-01");
    bench_close(&bench);
}

#define LEAVING(state) GROUP("2", ONE MEMBER("i-02", state))
#define FAILED                                                                                     \
    ASK(ASG, 200,                                                                                  \
        "<R><DescribeScalingActivitiesResult><Activities><member><Description>Launching a new "    \
        "EC2 "                                                                                     \
        "instance</Description><StatusCode>Failed</StatusCode><StartTime>2026-09-21T14:13:00Z"     \
        "</StartTime><StatusMessage>We currently do not have sufficient capacity"                  \
        "</StatusMessage></member></Activities></DescribeScalingActivitiesResult></R>")

/* Auto Scaling keeps an instance that leaves among its members, and counts it no more. */
static void an_instance_that_leaves_is_not_present(void **state)
{
    static const char *const states[] = { "Terminating", "Terminating:Wait", "Terminated",
                                          "Detaching",   "Standby",          "EnteringStandby" };
    const struct script_step groups[] = {
        LEAVING("Terminating"), LEAVING("Terminating:Wait"), LEAVING("Terminated"),
        LEAVING("Detaching"),   LEAVING("Standby"),          LEAVING("EnteringStandby"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        const struct script_step listing[] = { groups[i], FAILED };
        struct bench bench;

        print_message("      %s\n", states[i]);
        bench_open(&bench, listing, COUNT_OF(listing));
        assert_int_equal(list(&bench), ERROR_NONE);
        assert_int_equal(bench.shortfall.kind, ERROR_NO_CAPACITY);
        bench_close(&bench);

        /* So an order for which none came can be taken back. */
        bench_open(&bench, listing, COUNT_OF(listing));
        assert_int_equal(cancel(&bench, ""), ERROR_TRANSIENT);
        assert_string_equal(bench.operation, "2>1");
        bench_close(&bench);
    }
}

#define ACTIVITIES(members)                                                                        \
    ASK(ASG, 200,                                                                                  \
        "<R><DescribeScalingActivitiesResult><Activities>" members                                 \
        "</Activities></DescribeScalingActivitiesResult></R>")
#define ACTIVITY(text, status)                                                                     \
    "<member><Description>" text "</Description><StatusCode>" status "</StatusCode>"               \
    "<StartTime>2026-09-21T14:13:00Z</StartTime></member>"
#define LAUNCH(of, status) ACTIVITY("Launching a new EC2 instance" of, status)

/* The group wants three and lists one.  What may still come, or came and is not listed yet, is not
   taken back. */
static void only_an_attempt_that_failed_is_taken_back(void **state)
{
    static const struct {
        const char *name;
        struct script_step activities;
        bool is_planned;
    } rows[] = {
        { "nothing is known", ACTIVITIES(""), false },
        { "one goes on", ACTIVITIES(LAUNCH("", "WaitingForInstanceId")), false },
        { "both failed", ACTIVITIES(LAUNCH("", "Failed") LAUNCH("", "Cancelled")), true },
        { "one failed, one goes on",
          ACTIVITIES(LAUNCH("", "InProgress") LAUNCH(".  Status Reason: x", "Failed")), true },
        { "two go on after a failure",
          ACTIVITIES(LAUNCH("", "InProgress") LAUNCH("", "PreInService") LAUNCH("", "Failed")),
          false },
        { "two came after a failure, unlisted",
          ACTIVITIES(LAUNCH(": i-0a", "Successful") LAUNCH(": i-0b", "PreInService")
                         LAUNCH("", "Failed")),
          false },
        { "one came and is listed",
          ACTIVITIES(LAUNCH("", "InProgress") LAUNCH(": i-01", "Successful") LAUNCH("", "Failed")),
          true },
        { "one of two came and is gone",
          ACTIVITIES(LAUNCH("", "InProgress")
                         ACTIVITY("Terminating EC2 instance: i-0a - Waiting", "Successful")
                             LAUNCH(": i-0a", "Successful") LAUNCH("", "Failed")),
          true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = { GROUP("3", ONE), rows[i].activities };
        struct bench bench;

        print_message("      %s\n", rows[i].name);
        bench_open(&bench, steps, COUNT_OF(steps));
        assert_int_equal(cancel(&bench, ""), ERROR_TRANSIENT);
        assert_string_equal(bench.operation, rows[i].is_planned ? "3>2" : "");
        bench_close(&bench);
    }
}

#define NAMED                                                                                      \
    ASK(ASG, 200,                                                                                  \
        "<R><DescribeAutoScalingGroupsResult><AutoScalingGroups><member><AutoScalingGroupName>g"   \
        "</AutoScalingGroupName><MinSize>0</MinSize><MaxSize>9</MaxSize><DesiredCapacity>1"        \
        "</DesiredCapacity><Instances>" ONE "</Instances><CapacityReservationSpecification>"       \
        "<CapacityReservationTarget><CapacityReservationIds><member>cr-1</member>"                 \
        "</CapacityReservationIds></CapacityReservationTarget></CapacityReservationSpecification>" \
        "</member></AutoScalingGroups></DescribeAutoScalingGroupsResult></R>")
#define RESERVED(id, type, kind, end)                                                              \
    ASK(EC2, 200,                                                                                  \
        "<R><capacityReservationSet><item><capacityReservationId>cr-0</capacityReservationId>"     \
        "<endDate>2026-09-01T00:00:00Z</endDate></item><item><capacityReservationId>" id           \
        "</capacityReservationId><instanceType>" type "</instanceType><reservationType>" kind      \
        "</reservationType>" end "</item></capacityReservationSet></R>")
#define END "<endDate>2026-09-30T11:30:00.000Z</endDate>"

/* 2026-09-30T11:30:00Z */
#define END_MS INT64_C(1790767800000)

/* When the capacity of a group ends is that of the reservation which the group names. */
static void capacity_ends_with_its_reservation(void **state)
{
    static const struct {
        struct script_step answer;
        int64_t ends_ms;
    } rows[] = {
        { RESERVED("cr-1", "p5.48xlarge", "default", END), END_MS },
        { RESERVED("cr-1", "p5.48xlarge", "default", ""), 0 },
        { RESERVED("cr-1", "p5.48xlarge", "capacity-block", END), END_MS - 30 * MINUTE_MS },
        { RESERVED("cr-1", "p6e-gb200.36xlarge", "capacity-block", END), END_MS - HOUR_MS },
        { RESERVED("cr-1", "trn2u.48xlarge", "capacity-block", END), END_MS - HOUR_MS },
        { RESERVED("cr-1", "p5.48xlarge", "capacity-block", ""), 0 },
        { RESERVED("cr-1", "p5.48xlarge", "default", "<endDate>soon</endDate>"), 0 },
        { RESERVED("cr-2", "p5.48xlarge", "default", END), 0 },
        { ASK(EC2, 403, "<Response/>"), 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = { NAMED, rows[i].answer };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        assert_int_equal(list(&bench), ERROR_NONE);
        assert_int_equal(bench.items[0].ends.ms, rows[i].ends_ms);
        bench_close(&bench);
    }
}

#define TWO_NAMED                                                                                  \
    ASK(ASG, 200,                                                                                  \
        "<R><DescribeAutoScalingGroupsResult><AutoScalingGroups><member><AutoScalingGroupName>g"   \
        "</AutoScalingGroupName><MinSize>0</MinSize><MaxSize>9</MaxSize><DesiredCapacity>1"        \
        "</DesiredCapacity><Instances>" ONE "</Instances><CapacityReservationSpecification>"       \
        "<CapacityReservationTarget><CapacityReservationIds><member>cr-1</member>"                 \
        "<member>cr-2</member></CapacityReservationIds></CapacityReservationTarget>"               \
        "</CapacityReservationSpecification></member></AutoScalingGroups>"                         \
        "</DescribeAutoScalingGroupsResult></R>")
#define BOTH(first, second)                                                                        \
    ASK(EC2, 200,                                                                                  \
        "<R><capacityReservationSet><item><capacityReservationId>cr-1</capacityReservationId>"     \
        "" first "</item><item><capacityReservationId>cr-2</capacityReservationId>" second         \
        "</item></capacityReservationSet></R>")

/* Of several reservations each is read: an instance may be in any of them. */
static void capacity_ends_with_the_first_reservation(void **state)
{
    static const struct {
        struct script_step answer;
        int64_t ends_ms;
    } rows[] = {
        { BOTH("", END), END_MS },
        { BOTH(END, ""), END_MS },
        { BOTH("", ""), 0 },
        { BOTH("<endDate>2026-10-30T11:30:00.000Z</endDate>", END), END_MS },
        { RESERVED("cr-1", "p5.48xlarge", "default", END), 0 }, /* the other one is not told */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct script_step steps[] = { TWO_NAMED, rows[i].answer };
        struct bench bench;

        bench_open(&bench, steps, COUNT_OF(steps));
        assert_int_equal(list(&bench), ERROR_NONE);
        assert_int_equal(bench.items[0].ends.ms, rows[i].ends_ms);
        assert_non_null(strstr(bench.script->transcript->chars,
                               "&CapacityReservationId.1=cr-1&CapacityReservationId.2=cr-2"));
        bench_close(&bench);
    }
}

/* It is asked every ten minutes; what was read holds while it cannot be read again. */
static void an_end_that_was_read_is_kept(void **state)
{
    const struct script_step steps[] = {
        NAMED, RESERVED("cr-1", "p5.48xlarge", "default", END), NAMED, NAMED, ASK(EC2, 500, ""),
        NAMED, RESERVED("cr-1", "p5.48xlarge", "default", ""),
    };
    struct bench bench;

    (void)state;
    bench_open(&bench, steps, COUNT_OF(steps));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(list(&bench), ERROR_NONE);
        assert_int_equal(bench.items[0].ends.ms, END_MS);
        loop_run_until(bench.loop, loop_now(bench.loop) + 6 * MINUTE_MS);
    }
    loop_run_until(bench.loop, loop_now(bench.loop) + 6 * MINUTE_MS);
    assert_int_equal(list(&bench), ERROR_NONE);
    assert_int_equal(bench.items[0].ends.ms, 0); /* the end was taken back */
    bench_close(&bench);
}

static void expect_place(const struct aws_account *account, const char *text)
{
    const struct aws_settings settings = { .whose = *account };
    owned(chars) char *place = provider_place(&aws_kind, bench_given(&settings), bench_address());

    assert_string_equal(place, text);
}

/* Two accounts have a group of the same name. */
static void a_place_is_of_an_account(void **state)
{
    (void)state;
    expect_place(&(struct aws_account){ .region = "eu-1" }, "Auto Scaling group g in zone eu-1a");
    expect_place(&(struct aws_account){ .profile = "b" },
                 "Auto Scaling group g in zone eu-1a of profile b");
    expect_place(
        &(struct aws_account){ .profile = "b", .role = "arn:aws:iam::123456789012:role/r" },
        "Auto Scaling group g in zone eu-1a of account 123456789012");
    expect_place(&(struct aws_account){ .role = "arn:aws:iam::12345678901:role/r" },
                 "Auto Scaling group g in zone eu-1a");
    expect_place(&(struct aws_account){ .role = "arn" }, "Auto Scaling group g in zone eu-1a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_outcome_counts_as_sent),
        cmocka_unit_test(a_refused_number_is_planned_again),
        cmocka_unit_test(a_change_that_is_answered_in_nonsense_may_be_made),
        cmocka_unit_test(a_removal_believes_the_record_of_the_instance),
        cmocka_unit_test(a_removal_in_doubt_asks_twice),
        cmocka_unit_test(a_removal_is_forgotten_with_its_instance),
        cmocka_unit_test(a_list_that_is_nonsense_is_no_list),
        cmocka_unit_test(a_provider_id_has_the_zone_and_the_id),
        cmocka_unit_test(an_instance_that_leaves_is_not_present),
        cmocka_unit_test(only_an_attempt_that_failed_is_taken_back),
        cmocka_unit_test(capacity_ends_with_its_reservation),
        cmocka_unit_test(capacity_ends_with_the_first_reservation),
        cmocka_unit_test(an_end_that_was_read_is_kept),
        cmocka_unit_test(a_place_is_of_an_account),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
