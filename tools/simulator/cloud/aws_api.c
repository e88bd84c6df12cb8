/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * AWS on the wire: which action a request is, its parameters, answers and errors in the form of
 * each service.
 */
#include "tools/simulator/cloud/aws_cloud.h"
#include "tools/simulator/cloud/clouds.h"
#include "tools/simulator/cloud/overlay.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>

const struct sim_aws_names sim_aws_names[SIM_AWS_SERVICES] = {
    [SIM_AUTOSCALING] = { "autoscaling", "http://autoscaling.amazonaws.com/doc/2011-01-01/" },
    [SIM_EC2] = { "ec2", "http://ec2.amazonaws.com/doc/2016-11-15/" },
    [SIM_EKS] = { "eks", "" },
    [SIM_STS] = { "sts", "https://sts.amazonaws.com/doc/2011-06-15/" },
    [SIM_IAM] = { "iam", "https://iam.amazonaws.com/doc/2010-05-08/" },
};

static const char *const versions[SIM_AWS_SERVICES] = { "2011-01-01", "2016-11-15", "",
                                                        "2011-06-15", "2010-05-08" };

const struct sim_aws_action sim_aws_actions[] = {
    { SIM_AUTOSCALING,
      "DescribeAutoScalingGroups",
      "describe_groups",
      sim_aws_describe_groups,
      { "AutoScalingGroupNames.member.#", "MaxRecords", "NextToken" },
      false },
    { SIM_AUTOSCALING,
      "DescribeAutoScalingInstances",
      "describe_members",
      sim_aws_describe_members,
      { "InstanceIds.member.#", "MaxRecords", "NextToken" },
      false },
    { SIM_AUTOSCALING,
      "DescribeScalingActivities",
      "describe_activities",
      sim_aws_describe_activities,
      { "AutoScalingGroupName", "MaxRecords", "NextToken" },
      false },
    { SIM_AUTOSCALING,
      "DescribeLifecycleHooks",
      "describe_hooks",
      sim_aws_describe_hooks,
      { "AutoScalingGroupName" },
      false },
    { SIM_AUTOSCALING,
      "DescribeInstanceRefreshes",
      "describe_refreshes",
      sim_aws_describe_refreshes,
      { "AutoScalingGroupName", "MaxRecords", "NextToken" },
      false },
    { SIM_AUTOSCALING,
      "TerminateInstanceInAutoScalingGroup",
      "terminate_instance",
      sim_aws_terminate,
      { "InstanceId", "ShouldDecrementDesiredCapacity" },
      false },
    { SIM_AUTOSCALING,
      "SetDesiredCapacity",
      "set_desired",
      sim_aws_set_desired,
      { "AutoScalingGroupName", "DesiredCapacity", "HonorCooldown" },
      false },
    { SIM_AUTOSCALING,
      "SetInstanceProtection",
      "protect_instance",
      sim_aws_protect,
      { "AutoScalingGroupName", "InstanceIds.member.#", "ProtectedFromScaleIn" },
      false },
    { SIM_AUTOSCALING,
      "LaunchInstances",
      "launch_instances",
      sim_aws_launch,
      { "AutoScalingGroupName", "RequestedCapacity", "ClientToken", "AvailabilityZones.member.#",
        "AvailabilityZoneIds.member.#", "SubnetIds.member.#", "RetryStrategy" },
      false },
    { SIM_EC2,
      "DescribeInstances",
      "describe_instances",
      sim_aws_describe_instances,
      { "InstanceId.#", "Filter.#.Name", "Filter.#.Value.#", "MaxResults", "NextToken" },
      false },
    { SIM_EC2,
      "DescribeCapacityReservations",
      "describe_reservations",
      sim_aws_describe_reservations,
      { "CapacityReservationId.#", "Filter.#.Name", "Filter.#.Value.#", "MaxResults", "NextToken" },
      false },
    { SIM_STS,
      "AssumeRole",
      "assume_role",
      sim_aws_assume_role,
      { "RoleArn", "RoleSessionName", "DurationSeconds", "ExternalId" },
      false },
    { SIM_STS,
      "AssumeRoleWithWebIdentity",
      "assume_identity",
      sim_aws_assume_identity,
      { "RoleArn", "RoleSessionName", "DurationSeconds", "WebIdentityToken" },
      true },
    { SIM_STS, "GetCallerIdentity", "caller_identity", sim_aws_caller_identity, { NULL }, false },
    { SIM_IAM,
      "SimulatePrincipalPolicy",
      "simulate_policy",
      sim_aws_simulate_policy,
      { "PolicySourceArn", "ActionNames.member.#", "ResourceArns.member.#" },
      false },
    { 0 },
};

void sim_aws_escape(struct text *out, const char *chars)
{
    for (; *chars; chars++)
        if (*chars == '&')
            text_add(out, "&amp;");
        else if (*chars == '<')
            text_add(out, "&lt;");
        else if (*chars == '>')
            text_add(out, "&gt;");
        else
            text_add(out, "%c", *chars);
}

static void set_body(struct sim_answer *answer, int status, struct text *body)
{
    answer->status = status;
    answer->content_type = "text/xml";
    text_free(answer->body);
    answer->body = body;
}

void sim_aws_error(struct sim_aws_call *aws, int status, const char *code, const char *format, ...)
{
    char message[512], id[SIM_UID_SIZE];
    struct text *body = text_new(TEXT_UNBOUNDED);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (aws->service == SIM_EKS) {
        text_free(body);
        sim_answer_json(aws->call->answer, status,
                        json_make("{s:s, s:s}", "__type", code, "message", message));
        return;
    }
    sim_uuid(aws->call->sim, id);
    if (aws->service == SIM_EC2)
        text_add(body,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error>"
                 "<Code>%s</Code><Message>",
                 code);
    else
        text_add(body,
                 "<ErrorResponse xmlns=\"%s\">\n  <Error>\n    <Type>%s</Type>\n    "
                 "<Code>%s</Code>\n    <Message>",
                 sim_aws_names[aws->service].space, status < 500 ? "Sender" : "Receiver", code);
    sim_aws_escape(body, message);
    if (aws->service == SIM_EC2)
        text_add(body, "</Message></Error></Errors><RequestID>%s</RequestID></Response>", id);
    else
        text_add(body, "</Message>\n  </Error>\n  <RequestId>%s</RequestId>\n</ErrorResponse>\n",
                 id);
    set_body(aws->call->answer, status, body);
}

void sim_aws_refuse(struct sim_aws_call *aws, enum sim_aws_refusal refusal, const char *why)
{
    static const struct {
        int status;
        const char *code;
    } codes[][SIM_AWS_SERVICES] = {
        [SIM_AWS_RATE] = { { 400, "Throttling" },
                           { 503, "RequestLimitExceeded" },
                           { 429, "ThrottlingException" },
                           { 400, "Throttling" },
                           { 400, "Throttling" } },
        [SIM_AWS_BROKEN] = { { 500, "InternalFailure" },
                             { 500, "InternalError" },
                             { 500, "ServerException" },
                             { 500, "InternalFailure" },
                             { 500, "InternalFailure" } },
        [SIM_AWS_FORBIDDEN] = { { 403, "AccessDenied" },
                                { 403, "UnauthorizedOperation" },
                                { 403, "AccessDeniedException" },
                                { 403, "AccessDenied" },
                                { 403, "AccessDenied" } },
        [SIM_AWS_BUSY] = { { 400, "ScalingActivityInProgress" },
                           { 409, "ResourceInUse" },
                           { 409, "ResourceInUseException" },
                           { 400, "ScalingActivityInProgress" },
                           { 400, "ScalingActivityInProgress" } },
        [SIM_AWS_INVALID] = { { 400, "ValidationError" },
                              { 400, "InvalidParameterValue" },
                              { 400, "InvalidParameterException" },
                              { 400, "ValidationError" },
                              { 400, "ValidationError" } },
    };

    sim_aws_error(aws, codes[refusal][aws->service].status, codes[refusal][aws->service].code, "%s",
                  why);
}

char *sim_aws_field(struct sim_aws_call *aws, const char *name)
{
    return url_query(aws->form, name);
}

void sim_aws_answer(struct sim_aws_call *aws, const char *name, struct text *body)
{
    struct text *whole = text_new(64 << 20);
    const char *space = sim_aws_names[aws->service].space;
    char id[SIM_UID_SIZE];

    sim_uuid(aws->call->sim, id);
    if (aws->service == SIM_EC2)
        text_add(whole,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<%sResponse xmlns=\"%s\">\n"
                 "    <requestId>%s</requestId>\n",
                 name, space, id);
    else
        text_add(whole, "<%sResponse xmlns=\"%s\">\n", name, space);
    if (aws->service != SIM_EC2 && body)
        text_add(whole, "  <%sResult>\n", name);
    if (body)
        text_add_bytes(whole, body->chars, body->length);
    if (aws->service != SIM_EC2 && body)
        text_add(whole, "  </%sResult>\n", name);
    if (aws->service != SIM_EC2)
        text_add(whole,
                 "  <ResponseMetadata>\n    <RequestId>%s</RequestId>\n"
                 "  </ResponseMetadata>\n",
                 id);
    text_add(whole, "</%sResponse>\n", name);
    text_free(body);
    set_body(aws->call->answer, 200, whole);
}

const char *sim_aws_trap(const struct pool *pool, struct simulator *sim, const char *key)
{
    const struct yaml_node *all = yaml_get(yaml_root(sim->scenario->world), "aws");
    const struct yaml_node *own = all ? yaml_get(all, pool->plan->name) : NULL;
    const struct yaml_node *node = own ? yaml_get(own, key) : NULL;

    return node ? node->text : NULL;
}

bool sim_aws_has(const struct pool *pool, struct simulator *sim, const char *key)
{
    return text_equal(sim_aws_trap(pool, sim, key), "true");
}

long long sim_aws_number(const struct pool *pool, struct simulator *sim, const char *key,
                         long long otherwise)
{
    const char *text = sim_aws_trap(pool, sim, key);
    long long value = otherwise;

    return text && text_to_int(text, 0, 1000000, &value) ? value : otherwise;
}

/* A # of the pattern is a number from 1. */
static bool fits(const char *pattern, const char *name)
{
    while (*pattern && *name) {
        if (*pattern == '#') {
            if (*name == '0' || !isdigit((unsigned char)*name))
                return false;
            name += strspn(name, "0123456789");
            pattern++;
        } else if (*pattern++ != *name++) {
            return false;
        }
    }
    return *pattern == *name;
}

static bool is_known(const struct sim_aws_action *action, const char *name)
{
    bool found = text_equal(name, "Action") || text_equal(name, "Version");

    for (size_t i = 0; i < COUNT_OF(action->known) && action->known[i]; i++)
        found |= fits(action->known[i], name);
    return found;
}

/* Each parameter is known, and is there once. */
static bool fields_are_right(struct sim_aws_call *aws, const struct sim_aws_action *action)
{
    owned(chars) char *copy = mem_copy_chars(aws->form + 2);
    owned(map) struct map *seen = map_new(NULL);

    for (char *at = copy, *field; (field = strsep(&at, "&"));) {
        field[strcspn(field, "=")] = '\0';
        if (!field[0] || (is_known(action, field) && !map_get(seen, field))) {
            map_set(seen, field, aws);
            continue;
        }
        sim_aws_error(aws, 400, aws->service == SIM_EC2 ? "UnknownParameter" : "ValidationError",
                      "The parameter %s is not recognized", field);
        return false;
    }
    return true;
}

bool sim_aws_denies(struct simulator *sim, const char *permission)
{
    for (size_t i = 0; i < sim->pool_count; i++)
        if (sim->pools[i].cloud == &sim_aws && sim_denies(sim, &sim->pools[i], permission))
            return true;
    return false;
}

/* Nothing takes GetCallerIdentity away, not even a policy that denies it. */
bool sim_aws_may_use(struct sim_aws_call *aws, const char *action)
{
    owned(chars) char *permission = text_format("%s:%s", sim_aws_names[aws->service].path, action);

    if (text_equal(action, "GetCallerIdentity") || !sim_aws_denies(aws->call->sim, permission))
        return true;
    sim_aws_refuse(aws, SIM_AWS_FORBIDDEN, permission);
    return false;
}

static void answer_action(struct sim_aws_call *aws, const struct sim_aws_action *action)
{
    owned(chars) char *version = sim_aws_field(aws, "Version");

    aws->call->verb = action->verb;
    if (!text_equal(version, versions[aws->service]))
        sim_aws_error(aws, 400, "NoSuchVersion",
                      "The requested version (%s) of service is not "
                      "valid",
                      version ? version : "");
    else if ((action->is_unsigned || sim_aws_is_signed(aws)) && !sim_call_fault(aws->call) &&
             sim_aws_may_use(aws, action->name) && fields_are_right(aws, action))
        action->answer(aws);
}

static void answer_form(struct sim_aws_call *aws)
{
    const struct sim_request *request = aws->call->request;
    const char *type = http_header_find(request->headers, request->header_count, "Content-Type");
    owned(chars) char *name = sim_aws_field(aws, "Action");

    if (request->method != HTTP_POST || !type ||
        !text_starts_with(type, "application/x-www-form-urlencoded")) {
        sim_aws_error(aws, 400, "InvalidParameterCombination", "a form by POST was expected");
        return;
    }
    for (const struct sim_aws_action *action = sim_aws_actions; action->name; action++)
        if (action->service == aws->service && text_equal(action->name, name)) {
            answer_action(aws, action);
            return;
        }
    sim_aws_error(aws, 400, "InvalidAction", "The action %s is not valid for this web service.",
                  name ? name : "");
}

/* The service whose host has its actions at the root. */
static enum sim_aws_service service_at_root(const struct sim_call *call)
{
    const char *body = call->request->body ? call->request->body : "";

    return text_starts_with(body, "Action=SimulatePrincipalPolicy&") ? SIM_IAM : SIM_STS;
}

/* Below /aws, and for sts and iam at the root, where the cloud's own hosts have it. */
static bool answer(struct sim_call *call)
{
    struct sim_aws_call aws = { .call = call, .service = SIM_AWS_SERVICES };
    char **items = call->path->items;

    if (call->path->count == 0 && call->request->method == HTTP_POST)
        aws.service = service_at_root(call);
    else if (call->path->count < 2 || !text_equal(items[0], "aws"))
        return false;
    for (size_t i = 0; i < SIM_AWS_SERVICES && call->path->count > 1; i++)
        if (text_equal(items[1], sim_aws_names[i].path))
            aws.service = (enum sim_aws_service)i;
    if (aws.service == SIM_AWS_SERVICES)
        return false;

    owned(chars) char *form = text_format("/?%s", call->request->body ? call->request->body : "");

    aws.form = form;
    if (aws.service == SIM_EKS)
        sim_aws_answer_eks(&aws);
    else
        answer_form(&aws);
    return true;
}

static void fail(struct sim_call *call, int code, const char *why)
{
    struct sim_aws_call aws = { .call = call, .service = SIM_STS };
    const char *service = call->path->count > 1 ? call->path->items[1] : "sts";

    for (size_t i = 0; i < SIM_AWS_SERVICES; i++)
        if (text_equal(service, sim_aws_names[i].path))
            aws.service = (enum sim_aws_service)i;
    sim_aws_refuse(&aws,
                   code == 429   ? SIM_AWS_RATE
                   : code == 403 ? SIM_AWS_FORBIDDEN
                   : code == 409 ? SIM_AWS_BUSY
                                 : SIM_AWS_BROKEN,
                   code == 429 ? "Rate exceeded" : why);
}

static uint64_t hash_of(const char *chars)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *chars; chars++)
        hash = (hash ^ (unsigned char)*chars) * UINT64_C(1099511628211);
    return hash;
}

static void name_machine(struct simulator *sim, const struct pool *pool, int number,
                         char out[SIM_NAME_SIZE])
{
    (void)pool;
    (void)number;
    snprintf(out, SIM_NAME_SIZE, "i-%017" PRIx64, random_next(&sim->names) >> 4);
}

static void name_node(const struct machine *machine, char out[SIM_NAME_SIZE])
{
    uint64_t hash = hash_of(machine->name);

    snprintf(out, SIM_NAME_SIZE, "ip-10-%d-%d-%d.ec2.internal", (int)(hash >> 16 & 255),
             (int)(hash >> 8 & 255), (int)(hash & 255));
}

static char *provider_id(const struct machine *machine)
{
    return text_format("aws:///%s/%s", machine->pool->reservation->plan->zone, machine->name);
}

/* It inherits what the group has. */
static void made(struct simulator *sim, struct machine *machine)
{
    machine->is_exposed = sim_aws_has(machine->pool, sim, "unprotected");
}

static void mark_node(const struct machine *machine, json_t *labels, json_t *annotations)
{
    (void)annotations;
    json_object_set_new(labels, "eks.amazonaws.com/nodegroup",
                        json_string(machine->pool->plan->name));
}

const struct sim_cloud sim_aws = {
    .kind = "aws",
    .heals_with_new = true,
    .made = made,
    .resize = sim_aws_scale,
    .answer = answer,
    .fail = fail,
    .name_machine = name_machine,
    .name_node = name_node,
    .provider_id = provider_id,
    .mark_node = mark_node,
    .print_machine = sim_aws_print_member,
};
