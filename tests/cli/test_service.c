/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Commands that ask the service: sluice-simulator and `sluice serve` run as programs, the commands
 * in this process.  Exit codes, and which keys their JSON has (tests/golden/cli/keys.txt: the
 * stable part of the interface).
 */
#include "broker/journal/journal.h"
#include "tests/cli/programs.h"
#include "tests/cli/schema.h"
#include "tests/support/golden.h"
#include "windows/forecast/forecast_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUICK_MS = 100, TRIES_MS = 20000, FEW_FILES = 500, MANY_FILES = 65536 };

static pid_t programs[2]; /* the simulator, the service */

/* Two hosts in quarantine for long, as an earlier service left them. */
static void write_hosts(void)
{
    static const char *const hosts[] = { "block-1/host-2", "block-1/host-3" };
    owned(chars) char *path = text_format("%s/sluice.db", folder);
    struct error err = { 0 };
    struct journal *journal = journal_sqlite_open(path, &err);
    struct journal_batch *batch;
    uint64_t epoch;

    assert_non_null(journal);
    assert_int_equal(journal_begin_epoch(journal, &epoch, &err), 0);
    batch = journal_batch_new(epoch);
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        owned(chars) char *id = text_format("google/%s", hosts[i]);
        owned(json) json_t *value = json_make("{ss ss ss sI ss}", "host", hosts[i], "pool",
                                              "prod-a-east", "machine", "m", "until",
                                              (json_int_t)4102444800000, "text", "7 of 8 GPUs");

        journal_put(batch, "quarantine", id, 0, value);
    }
    assert_int_equal(journal_commit(journal, &batch, &err), 0);
    journal_close(journal);
}

static int open_world(void **state)
{
    struct rlimit files, few;

    (void)state;
    folder = test_folder_new();
    write_hosts();
    programs[0] = start_simulator();
    getrlimit(RLIMIT_NOFILE, &files);
    few = (struct rlimit){ files.rlim_max < FEW_FILES ? files.rlim_max : FEW_FILES,
                           files.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    programs[1] = start_service();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    return await_service() ? 0 : -1;
}

static int close_world(void **state)
{
    int code = end_program(programs[1]);

    (void)state;
    if (end_program(programs[0]) != 0 || code != 0)
        return -1;
    test_folder_free(folder);
    return 0;
}

static json_t *ask(int code, const char *line)
{
    owned(chars) char *full = text_format("%s -o json -c @/sluice.yaml", line);
    owned(said) struct said said = expect_code(folder, code, full);
    struct error err = { 0 };
    json_t *answer = json_parse(said.out->chars, said.out->length, line, &err);

    if (!answer)
        fail_msg("sluice %s: %s", line, err.text);
    return answer;
}

static void expect(int code, const char *line, const char *says)
{
    owned(chars) char *full = text_format("%s -c @/sluice.yaml", line);
    owned(said) struct said said = expect_code(folder, code, full);

    if (!strstr(said.out->chars, says) && !strstr(said.err->chars, says))
        fail_msg("sluice %s: lacks \"%s\":\n%s%s", line, says, said.out->chars, said.err->chars);
}

static bool is_snake_case(const char *key)
{
    return key[0] != '\0' && strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(key);
}

/* One line for each key below `path`, sorted; those of a list once. */
static void add_keys(const char *path, const json_t *json, struct text *out)
{
    json_t *value;
    const char *key;

    if (json_is_array(json))
        return add_keys(path, json_array_get(json, 0), out);
    json_object_foreach((json_t *)(uintptr_t)json, key, value) {
        owned(chars) char *below = text_format("%s %s%s", path, key,
                                               json_is_array(value) ? "[]" : "");

        if (!is_snake_case(key))
            fail_msg("%s: is not in snake_case", below);
        text_add(out, "%s\n", below);
        add_keys(below, value, out);
    }
}

static void keys_of(int code, const char *name, const char *line, struct text *out)
{
    owned(json) json_t *answer = ask(code, line);

    schema_fits(name, answer);
    add_keys(name, answer, out);
}

/* Answers whose members depend on the moment: only their schema is kept. */
static void published_schemas_are_true(void **state)
{
    static const char *const lines[] = { "events",    "audit",        "departures",   "leads",
                                         "webhooks",  "reclaim list", "approve list", "status",
                                         "transfers", "plan",         "validate" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        owned(json) json_t *answer = ask(0, lines[i]);

        schema_fits(lines[i], answer);
    }
}

static void json_has_the_keys_that_it_always_had(void **state)
{
    owned(text) struct text *keys = text_new(1 << 16);
    owned(json) json_t *before = ask(0, "reclaim --to prod-a --nodes 1 --reason x");
    owned(json) json_t *freeze = ask(0, "freeze --cluster research-a --for 1h --reason x");

    (void)state;
    schema_fits("reclaim", before);
    schema_fits("freeze", freeze);
    add_keys("reclaim", before, keys);
    add_keys("freeze", freeze, keys);
    for (int64_t end_ms = now_ms() + START_MS; now_ms() < end_ms; pause_a_little()) {
        owned(json) json_t *transfers = ask(0, "transfers");

        if (json_array_size(json_object_get(transfers, "transfers")) > 0)
            break;
    }
    keys_of(0, "status", "status", keys);
    keys_of(0, "transfers", "transfers", keys);
    write_schedules(9);
    keys_of(0, "plan", "plan", keys);
    write_schedules(6);
    keys_of(0, "unfreeze", "unfreeze --cluster research-a", keys);
    keys_of(0, "reclaim list", "reclaim list", keys);
    keys_of(0, "hosts", "hosts", keys);
    keys_of(0, "hosts release", "hosts release google/block-1/host-3", keys);
    expect(0, "hosts", "No host is in quarantine.");
    keys_of(0, "version", "version", keys);
    keys_of(0, "reload", "reload --check", keys);
    keys_of(0, "config show", "config show", keys);
    golden_check("golden/cli/keys.txt", keys->chars);
}

static void exit_codes_say_what_happened(void **state)
{
    owned(chars) char *fifo = text_format("%s/pipe", folder);

    (void)state;
    expect(0, "plan --exit-code --in-force", "Plan: 0 nodes to move now");
    expect(0, "apply", "Applied: 2 schedules are in force.");
    write_schedules(8);
    expect(2, "plan --exit-code --out @/plan.json", "Plan: 2 nodes to move now");
    expect(5, "reclaim --to prod-a --nodes 100 --reason x --dry-run", "Would take 9 of 100 nodes");
    expect(5, "reclaim --to prod-a --from research-a --nodes 100 --reason x --dry-run",
           "Would take 9 of 100 nodes for prod-a from research-a: prod-a-east +9");
    expect(1, "reclaim --to prod-a --from prod-a --nodes 1 --reason x",
           "it is not a research cluster; those that can: research-a");
    expect(1, "reclaim --to prod-a --from research-z --nodes 1 --reason x",
           "there is no cluster research-z in ");
    expect(1, "reclaim --to prod-b --nodes 1 --reason x", "there is no cluster prod-b in ");
    expect(1, "reclaim --to research-a --nodes 1 --reason x", "not a production cluster");
    expect(1, "freeze --cluster prod-z --for 1h --reason x", "no cluster prod-z");
    expect(1, "freeze --until 2020-01-01T00:00:00Z --reason x", "has passed");
    expect(1, "unfreeze", "there is no freeze of all");
    expect(0, "reclaim list", "No reclaim is under way.");
    expect(0, "approve", "Nothing waits for a second person.");
    expect(1, "approve a-none", "there is no approval a-none");
    expect(64, "reclaim end", "expected nothing, list, or: end ID");
    expect(64, "reclaim end r-none", "--reason is required");
    expect(1, "reclaim end r-none --reason x", "there is no reclaim r-none");
    expect(1, "freeze --for 1h --reason a\nb", "without control characters");
    expect(1, "reclaim --to prod-a --nodes 1 --reason a\nb", "without control characters");
    expect(1, "transfers t-none", "there is no transfer t-none");
    expect(1, "departures --node gpu-1&seconds=60", "no cluster has a node gpu-1&seconds=60");
    expect(0, "hosts", "block-1/host-2  google    prod-a-east  2100-01-01 00:00 UTC  7 of 8 GPUs");
    expect(0, "hosts -o wide", "prod-a-east  2100-01-01 00:00 UTC  m        7 of 8 GPUs");
    expect(0, "hosts -o csv", "2100-01-01T00:00:00Z");
    expect(0, "status -o wide", "POOL             CLUSTER     ZONE        NODES");
    expect(0, "hosts --color=always", "HOST");
    expect(64, "status --color=blue", "is none of auto|always|never");
    expect(1, "hosts release host-2", "host host-2 is not in quarantine");
    expect(0, "hosts release block-1/host-2", "host block-1/host-2 is used again");
    expect(1, "hosts release block-1/host-2", "host block-1/host-2 is not in quarantine");
    expect(0, "events", "host_released");
    expect(0, "events --since 1h --actor root", "host_released");
    expect(1, "events --since noon", "since: \"noon\" is neither a duration");
    expect(75, "serve", "another sluice serves this journal");
    expect(0, "freeze --for 1h --reason incident", "all clusters: frozen until");
    expect(0, "plan", "FROZEN");
    expect(0, "status", "FROZEN");
    expect(0, "status --check", "FROZEN"); /* an operator's wish is no trouble */
    expect(0, "status --check=nagios", "SLUICE OK - all clusters: frozen until");
    expect(0, "apply", "Applied");
    expect(2, "status --check", "SHORT           prod-a has 6 nodes and wants 8");
    expect(2, "status --check", "SHORT, FROZEN");
    expect(2, "status --check",
           "`sluice unfreeze` ends the freeze, and `sluice reclaim` passes it");
    expect(2, "status --check=nagios", "SLUICE CRITICAL - prod-a has 6 nodes and wants 8");
    expect(2, "status --check=nagios", "| conditions=4 transfers=0;;;0\n");
    expect(64, "status --check=nagios -w", "looks once");
    write_schedules(6);
    expect(0, "apply", "Applied");
    expect(0, "status --check", "FROZEN");
    expect(0, "unfreeze", "all clusters: the freeze is over");
    write_schedules(6);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    expect(1, "plan --out @/pipe", "pipe: is not a regular file");
    expect(0, "apply", "Applied");
}

/* Old schedules are said to be old before they are applied; those in force are the service's to
   tell. */
static void a_plan_says_how_old_it_is(void **state)
{
    static const char file[] =
        "{\"kind\": \"forecast\", \"version\": 1, \"windows\": [{\"window\": \"day\", "
        "\"demand_from\": "
        "\"2019-11-09T00:00:00Z\", \"demand_to\": \"2019-11-16T00:00:00Z\", \"use_until\": "
        "\"2019-11-18T00:00:00Z\", \"is_forecast\": true, \"queues\": []}]}";
    static const char warning[] = "warning: these schedules were to be planned again by 2019-11-18";
    owned(chars) char *path = test_folder_write(folder, "schedules/" FORECAST_FILE_NAME, file);

    (void)state;
    expect(0, "plan --out @/old.json", warning);
    expect(0, "apply @/old.json", warning);
    expect(0, "plan --in-force", "Plan: 0 nodes to move now");
    assert_int_equal(unlink(path), 0);
    expect(0, "apply", "Applied: 2 schedules are in force.");
}

/* As another user, who may not even see this program: what it says, and its exit code. */
static int run_as_nobody(const char *line, char *said, size_t size)
{
    int ends[2], status = 0;
    ssize_t got;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        owned(chars) char *config = text_format("%s/sluice.yaml", folder);
        const char *words[] = { "sluice", line, "-c", config, NULL };

        dup2(ends[1], 2);
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(99);
        _exit(command_main(&sluice_commands, sluice_common_options, 4, (char **)(uintptr_t)words));
    }
    close(ends[1]);
    got = read(ends[0], said, size - 1);
    said[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "No service answers" would send people to start a second one. */
/* The service is asked, not the file: it has no forecast until schedules with one are applied. */
static void the_forecast_in_force_is_shown(void **state)
{
    static const char file[] =
        "{\"kind\": \"forecast\", \"version\": 1, \"windows\": [{\"window\": \"day\", "
        "\"demand_from\": \"2026-11-09T00:00:00Z\", \"demand_to\": \"2026-11-16T00:00:00Z\", "
        "\"use_until\": \"2099-11-23T00:00:00Z\", \"is_forecast\": true, \"queues\": [{\"queue\": "
        "\"chat\", \"replicas\": 24, \"gpus\": 48, \"point\": 20.5, \"lower\": 18, \"share\": 0.9, "
        "\"method\": \"profile\", \"basis\": \"rank\", \"score\": {\"days\": 10, \"covered\": 9, "
        "\"loss\": 0.5, \"loss_last_week\": 0.75, \"loss_last_week_10\": 0.625}}]}]}";
    owned(chars) char *path = NULL;

    (void)state;
    expect(0, "forecast --in-force", "The schedules in force came without a forecast.");
    path = test_folder_write(folder, "schedules/forecast.json", file);
    expect(0, "apply", "Applied");
    expect(0, "forecast --in-force", "chat   day      18.0   20.5        24     9    10");
    expect(0, "forecast --in-force chat", "2099-11-23 00:00 UTC");
    expect(0, "forecast --in-force -o csv", "window,use_until,queue,replicas,");
    expect(0, "forecast --in-force -o csv --no-headers", "\r\n");
    expect(0, "forecast --in-force -o csv", "day,2099-11-23T00:00:00Z,chat,24,48");
    expect(1, "forecast --in-force ghost", "the forecast in force has no queue ghost");
    expect(64, "forecast --in-force --demand x.csv", "give one of them");
    expect(64, "forecast", "give --demand FILE, or --in-force");
    owned(json) json_t *answer = ask(0, "forecast --in-force");

    schema_fits("forecast in-force", answer);
    assert_int_equal(unlink(path), 0);
    expect(0, "apply", "Applied");
}

static void a_closed_socket_says_whose_it_is(void **state)
{
    owned(chars) char *path = text_format("%s/sluice.sock", folder);
    char said[2048];

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can be another user */
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(run_as_nobody("status", said, sizeof said), 77);
    if (!strstr(said, "may not open it: it belongs to user root, group root, mode 0660; run this "
                      "as user root"))
        fail_msg("%s", said);
    assert_int_equal(chown(path, 0, 1), 0);
    assert_int_equal(run_as_nobody("status", said, sizeof said), 77);
    if (!strstr(said, "become a member of group daemon (usermod -aG daemon nobody"))
        fail_msg("%s", said);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chmod(folder, 0700), 0);
}

/* What it holds are credentials: they are in no core file. */
static void the_service_leaves_no_core(void **state)
{
    owned(chars) char *path = text_format("/proc/%d/limits", (int)programs[1]);
    owned(text) struct text *limits = file_read(path, SAID_LIMIT, NULL);
    const char *line = strstr(limits->chars, "Max core file size");
    char soft[32], hard[32];

    (void)state;
    assert_non_null(line);
    assert_int_equal(sscanf(line, "Max core file size %31s %31s", soft, hard), 2);
    assert_string_equal(soft, "0");
    assert_string_equal(hard, "0");
}

static void the_service_may_have_many_connections(void **state)
{
    owned(chars) char *path = text_format("/proc/%d/limits", (int)programs[1]);
    owned(text) struct text *limits = file_read(path, SAID_LIMIT, NULL);
    const char *line = strstr(limits->chars, "Max open files");
    int soft, hard;

    (void)state;
    assert_non_null(line);
    assert_int_equal(sscanf(line, "Max open files %d %d", &soft, &hard), 2);
    assert_int_equal(soft, hard < MANY_FILES ? hard : MANY_FILES);
}

/* What root made there, the unit of that user could not open. */
static void root_makes_no_file_beside_another_users_journal(void **state)
{
    owned(chars) char *config = text_format("%s/sluice.yaml", folder);
    owned(chars) char *home = text_format("%s/home", folder);
    owned(text) struct text *mine = file_read(config, SAID_LIMIT, NULL);
    const char *at = strstr(mine->chars, "sluice.db");
    owned(text) struct text *next = text_new(SAID_LIMIT);
    struct file_list files;
    struct error err;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(at);
    assert_int_equal(mkdir(home, 0755), 0);
    assert_int_equal(chown(home, 65534, 65534), 0);
    text_add(next, "socket: other.sock\n%.*shome/sluice.db%s", (int)(at - mine->chars), mine->chars,
             at + strlen("sluice.db"));
    mem_free(test_folder_write(folder, "other.yaml", next->chars));

    owned(chars) char *other = text_format("%s/other.yaml", folder);
    owned(chars) char *log_path = text_format("%s/other.log", folder);
    owned(text) struct text *log = NULL;
    pid_t pid = start("other.log",
                      (const char *[]){ SLUICE_BUILD "/sluice", "serve", "-c", other, NULL });
    int status = -1;

    for (int64_t end_ms = now_ms() + START_MS; waitpid(pid, &status, WNOHANG) == 0;
         pause_a_little()) {
        log = file_read(log_path, SAID_LIMIT, NULL);
        if (now_ms() > end_ms || (log && strstr(log->chars, "serving")))
            kill(pid, SIGKILL);
        text_free(steal(&log));
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_ERROR);
    log = file_read(log_path, SAID_LIMIT, NULL);
    if (!strstr(log->chars, "belongs to user nobody, and you are root") ||
        !strstr(log->chars, "sudo -u nobody"))
        fail_msg("%s", log->chars);
    assert_int_equal(file_list(home, "", &files, &err), 0);
    assert_int_equal(files.count, 0);
    file_list_free(&files);
}

static void a_plan_of_another_world_is_refused(void **state)
{
    (void)state;
    write_schedules(8);
    expect(0, "plan --out @/plan.json", "Plan: 1 node to move now");
    expect(0, "reclaim --to prod-a --nodes 8 --reason x", "Accepted: 8 of 8 nodes");
    expect(3, "apply @/plan.json", "the world moved since the plan was made");
    expect(0, "reclaim --to prod-a --nodes 8 --reason x", "Already under way as r-");
    expect(3, "reclaim --to prod-a --nodes 1 --reason x --new", "nodes on their way to it: ");
}

/* The configuration with `before` replaced by `after`; *keep: as it was. */
static void change_config(const char *before, const char *after, struct text **keep)
{
    owned(chars) char *path = text_format("%s/sluice.yaml", folder);
    owned(text) struct text *next = text_new(1 << 16);
    struct text *text = file_read(path, 1 << 16, NULL);
    const char *at = text ? strstr(text->chars, before) : NULL;

    assert_non_null(at);
    text_add(next, "%.*s%s%s", (int)(at - text->chars), text->chars, after, at + strlen(before));
    mem_free(test_folder_write(folder, "sluice.yaml", next->chars));
    *keep = text;
}

static void restore_config(struct text **keep)
{
    mem_free(test_folder_write(folder, "sluice.yaml", (*keep)->chars));
    text_free(*keep);
}

/* Until the last event that the reloads left says so; no command reads a wrong configuration, so it
   stands right again by then. */
static void await_event(const char *event, const char *says)
{
    for (int64_t end_ms = now_ms() + START_MS; now_ms() < end_ms; pause_a_little()) {
        owned(said) struct said said = say(folder, folder, "events -o json -c @/sluice.yaml");
        owned(json) json_t *answer = json_parse(said.out->chars, said.out->length, "events", NULL);
        const json_t *rows = json_object_get(answer, "events");

        for (size_t i = json_array_size(rows); i-- > 0;) {
            const json_t *row = json_array_get(rows, i);

            if (!text_starts_with(json_text_or(row, "event", ""), "config_"))
                continue;
            if (text_equal(json_text_or(row, "event", ""), event) &&
                strstr(json_text_or(row, "text", ""), says))
                return;
            break;
        }
    }
    fail_msg("no event %s: %s", event, says);
}

/* The service has read the wrong file when its log says so; then the right one may stand there. */
static void await_refusal(struct text **keep, const char *says)
{
    owned(chars) char *path = text_format("%s/service.log", folder);
    bool is_refused = false;

    for (int64_t end_ms = now_ms() + START_MS; now_ms() < end_ms && !is_refused; pause_a_little()) {
        owned(text) struct text *log = file_read(path, SAID_LIMIT, NULL);

        is_refused = log && strstr(log->chars, "config_refused") && strstr(log->chars, says);
    }
    restore_config(keep);
    await_event("config_refused", says);
}

static void a_hangup_reads_the_configuration_again(void **state)
{
    owned(json) json_t *before = ask(0, "transfers --all");
    size_t count = json_array_size(json_object_get(before, "transfers"));
    struct text *keep = NULL;

    (void)state;
    assert_true(count > 0);
    /* A terminal's end: the same file.  Nothing moves twice. */
    assert_int_equal(kill(programs[1], SIGHUP), 0);
    await_event("config_reloaded", "sluice.yaml");
    owned(json) json_t *after = ask(0, "transfers --all");

    assert_int_equal(json_array_size(json_object_get(after, "transfers")), count);
    for (size_t i = 0; i < count; i++) {
        const json_t *row = json_array_get(json_object_get(before, "transfers"), i);
        owned(chars) char *line = text_format("transfers %s", json_text_or(row, "transfer", ""));

        expect(0, line, json_text_or(row, "node", "-"));
        expect(0, line, "\nStep: ");
    }

    /* Wrong: told with file and line, and the old one stays in force. */
    change_config("repack_nodes: 0", "repack_nodes: many", &keep);
    assert_int_equal(kill(programs[1], SIGHUP), 0);
    await_refusal(&keep, "sluice.yaml:7");
    expect(2, "status --check", "WARN the configuration was read again and is not in force");

    /* A pool that transfers and reclaims need. */
    change_config("  research-a-east: {cluster", "  research-b-east: {cluster", &keep);
    assert_int_equal(kill(programs[1], SIGHUP), 0);
    await_refusal(&keep, "pool research-a-east is not in it any more, and transfer t-");

    /* A good one takes effect. */
    change_config("notice: 5m", "notice: 7m", &keep);
    assert_int_equal(kill(programs[1], SIGHUP), 0);
    await_event("config_reloaded", "sluice.yaml");
    expect(0, "departures -o json", "\"notice_s\": 420");
    restore_config(&keep);
    assert_int_equal(waitpid(programs[1], NULL, WNOHANG), 0);
}

static void the_status_answers_at_once(void **state)
{
    int64_t best_ms = INT64_MAX;
    int64_t end_ms = now_ms() + TRIES_MS; /* beside busy processes few of them have their turn */

    (void)state;
    while (best_ms >= QUICK_MS && now_ms() < end_ms) {
        int64_t began_ms = now_ms();

        expect(0, "status", "CLUSTER");
        if (now_ms() - began_ms < best_ms)
            best_ms = now_ms() - began_ms;
    }
    print_message("status in %lld ms\n", (long long)best_ms);
    assert_true(best_ms < QUICK_MS);
}

/* The last event of that kind. */
static json_t *last_event(const char *kind)
{
    owned(json) json_t *answer = ask(0, "audit");
    const json_t *rows = json_object_get(answer, "events");

    for (size_t i = json_array_size(rows); i-- > 0;)
        if (text_equal(json_text_or(json_array_get(rows, i), "event", ""), kind))
            return json_deep_copy(json_array_get(rows, i));
    fail_msg("no event %s", kind);
    return NULL;
}

static void a_person_lets_the_configuration_be_read_again(void **state)
{
    struct text *keep = NULL;

    (void)state;
    expect(0, "reload", "is in force.");
    expect(0, "reload", "No setting of ");
    change_config("notice: 5m, deadline: 5m", "notice: 8m", &keep);
    expect(0, "reload --check", "~ drain.notice: 5m -> 8m\n");
    expect(0, "departures -o json", "\"notice_s\": 300");
    expect(0, "reload", "- drain.deadline: 5m\n");
    expect(0, "departures -o json", "\"notice_s\": 480"); /* when it ends, it is in force */
    restore_config(&keep);

    owned(json) json_t *event = last_event("config_reloaded");

    assert_non_null(strstr(json_text_or(event, "by", ""), "root"));
    assert_int_equal(json_int_or(event, "changed_settings", 0), 2);
    owned(json) json_t *answer = ask(0, "reload");
    const json_t *row = json_array_get(json_object_get(answer, "changes"), 1);

    assert_string_equal(json_text_or(row, "key", ""), "drain.deadline");
    assert_string_equal(json_text_or(row, "change", ""), "added");
    assert_string_equal(json_text_or(row, "after", ""), "5m");
    assert_true(json_is_null(json_object_get(row, "before")));
}

/* It is in force all the same: another window has one. */
static void a_reload_names_windows_without_a_schedule(void **state)
{
    struct text *keep = NULL;

    (void)state;
    change_config("  night: {", "  late: {", &keep);
    expect(0, "reload --check",
           "Nothing was changed.\nWarning, as soon as it is in force: window "
           "late has no schedule, and other windows have one\n");

    owned(json) json_t *check = ask(0, "reload --check");
    const json_t *foreseen = json_array_get(json_object_get(check, "unplanned"), 0);

    assert_string_equal(json_text_or(foreseen, "window", ""), "late");

    owned(said) struct said before = expect_code(folder, 0, "status -c @/sluice.yaml");

    assert_null(strstr(before.out->chars, "window late"));
    expect(0, "reload", "Warning: window late has no schedule, and other windows have one\n");

    owned(json) json_t *answer = ask(0, "reload");
    const json_t *row = json_array_get(json_object_get(answer, "unplanned"), 0);

    assert_string_equal(json_text_or(row, "window", ""), "late");
    assert_true(
        json_equal(json_object_get(check, "unplanned"), json_object_get(answer, "unplanned")));
    expect(2, "status --check", "window late has no schedule");
    restore_config(&keep);

    owned(json) json_t *back = ask(0, "reload --check"); /* all windows have one again */

    assert_true(json_is_array(json_object_get(back, "unplanned")));
    assert_int_equal(json_array_size(json_object_get(back, "unplanned")), 0);
    expect(0, "reload", "is in force.\n");
}

/* The command reads a right copy of it, as from another machine. */
static void a_reload_that_is_refused_changes_nothing_and_says_why(void **state)
{
    struct text *keep = NULL;
    owned(said) struct said said = { 0 };

    (void)state;
    change_config("repack_nodes: 0", "repack_nodes: many", &keep);
    mem_free(test_folder_write(folder, "copy.yaml", keep->chars));
    said = expect_code(folder, 1, "reload -c @/copy.yaml");
    if (!strstr(said.err->chars, "sluice.yaml:7: repack_nodes: "))
        fail_msg("%s", said.err->chars);
    restore_config(&keep);
    owned(json) json_t *wrong = last_event("config_refused");

    assert_non_null(strstr(json_text_or(wrong, "by", ""), "root"));
    change_config("  research-a-east: {cluster", "  research-b-east: {cluster", &keep);
    expect(3, "reload --check", "pool research-a-east is not in it any more, and ");
    owned(json) json_t *same = last_event("config_refused"); /* a question leaves no event */

    assert_true(json_equal(json_object_get(wrong, "seq"), json_object_get(same, "seq")));
    expect(3, "reload", "pool research-a-east is not in it any more, and ");
    expect(2, "status --check", "WARN the configuration was read again and is not in force");
    restore_config(&keep);
    expect(0, "reload", "is in force");
    assert_int_equal(waitpid(programs[1], NULL, WNOHANG), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_say_what_happened),
        cmocka_unit_test(a_plan_says_how_old_it_is),
        cmocka_unit_test(the_status_answers_at_once),
        cmocka_unit_test(json_has_the_keys_that_it_always_had),
        cmocka_unit_test(published_schemas_are_true),
        cmocka_unit_test(the_forecast_in_force_is_shown),
        cmocka_unit_test(a_closed_socket_says_whose_it_is),
        cmocka_unit_test(the_service_leaves_no_core),
        cmocka_unit_test(the_service_may_have_many_connections),
        cmocka_unit_test(root_makes_no_file_beside_another_users_journal),
        cmocka_unit_test(a_plan_of_another_world_is_refused),
        cmocka_unit_test(a_hangup_reads_the_configuration_again),
        cmocka_unit_test(a_person_lets_the_configuration_be_read_again),
        cmocka_unit_test(a_reload_names_windows_without_a_schedule),
        cmocka_unit_test(a_reload_that_is_refused_changes_nothing_and_says_why),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, open_world, close_world);
}
