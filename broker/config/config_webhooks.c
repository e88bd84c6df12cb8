/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * `webhooks`: who is told, of what, in which form.  Secrets stand in files of their own, so that
 * the configuration can be shown.
 */
#include "base/memory.h"
#include "base/text.h"
#include "base/text_items.h"
#include "base/world/http.h"
#include "broker/config/config_tables.h"

#include <string.h>
#include <strings.h>

enum { WEBHOOKS_MOST = 20 };

static const char *const topic_names[WEBHOOK_TOPICS] = { "departures", "late", "reclaims",
                                                         "health" };
static const char *const form_names[WEBHOOK_FORMS] = { "cloudevents", "slack" };

#define FIELD(member) offsetof(struct config_webhook, member)
const struct setting config_webhook_settings[CONFIG_WEBHOOK_SETTINGS] = {
    { "format", SETTING_TEXT, FIELD(form_name), "cloudevents", 0, 0,
      "`cloudevents`: CloudEvents 1.0 as JSON, signed by Standard Webhooks; `slack`: an incoming "
      "webhook of Slack, or of what takes the same form" },
    { "events", SETTING_TEXT, FIELD(topics_text), "departures, late, reclaims, health", 0, 0,
      "what is told, with commas: `departures` of research nodes, moves that become `late`, "
      "`reclaims`, and changes of `health`" },
    { "url", SETTING_TEXT, FIELD(url), "", 0, 0,
      "where messages are posted; https, or plain http to this machine. No redirect is followed" },
    { "url_file", SETTING_PATH, FIELD(url_file), "", 0, 0,
      "instead of `url`: a file with the URL, for a URL that is itself a secret, as Slack's are; "
      "other users must not be able to read it" },
    { "secret_file", SETTING_PATH, FIELD(secret_file), "", 0, 0,
      "file with the secret of the signature, `whsec_` and base64; with two lines, each signs, so "
      "that a secret can be replaced. Required with `cloudevents`; other users must not be able to "
      "read it" },
    { "source", SETTING_TEXT, FIELD(source), "/sluice", 0, 0,
      "the attribute `source` of CloudEvents, a URI reference: tells installations apart" },
};

const char *webhook_topic_name(enum webhook_topic topic)
{
    require(topic >= 0 && topic < WEBHOOK_TOPICS);
    return topic_names[topic];
}

const char *webhook_form_name(enum webhook_form form)
{
    require(form >= 0 && form < WEBHOOK_FORMS);
    return form_names[form];
}

static int find(const char *const *names, int count, const char *item, size_t length)
{
    for (int i = 0; i < count; i++)
        if (strlen(names[i]) == length && strncmp(names[i], item, length) == 0)
            return i;
    return -1;
}

static int check_topics(const struct config *config, size_t at, struct error *err)
{
    struct config_webhook *hook = &config->webhooks[at];
    const char *rest = hook->topics_text;
    const char *item;
    size_t length;

    while (text_items_next(&rest, &item, &length)) {
        int topic = find(topic_names, WEBHOOK_TOPICS, item, length);

        if (topic < 0)
            return yaml_error(err, config_place(config, "webhooks", at, "events"),
                              "expected departures, late, reclaims and health with commas between "
                              "them, found \"%.*s\"",
                              (int)length, item);
        hook->wants[topic] = true;
    }
    return 0;
}

/* A secret that stands where its file should be named is not repeated. */
static int check_secret(const struct config *config, size_t at, struct error *err)
{
    const struct config_webhook *hook = &config->webhooks[at];
    const struct yaml_node *place = config_place(config, "webhooks", at, "secret_file");

    if (hook->secret_file && text_starts_with(hook->secret_file, "whsec_"))
        return yaml_error(err, place,
                          "is a secret: put it into a file, name the file here, and replace the "
                          "secret at the receiver, because others may have read it here");
    if (hook->form == WEBHOOK_CLOUDEVENTS && !hook->secret_file)
        return yaml_error(err, place, "needs secret_file, the secret of its signature");
    if (hook->form == WEBHOOK_SLACK && hook->secret_file)
        return yaml_error(err, place, "Slack checks no signature: leave secret_file out");
    return 0;
}

/* A URL with a password would be repeated by the sentences of others. */
static bool has_user(const char *url)
{
    const char *host = url + strcspn(url, ":");

    host += strspn(host, ":/"); /* libcurl takes one slash, or three, too */
    return memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

static int check_url(const struct config *config, size_t at, struct error *err)
{
    const struct config_webhook *hook = &config->webhooks[at];
    const struct yaml_node *place = config_place(config, "webhooks", at, "url");
    struct error why = { 0 };

    if (!hook->url == !hook->url_file)
        return yaml_error(err, place, "needs either `url` or `url_file`");
    if (hook->url_file && strstr(hook->url_file, "://"))
        return yaml_error(err, config_place(config, "webhooks", at, "url_file"),
                          "is a URL: put it into a file, and name the file here");
    if (hook->url && hook->form == WEBHOOK_SLACK && strncasecmp(hook->url, "https:", 6) == 0)
        return yaml_error(err, place,
                          "is a secret, as all URLs of Slack's webhooks: put it into a file that "
                          "`url_file` names");
    if (hook->url && has_user(hook->url))
        return yaml_error(err, place, "must not hold a user or a password");
    if (hook->url && http_check_outward_url(hook->url, &why) < 0)
        return yaml_error(err, place, "%s", why.text);
    return 0;
}

int config_check_webhooks(struct config *config, struct error *err)
{
    const struct yaml_node *section = yaml_get(yaml_root(config->document), "webhooks");

    if (config->webhook_count > WEBHOOKS_MOST)
        return yaml_error(err, section, "has %zu entries, %d are allowed", config->webhook_count,
                          WEBHOOKS_MOST);
    for (size_t i = 0; i < config->webhook_count; i++) {
        struct config_webhook *hook = &config->webhooks[i];
        int form = find(form_names, WEBHOOK_FORMS, hook->form_name, strlen(hook->form_name));

        if (form < 0)
            return yaml_error(err, config_place(config, "webhooks", i, "format"),
                              "expected cloudevents or slack, found \"%s\"", hook->form_name);
        hook->form = (enum webhook_form)form;
        if (config_refuse_empty(config_place(config, "webhooks", i, ""), err) < 0 ||
            check_topics(config, i, err) < 0 || check_url(config, i, err) < 0 ||
            check_secret(config, i, err) < 0)
            return -1;
    }
    return 0;
}
