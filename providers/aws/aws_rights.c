/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which changes the keys may make.  A change cannot be tried, so IAM is asked what it would decide:
 * first whose the keys are, then a simulation of that user's or role's policies.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/url.h"
#include "providers/aws/aws_errors.h"
#include "providers/aws/aws_task.h"

#include <string.h>

/* The change is needed: always, only for pools that can use it, or there is another way. */
enum need { NOT_NEEDED, HELPFUL, NEEDED };

static enum need need_of_launch(const struct aws_task *task)
{
    if (text_equal(task->pool.grow, "launch-instances"))
        return NEEDED;
    return text_equal(task->pool.grow, "auto") && task->group.can_launch ? HELPFUL : NOT_NEEDED;
}

/* Each action that changes something is asked. */
static enum need need_of(const struct aws_task *task, enum aws_action action)
{
    if (!aws_actions[action].is_mutation)
        return NOT_NEEDED;
    if (action == AWS_PROTECT)
        return task->group.protects_new ? NOT_NEEDED : HELPFUL;
    return action == AWS_LAUNCH ? need_of_launch(task) : NEEDED;
}

void aws_report_permission(struct aws_task *task, enum aws_action action, bool is_there)
{
    task->found(task->context,
                is_there ? &(struct finding){ FINDING_RIGHT, aws_actions[action].permission,
                                              "the keys may use it", "" }
                         : &(struct finding){ FINDING_WRONG, aws_actions[action].permission,
                                              "the keys may not use it",
                                              "allow the action in the role's policy" });
}

static void doubt(struct aws_task *task, enum aws_action action, const char *text)
{
    task->found(task->context,
                &(struct finding){ FINDING_DOUBTFUL, aws_actions[action].permission, text,
                                   "allow iam:SimulatePrincipalPolicy on the role itself, or check "
                                   "the named actions in its policies by hand" });
}

/* No answer about any change: one row, which names them all. */
static void end_unknown(struct aws_task *task, const char *why)
{
    owned(text) struct text *names = text_new(1024);
    owned(chars) char *text = NULL;

    for (size_t i = 0; i < AWS_ACTION_COUNT; i++)
        if (need_of(task, (enum aws_action)i) != NOT_NEEDED)
            text_add(names, "%s%s", names->length > 0 ? ", " : "", aws_actions[i].permission);
    text = text_format("it is not known whether the keys may use %s: %s", names->chars, why);
    doubt(task, AWS_SIMULATE_POLICY, text);
    aws_task_done(task, "");
}

/* IAM knows users and roles, no sessions: arn:P:sts::ACCOUNT:assumed-role/ROLE/SESSION belongs to
   arn:P:iam::ACCOUNT:role/PATH/ROLE.  The session does not tell the path; the settings may. */
char *aws_principal_of(const char *arn, const char *role)
{
    static const char mark[] = ":assumed-role/";
    const char *sts = strstr(arn, ":sts::");
    const char *session = sts ? strstr(sts, mark) : NULL;

    if (strstr(arn, ":iam::") && (strstr(arn, ":user/") || strstr(arn, ":role/")))
        return mem_copy_chars(arn);
    if (!session)
        return NULL;

    const char *name = session + strlen(mark);
    const char *account = sts + strlen(":sts::");
    owned(chars) char *head = text_format("%.*s:iam::%.*s:role/", (int)(sts - arn), arn,
                                          (int)(session - account), account);
    owned(chars) char *tail = text_format("/%.*s", (int)strcspn(name, "/"), name);
    size_t length = role ? strlen(role) : 0;

    if (role && text_starts_with(role, head) && length >= strlen(tail) &&
        text_equal(role + length - strlen(tail), tail))
        return mem_copy_chars(role);
    return text_format("%s%s", head, tail + 1);
}

static const struct xml_element *result_of(const struct xml_element *answer, const char *permission)
{
    const struct xml_element *at = xml_first(
        answer, "SimulatePrincipalPolicyResult/EvaluationResults/member");

    while (at && !text_equal(xml_text_or(at, "EvalActionName", ""), permission))
        at = xml_next(at);
    return at;
}

/* A condition whose value a simulation does not know makes a refusal no proof. */
static void report_decision(struct aws_task *task, const struct xml_element *answer,
                            enum aws_action action)
{
    const struct xml_element *result = result_of(answer, aws_actions[action].permission);
    const char *missing = xml_text_or(result, "MissingContextValues/member", NULL);

    if (!result)
        doubt(task, action, "IAM did not say whether the keys may use it");
    else if (text_equal(xml_text_or(result, "EvalDecision", ""), "allowed"))
        aws_report_permission(task, action, true);
    else if (missing) {
        owned(chars) char *text = text_format(
            "it is not known whether the keys may use it: the policy depends on %.100s", missing);

        doubt(task, action, text);
    } else if (need_of(task, action) == HELPFUL)
        task->found(task->context,
                    &(struct finding){ FINDING_DOUBTFUL, aws_actions[action].permission,
                                       action == AWS_PROTECT
                                           ? "the keys may not use it, so another writer who makes "
                                             "the group smaller may end a moved instance"
                                           : "the keys may not use it, so the group grows by its "
                                             "size alone",
                                       "allow the action in the role's policy" });
    else
        aws_report_permission(task, action, false);
}

void aws_report_decisions(struct aws_task *task, const struct xml_element *answer)
{
    for (size_t i = 0; i < AWS_ACTION_COUNT; i++)
        if (need_of(task, (enum aws_action)i) != NOT_NEEDED)
            report_decision(task, answer, (enum aws_action)i);
}

static void on_decisions(struct aws_task *task, const struct aws_reply *reply,
                         const struct error *err)
{
    if (err) {
        end_unknown(task, err->text);
        return;
    }
    aws_report_decisions(task, reply->xml);
    aws_report_permission(task, AWS_SIMULATE_POLICY, true);
    aws_task_done(task, "");
}

/* A policy may allow changes of this group alone, so the group is named. */
static char *make_question(const struct aws_task *task, const char *principal)
{
    owned(text) struct text *form = text_new(16 * 1024);
    int count = 0;

    text_add(form, "&PolicySourceArn=");
    url_add_escaped(form, principal);
    for (size_t i = 0; i < AWS_ACTION_COUNT; i++) {
        if (need_of(task, (enum aws_action)i) == NOT_NEEDED)
            continue;
        text_add(form, "&ActionNames.member.%d=", ++count);
        url_add_escaped(form, aws_actions[i].permission);
    }
    if (task->group_arn) {
        text_add(form, "&ResourceArns.member.1=");
        url_add_escaped(form, task->group_arn);
    }
    return mem_copy_chars(form->chars);
}

static void on_identity(struct aws_task *task, const struct aws_reply *reply,
                        const struct error *err)
{
    const char *arn = reply ? xml_text_or(reply->xml, "GetCallerIdentityResult/Arn", "") : "";
    owned(chars) char *principal = aws_principal_of(arn, task->aws->role);
    owned(chars) char *form = principal ? make_question(task, principal) : NULL;

    if (form)
        aws_task_ask(task, AWS_SIMULATE_POLICY, form, on_decisions);
    else
        end_unknown(task, err ? err->text : "they belong to no user and no role");
}

void aws_inspect_rights(struct aws_task *task)
{
    aws_task_ask(task, AWS_CALLER_IDENTITY, NULL, on_identity);
}
