/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A large act on real sockets: one user asks for it, and another one approves it.  The commands run
 * as these users, and the service knows them by the kernel's word alone.
 */
#include "tests/cli/programs.h"
#include "tests/cli/schema.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DISPATCHERS = 61002, ASKER = 65534, OTHER = 1 };

static pid_t programs[2]; /* the simulator, the service */

static int open_world(void **state)
{
    owned(chars) char *path = NULL;
    owned(text) struct text *config = NULL;

    (void)state;
    if (geteuid() != 0)
        return 0; /* only root can be another user */
    folder = test_folder_new();
    assert_int_equal(chmod(folder, 0755), 0);
    programs[0] = start_simulator();
    path = text_format("%s/sluice.yaml", folder);
    config = file_read(path, SAID_LIMIT, NULL);
    text_add(config,
             "socket_group: '%d'\nguard: {approval_nodes: 2}\naccess: {dispatcher: "
             "{groups: '%d'}}\n",
             DISPATCHERS, DISPATCHERS);
    mem_free(test_folder_write(folder, "sluice.yaml", config->chars));
    assert_int_equal(chmod(path, 0644), 0);
    programs[1] = start_service();
    return await_service() ? 0 : -1;
}

static int close_world(void **state)
{
    int code;

    (void)state;
    if (geteuid() != 0)
        return 0;
    code = end_program(programs[1]);
    if (end_program(programs[0]) != 0 || code != 0)
        return -1;
    test_folder_free(folder);
    return 0;
}

/* The command as that user; its output is in *ret_said. */
static int run_as(uid_t uid, const char *line, struct text **ret_said)
{
    owned(chars) char *scratch = text_format("%s/%u", folder, (unsigned)uid);
    owned(chars) char *full = text_format("%s -c @/sluice.yaml", line);
    owned(chars) char *out = text_format("%s/out", scratch);
    gid_t group = DISPATCHERS;
    int status = 0;
    pid_t child;
    struct error err;

    assert_int_equal(file_make_folder(scratch, 0777, &err), 0);
    assert_int_equal(chmod(scratch, 0777), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        FILE *login = fopen("/proc/self/loginuid", "w");
        struct said said;
        FILE *file;

        if (login) { /* of no login, whatever that of the test is */
            fprintf(login, "4294967295");
            fclose(login);
        }
        if (uid != 0 && (setgroups(1, &group) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
            _exit(99);
        said = say(folder, scratch, full);
        file = fopen(out, "w");
        fprintf(file, "%s%s", said.out->chars, said.err->chars);
        fclose(file);
        _exit(said.code);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    *ret_said = take_output(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_as(uid_t uid, int code, const char *line, const char *says)
{
    owned(text) struct text *said = NULL;
    int got = run_as(uid, line, &said);

    if (got != code || !strstr(said->chars, says))
        fail_msg("sluice %s as %u: exit code %d, not %d, or lacks \"%s\":\n%s", line, (unsigned)uid,
                 got, code, says, said->chars);
}

/* The ID of what waits. */
static void find_id(char *out, size_t size)
{
    owned(said) struct said said = expect_code(folder, 0, "approve -o name -c @/sluice.yaml");

    said.out->chars[strcspn(said.out->chars, "\n")] = '\0';
    text_copy(out, size, said.out->chars);
}

static void expect_schema(const char *name, const char *line)
{
    owned(said) struct said said = expect_code(folder, 0, line);
    struct error err = { 0 };
    owned(json) json_t *answer = json_parse(said.out->chars, said.out->length, line, &err);

    assert_non_null(answer);
    schema_fits(name, answer);
}

/* The other user may write no schema, so it is this one who looks at the answer. */
static void expect_schema_as(uid_t uid, int code, const char *name, const char *line)
{
    owned(chars) char *as_json = text_format("%s --output json", line);
    owned(text) struct text *said = NULL;
    owned(json) json_t *answer = NULL;

    assert_int_equal(run_as(uid, as_json, &said), code);
    answer = json_parse(said->chars, said->length, line, &(struct error){ 0 });
    if (!answer)
        fail_msg("sluice %s: %s", line, said->chars);
    schema_fits(name, answer);
}

static void two_users_reclaim_nodes(void **state)
{
    char id[32];
    owned(chars) char *approve = NULL;
    owned(chars) char *reject = NULL;

    (void)state;
    if (geteuid() != 0)
        skip();
    expect_as(0, 3, "reclaim --to prod-a --nodes 2 --reason launch",
              "needs two persons, and sluice knows you only as root");
    expect_as(ASKER, 3, "reclaim --to prod-a --nodes 2 --reason launch",
              "It waits for a second person: a-");
    expect_as(ASKER, 3, "reclaim --to prod-a --nodes 2 --reason launch",
              "It waits for a second person already: a-");
    expect_schema_as(ASKER, 3, "reclaim", "reclaim --to prod-a --nodes 2 --reason launch");
    expect_as(ASKER, 0, "status", "APPROVAL        a-");
    expect_as(ASKER, 2, "status --check", "waits for a second person until");
    expect_as(ASKER, 0, "approve", "reclaim  prod-a      2 ");
    find_id(id, sizeof id);
    expect_schema("approve list", "approve -o json -c @/sluice.yaml");
    expect_schema("status", "status -o json -c @/sluice.yaml");
    approve = text_format("approve %s --yes", id);
    reject = text_format("approve %s --reject --reason x", id);
    expect_as(ASKER, 3, approve, "asked for a-");
    expect_as(0, 3, approve, "approve under your own name");
    expect_as(OTHER, 0, approve, "is approved by daemon at 2");
    expect_as(OTHER, 0, approve, "was already approved by daemon at 2");
    expect_schema_as(OTHER, 0, "approve", approve);
    expect_as(OTHER, 3, reject, "`sluice reclaim end` ends a reclaim");
    expect_as(ASKER, 0, "audit", "approved");
    expect_as(ASKER, 0, "reclaim list", "nobody");
    expect_as(ASKER, 0, "approve", "Nothing waits for a second person.");
    expect_as(ASKER, 0, "approve list --all", "approved");
}

static void two_users_apply_schedules(void **state)
{
    owned(chars) char *reject = NULL;
    char id[32];

    (void)state;
    if (geteuid() != 0)
        skip();
    write_schedules(10);
    expect_as(ASKER, 3, "apply", "Not applied: 4 nodes would change their pools. a-");
    find_id(id, sizeof id);
    expect_schema("approve list", "approve -o json -c @/sluice.yaml");
    reject = text_format("approve %s --reject --reason late", id);
    expect_as(ASKER, 3, "apply", "Not applied");
    expect_schema_as(ASKER, 3, "apply", "apply");
    expect_as(OTHER, 0, reject, "is rejected by daemon at 2");
    expect_as(ASKER, 3, "apply", "daemon rejected these schedules");
    write_schedules(6);
    expect_as(ASKER, 0, "apply", "Applied: 2 schedules are in force.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_users_reclaim_nodes),
        cmocka_unit_test(two_users_apply_schedules),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, open_world, close_world);
}
