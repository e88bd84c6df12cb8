/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Answers of AWS: groups, instances, reservations, node groups, errors of any status, and what STS
 * and IAM say of the keys.  The first byte is the status.
 */
#include "base/input/xml.h"
#include "base/text.h"
#include "providers/aws/aws.h"
#include "providers/aws/aws_errors.h"
#include "providers/aws/aws_group.h"
#include "providers/aws/aws_machine.h"
#include "providers/aws/aws_task.h"
#include "tests/fuzz/fuzz.h"

static const struct aws_pool place = { .group = "g", .grow = "auto", .zone = "z" };

/* A machine's name and its Node's provider ID name one machine. */
static void judge_machine(const struct instance *machine)
{
    struct aws_pool own = place;
    char name[INSTANCE_NAME_SIZE];
    size_t claim = 0;

    own.zone = machine->zone;
    require(machine->name[0] != '\0' && machine->zone[0] != '\0');
    require(aws_kind.read_provider_id((const struct pool_address *)(const void *)&own,
                                      machine->provider_id, name, &claim));
    require(text_equal(name, machine->name));
}

static void read_group(const struct xml_element *answer)
{
    const struct xml_element *element = aws_group_find(answer, place.group);
    owned(aws_group) struct aws_group group = { 0 };
    struct error err = { 0 };

    if (!element)
        return;
    if (aws_group_read(element, &group, &err) < 0) {
        fuzz_expect_error(&err);
        return;
    }
    require(group.present >= 0 && (size_t)group.present <= group.members.count);
    for (size_t i = 0; i < group.members.count; i++)
        judge_machine(&group.members.items[i].instance);
}

static void read_others(const struct xml_element *answer)
{
    owned(aws_group) struct aws_group group = { 0 };
    struct instance machine;
    struct wall_time ends;
    struct error trouble, err = { 0 };

    aws_group_trouble(answer, (struct wall_time){ 0 }, &trouble);
    if (trouble.kind != ERROR_NONE)
        fuzz_expect_error(&trouble);
    switch (aws_machine_read(answer, "i-01", &machine, &err)) {
    case 1:
        judge_machine(&machine);
        break;
    case -1:
        fuzz_expect_error(&err);
        break;
    default:
        break;
    }
    err = (struct error){ 0 };
    text_copy(array_add(&group.reservations)->id, AWS_RESERVATION_SIZE, "cr-1");
    if (aws_reservations_end(answer, &group, &ends, &err) < 0)
        fuzz_expect_error(&err);
}

static void on_finding(void *context, const struct finding *finding)
{
    int *said = context;

    (*said)++;
    require(finding->subject[0] != '\0' && finding->text[0] != '\0');
    require(finding->verdict == FINDING_RIGHT || finding->remedy[0] != '\0');
    require(fuzz_is_utf8(finding->text));
}

/* Each change has one finding, whatever IAM says; what STS says is a user or a role of IAM. */
static void read_rights(const struct xml_element *answer)
{
    static const char role[] = "arn:aws:iam::123456789012:role/path/broker";
    owned(chars) char *principal = aws_principal_of(
        xml_text_or(answer, "GetCallerIdentityResult/Arn", ""), role);
    static const char *const grows[] = { "auto", "launch-instances" };

    require(!principal || strstr(principal, ":iam::"));
    for (size_t i = 0; i < COUNT_OF(grows); i++) {
        int said = 0, changes = 0;
        struct aws_task task = { .found = on_finding, .context = &said, .pool = place };

        for (size_t at = 0; at < AWS_ACTION_COUNT; at++)
            changes += aws_actions[at].is_mutation;
        task.pool.grow = grows[i];
        aws_report_decisions(&task, answer);
        require(said == changes - (i == 0)); /* a group that cannot launch needs no launch */
    }
}

static void judge_error(int status, bool is_mutation, const struct xml_element *answer)
{
    const struct xml_element *first = xml_first(answer, "Error")
                                          ?: xml_first(answer, "Errors/Error");
    const struct aws_refusal refusal = {
        .status = status,
        .code = xml_text_or(first, "Code", ""),
        .message = xml_text_or(first, "Message", ""),
        .is_mutation = is_mutation,
    };
    struct error err = { 0 };

    aws_error_of(&refusal, &err);
    fuzz_expect_error(&err);
    require(is_mutation || err.kind != ERROR_UNKNOWN_OUTCOME);
    require(err.retry_after_ms >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const int statuses[] = { 400, 401, 403, 404, 408, 409, 412, 429, 500, 503 };
    owned(chars) char *chars = fuzz_chars(bytes, size);
    struct error err = { 0 }, trouble;
    owned(xml_document) struct xml_document *document =
        size > 1 ? xml_parse(chars + 1, size - 1, "answer", &err) : NULL;
    owned(json) json_t *json = size > 1 ? json_parse_foreign(chars + 1, size - 1, "answer", NULL)
                                        : NULL;
    const struct xml_element *answer = document ? xml_root(document) : NULL;

    if (size > 1 && !document)
        fuzz_expect_error(&err);
    if (answer) {
        read_group(answer);
        read_others(answer);
        read_rights(answer);
    }
    judge_error(statuses[size > 0 ? bytes[0] % COUNT_OF(statuses) : 0], size > 0 && bytes[0] >= 128,
                answer);
    aws_nodegroup_trouble(json, &trouble);
    if (trouble.kind != ERROR_NONE)
        fuzz_expect_error(&trouble);
    return 0;
}
