/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The SSH client on a real sshd.  tests/real/ssh starts it, and says where its files are:
 * SSHD_FOLDER, SSHD_PORT.  Each case is one loop and one client.
 */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/ssh.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CROWD = 40, PATIENCE_MS = 60 * SECOND_MS };

struct bench {
    struct loop *loop;
    struct ssh *ssh;
    const char *folder;
    struct text *host_key;
    char *key_file;
    struct ssh_host host;
    int awaited;
};

/* What came of one command. */
struct outcome {
    struct bench *bench;
    int count;
    int exit_status;
    char signal[16];
    struct text *output;
    char errors[SSH_ERRORS_LIMIT + 1];
    struct error err;
};

static char *path_of(const struct bench *bench, const char *name)
{
    return text_format("%s/%s", bench->folder, name);
}

static struct text *read_file(const struct bench *bench, const char *name)
{
    owned(chars) char *path = path_of(bench, name);

    return test_file_read(path);
}

static void bench_open(struct bench *bench)
{
    struct error err = { 0 };

    *bench = (struct bench){ .folder = getenv("SSHD_FOLDER") };
    assert_non_null(bench->folder);
    bench->loop = loop_libevent_new(&err);
    assert_non_null(bench->loop);
    bench->ssh = ssh_new(bench->loop);
    bench->host_key = read_file(bench, "host.pub");
    bench->key_file = path_of(bench, "user");
    bench->host = (struct ssh_host){
        .address = "127.0.0.1",
        .port = atoi(getenv("SSHD_PORT")),
        .user = "root",
        .host_key = bench->host_key->chars,
        .key_file = bench->key_file,
    };
}

static void bench_close(struct bench *bench)
{
    ssh_free(bench->ssh);
    loop_free(bench->loop);
    text_free(bench->host_key);
    mem_free(bench->key_file);
}

static void on_done(void *context, const struct ssh_answer *answer, const struct error *err)
{
    struct outcome *outcome = context;

    assert_true((answer == NULL) != (err == NULL));
    outcome->count++;
    if (answer) {
        outcome->exit_status = answer->exit_status;
        text_copy(outcome->signal, sizeof outcome->signal, answer->signal ?: "");
        text_add_bytes(outcome->output, answer->output, answer->output_length);
        text_copy(outcome->errors, sizeof outcome->errors, answer->errors);
    } else {
        outcome->err = *err;
    }
    if (--outcome->bench->awaited == 0)
        loop_stop(outcome->bench->loop);
}

static struct ssh_exec *begin(struct bench *bench, struct outcome *outcome,
                              const struct ssh_host *host, struct ssh_request request)
{
    *outcome = (struct outcome){ .bench = bench, .output = text_new(TEXT_UNBOUNDED) };
    request.timeout_ms = request.timeout_ms ?: PATIENCE_MS;
    request.output_limit = request.output_limit ?: 1024 * 1024;
    bench->awaited++;
    return ssh_run(bench->ssh, host, &request, on_done, outcome);
}

/* Runs one command to its end; the caller frees the outcome's output. */
static void run(struct bench *bench, struct outcome *outcome, const struct ssh_host *host,
                struct ssh_request request)
{
    begin(bench, outcome, host, request);
    assert_int_equal(outcome->count, 0);
    loop_run_until(bench->loop, loop_now(bench->loop) + 2 * PATIENCE_MS);
    assert_int_equal(outcome->count, 1);
}

static void expect_output(struct outcome *outcome, const char *output)
{
    if (outcome->err.kind != ERROR_NONE)
        fail_msg("%s: %s", error_kind_name(outcome->err.kind), outcome->err.text);
    assert_string_equal(outcome->output->chars, output);
    text_free(outcome->output);
}

static void expect_error(struct outcome *outcome, enum error_kind kind, const char *words)
{
    if (outcome->err.kind != kind || !strstr(outcome->err.text, words))
        fail_msg("%s: %s", error_kind_name(outcome->err.kind), outcome->err.text);
    text_free(outcome->output);
}

static void each_end_of_a_command_is_its_answer(void **state)
{
    static const struct {
        const char *command, *output, *errors, *signal;
        int exit_status;
    } rows[] = {
        { "echo hello", "hello\n", "", "", 0 },
        { "echo half; echo why >&2; exit 3", "half\n", "why\n", "", 3 },
        { "kill -KILL $$", "", "", "KILL", -1 },
        { "cat; echo over", "over\n", "", "", 0 }, /* its input is empty */
        { "exec <&-; exec >&-; exit 7", "", "", "", 7 },
        { "head -c 300000 /dev/zero | tr '\\0' e >&2; echo ' the end' >&2", "", "e the end\n", "",
          0 },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct outcome outcome;
        size_t length;

        run(&bench, &outcome, &bench.host, (struct ssh_request){ .command = rows[i].command });
        expect_output(&outcome, rows[i].output);
        assert_int_equal(outcome.exit_status, rows[i].exit_status);
        assert_string_equal(outcome.signal, rows[i].signal);
        length = strlen(rows[i].errors);
        assert_true(strlen(outcome.errors) >= length);
        assert_string_equal(outcome.errors + strlen(outcome.errors) - length, rows[i].errors);
    }
    bench_close(&bench);
}

/* More than a window of SSH in both directions. */
static void much_goes_in_and_out(struct bench *bench, const struct ssh_host *host)
{
    owned(text) struct text *input = text_new(TEXT_UNBOUNDED);
    struct outcome outcome;

    while (input->length < SSH_INPUT_LIMIT - 100)
        text_add(input, "line %zu\n", input->length);
    run(bench, &outcome, host,
        (struct ssh_request){ .command = "tee /dev/stderr | cat",
                              .input = input->chars,
                              .input_length = input->length,
                              .output_limit = input->length });
    expect_output(&outcome, input->chars);
    run(bench, &outcome, host,
        (struct ssh_request){ .command = "exit 0", /* it reads nothing of it */
                              .input = input->chars,
                              .input_length = input->length });
    expect_output(&outcome, "");
    run(bench, &outcome, host,
        (struct ssh_request){ .command = "yes | head -c 8000000", .output_limit = 8000000 });
    assert_int_equal(outcome.err.kind, ERROR_NONE);
    assert_int_equal(outcome.output->length, 8000000);
    text_free(outcome.output);
    run(bench, &outcome, host, (struct ssh_request){ .command = "yes", .output_limit = 1000000 });
    expect_error(&outcome, ERROR_UNKNOWN_OUTCOME, "prints too much");
}

static void input_and_output_may_be_large(void **state)
{
    struct bench bench;

    (void)state;
    bench_open(&bench);
    much_goes_in_and_out(&bench, &bench.host);
    bench_close(&bench);
}

static void a_jump_host_carries_it_all(void **state)
{
    struct bench bench;
    struct ssh_host inner, wrong;
    struct outcome outcome;

    (void)state;
    bench_open(&bench);
    inner = bench.host;
    inner.jump = &bench.host;
    much_goes_in_and_out(&bench, &inner);
    run(&bench, &outcome, &inner,
        (struct ssh_request){ .command = "kill -KILL $PPID", .timeout_ms = 5 * SECOND_MS });
    expect_error(&outcome, ERROR_UNKNOWN_OUTCOME, "the connection ended");
    inner.port = 1;
    run(&bench, &outcome, &inner, (struct ssh_request){ .command = "true" });
    expect_error(&outcome, ERROR_TRANSIENT, "the jump host cannot connect to the machine");
    wrong = bench.host;
    wrong.user = "nobody-at-all";
    inner = bench.host;
    inner.jump = &wrong;
    run(&bench, &outcome, &inner, (struct ssh_request){ .command = "true" });
    expect_error(&outcome, ERROR_DENIED, "jump host: nobody-at-all@127.0.0.1:");
    bench_close(&bench);
}

static void no_other_host_key_is_taken(void **state)
{
    struct bench bench;
    struct ssh_host host;
    struct outcome outcome;

    (void)state;
    bench_open(&bench);

    owned(text) struct text *stranger = read_file(&bench, "stranger.pub");
    owned(text) struct text *ecdsa = read_file(&bench, "host_ecdsa.pub");
    owned(text) struct text *both = text_new(TEXT_UNBOUNDED);

    host = bench.host;
    host.host_key = stranger->chars;
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "true" });
    expect_error(&outcome, ERROR_DENIED, "its host key is SHA256:");
    host.host_key = ecdsa->chars; /* the server has it, too */
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "echo yes" });
    expect_output(&outcome, "yes\n");
    text_add(both, "%s,%s", stranger->chars, bench.host_key->chars);
    host.host_key = both->chars;
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "echo yes" });
    expect_output(&outcome, "yes\n");
    host.host_key = "ssh-rsa AAAA";
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "true" });
    expect_error(&outcome, ERROR_INVALID, "ssh-ed25519");
    bench_close(&bench);
}

static void keys_of_files_and_agents(void **state)
{
    static const struct {
        const char *key, *agent;
        enum error_kind kind;
        const char *says;
    } rows[] = {
        { "user", NULL, ERROR_NONE, "yes\n" },
        { "user_ecdsa", NULL, ERROR_NONE, "yes\n" },
        { "stranger", NULL, ERROR_DENIED, "the machine refuses the key of" },
        { "user_rsa", NULL, ERROR_DENIED, "the machine refuses the key of" },
        { "user.pub", NULL, ERROR_DENIED, "" }, /* all may read it */
        { "config-0600", NULL, ERROR_INVALID, "the key file cannot be used" },
        { "nowhere", NULL, ERROR_NOT_FOUND, "nowhere" },
        { NULL, "agent", ERROR_NONE, "yes\n" },
        { NULL, "nowhere", ERROR_TRANSIENT, "SSH agent" },
        { NULL, NULL, ERROR_INVALID, "neither a key nor an agent" },
    };
    struct bench bench;

    (void)state;
    bench_open(&bench);
    mem_free(test_folder_write(bench.folder, "config-0600", "no key at all\n"));
    owned(chars) char *bad = path_of(&bench, "config-0600");

    assert_int_equal(chmod(bad, 0600), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *key = rows[i].key ? path_of(&bench, rows[i].key) : NULL;
        owned(chars) char *agent = rows[i].agent ? path_of(&bench, rows[i].agent) : NULL;
        struct ssh_host host = bench.host;
        struct outcome outcome;

        host.key_file = key;
        host.agent_socket = agent;
        run(&bench, &outcome, &host, (struct ssh_request){ .command = "echo yes" });
        if (rows[i].kind == ERROR_NONE)
            expect_output(&outcome, rows[i].says);
        else
            expect_error(&outcome, rows[i].kind, rows[i].says);
    }
    bench_close(&bench);
}

static int listen_silently(int *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static void a_command_that_was_not_sent_is_told_from_one_that_was(void **state)
{
    struct bench bench;
    struct ssh_host host;
    struct outcome outcome;
    int silent, port;

    (void)state;
    bench_open(&bench);
    silent = listen_silently(&port);
    host = bench.host;
    host.port = port;
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "true", .timeout_ms = 500 });
    expect_error(&outcome, ERROR_TRANSIENT, "no answer within 0.5 s, while it logged in");
    close(silent);
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "true" });
    expect_error(&outcome, ERROR_TRANSIENT, "cannot connect");
    host = bench.host;
    host.address = "no-such-name.invalid";
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "true", .timeout_ms = 3000 });
    expect_error(&outcome, ERROR_TRANSIENT, "address");
    host.address = "localhost";
    run(&bench, &outcome, &host, (struct ssh_request){ .command = "echo yes" });
    expect_output(&outcome, "yes\n");
    run(&bench, &outcome, &bench.host,
        (struct ssh_request){ .command = "sleep 60", .timeout_ms = SECOND_MS });
    assert_null(outcome.err.cause);
    expect_error(&outcome, ERROR_UNKNOWN_OUTCOME, "no answer within 1.0 s, while it ran");
    run(&bench, &outcome, &bench.host, (struct ssh_request){ .command = "kill -KILL $PPID" });
    assert_ptr_equal(outcome.err.cause, &ssh_heard);
    expect_error(&outcome, ERROR_UNKNOWN_OUTCOME, "the connection ended");
    bench_close(&bench);
}

/* Each command says how many run beside it. */
static void a_crowd_waits_for_its_turn(void **state)
{
    struct bench bench;
    struct outcome outcomes[CROWD];
    long long most = 0;

    (void)state;
    bench_open(&bench);
    owned(chars) char *command = text_format("f=$(mktemp %s/running-XXXXXX); sleep 0.1; "
                                             "printf %%s $(ls %s | grep -c running-); rm $f",
                                             bench.folder, bench.folder);

    for (int i = 0; i < CROWD; i++)
        begin(&bench, &outcomes[i], &bench.host, (struct ssh_request){ .command = command });
    loop_run_until(bench.loop, loop_now(bench.loop) + 2 * PATIENCE_MS);
    for (int i = 0; i < CROWD; i++) {
        long long beside;

        assert_int_equal(outcomes[i].count, 1);
        assert_true(text_to_int(outcomes[i].output->chars, 1, CROWD, &beside));
        most = beside > most ? beside : most;
        text_free(outcomes[i].output);
    }
    assert_in_range(most, 2, SSH_SESSIONS_PER_HOST);
    bench_close(&bench);
}

/* Machines that accept and say nothing have all places of the jump host.  The time of the one after
   them begins with its place.  Only what leads to a machine is told as the way to it. */
static void a_machine_after_silent_ones_is_asked_all_the_same(void **state)
{
    struct bench bench;
    struct ssh_host good, hung, lost;
    struct outcome outcomes[SSH_SESSIONS_PER_HOST + 1], other;
    const struct ssh_request request = { .command = "echo yes", .timeout_ms = 2 * SECOND_MS };
    int silent, port;

    (void)state;
    bench_open(&bench);
    silent = listen_silently(&port);
    good = hung = bench.host;
    good.jump = hung.jump = &bench.host;
    hung.port = port;
    for (int i = 0; i < SSH_SESSIONS_PER_HOST; i++)
        begin(&bench, &outcomes[i], &hung, request);
    run(&bench, &outcomes[SSH_SESSIONS_PER_HOST], &good, request);
    expect_output(&outcomes[SSH_SESSIONS_PER_HOST], "yes\n");
    for (int i = 0; i < SSH_SESSIONS_PER_HOST; i++) {
        assert_null(outcomes[i].err.cause);
        expect_error(&outcomes[i], ERROR_TRANSIENT, "while it logged in");
    }
    lost = good;
    lost.jump = &hung;
    hung.jump = NULL;
    run(&bench, &other, &lost, request);
    assert_ptr_equal(other.err.cause, &ssh_way);
    expect_error(&other, ERROR_TRANSIENT, "while it logged in to the jump host");
    close(silent);
    bench_close(&bench);
}

/* At each moment of a connection: nothing is told, nothing leaks, and the place is free again. */
/* Looks at silent machines, more than there are places, hold up no command through the same jump
   host. */
static void a_command_does_not_wait_for_silent_machines(void **state)
{
    struct bench bench;
    struct ssh_host good, hung;
    struct outcome outcomes[2 * SSH_SESSIONS_PER_HOST], other;
    const struct ssh_request look = { .command = "echo yes",
                                      .priority = SSH_SILENT,
                                      .timeout_ms = 4 * SECOND_MS };
    int64_t began_ms;
    int silent, port;

    (void)state;
    bench_open(&bench);
    silent = listen_silently(&port);
    good = hung = bench.host;
    good.jump = hung.jump = &bench.host;
    hung.port = port;
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        begin(&bench, &outcomes[i], &hung, look);
    loop_run_until(bench.loop, loop_now(bench.loop) + SECOND_MS); /* they have their places */
    began_ms = loop_now(bench.loop);
    begin(&bench, &other, &good, (struct ssh_request){ .command = "echo yes" });
    while (other.count == 0 && loop_now(bench.loop) < began_ms + PATIENCE_MS)
        loop_run_until(bench.loop, loop_now(bench.loop) + 20);
    assert_in_range(loop_now(bench.loop) - began_ms, 0, 2 * SECOND_MS);
    expect_output(&other, "yes\n");
    assert_int_equal(outcomes[0].count, 0);
    loop_run_until(bench.loop, loop_now(bench.loop) + 2 * PATIENCE_MS);
    for (size_t i = 0; i < COUNT_OF(outcomes); i++)
        expect_error(&outcomes[i], ERROR_TRANSIENT, "while it logged in");
    close(silent);
    bench_close(&bench);
}

static void a_command_may_be_cancelled_at_any_moment(void **state)
{
    struct bench bench;
    struct ssh_host inner;
    struct outcome last;

    (void)state;
    bench_open(&bench);
    inner = bench.host;
    inner.jump = &bench.host;
    for (int ms = 0; ms < 200; ms += 5) {
        struct outcome outcome, other;
        struct ssh_exec *exec;

        exec = begin(&bench, &outcome, ms % 2 == 0 ? &bench.host : &inner,
                     (struct ssh_request){ .command = "sleep 5" });
        loop_run_until(bench.loop, loop_now(bench.loop) + ms);
        ssh_cancel(exec);
        bench.awaited--;
        assert_int_equal(outcome.count, 0);
        text_free(outcome.output);
        if (ms % 50 == 0) {
            run(&bench, &other, &bench.host, (struct ssh_request){ .command = "echo yes" });
            expect_output(&other, "yes\n");
        }
    }
    begin(&bench, &last, &inner, (struct ssh_request){ .command = "sleep 5" });
    loop_run_until(bench.loop, loop_now(bench.loop) + 100);
    bench_close(&bench); /* it is still under way */
    assert_int_equal(last.count, 0);
    text_free(last.output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_of_a_command_is_its_answer),
        cmocka_unit_test(input_and_output_may_be_large),
        cmocka_unit_test(a_jump_host_carries_it_all),
        cmocka_unit_test(no_other_host_key_is_taken),
        cmocka_unit_test(keys_of_files_and_agents),
        cmocka_unit_test(a_command_that_was_not_sent_is_told_from_one_that_was),
        cmocka_unit_test(a_crowd_waits_for_its_turn),
        cmocka_unit_test(a_machine_after_silent_ones_is_asked_all_the_same),
        cmocka_unit_test(a_command_does_not_wait_for_silent_machines),
        cmocka_unit_test(a_command_may_be_cancelled_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
