/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The login nodes behind the virtual door for SSH: counts the commands, and applies the faults of
 * transport before and after the effect.
 */
#include "base/world/ssh.h"
#include "tools/simulator/slurm/ctld.h"

static const char *host_of(const struct kube_cluster *cluster)
{
    const struct yaml_node *found = yaml_get(cluster->plan->settings, "ssh_address");
    const char *text = NULL;
    struct error err;

    return found && yaml_text(found, &text, &err) == 0 ? text : NULL;
}

static struct ctld *login_node(struct simulator *sim, const char *address)
{
    for (size_t i = 0; i < sim->cluster_count; i++) {
        struct kube_cluster *cluster = &sim->clusters[i];

        if (cluster->slurm && text_equal(address, host_of(cluster)))
            return cluster->slurm;
    }
    return NULL;
}

/* "slurm_squeue"; of scontrol its own word follows: "slurm_scontrol_requeue". */
static void name_command(const char *line, char *out, size_t size)
{
    size_t length;
    size_t next;

    while (line[strcspn(line, " =")] == '=')
        line += strcspn(line, " ") + strspn(line + strcspn(line, " "), " ");
    if (text_starts_with(line, "timeout ")) {
        line += strlen("timeout ");
        line += strcspn(line, " ") + strspn(line + strcspn(line, " "), " ");
    }
    length = strcspn(line, " ");
    text_print(out, size, "slurm_%.*s", (int)length, line);
    if (!text_starts_with(line, "scontrol "))
        return;
    for (line += length; *line == ' ' || *line == '-';
         line += *line == '-' ? strcspn(line, " ") : 1)
        ;
    next = strcspn(line, " ");
    text_print(out, size, "slurm_scontrol_%.*s", (int)next, line);
}

bool sim_slurm_play(struct simulator *sim, const struct ssh_host *host,
                    const struct ssh_request *request, struct ssh_play *play)
{
    struct ctld *slurm = login_node(sim, host->address);
    struct ctld_output output = { .out = play->output, .errors = play->errors };
    char verb[64];

    if (!slurm)
        return false;
    play->delay_ms = sim_draw(&sim->latency, &sim->scenario->latency.api);
    name_command(request->command, verb, sizeof verb);
    if (text_equal(verb, "slurm_scancel") && slurm->cluster->plan->scancel_ms > 0)
        play->delay_ms = slurm->cluster->plan->scancel_ms;
    sim_count_verb(sim, verb);
    sim_trace(sim, "ssh %s %.200s", host->address, request->command);
    if (sim_fault_now(sim, FAULT_REFUSED, verb)) {
        error_set(&play->failure, ERROR_TRANSIENT, "%s: connection refused", host->address);
        return true;
    }
    sim_slurm_run(sim, slurm, request->command, &output);
    play->exit_status = output.status;
    if (sim_fault_now(sim, FAULT_LOST_ANSWER, verb))
        error_set(&play->failure, ERROR_UNKNOWN_OUTCOME,
                  "%s: the connection ended before the "
                  "command did",
                  host->address);
    return true;
}
