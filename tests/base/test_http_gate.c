/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * How many TLS handshakes a server takes on, by address and in all, and what the log has of those
 * that it refuses.
 */
#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/world/http_gate.h"
#include "tests/support/unit.h"

#include <string.h>
#include <sys/resource.h>

enum { START_MS = 1000 };

static int taken(struct http_gate *gate, const char *from, int count, int64_t now_ms)
{
    int done = 0;

    for (int i = 0; i < count; i++)
        done += http_gate_takes_handshake(gate, from, now_ms);
    return done;
}

static void one_address_leaves_room_for_another(void **state)
{
    owned(http_gate) struct http_gate *gate = http_gate_new();

    (void)state;
    assert_int_equal(taken(gate, "10.0.0.1", 1000, START_MS), 40);
    assert_int_equal(taken(gate, "10.0.0.2", 1000, START_MS), 10); /* of 50 for all */
    assert_int_equal(http_gate_refused(gate, HTTP_REFUSED_ADDRESS_HANDSHAKES), 960);
    assert_int_equal(http_gate_refused(gate, HTTP_REFUSED_HANDSHAKES), 990);
    assert_int_equal(taken(gate, "10.0.0.1", 5, START_MS + 99), 0);
    assert_int_equal(taken(gate, "10.0.0.1", 5, START_MS + 100), 1);
    assert_int_equal(taken(gate, "10.0.0.2", 9, START_MS + 100), 4);
    assert_int_equal(taken(gate, "10.0.0.1", 1000, START_MS + MINUTE_MS), 40);
}

/* A flood from many addresses: what is remembered of it is bounded, and forgotten. */
static void many_addresses_share_what_all_have(void **state)
{
    owned(http_gate) struct http_gate *gate = http_gate_new();
    int done = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        char from[PEER_FROM_SIZE];

        text_print(from, sizeof from, "10.%d.%d.%d", i >> 16, i >> 8 & 255, i & 255);
        done += http_gate_takes_handshake(gate, from, START_MS + i / 100);
    }
    assert_in_range(done, 99, 101); /* 50 and 50 in the second that it lasted */
    assert_in_range(http_gate_addresses(gate), 1, 512);
    assert_true(http_gate_takes_handshake(gate, "::/64", START_MS + MINUTE_MS));
}

static struct text *lines;

static void keep_line(void *context, const char *line)
{
    (void)context;
    text_add(lines, "%s\n", strstr(line, "connections_refused") ?: line);
}

static void the_log_counts_what_it_leaves_out(void **state)
{
    owned(http_gate) struct http_gate *gate = http_gate_new();

    (void)state;
    lines = text_new(TEXT_UNBOUNDED);
    log_set_sink(keep_line, NULL);
    http_gate_tell(gate, START_MS);
    assert_string_equal(lines->chars, "");
    for (int second = 0; second < 21; second++) {
        taken(gate, "10.0.0.1", 140, START_MS + second * SECOND_MS);
        http_gate_tell(gate, START_MS + second * SECOND_MS);
    }
    log_set_sink(NULL, NULL);
    assert_string_equal(lines->chars, "connections_refused limit=address_handshakes count=100 "
                                      "last_from=10.0.0.1\n"
                                      "connections_refused limit=address_handshakes count=1300 "
                                      "last_from=10.0.0.1\n"
                                      "connections_refused limit=address_handshakes count=1300 "
                                      "last_from=10.0.0.1\n");
    text_free(lines);
}

/* Three doors, and what is left for clusters and clouds. */
static void the_limits_fit_the_files_that_may_be_open(void **state)
{
    static const struct {
        rlim_t files;
        size_t local, tcp, address;
    } rows[] = {
        { 65536, 256, 512, 64 },
        { 1024, 256, 256, 64 },
        { 200, 50, 50, 50 },
        { 8, 4, 4, 4 },
    };
    struct rlimit limit;

    (void)state;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct rlimit trial = { rows[i].files, limit.rlim_max };
        struct http_server_limits limits;

        if (rows[i].files > limit.rlim_max)
            continue;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &trial), 0);
        limits = http_server_limits();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(limits.local_connections, rows[i].local);
        assert_int_equal(limits.tcp_connections, rows[i].tcp);
        assert_int_equal(limits.address_connections, rows[i].address);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_address_leaves_room_for_another),
        cmocka_unit_test(many_addresses_share_what_all_have),
        cmocka_unit_test(the_log_counts_what_it_leaves_out),
        cmocka_unit_test(the_limits_fit_the_files_that_may_be_open),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
