/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * sluice doctor on each simulated cloud: a mistake of the account or of a pool is named, with what
 * to do, and nothing else is said that a right pool does not get.
 */
#include "broker/doctor/doctor.h"
#include "broker/doctor/examination.h"
#include "tests/cli/clouds.h"
#include "tests/cli/grants.h"

#define LAB "pool research-a-east "
#define PRODUCTION "pool prod-a-east "
#define ROLE(name) "profile: sim,", "profile: sim, role: 'arn:aws:iam::123456789012:role/" name "',"
#define NO_LAUNCH "denied: [ { whose: aws, action: 'autoscaling:LaunchInstances' } ]\n"
#define NO_SIZE "denied: [ { whose: aws, action: 'autoscaling:SetDesiredCapacity' } ]\n"

struct mistake {
    const char *cloud;
    const char *world; /* added to world.yaml */
    const char *keys;  /* of research-a-east, added there */
    const char *old;   /* of the configuration; NULL: it is right */
    const char *new;
    const char *rows[2]; /* "part name verdict subject" */
};

/* A change of the configuration that the simulator reads, too.  NULL: as in clouds.h. */
struct setup {
    const char *old;
    const char *new;
};

static const struct mistake mistakes[] = {
    { "aws by number",
      "aws: { research-a-east: { autoscaler: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful k8s.io/cluster-autoscaler/enabled" } },
    { "aws by number",
      "aws: { research-a-east: { zones: 'us-east5a,us-east5b' } }\n",
      "",
      NULL,
      NULL,
      { LAB "wrong AZRebalance", LAB "doubtful AvailabilityZones" } },
    { "aws by number",
      "aws: { research-a-east: { warm_pool: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "wrong WarmPoolConfiguration" } },
    { "aws by number",
      "aws: { research-a-east: { min: 10 } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful MinSize" } },
    { "aws by number",
      "aws: { research-a-east: { max: 10 } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful MaxSize" } },
    { "aws by number",
      "aws: { research-a-east: { on_demand: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful CapacityReservationPreference" } },
    { "aws by number",
      "aws: { research-a-east: { unprotected: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful NewInstancesProtectedFromScaleIn" } },
    { "aws by number",
      "aws: { research-a-east: { lifetime: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "wrong MaxInstanceLifetime" } },
    { "aws by number",
      "aws: { research-a-east: { refresh: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "wrong InstanceRefreshes" } },
    { "aws by number",
      "aws: { research-a-east: { hook: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful LifecycleHooks" } },
    { "aws by number",
      "aws: { research-a-east: { resource_group: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful CapacityReservationResourceGroupArns" } },
    { "aws by number",
      "aws: { research-a-east: { reservation: other } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful CapacityReservationIds" } },
    { "aws by number",
      "aws: { east: { interruptible: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful CapacityReservationIds", PRODUCTION "doubtful CapacityReservationIds" } },
    { "aws by number",
      "aws: { east: { lent: 3 } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful CapacityReservationIds", PRODUCTION "doubtful CapacityReservationIds" } },
    { "aws by number",
      "aws: { east: { state: expired } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful CapacityReservationIds", PRODUCTION "doubtful CapacityReservationIds" } },
    { "aws by number",
      "aws: { research-a-east: { mixed: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful MixedInstancesPolicy" } },
    { "aws by number",
      "aws: { research-a-east: { launch_configuration: true } }\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful LaunchConfigurationName" } },
    { "aws by number",
      "aws: { research-a-east: { suspended: 'Launch,Terminate' } }\n",
      "",
      NULL,
      NULL,
      { LAB "wrong Launch", LAB "wrong Terminate" } },
    { "aws by number", "", "", "group: lab", "group: other", { LAB "wrong list" } },

    /* The session of a role, with and without a path, is asked about as this role. */
    { "aws by number", "", "", ROLE("sluice"), { NULL } },
    { "aws by number",
      NO_SIZE,
      "",
      ROLE("sluice"),
      { LAB "wrong autoscaling:SetDesiredCapacity",
        PRODUCTION "wrong autoscaling:SetDesiredCapacity" } },
    { "aws by number",
      NO_SIZE,
      "",
      ROLE("teams/sluice"),
      { LAB "wrong autoscaling:SetDesiredCapacity",
        PRODUCTION "wrong autoscaling:SetDesiredCapacity" } },

    /* IAM is signed for its own region, not for that of the pool. */
    { "aws by number",
      NO_SIZE,
      "",
      "region: us-east-1",
      "region: us-west-2",
      { LAB "wrong autoscaling:SetDesiredCapacity",
        PRODUCTION "wrong autoscaling:SetDesiredCapacity" } },

    /* What a pool does not need is not asked for; what only helps it is not wrong. */
    { "aws by number", NO_LAUNCH, "", NULL, NULL, { NULL } },
    { "aws by number",
      NO_LAUNCH,
      "",
      "group: lab, grow: set-desired-capacity",
      "group: lab, grow: auto",
      { LAB "doubtful autoscaling:LaunchInstances" } },

    { "aws by number",
      "denied: [ { whose: aws, action: 'autoscaling:SetInstanceProtection' } ]\n",
      "",
      NULL,
      NULL,
      { NULL } },
    { "aws by number",
      "aws: { research-a-east: { unprotected: true } }\n"
      "denied: [ { whose: aws, action: 'autoscaling:SetInstanceProtection' } ]\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful NewInstancesProtectedFromScaleIn",
        LAB "doubtful autoscaling:SetInstanceProtection" } },

    /* Keys that may not ask: one row says what is not known. */
    { "aws by number",
      "denied: [ { whose: aws, action: 'iam:SimulatePrincipalPolicy' } ]\n",
      "",
      NULL,
      NULL,
      { LAB "doubtful iam:SimulatePrincipalPolicy",
        PRODUCTION "doubtful iam:SimulatePrincipalPolicy" } },
    { "azure", "", "autoscaler: 'true'", NULL, NULL, { LAB "wrong enableAutoScaling" } },
    { "azure", "", "zones: '1,2'", NULL, NULL, { LAB "wrong availabilityZones" } },
    { "azure", "", "mode: System", NULL, NULL, { LAB "doubtful mode" } },
    { "azure", "", "scale_down_mode: Deallocate", NULL, NULL, { LAB "wrong scaleDownMode" } },
    { "azure", "", "", "managed_cluster: lab", "managed_cluster: other", { LAB "wrong list" } },
    { "google",
      "",
      "gcp: { group: '{\"status\":{\"autoscaler\":\"a\"}}' }",
      NULL,
      NULL,
      { LAB "wrong status/autoscaler" } },
    { "google",
      "",
      "gcp: { group: '{\"targetSizePolicy\":{\"mode\":\"BULK\"}}' }",
      NULL,
      NULL,
      { LAB "wrong targetSizePolicy/mode" } },
    { "oracle",
      "",
      "oci: { node_pool: '{\"nodePoolCyclingDetails\":{\"isNodeCyclingEnabled\":true}}' }",
      NULL,
      NULL,
      { LAB "doubtful nodePoolCyclingDetails/isNodeCyclingEnabled" } },
    { "cluster api",
      "",
      "",
      "machine_deployment: lab",
      "machine_deployment: other",
      { LAB "wrong list" } },
};

/* Of a provider's account; each is also the subject. */
static const struct {
    const char *cloud;
    const char *permission;
} permissions[] = {
    { "google", "compute.instanceGroupManagers.update" },
    { "google", "compute.instances.get" },
    { "aws by launch", "autoscaling:DescribeScalingActivities" },
    { "aws by launch", "autoscaling:DescribeLifecycleHooks" },
    { "aws by launch", "autoscaling:DescribeInstanceRefreshes" },
    { "aws by launch", "ec2:DescribeInstances" },
    { "aws by launch", "ec2:DescribeCapacityReservations" },
    { "aws by launch", "autoscaling:TerminateInstanceInAutoScalingGroup" },
    { "aws by launch", "autoscaling:LaunchInstances" },
    { "aws by launch", "autoscaling:SetDesiredCapacity" },
    { "aws by number", "autoscaling:SetDesiredCapacity" },
    { "azure", "Microsoft.ContainerService/managedClusters/agentPools/write" },
    { "azure", "Microsoft.ContainerService/managedClusters/agentPools/deleteMachines/action" },
};

static const struct setup plain_setup;

static void add_row(void *context, const struct doctor_row *row)
{
    owned(json) json_t *said = examination_row(row);
    owned(chars) char *text = NULL;

    if (row->finding.verdict == FINDING_RIGHT)
        return;
    assert_true(row->finding.remedy[0] != '\0' && row->finding.text[0] != '\0');
    text = text_format("%s %s %s %s", json_text_or(said, "part", ""),
                       json_text_or(said, "name", ""), json_text_or(said, "verdict", ""),
                       json_text_or(said, "subject", ""));
    json_object_set_new(context, text, json_text(row->finding.text));
}

/* The rows that are not right: "row" -> its sentence. */
static json_t *examine_with(const struct mistake *mistake, const struct setup *setup)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *plain = cloud_config(cloud_of(mistake->cloud));
    owned(chars) char *right = setup->old ? cloud_text(plain, setup->old, setup->new)
                                          : mem_copy_chars(plain);
    owned(chars) char *wrong = mistake->old ? cloud_text(right, mistake->old, mistake->new)
                                            : mem_copy_chars(right);
    owned(chars) char *keys = text_format("research-a-east: {nodes: 10, %s}", mistake->keys);
    owned(chars) char *pools = cloud_text(small_machines, "research-a-east: {nodes: 10}",
                                          mistake->keys[0] ? keys : "research-a-east: {nodes: 10}");
    owned(chars) char *world = text_format("seed: 11\n%s%s", pools, mistake->world);
    struct rehearsal *rehearsal;
    owned(chars) char *path = test_folder_write(folder, "mistaken.yaml", wrong);
    struct error err = { 0 };
    owned(config) struct config *config = config_read(path, &err);
    json_t *rows = json_object();
    struct doctor *doctor;

    if (!config)
        fail_msg("%s", err.text);
    cloud_write_accounts(folder);
    rehearsal = world_open(folder, right, world, 6, 11);
    doctor = doctor_open(&rehearsal->world, config, add_row, rows);
    loop_run_until(rehearsal->loop, loop_now(rehearsal->loop) + MINUTE_MS);
    assert_true(doctor_is_done(doctor));
    doctor_close(doctor);
    rehearsal_close(rehearsal);
    return rows;
}

/* What is said beside what a right pool of this cloud gets. */
static json_t *examine_mistake(const struct mistake *mistake, const struct setup *setup)
{
    const struct mistake none = { .cloud = mistake->cloud, .world = "", .keys = "" };
    owned(json) json_t *right = examine_with(&none, setup);
    json_t *rows = examine_with(mistake, setup);
    const char *key;
    json_t *value;

    json_object_foreach(right, key, value)
        json_object_del(rows, key);
    return rows;
}

static void each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        owned(json) json_t *rows = examine_mistake(&mistakes[i], &plain_setup);
        size_t wanted = 0;

        for (; wanted < COUNT_OF(mistakes[i].rows) && mistakes[i].rows[wanted]; wanted++)
            if (!json_object_get(rows, mistakes[i].rows[wanted])) {
                json_dumpf(rows, stderr, JSON_INDENT(2));
                fail_msg("mistake %zu: %s", i, mistakes[i].rows[wanted]);
            }
        if (json_object_size(rows) != wanted) {
            json_dumpf(rows, stderr, JSON_INDENT(2));
            fail_msg("mistake %zu: %zu rows", i, json_object_size(rows));
        }
    }
}

static void each_permission_that_lacks_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(permissions); i++) {
        bool is_of_pool = text_equal(permissions[i].cloud, "azure");
        owned(chars) char *world = text_format("denied: [ { whose: %s, action: '%s' } ]\n",
                                               cloud_of(permissions[i].cloud)->kind,
                                               permissions[i].permission);
        owned(chars) char *keys = text_format("denied: %s", permissions[i].permission);
        owned(chars) char *row = text_format(LAB "wrong %s", permissions[i].permission);
        const struct mistake mistake = { .cloud = permissions[i].cloud,
                                         .world = is_of_pool ? "" : world,
                                         .keys = is_of_pool ? keys : "" };
        owned(json) json_t *rows = examine_mistake(&mistake, &plain_setup);

        if (!json_object_get(rows, row)) {
            json_dumpf(rows, stderr, JSON_INDENT(2));
            fail_msg("%s", row);
        }
    }
}

/* Configurations that use each action of their kind between them. */
static const struct {
    const char *kind;
    const char *cloud;
    struct setup setup;
    const char *world; /* lines of world.yaml; NULL: none */
    const char *also;  /* a row that doctor has for them in any case; NULL: none */
} users[] = {
    { "gcp", "google", { NULL, NULL }, NULL, NULL },
    { "gcp",
      "google",
      { "group: research-a-east",
        "group: research-a-east, gke_location: us-east5, gke_cluster: lab, node_pool: gpu" },
      NULL,
      NULL },
    { "aws", "aws by launch", { NULL, NULL }, NULL, NULL },
    { "aws",
      "aws by launch",
      { NULL, NULL },
      "aws: { research-a-east: { unprotected: true } }\n",
      LAB "doubtful NewInstancesProtectedFromScaleIn" },
    { "aws",
      "aws by launch",
      { "group: lab", "group: lab, eks_cluster: lab, nodegroup: gpu" },
      NULL,
      NULL },
    { "azure", "azure", { NULL, NULL }, NULL, NULL },
    { "capi", "cluster api", { NULL, NULL }, NULL, NULL },
    { "capi", "cluster api", { "machine_deployment: lab", "machine_pool: lab" }, NULL, NULL },
    { "oci",
      "oracle",
      { "ocid1.nodepool.oc1.sim.lab",
        "ocid1.nodepool.oc1.sim.lab, capacity_reservation: ocid1.capacityreservation.oc1.sim.r" },
      NULL,
      NULL },
};

/* The list of a pool's machines fails, too; then another row of this pool names why. */
static bool is_list_explained(const json_t *rows, const char *row, const char *permission)
{
    static const char mark[] = " wrong list";
    size_t length = strlen(row) > strlen(mark) ? strlen(row) - strlen(mark) : 0;
    const char *other;
    json_t *text;

    if (!text_equal(row + length, mark))
        return false;
    json_object_foreach((json_t *)(uintptr_t)rows, other, text)
        if (strncmp(other, row, length) == 0 && strstr(other, permission))
            return true;
    return false;
}

/* How many rows name the permission; another row is a failure, unless the mistake has it. */
static size_t count_named(const struct mistake *mistake, const struct setup *setup,
                          const char *permission, size_t *failed)
{
    owned(json) json_t *rows = examine_mistake(mistake, setup);
    size_t count = 0;
    const char *row;
    json_t *text;

    json_object_foreach(rows, row, text)
        if (strstr(row, permission) || strstr(json_string_value(text), permission)) {
            count++;
        } else if (!is_list_explained(rows, row, permission) &&
                   !text_equal(row, mistake->rows[0])) {
            ++*failed;
            print_error("without %s also: %s: %s\n", permission, row, json_string_value(text));
        }
    return count;
}

/* Oracle's cloud has no request for the changes that an account may make, and no dry run. */
static const char *const untold[] = { "manage cluster-node-pools" };

static bool is_untold(const char *permission)
{
    for (size_t i = 0; i < COUNT_OF(untold); i++)
        if (text_equal(untold[i], permission))
            return true;
    return false;
}

/* In the words of world.yaml: what Kubernetes refuses has its verb first, and no API group. */
static char *denied_action(const struct provider_kind *kind, const char *permission)
{
    const char *resource = strchr(permission, ' ');
    const char *verb = strrchr(permission, ' ');

    if (!text_equal(kind->account.name, "capi"))
        return mem_copy_chars(permission);
    assert_true(resource && verb > resource);
    return text_format("%s %.*s", verb + 1, (int)(verb - resource - 1), resource + 1);
}

static size_t count_failures(const struct provider_kind *kind, const struct provider_action *action)
{
    owned(chars) char *denied = denied_action(kind, action->permission);
    size_t count = 0, failed = 0;

    for (size_t i = 0; i < COUNT_OF(users); i++) {
        owned(chars) char *world = text_format("%sdenied: [ { whose: %s, action: '%s' } ]\n",
                                               users[i].world ?: "", kind->account.name, denied);
        const struct mistake mistake = {
            .cloud = users[i].cloud, .world = world, .keys = "", .rows = { users[i].also }
        };

        if (text_equal(users[i].kind, kind->account.name))
            count += count_named(&mistake, &users[i].setup, action->permission, &failed);
    }
    if ((count == 0) == is_untold(action->permission))
        return failed;
    print_error("%s: %zu rows name %s\n", kind->account.name, count, action->permission);
    return failed + 1;
}

/* From the tables of requests, so that a new one cannot be forgotten. */
static void each_action_taken_away_is_named(void **state)
{
    size_t failed = 0;

    (void)state;
    for (size_t i = 0; i < provider_kind_count; i++)
        for (size_t k = 0; k < provider_kinds[i]->action_count; k++)
            if (provider_kinds[i]->actions[k].permission[0] != '\0')
                failed += count_failures(provider_kinds[i], &provider_kinds[i]->actions[k]);
    assert_int_equal(failed, 0);
}

/* Of keys with the policy alone, less its optional statement, only what they may not ask is not
   known. */
static void nothing_else_lacks_with_the_policy(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        owned(chars) char *world = grants_of(provider_kind_find(users[i].kind), "");
        const struct mistake granted = { .cloud = users[i].cloud, .world = world, .keys = "" };
        owned(json) json_t *rows = world ? examine_mistake(&granted, &users[i].setup)
                                         : json_object();
        const char *row;
        json_t *text;

        json_object_foreach(rows, row, text)
            if (!strstr(row, " doubtful iam:SimulatePrincipalPolicy"))
                fail_msg("%s: %s: %s", users[i].cloud, row, json_string_value(text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_is_named),
        cmocka_unit_test(each_permission_that_lacks_is_named),
        cmocka_unit_test(each_action_taken_away_is_named),
        cmocka_unit_test(nothing_else_lacks_with_the_policy),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
