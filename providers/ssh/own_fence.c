/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The fence of a machine: its management controller, by Redfish.  The power of a machine is
 * switched off at once (ForceOff), because it does not answer; off it is only when the controller
 * says so.
 */
#include "base/crypto.h"
#include "base/file.h"
#include "base/input/json.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/trust.h"
#include "providers/ssh/own_verbs.h"

#include <string.h>

enum {
    TIMEOUT_MS = 15 * SECOND_MS,
    OFF_MS = MINUTE_MS, /* so long a power that is off counts as off */
    FILE_LIMIT = 64 * 1024,
};

/* One exchange with a fence. */
struct fence_ask {
    struct own_call *call;
    struct fence_ask *previous, *next; /* of the call */
    struct own_machine *machine;
    struct http_exchange *exchange; /* NULL: it is answered, or could not be sent: */
    struct timer *failed;
    struct error failure;
    int64_t asked_ms;
    own_fence_fn then;
};

static void ask_free(struct fence_ask *ask)
{
    if (ask->previous)
        ask->previous->next = ask->next;
    else
        ask->call->fences = ask->next;
    if (ask->next)
        ask->next->previous = ask->previous;
    http_cancel(ask->call->own->world->http, ask->exchange);
    timer_free(ask->failed);
    mem_free(ask);
}

void own_fences_clear(struct own_call *call)
{
    while (call->fences)
        ask_free(call->fences);
}

bool own_is_off(const struct own *own, const struct own_machine *machine)
{
    return machine->is_off && machine->silent_ms > 0 && machine->power_ms >= machine->silent_ms &&
           loop_now(own->world->loop) - machine->power_ms < OFF_MS;
}

/* "Basic ..." of the file with USER:PASSWORD; NULL: err. */
static char *read_login(const struct own_machine *machine, struct error *err)
{
    owned(text) struct text *value = text_new(FILE_LIMIT * 2);
    struct text *file = trust_check_secrecy(machine->redfish_key, err) == 0
                            ? trust_read(machine->redfish_key, FILE_LIMIT, err)
                            : NULL;
    char *header = NULL;

    if (!file)
        return NULL;
    while (file->length > 0 && strchr("\r\n", file->chars[file->length - 1]))
        text_end_at(file, file->length - 1);
    if (strchr(file->chars, ':')) {
        text_add(value, "Basic ");
        crypto_add_base64(value, file->chars, file->length);
        header = mem_copy_chars(value->chars);
        explicit_bzero(value->chars, value->length);
    } else {
        error_set(err, ERROR_INVALID, "%s: expected USER:PASSWORD", machine->redfish_key);
    }
    explicit_bzero(file->chars, file->length);
    text_free(file);
    return header;
}

static void tell(struct fence_ask *ask, const struct error *err)
{
    struct own_call *call = ask->call;
    struct own_machine *machine = ask->machine;
    own_fence_fn then = ask->then;
    struct error why = err ? *err : (struct error){ 0 };

    ask_free(ask);
    if (err)
        error_context(&why, "machine %s: Redfish", machine->name);
    then(call, machine, err ? &why : NULL);
}

static void on_failed(void *context)
{
    struct fence_ask *ask = context;
    struct error failure = ask->failure;

    tell(ask, &failure);
}

/* What an answer's status means; 0: it is well. */
static int judge(const struct http_answer *answer, bool is_mutation, struct error *err)
{
    if (answer->status >= 200 && answer->status < 300)
        return 0;
    return error_set(err,
                     answer->status == 401 || answer->status == 403 ? ERROR_DENIED
                     : answer->status < 500                         ? ERROR_INVALID
                     : is_mutation                                  ? ERROR_UNKNOWN_OUTCOME
                                                                    : ERROR_TRANSIENT,
                     "status %d", answer->status);
}

static void on_power(void *context, const struct http_answer *answer, const struct error *err)
{
    struct fence_ask *ask = context;
    struct own_machine *machine = ask->machine;
    struct error why = err ? *err : (struct error){ 0 };
    owned(json) json_t *body = NULL;

    ask->exchange = NULL;
    if (!err && judge(answer, false, &why) == 0)
        body = json_parse(answer->body, answer->body_size, "Redfish", &why);
    if (body && ask->asked_ms >= machine->power_ms) {
        /* Only the word itself counts: PoweringOff is not off. */
        machine->is_off = text_equal(json_text_or(body, "PowerState", ""), "Off");
        machine->is_power_going = text_equal(json_text_or(body, "PowerState", ""), "PoweringOff");
        machine->power_ms = ask->asked_ms;
    }
    tell(ask, why.kind == ERROR_NONE ? NULL : &why);
}

static void on_power_off(void *context, const struct http_answer *answer, const struct error *err)
{
    struct fence_ask *ask = context;
    struct error why = err ? *err : (struct error){ 0 };

    ask->exchange = NULL;
    if (!err)
        (void)judge(answer, true, &why);
    tell(ask, why.kind == ERROR_NONE ? NULL : &why);
}

static struct fence_ask *ask_new(struct own_call *call, struct own_machine *machine,
                                 own_fence_fn then)
{
    struct fence_ask *ask = mem_new(sizeof *ask);

    ask->call = call;
    ask->machine = machine;
    ask->then = then;
    ask->asked_ms = loop_now(call->own->world->loop);
    ask->next = call->fences;
    if (ask->next)
        ask->next->previous = ask;
    call->fences = ask;
    return ask;
}

static void send(struct fence_ask *ask, const char *url, const char *body, http_done_fn done)
{
    const struct world *world = ask->call->own->world;
    const struct own_machine *machine = ask->machine;
    char *login = read_login(machine, &ask->failure);
    owned(text) struct text *ca = login && machine->redfish_ca
                                      ? trust_read(machine->redfish_ca, FILE_LIMIT, &ask->failure)
                                      : NULL;
    const struct http_header headers[] = { { "Authorization", login ?: "" },
                                           { "Accept", "application/json" },
                                           { "Content-Type", "application/json" } };
    const struct http_tls tls = { .ca_pem = ca ? ca->chars : NULL };

    if (ask->failure.kind != ERROR_NONE) {
        ask->failed = timer_new(world->loop, on_failed, ask);
        timer_set(ask->failed, 0);
    } else {
        ask->exchange = http_send(world->http,
                                  &(struct http_request){
                                      .method = body ? HTTP_POST : HTTP_GET,
                                      .priority = HTTP_RECLAIM,
                                      .url = url,
                                      .headers = headers,
                                      .header_count = body ? 3 : 2,
                                      .body = body,
                                      .body_size = body ? strlen(body) : 0,
                                      .tls = &tls,
                                      .is_mutation = body != NULL,
                                      .timeout_ms = TIMEOUT_MS,
                                  },
                                  done, ask);
    }
    secret_free(login);
}

void own_ask_power(struct own_call *call, struct own_machine *machine, own_fence_fn then)
{
    machine->power_asked_ms = loop_now(call->own->world->loop);
    send(ask_new(call, machine, then), machine->redfish, NULL, on_power);
}

void own_power_off(struct own_call *call, struct own_machine *machine, own_fence_fn then)
{
    owned(chars) char *url = text_format("%s/Actions/ComputerSystem.Reset", machine->redfish);

    machine->power_asked_ms = 0; /* the next list asks what has come of it */
    send(ask_new(call, machine, then), url, "{\"ResetType\": \"ForceOff\"}", on_power_off);
}
