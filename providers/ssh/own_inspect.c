/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What `doctor` reports of a machine: can it be reached, what does its marker say, and has it what
 * joining needs.
 */
#include "base/text.h"
#include "providers/ssh/own_verbs.h"

#include <stdarg.h>
#include <string.h>

/* Each line: NAME=VALUE.  Nothing is changed. */
static const char examination[] =
    "echo arch=$(uname -m); echo swap=$(tail -n +2 /proc/swaps 2>/dev/null | wc -l); "
    "echo clock=$(timedatectl show -p NTPSynchronized --value 2>/dev/null); "
    "echo disk=$(df -Pk /var 2>/dev/null | awk 'NR==2{print $4}'); "
    "echo kubeadm=$(kubeadm version -o short 2>/dev/null); "
    "echo containerd=$(containerd --version 2>/dev/null | cut -d' ' -f3); "
    "echo k3s=$(k3s --version 2>/dev/null | head -n 1 | cut -d' ' -f3); "
    "echo slurmd=$(slurmd -V 2>/dev/null); "
    "echo killall=$(command -v k3s-killall.sh); "
    "for unit in k3s-agent slurmd; do "
    "echo $unit.service=$(systemctl cat $unit.service >/dev/null 2>&1 && echo yes); done; "
    "echo gpus=$(nvidia-smi -L 2>/dev/null | grep -c ^GPU); echo end=1";

enum { DISK_LEAST_KB = 1024 * 1024 };

struct about {
    enum finding_verdict verdict;
    const char *subject;
    const char *remedy;
};

static void __attribute__((format(printf, 3, 4)))
tell(struct own_call *call, const struct about *about, const char *format, ...)
{
    struct finding finding = { .verdict = about->verdict,
                               .subject = about->subject,
                               .remedy = about->remedy };
    char sentence[600];
    va_list arguments;

    va_start(arguments, format);
    text_print_arguments(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    finding.text = sentence;
    call->found(call->context, &finding);
}

/* The value of a line; "": it has none. */
static const char *value_of(const struct ssh_answer *answer, const char *name, char out[64])
{
    owned(chars) char *start = text_format("%s=", name);
    const char *at = answer->output;

    while (at && !text_starts_with(at, start))
        at = (at = strchr(at, '\n')) ? at + 1 : NULL;
    if (!at)
        return "";
    at += strlen(start);
    text_print(out, 64, "%.*s", (int)strcspn(at, "\n"), at);
    return text_is_one_line(out) ? out : "";
}

/* -1: the line has no number. */
static long long number_of(const struct ssh_answer *answer, const char *name)
{
    char value[64];
    long long number;

    return text_to_int(value_of(answer, name, value), 0, INT64_MAX, &number) ? number : -1;
}

static void judge_tools(struct own_call *call, const struct own_machine *machine,
                        const struct ssh_answer *answer)
{
    static const struct {
        const char *join, *line, *tool;
    } needs[] = {
        { "kubeadm", "kubeadm", "kubeadm" },
        { "kubeadm", "containerd", "containerd" },
        { "k3s", "k3s", "k3s" },
        { "k3s", "killall", "k3s-killall.sh" },
        { "k3s", "k3s-agent.service", "unit k3s-agent.service" },
        { "slurmd", "slurmd", "slurmd" },
        { "slurmd", "slurmd.service", "unit slurmd.service" },
    };
    char version[64];

    for (size_t i = 0; i < COUNT_OF(needs); i++)
        if (text_equal(needs[i].join, call->pool.join) &&
            value_of(answer, needs[i].line, version)[0] == '\0')
            tell(call,
                 &(struct about){ FINDING_WRONG, "programs",
                                  "install it: the machine cannot join without it" },
                 "machine %s has no %s", machine->name, needs[i].tool);
}

static void judge_system(struct own_call *call, const struct own_machine *machine,
                         const struct ssh_answer *answer)
{
    long long disk_kb = number_of(answer, "disk");
    char value[64];

    if (text_equal(call->pool.join, "kubeadm") && number_of(answer, "swap") > 0)
        tell(call,
             &(struct about){ FINDING_WRONG, "swap",
                              "switch it off (swapoff -a, and its line in /etc/fstab)" },
             "machine %s has swap, with which a kubelet does not start", machine->name);
    if (text_equal(value_of(answer, "clock", value), "no"))
        tell(call,
             &(struct about){ FINDING_DOUBTFUL, "clock",
                              "start systemd-timesyncd or chrony: tokens and certificates have "
                              "times" },
             "machine %s does not follow a time server", machine->name);
    if (disk_kb >= 0 && disk_kb < DISK_LEAST_KB)
        tell(call,
             &(struct about){ FINDING_WRONG, "disk", "make room: joining writes images there" },
             "machine %s has %lld MiB left on /var", machine->name, disk_kb / 1024);
}

static void on_examined(struct own_call *call, struct own_machine *machine,
                        const struct ssh_answer *answer, const struct error *err);

static void next(struct own_call *call);

static void judge_marker(struct own_call *call, const struct own_machine *machine)
{
    const struct own_report *report = &machine->report;

    if (own_report_is_foreign(report) && !machine->group)
        tell(call,
             &(struct about){ FINDING_WRONG, "marker",
                              "give it its `group` in the list of machines, or let it leave its "
                              "cluster; disable a unit that was only installed" },
             "machine %s is in a cluster (its %s runs, is enabled or has options), and nothing "
             "says in which",
             machine->name, own_report_daemon(report));
    else if (report->failed[0] != '\0')
        tell(call, &(struct about){ FINDING_DOUBTFUL, "steps", "look at its step.log and log" },
             "machine %s is %s, and its steps ended early: %s", machine->name,
             own_state_name(report->state), report->failed);
}

static void on_examined(struct own_call *call, struct own_machine *machine,
                        const struct ssh_answer *answer, const struct error *err)
{
    char arch[64], gpus[64], end[64];

    if (err || value_of(answer, "end", end)[0] == '\0') {
        tell(call, &(struct about){ FINDING_DOUBTFUL, "machine", "run its shell by hand" },
             "machine %s cannot be examined: %s", machine->name,
             err ? err->text : "its answer is not whole");
    } else {
        tell(call, &(struct about){ FINDING_RIGHT, "machine", "" },
             "machine %s answers: %s, %s GPUs, %s", machine->name, value_of(answer, "arch", arch),
             value_of(answer, "gpus", gpus), own_state_name(machine->report.state));
        judge_tools(call, machine, answer);
        judge_system(call, machine, answer);
    }
    judge_marker(call, machine);
    next(call);
}

static void on_look(struct own_call *call, struct own_machine *machine, const struct error *err)
{
    if (!err) {
        own_examine(call, machine, examination, on_examined);
        return;
    }
    tell(call,
         &(struct about){ FINDING_WRONG, "machine",
                          err->kind == ERROR_DENIED
                              ? "compare the keys on the machine itself, then correct the list"
                              : "try `ssh` by hand with the same key" },
         "%s", err->text);
    next(call);
}

/* One finding for all: a list without controllers would fill the page. */
static void judge_fences(struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;
    size_t without = 0;

    for (size_t i = 0; i < machines->all.count; i++)
        without += !machines->all.items[i]->redfish;
    if (without > 0)
        tell(call,
             &(struct about){
                 FINDING_DOUBTFUL, "fence",
                 "set `redfish`: without it a machine that hangs never counts as gone" },
             "%zu of %zu machines have no fence", without, machines->all.count);
}

static void next(struct own_call *call)
{
    const struct own_machines *machines = &call->own->machines;

    if (call->at < machines->all.count) {
        own_ask(call, machines->all.items[call->at++], OWN_LOOK, "", on_look);
        return;
    }
    judge_fences(call);
    own_finish(call, "", NULL);
}

void own_inspect(struct provider *provider, const struct pool_address *pool, finding_fn found,
                 provider_done_fn done, void *context)
{
    struct own_call *call = own_call_new(provider, pool);

    call->found = found;
    call->done = done;
    call->context = context;
    next(call);
}
