/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What an inspection says of the changes that keys may make, by what STS and IAM answer.
 */
#include "tests/providers/aws_bench.h"

#define STS "https://sts.eu-1.amazonaws.com/"
#define IAM "https://iam.amazonaws.com/"
#define WHO(arn)                                                                                   \
    ASK(STS, 200, "<R><GetCallerIdentityResult><Arn>" arn "</Arn></GetCallerIdentityResult></R>")
#define DECIDED(results)                                                                           \
    ASK(IAM, 200,                                                                                  \
        "<R><SimulatePrincipalPolicyResult><EvaluationResults>" results                            \
        "</EvaluationResults></SimulatePrincipalPolicyResult></R>")
#define RESULT(action, decision, missing)                                                          \
    "<member><MissingContextValues>" missing "</MissingContextValues><EvalDecision>" decision      \
    "</EvalDecision><EvalActionName>autoscaling:" action "</EvalActionName></member>"
#define END "TerminateInstanceInAutoScalingGroup"
#define SIZE "SetDesiredCapacity"
#define KEEP "SetInstanceProtection"
#define LIMITED                                                                                    \
    ASK(ASG, 200,                                                                                  \
        "<R><DescribeAutoScalingGroupsResult><AutoScalingGroups><member><AutoScalingGroupName>g"   \
        "</AutoScalingGroupName><AutoScalingGroupARN>arn:aws:autoscaling:g</AutoScalingGroupARN>"  \
        "<MinSize>0</MinSize><MaxSize>9</MaxSize><DesiredCapacity>1</DesiredCapacity>"             \
        "<Instances>" ONE "</Instances></member></AutoScalingGroups>"                              \
        "</DescribeAutoScalingGroupsResult></R>")

struct hearing {
    struct bench bench;
    struct text *rows; /* "verdict subject; " */
};

/* The rows on changes, and on the question itself. */
static void on_finding(void *context, const struct finding *finding)
{
    static const char *const verdicts[] = { "right", "doubtful", "wrong" };
    static const char *const heard[] = { "autoscaling:" END, "autoscaling:" SIZE,
                                         "autoscaling:LaunchInstances", "autoscaling:" KEEP,
                                         "iam:SimulatePrincipalPolicy" };
    struct hearing *hearing = context;

    for (size_t i = 0; i < COUNT_OF(heard); i++)
        if (text_equal(finding->subject, heard[i]))
            text_add(hearing->rows, "%s %s; ", verdicts[finding->verdict], finding->subject);
}

static void on_inspected(void *context, const char *operation, const struct error *err)
{
    on_done(&((struct hearing *)context)->bench, operation, err);
}

/* With STS's and IAM's answers; iam.url NULL: IAM is not asked. */
static void hear(struct hearing *hearing, const struct script_step *sts,
                 const struct script_step *iam)
{
    const struct script_step steps[] = {
        LIMITED,
        ASK(ASG, 200, "<R/>"),
        ASK(ASG, 200, "<R/>"),
        ASK(ASG, 200, "<R/>"),
        ASK(ASG, 200, "<R/>"),
        ASK(EC2, 200, "<R/>"),
        ASK(EC2, 200, "<R/>"),
        *sts,
        *iam,
    };

    size_t count = COUNT_OF(steps);

    if (!iam->url)
        count--;
    unsetenv("AWS_ENDPOINT_URL_STS");
    unsetenv("AWS_SESSION_TOKEN");
    bench_open(&hearing->bench, steps, count);
    hearing->rows = text_new(4096);
    provider_inspect(hearing->bench.provider, bench_address(), on_finding, on_inspected, hearing);
    assert_int_equal(answer_of(&hearing->bench, 1), ERROR_NONE);
}

static void stop(struct hearing *hearing)
{
    bench_close(&hearing->bench);
    text_free(hearing->rows);
}

static void answers_become_rows(void **state)
{
    static const char unknown[] = "doubtful iam:SimulatePrincipalPolicy; ";
    static const struct {
        struct script_step iam;
        const char *rows;
    } answers[] = {
        { DECIDED(RESULT(END, "allowed", "") RESULT(SIZE, "allowed", "")
                      RESULT(KEEP, "allowed", "")),
          "right autoscaling:" END "; right autoscaling:" SIZE "; right autoscaling:" KEEP
          "; right iam:SimulatePrincipalPolicy; " },
        { DECIDED(RESULT(END, "explicitDeny", "") RESULT(SIZE, "implicitDeny", "")
                      RESULT(KEEP, "implicitDeny", "")),
          "wrong autoscaling:" END "; wrong autoscaling:" SIZE "; doubtful autoscaling:" KEEP
          "; right iam:SimulatePrincipalPolicy; " },

        /* A condition on what a simulation is not told; and an answer with a part missing. */
        { DECIDED(RESULT(END, "implicitDeny", "<member>aws:SourceVpce</member>")),
          "doubtful autoscaling:" END "; doubtful autoscaling:" SIZE "; doubtful autoscaling:" KEEP
          "; right iam:SimulatePrincipalPolicy; " },

        /* IAM cannot be asked; the inspection is whole all the same. */
        { ASK(IAM, 403, "<E><Error><Code>AccessDenied</Code></Error></E>"), unknown },
        { ASK(IAM, 404, "<E><Error><Code>NoSuchEntity</Code></Error></E>"), unknown },
        { { .method = HTTP_POST, .url = IAM, .fails = ERROR_TRANSIENT }, unknown },
        { ASK(IAM, 200, "no XML"), unknown },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        const struct script_step who = WHO("arn:aws:iam::1:user/ops/u");
        struct hearing hearing;

        hear(&hearing, &who, &answers[i].iam);
        assert_string_equal(hearing.rows->chars, answers[i].rows);
        stop(&hearing);
    }
}

/* Whose policies IAM is asked about; NULL: it is not asked. */
static void sessions_belong_to_roles(void **state)
{
    static const struct {
        struct script_step who;
        const char *source;
    } callers[] = {
        { WHO("arn:aws:iam::1:user/ops/u"), "arn%3Aaws%3Aiam%3A%3A1%3Auser%2Fops%2Fu&" },
        { WHO("arn:aws:sts::1:assumed-role/r/i-0abc"), "arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&" },
        { WHO("arn:aws-cn:sts::1:assumed-role/r/s"), "arn%3Aaws-cn%3Aiam%3A%3A1%3Arole%2Fr&" },
        { WHO("arn:aws:sts::1:federated-user/u"), NULL },
        { WHO("arn:aws:iam::1:root"), NULL },
        { ASK(STS, 200, "<R/>"), NULL },
        { ASK(STS, 403, "<E><Error><Code>AccessDenied</Code></Error></E>"), NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        const struct script_step decided = DECIDED("");
        const struct script_step none = { 0 };
        struct hearing hearing;

        hear(&hearing, &callers[i].who, callers[i].source ? &decided : &none);
        if (callers[i].source) {
            owned(chars) char *wanted = text_format("&PolicySourceArn=%s", callers[i].source);

            assert_non_null(strstr(hearing.bench.script->body, wanted));
            assert_non_null(strstr(hearing.bench.script->body,
                                   "&ResourceArns.member.1=arn%3Aaws%3Aautoscaling%3Ag"));
        } else {
            assert_string_equal(hearing.rows->chars, "doubtful iam:SimulatePrincipalPolicy; ");
        }
        stop(&hearing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_become_rows),
        cmocka_unit_test(sessions_belong_to_roles),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
