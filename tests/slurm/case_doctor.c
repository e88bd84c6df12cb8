/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Cases: what `sluice doctor` finds, by slurmrestd alone, by the commands alone, and by both.
 */
#include "broker/config/config.h"
#include "broker/doctor/doctor.h"
#include "tests/slurm/slurm_stage.h"
#include "tests/support/folder.h"

/* Nothing else answers: only the findings of `lab` count here. */
static const char frame[] =
    "time_zone: UTC\n"
    "windows:\n"
    "  day: {days: mon-sun, from: '08:00', to: '20:00'}\n"
    "  night: {days: mon-sun, from: '20:00', to: '08:00'}\n"
    "clusters:\n"
    "  prod: {role: production, kubeconfig: missing}\n"
    "  lab: {kind: slurm, role: research, machine: 'gce://p/z/{name}'%s}\n"
    "reservations:\n"
    "  main: {machine: a3-megagpu-8g, region: r, zone: r-a, gpus_per_node: 8, nodes: 4}\n"
    "providers:\n"
    "  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp',"
    " metadata: 'http://127.0.0.1:1/gcp'}\n"
    "pools:\n"
    "  lab-main: {cluster: lab, reservation: main, provider: google, project: p, group: g}\n"
    "  prod-main: {cluster: prod, reservation: main, provider: google, project: p, group: h}\n"
    "queues:\n"
    "  chat: {wait_target: 30s, service: 20s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, namespace: n, gpus: 2, clusters: {prod: {}}}\n";

/* What only the commands do. */
#define COMMANDS_ALONE                                                                             \
    "doubtful list partitions\n"                                                                   \
    "doubtful read the configuration\n"
#define RESERVATIONS                                                                               \
    "wrong create a reservation\n"                                                                 \
    "wrong move a reservation\n"                                                                   \
    "wrong delete a reservation\n"

static const char without_commands_22[] = "right rest\n" COMMANDS_ALONE
                                          "wrong change a node\n" RESERVATIONS
                                          "doubtful delete a node\n"
                                          "doubtful signal a job\n"
                                          "wrong requeue a job\n"
                                          "doubtful cancel a job\n"
                                          "doubtful read a batch script\n"
                                          "doubtful comment on a job\n";
static const char without_commands_24[] = "right rest\n" COMMANDS_ALONE RESERVATIONS
                                          "doubtful signal a job\n"
                                          "wrong requeue a job\n"
                                          "doubtful read a batch script\n"
                                          "doubtful comment on a job\n";

static void add_row(void *context, const struct doctor_row *row)
{
    static const char *const verdicts[] = { "right", "doubtful", "wrong" };

    if (text_equal(row->part, "cluster") && text_equal(row->name, "lab"))
        text_add(context, "%s %s\n", verdicts[row->finding.verdict], row->finding.subject);
}

/* The findings of the cluster, one a line. */
static char *examine(struct stage *stage, const char *keys)
{
    owned(chars) char *chars = text_format(frame, keys);
    owned(chars) char *path = test_folder_write(stage->folder, "doctor.yaml", chars);
    owned(config) struct config *config = config_read(path, &stage->err);
    struct text *out = text_new(64 << 10);
    struct doctor *doctor;

    if (!config)
        fail_msg("%s", stage->err.text);
    doctor = doctor_open(&stage->world, config, add_row, out);
    for (int i = 0; i < 600 && !doctor_is_done(doctor); i++)
        stage_pass(stage, 100);
    assert_true(doctor_is_done(doctor));
    doctor_close(doctor);
    return text_take(out);
}

static char *by_rest(const struct stage *stage, const char *token)
{
    return text_format(", rest: '%s', rest_user: root, token: '%s'", stage->access.rest, token);
}

static char *by_commands(const struct stage *stage)
{
    return text_format(", ssh_address: %s, ssh_host_key: '%s', ssh_user: root, ssh_key: '%s'",
                       stage->access.place.address, stage->access.place.host_key,
                       stage->access.ssh.key);
}

void the_doctor_names_what_is_missing(struct stage *stage)
{
    owned(chars) char *rest = by_rest(stage, stage->access.token);
    owned(chars) char *found = examine(stage, rest);

    assert_string_equal(found, stage->release < 2411 ? without_commands_22 : without_commands_24);
}

void the_doctor_is_content_with_commands(struct stage *stage)
{
    owned(chars) char *rest = by_rest(stage, stage->access.token);
    owned(chars) char *commands = by_commands(stage);
    owned(chars) char *both = text_format("%s%s", rest, commands);
    owned(chars) char *found = examine(stage, commands);
    owned(chars) char *found_both = examine(stage, both);

    /* The real server here has cred_expire, so that its jobs start sooner. */
    owned(chars) char *wanted = text_format("right ssh_address\nright actions\n%s",
                                            stage->simulator ? "doubtful AuthInfo\n" : "");
    owned(chars) char *wanted_both = text_format("right rest\n%s", wanted);

    assert_string_equal(found, wanted);
    assert_string_equal(found_both, wanted_both);
}

/* slurmrestd describes itself to each token, and without slurmctld. */
void the_doctor_names_lists_that_fail(struct stage *stage)
{
    owned(chars) char *bad = test_folder_write(stage->folder, "bad", "bad");
    owned(chars) char *rest = by_rest(stage, bad);
    owned(chars) char *commands = by_commands(stage);
    owned(chars) char *refused = examine(stage, rest);
    owned(chars) char *silent = NULL;

    if (!strstr(refused, "wrong list nodes\n"))
        fail_msg("%s", refused);
    stage_stop_ctld(stage);
    silent = examine(stage, commands);
    if (!strstr(silent, "wrong list nodes\n"))
        fail_msg("%s", silent);
    stage_start_ctld(stage);
    for (int i = 0; i < 30 && !stage_ask(stage, SLURM_LIST_NODES, NULL); i++)
        stage_pass(stage, SECOND_MS);
}
