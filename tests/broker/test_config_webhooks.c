/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Webhooks in sluice.yaml: where messages may go, what is signed, and that no error repeats a
 * secret.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "broker/config/config.h"
#include "tests/support/folder.h"
#include "tests/support/unit.h"

#include <string.h>

static const char head[] =
    "time_zone: UTC\n"
    "clusters:\n"
    "  prod: {role: production, kubeconfig: p}\n"
    "  lab: {role: research, kubeconfig: r}\n"
    "reservations:\n"
    "  east: {machine: m8, region: r1, zone: r1-a, gpus_per_node: 8, nodes: 24}\n"
    "providers:\n"
    "  cloud: {kind: gcp}\n"
    "pools:\n"
    "  pe: {cluster: prod, reservation: east, provider: cloud, project: x, group: pe}\n"
    "  le: {cluster: lab, reservation: east, provider: cloud, project: x, group: le}\n"
    "queues:\n"
    "  chat: {wait_target: 20s, service: 30s}\n"
    "workloads:\n"
    "  chat-2x: {queue: chat, gpus: 2, clusters: {prod: {}}}\n"
    "webhooks:\n";

static struct config *read_with(const char *folder, const char *webhooks, struct error *err)
{
    owned(chars) char *text = text_format("%s%s", head, webhooks);
    owned(chars) char *path = test_folder_write(folder, "sluice.yaml", text);

    return config_read(path, err);
}

#define SIGNED ", secret_file: s}"
#define NEEDS_HTTPS "plain http is refused for"

static void a_webhook_goes_where_it_may(void **state)
{
    static const struct {
        const char *webhook;
        const char *refusal; /* NULL: accepted */
    } rows[] = {
        { "{url: 'https://hooks.example.com/a'" SIGNED, NULL },
        { "{url: 'http://127.0.0.1:8080/a'" SIGNED, NULL },
        { "{url_file: u" SIGNED, NULL },
        { "{format: slack, url_file: u}", NULL },
        { "{format: slack, url: 'http://127.0.0.1:8080/a'}", NULL },
        { "{url: 'https://h.example.com/', events: 'health,late'" SIGNED, NULL },
        { "{url: 'http://hooks.example.com/'" SIGNED, ": webhooks.a.url: " NEEDS_HTTPS },
        { "{url: 'http://169.254.169.254/'" SIGNED, ": webhooks.a.url: " NEEDS_HTTPS },
        { "{url: 'https://169.254.169.254/x'" SIGNED, "url: 169.254.169.254 is where clouds" },
        { "{url: 'https://[fd00:ec2::254]/x'" SIGNED, "url: fd00:ec2::254 is where clouds" },
        { "{url: 'https://metadata.google.internal/'" SIGNED, "is where clouds answer" },
        { "{url: 'https://me:Hunter2@h.example.com/'" SIGNED, "webhooks.a.url: must not hold" },
        { "{url: 'https://h.example.com:99999/Hunter2'" SIGNED, "webhooks.a.url: not a URL" },
        { "{url: 'https://h example.com/Hunter2'" SIGNED, "webhooks.a.url: not a URL" },
        { "{url: 'https://[fe80::1%25eth0]/Hunter2'" SIGNED, "webhooks.a.url: not a URL" },
        { "{url: 'Hunter2'" SIGNED, "webhooks.a.url: " },
        { "{url: 'https:/me:Hunter2@h.example.com/'" SIGNED, "webhooks.a.url: must not hold" },
        { "{url: 'https:///me:Hunter2@h.example.com/'" SIGNED, "webhooks.a.url: must not hold" },
        { "{url: 'me:Hunter2@h.example.com/'" SIGNED, "webhooks.a.url: must not hold" },
        { "{format: slack, url: 'HTTPS://hooks.slack.com/services/Hunter2'}",
          "is a secret, as all URLs of Slack's webhooks" },
        { "{url: 'https://h.example.com/', url_file: u" SIGNED,
          "needs either `url` or `url_file`" },
        { "{secret_file: s}", "needs either `url` or `url_file`" },
        { "{url_file: 'https://h.example.com/Hunter2'" SIGNED,
          "a.url_file: is a URL: put it into" },
        { "{url: 'https://h.example.com/'}", "needs secret_file" },
        { "{url: 'https://h.example.com/', secret_file: whsec_Hunter2}",
          "webhooks.a.secret_file: is a secret" },
        { "{format: slack, url: 'https://hooks.slack.com/services/Hunter2'}",
          "webhooks.a.url: is a secret" },
        { "{format: slack, url_file: u" SIGNED, "Slack checks no signature" },
        { "{format: teams, url_file: u}", "expected cloudevents or slack, found \"teams\"" },
        { "{url: 'https://h.example.com/', events: weather" SIGNED,
          "webhooks.a.events: expected departures, late, reclaims and health" },
        { "{url: 'https://h.example.com/', events: ''" SIGNED, "must not be empty" },
        { "{url: 'https://h.example.com/', source: ''" SIGNED, "must not be empty" },
        { "{url: 'https://h.example.com/', token: x" SIGNED, "token: unknown key" },
    };
    owned(test_folder) char *folder = test_folder_new();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        owned(chars) char *webhook = text_format("  a: %s\n", rows[i].webhook);
        struct error err = { 0 };
        owned(config) struct config *config = read_with(folder, webhook, &err);

        if (!config != (rows[i].refusal != NULL) || (!config && !strstr(err.text, rows[i].refusal)))
            fail_msg("row %zu: %s", i, config ? "was accepted" : err.text);
        if (!config && (strstr(err.text, "Hunter2") || !strstr(err.text, "sluice.yaml:17: ")))
            fail_msg("row %zu: %s", i, err.text);
    }
}

static void names_of_topics_and_forms_are_read(void **state)
{
    owned(test_folder) char *folder = test_folder_new();
    struct error err = { 0 };
    owned(config) struct config *config = read_with(
        folder,
        "  a: {url_file: u, secret_file: /s}\n"
        "  b: {format: slack, url_file: u, events: late}\n",
        &err);
    owned(chars) char *path = text_format("%s/u", folder);

    (void)state;
    assert_non_null(config);
    assert_int_equal(config->webhook_count, 2);
    for (int i = 0; i < WEBHOOK_TOPICS; i++) {
        assert_true(config->webhooks[0].wants[i]);
        assert_int_equal(config->webhooks[1].wants[i], i == WEBHOOK_LATE);
    }
    assert_int_equal(config->webhooks[1].form, WEBHOOK_SLACK);
    assert_string_equal(config->webhooks[0].url_file, path);
    assert_string_equal(config->webhooks[0].secret_file, "/s");
    assert_string_equal(config->webhooks[0].source, "/sluice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_webhook_goes_where_it_may),
        cmocka_unit_test(names_of_topics_and_forms_are_read),
    };

    mem_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
