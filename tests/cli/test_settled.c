/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * `sluice wait --for settled` beside a stand-in for the service that answers with a status: done
 * only when each pool has what it wants, and all pools are known.
 */
#include "tests/cli/door_scene.h"

#define POOL(name, wanted, nodes)                                                                  \
    "{\"pool\":\"" name "\",\"cluster\":\"prod-a\",\"wanted_nodes\":" wanted ",\"nodes\":" nodes "}"
#define CLUSTER(wanted, nodes)                                                                     \
    "\"clusters\":[{\"cluster\":\"prod-a\",\"wanted_nodes\":" wanted ",\"nodes\":" nodes "}],"

static const struct {
    const char *status; /* the members that matter */
    int code;
    const char *says;
} rows[] = {
    { "\"live_transfers\":0," CLUSTER("6", "6") "\"pools\":[" POOL("east", "4", "4") "," POOL(
          "west", "2", "2") "],\"unknown\":[]",
      0, "settled: done" },
    /* One pool lacks what another one has too much. */
    { "\"live_transfers\":0," CLUSTER("6", "6") "\"pools\":[" POOL("east", "4", "2") "," POOL(
          "west", "2", "4") "],\"unknown\":[]",
      5, "settled: not yet, 4 transfers, nodes and unknown pools left" },
    { "\"live_transfers\":0," CLUSTER("6", "5") "\"pools\":[" POOL("east", "4", "3") "," POOL(
          "west", "2", "2") "],\"unknown\":[]",
      5, "not yet, 1 " },
    { "\"live_transfers\":2," CLUSTER("6", "6") "\"pools\":[" POOL("east", "6",
                                                                   "6") "],"
                                                                        "\"unknown\":[]",
      5, "not yet, 2 " },
    /* Its numbers are old. */
    { "\"live_transfers\":0," CLUSTER("6", "6") "\"pools\":[" POOL(
          "east", "6", "6") "],\"unknown\":[{\"pool\":\"east\",\"cluster\":\"prod-a\"}]",
      5, "not yet, 1 " },
    { "\"live_transfers\":0," CLUSTER("3", "null") "\"pools\":[" POOL(
          "east", "3", "null") "],\"unknown\":[{\"pool\":\"east\",\"cluster\":\"prod-a\"}]",
      5, "not yet, 1 " },
    { "\"live_transfers\":0," CLUSTER("null", "5") "\"pools\":[" POOL("east", "null",
                                                                      "5") "],\"unknown\":[]",
      0, "settled: done" },
};

static void answer(void *context, struct http_call *call)
{
    const char *body = context;

    http_call_answer(
        call, &(struct http_reply){ .status = 200, .body = body, .body_size = strlen(body) });
}

static void settled_means_each_pool(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    owned(chars) char *config = text_format("%ssocket: stand-in.sock\n", small_config);
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", config);
    owned(chars) char *socket = text_format("%s/stand-in.sock", folder);
    owned(chars) char *line = text_format(
        SLUICE_BUILD "/sluice wait --for settled --timeout 1s -c '%s' 2>&1; echo $?", path);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = { 0 };
        struct scene scene = { .loop = loop_libevent_new(&err) };
        owned(chars) char *body = text_format("{\"kind\":\"status\",\"api_version\":\"v1\",%s}",
                                              rows[i].status);
        struct http_server *server = http_server_new(scene.loop, answer, body);
        owned(chars) char *said = NULL;

        assert_int_equal(http_server_listen_unix(server, socket, 0600, &err), 0);
        said = run_beside(&scene, line);
        if (!strstr(said, rows[i].says) || said[strlen(said) - 2] - '0' != rows[i].code)
            fail_msg("row %zu: %s", i, said);
        http_server_free(server);
        loop_free(scene.loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settled_means_each_pool),
    };

    mem_setup();
    log_setup(LOG_SILENT, LOG_FORM_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
