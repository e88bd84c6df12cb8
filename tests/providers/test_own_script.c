/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * machine.sh itself, run by this system's shell in a folder that plays the machine: which machine
 * can be claimed, what the steps of k3s write, and which words of a script mean success.
 */
#include "base/file.h"
#include "base/text.h"
#include "providers/ssh/own_script.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Units are files below units/: NAME.enabled, NAME.active.  As systemd's, it starts none whose
   condition is not met (Debian's slurmd wants slurm.conf), and says nothing. */
static const char systemctl[] = "#!/bin/sh\n"
                                "case $1 in\n"
                                "is-enabled) [ -e \"$SLUICE_ROOT/units/$3.enabled\" ] ;;\n"
                                "is-active) [ -e \"$SLUICE_ROOT/units/$3.active\" ] ;;\n"
                                "enable) [ ! -e \"$SLUICE_ROOT/etc/slurm/slurm.conf\" ] ||"
                                " : >\"$SLUICE_ROOT/units/$3.active\" ;;\n"
                                "*) exit 1 ;;\n"
                                "esac\n";

struct machine {
    char *folder; /* has root/, bin/, marker/ and tool */
    struct text *said;
    int status;
};

static void make_folder(const struct machine *machine, const char *name)
{
    owned(chars) char *path = text_format("%s/%s", machine->folder, name);

    assert_int_equal(mkdir(path, 0755), 0);
}

static void write_program(const struct machine *machine, const char *name, const char *chars)
{
    owned(chars) char *path = test_folder_write(machine->folder, name, chars);

    assert_int_equal(chmod(path, 0755), 0);
}

static void machine_open(struct machine *machine)
{
    owned(chars) char *tool = text_format("%smain \"$@\"\n", own_script);

    *machine = (struct machine){ .folder = test_folder_new(), .said = text_new(1 << 16) };
    make_folder(machine, "root");
    make_folder(machine, "bin");
    make_folder(machine, "marker");
    write_program(machine, "bin/systemctl", systemctl);
    mem_free(test_folder_write(machine->folder, "marker/tool", tool));
}

static void machine_close(struct machine *machine)
{
    text_free(machine->said);
    test_folder_free(machine->folder);
}

/* A file below the machine's root, with its folders. */
static void put(const struct machine *machine, const char *path, const char *chars)
{
    owned(chars) char *name = text_format("root/%s", path);
    owned(chars) char *command = text_format("mkdir -p \"$(dirname '%s/%s')\"", machine->folder,
                                             name);

    assert_int_equal(system(command), 0);
    mem_free(test_folder_write(machine->folder, name, chars));
}

static bool has(const struct machine *machine, const char *path)
{
    owned(chars) char *name = text_format("%s/root/%s", machine->folder, path);

    return file_exists(name);
}

static struct text *read_root(const struct machine *machine, const char *path)
{
    owned(chars) char *name = text_format("%s/root/%s", machine->folder, path);

    return test_file_read(name);
}

/* What it prints, with its errors, is in `said`. */
static void run(struct machine *machine, const char *arguments)
{
    const char *folder = machine->folder;
    owned(chars) char *out = text_format("%s/said", folder);
    owned(chars) char *command = text_format(
        "PATH='%s/bin':/usr/bin:/bin SLUICE_ROOT='%s/root' /bin/sh %s >'%s' 2>&1", folder, folder,
        arguments, out);
    int status = system(command);
    owned(text) struct text *said = test_file_read(out);

    assert_true(WIFEXITED(status));
    machine->status = WEXITSTATUS(status);
    text_reset(machine->said);
    text_add(machine->said, "%s", said->chars);
}

static void ask(struct machine *machine, const char *verb)
{
    owned(chars) char *words = text_format("dir='%s/marker'\nwanted_key='00000001'\n"
                                           "wanted_group='a'\nwanted_kind='slurmd'\n%s"
                                           "secret=''\nmain \"$@\"\n",
                                           machine->folder, own_script);
    owned(chars) char *path = test_folder_write(machine->folder, "asked", words);
    owned(chars) char *arguments = text_format("'%s' sluice %s", path, verb);

    run(machine, arguments);
    assert_int_equal(machine->status, 0);
}

static bool says(const struct machine *machine, const char *words)
{
    return strstr(machine->said->chars, words) != NULL;
}

/* One step, with these parameters; its status is in `status`. */
static void step(struct machine *machine, const char *function, const char *parameters)
{
    owned(chars) char *arguments = text_format(
        "'%s/marker/tool' sluice step %s '%s/marker' <'%s/secret'", machine->folder, function,
        machine->folder, machine->folder);

    mem_free(test_folder_write(machine->folder, "secret", "abcdef.0123456789abcdef\n"));
    mem_free(test_folder_write(machine->folder, "marker/parameters", parameters));
    run(machine, arguments);
}

/* ---- which machine can be claimed ---- */

/* As Debian's package slurmd has it. */
#define DEBIAN_DEFAULT                                                                             \
    "# Additional options that are passed to the slurmd daemon\n#SLURMD_OPTIONS=\"\"\n"
#define SLURMD_DEFAULT "etc/default/slurmd"
#define K3S_ENVIRONMENT "etc/systemd/system/k3s-agent.service.env"

/* A daemon that was only installed takes no machine.  One that runs, would be started, or has
   options that sluice did not write does. */
static void a_daemon_that_was_only_installed_takes_no_machine(void **state)
{
    static const struct {
        const char *path, *chars; /* a file on the machine */
        const char *daemon;       /* that takes it; NULL: none */
    } rows[] = {
        { SLURMD_DEFAULT, DEBIAN_DEFAULT, NULL },
        { SLURMD_DEFAULT, "SLURMD_OPTIONS=\"\"\n", NULL },
        { SLURMD_DEFAULT, "SLURMD_OPTIONS=' '\n", NULL },
        { SLURMD_DEFAULT, "", NULL },
        { SLURMD_DEFAULT, DEBIAN_DEFAULT "SLURMD_OPTIONS=\"-Z\"\n", "slurmd" },
        { SLURMD_DEFAULT, "  SLURMD_OPTIONS= -Z\n", "slurmd" },
        { SLURMD_DEFAULT, "SLURMD_OPTIONS=\" --conf-server slurm:6817\"\n", "slurmd" },
        { "etc/sysconfig/slurmd", "SLURMD_OPTIONS=-Z\n", "slurmd" },
        { "units/slurmd.enabled", "", "slurmd" },
        { "units/slurmd.active", "", "slurmd" },
        { "proc/7/comm", "slurmd\n", "slurmd" },
        { "proc/71/comm", "slurmd-wlm\n", "slurmd" },
        { "proc/7/comm", "slurmdbd\n", NULL },
        { "etc/slurm/slurm.conf", "ClusterName=a\n", NULL },
        { K3S_ENVIRONMENT, "", NULL },
        { K3S_ENVIRONMENT, "HTTP_PROXY='http://proxy:3128'\nK3S_URL=''\n#K3S_TOKEN=t\n", NULL },
        { K3S_ENVIRONMENT, "K3S_URL='https://b:6443'\n", "k3s" },
        { K3S_ENVIRONMENT, "K3S_TOKEN=t\n", "k3s" },
        { "etc/default/k3s-agent", "K3S_TOKEN_FILE=/etc/token\n", "k3s" },
        { "etc/rancher/k3s/config.yaml", "node-label:\n  - a=b\n", NULL },
        { "etc/rancher/k3s/config.yaml", "token: t\n", "k3s" },
        { "etc/rancher/k3s/config.yaml.d/a.yaml", "\"server\": https://b:6443\n", "k3s" },
        { "units/k3s-agent.enabled", "", "k3s" },
        { "units/k3s-agent.active", "", "k3s" },
        { "units/k3s.enabled", "", "k3s" },
        { "proc/8/comm", "k3s-agent\n", "k3s" },
        { "proc/8/comm", "k3s-server\n", "k3s" },
        { "etc/kubernetes/kubelet.conf", "", "kubelet" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct machine machine;
        owned(chars) char *flag = text_format("\n%s=1\n", rows[i].daemon ?: "");

        machine_open(&machine);
        put(&machine, rows[i].path, rows[i].chars);
        ask(&machine, "look");
        if (rows[i].daemon ? !says(&machine, flag) : says(&machine, "=1\nend"))
            fail_msg("%s \"%s\":\n%s", rows[i].path, rows[i].chars, machine.said->chars);
        ask(&machine, "claim");
        if (says(&machine, "\nanswer=taken\n") != (rows[i].daemon != NULL) ||
            says(&machine, "\nstate=joining\n") != (rows[i].daemon == NULL) ||
            (rows[i].daemon && !says(&machine, rows[i].daemon)))
            fail_msg("%s \"%s\":\n%s", rows[i].path, rows[i].chars, machine.said->chars);
        machine_close(&machine);
    }
}

/* A system without systemd has no such program. */
static void a_machine_without_systemd_is_judged_too(void **state)
{
    struct machine machine;

    (void)state;
    machine_open(&machine);
    write_program(&machine, "bin/systemctl",
                  "#!/bin/sh\necho 'not booted with systemd' >&2\n"
                  "exit 127\n");
    put(&machine, SLURMD_DEFAULT, DEBIAN_DEFAULT);
    put(&machine, "proc/7/comm", "slurmd\n");
    ask(&machine, "claim");
    assert_true(says(&machine, "\nanswer=taken\n"));
    put(&machine, "proc/7/comm", "sh\n");
    ask(&machine, "claim");
    assert_true(says(&machine, "\nanswer=ok\n"));
    assert_false(says(&machine, "not booted"));
    machine_close(&machine);
}

/* ---- the steps of k3s ---- */

#define K3S_CONFIG "etc/rancher/k3s/config.yaml.d/sluice.yaml"
#define K3S_PARAMETERS(config)                                                                     \
    "server='https://b:6443'\nnode_name='gpu-1'\nk3s_config='" config "'\n"

static void expect_file(const struct machine *machine, const char *path, const char *chars)
{
    owned(text) struct text *file = read_root(machine, path);

    assert_string_equal(file->chars, chars);
}

/* Labels and taints stand in a file of their own, whatever an interrupted step left there. */
static void k3s_gets_the_labels_and_taints(void **state)
{
    static const char config[] = "node-label+:\n  - \"a=b\"\nnode-taint+:\n  - \"c=:NoSchedule\"\n";
    struct machine machine;

    (void)state;
    machine_open(&machine);
    put(&machine, K3S_CONFIG, "node-label+:\n  - \"of-another=or");
    put(&machine, K3S_CONFIG ".new", "node-la");
    put(&machine, "etc/rancher/k3s/config.yaml", "snapshotter: zfs\n");
    for (int i = 0; i < 2; i++) {
        step(&machine, "k3s_join_environment",
             K3S_PARAMETERS("node-label+:\n  - \"a=b\"\nnode-taint+:\n  - \"c=:NoSchedule\"\n"));
        assert_string_equal(machine.said->chars, "");
        assert_int_equal(machine.status, 0);
        expect_file(&machine, K3S_CONFIG, config);
        assert_false(has(&machine, K3S_CONFIG ".new"));
        expect_file(&machine, K3S_ENVIRONMENT,
                    "K3S_URL='https://b:6443'\nK3S_TOKEN='abcdef.0123456789abcdef'\n"
                    "K3S_NODE_NAME='gpu-1'\n");
    }
    step(&machine, "k3s_leave_remove", K3S_PARAMETERS(""));
    assert_int_equal(machine.status, 0);
    assert_false(has(&machine, K3S_CONFIG));
    assert_false(has(&machine, K3S_ENVIRONMENT));
    expect_file(&machine, "etc/rancher/k3s/config.yaml", "snapshotter: zfs\n");
    machine_close(&machine);
}

/* A pool without them leaves none of an earlier order. */
static void a_pool_without_labels_leaves_no_file(void **state)
{
    struct machine machine;

    (void)state;
    machine_open(&machine);
    put(&machine, K3S_CONFIG, "node-label+:\n  - \"of=another\"\n");
    step(&machine, "k3s_join_environment", K3S_PARAMETERS(""));
    assert_int_equal(machine.status, 0);
    assert_false(has(&machine, K3S_CONFIG));
    assert_true(has(&machine, K3S_ENVIRONMENT));
    machine_close(&machine);
}

/* ---- slurmd ---- */

/* A unit that systemd passes over is no success. */
static void a_slurmd_that_does_not_start_has_not_joined(void **state)
{
    struct machine machine;

    (void)state;
    machine_open(&machine);
    make_folder(&machine, "root/units");
    step(&machine, "slurmd_join_start", "");
    assert_int_equal(machine.status, 1);
    assert_true(says(&machine, "systemctl status slurmd"));
    put(&machine, "etc/slurm/slurm.conf", "ClusterName=a\n");
    step(&machine, "slurmd_join_start", "");
    assert_int_equal(machine.status, 0);
    assert_string_equal(machine.said->chars, "");
    machine_close(&machine);
}

/* ---- what a script says ---- */

/* Runs a script that prints this. */
static void run_script(struct machine *machine, const char *prints)
{
    owned(chars) char *script = text_format("%s/bin/move", machine->folder);
    owned(chars) char *parameters = text_format(
        "script='%s'\nnode_name='gpu-1'\nserver=''\nca_hash=''\nlabels=''\n", script);

    mem_free(test_folder_write(machine->folder, "prints", prints));
    write_program(machine, "bin/move", "#!/bin/sh\ncat \"${0%/bin/move}/prints\"\n");
    step(machine, "script_join_run", parameters);
}

static void only_the_documented_line_means_success(void **state)
{
    static const struct {
        const char *prints;
        bool is_done;
    } rows[] = {
        { "{\"done\": true}\n", true },
        { "{\"done\":true}", true },
        { "pulling images\n{\"not\": \"it\"}\n{\"done\": true}\n\n", true },
        { "{\"done\": true, \"took_s\": 7}\n", true },
        { "{\"done\":true,\"steps\":[{\"name\":\"a\"}]}\n", true },
        { "{\"steps\":[{\"name\":\"a\",\"done\":true}],\"done\":false}\n", false },
        { "{garbage,\"done\":true}\n", false },
        { "{\"done\": true}\nand then the disk was full\n", false },
        { "{\"done\": true, garbage}\n", false },
        { "{\"done\": true,}\n", false },
        { "{\"done\": true, \"done\": false}\n", false },
        { "{\"done\": true, \"steps\": [\n", false },
        { "{\"done\": true}}\n", false },
        { "{\"done\": true} {\"done\": false}\n", false },
        { "{\"done\": truely}\n", false },
        { "{\"done\": \"true\"}\n", false },
        { "{\"done\": false}\n", false },
        { "{\n  \"done\": true\n}\n", false },
        { " {\"done\": true}\n", false },
        { "", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct machine machine;

        machine_open(&machine);
        run_script(&machine, rows[i].prints);
        if ((machine.status == 0) != rows[i].is_done ||
            says(&machine, "printed no JSON object") == rows[i].is_done)
            fail_msg("\"%s\": status %d, %s", rows[i].prints, machine.status, machine.said->chars);
        machine_close(&machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_daemon_that_was_only_installed_takes_no_machine),
        cmocka_unit_test(a_machine_without_systemd_is_judged_too),
        cmocka_unit_test(k3s_gets_the_labels_and_taints),
        cmocka_unit_test(a_pool_without_labels_leaves_no_file),
        cmocka_unit_test(a_slurmd_that_does_not_start_has_not_joined),
        cmocka_unit_test(only_the_documented_line_means_success),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
