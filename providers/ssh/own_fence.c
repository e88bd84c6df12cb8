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

enum { TIMEOUT_MS = 15 * SECOND_MS, FILE_LIMIT = 64 * 1024 };

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

static void tell(struct own_call *call, const struct error *err)
{
    own_fence_fn then = call->fence_then;
    struct own_machine *machine = call->fence_machine;
    struct error why = err ? *err : (struct error){ 0 };

    if (err)
        error_context(&why, "machine %s: Redfish", machine->name);
    then(call, machine, err ? &why : NULL);
}

static void on_failed(struct own_call *call)
{
    tell(call, &call->failure);
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
    struct own_call *call = context;
    struct error why = err ? *err : (struct error){ 0 };
    owned(json) json_t *body = NULL;

    call->exchange = NULL;
    if (!err && judge(answer, false, &why) == 0)
        body = json_parse(answer->body, answer->body_size, "Redfish", &why);
    /* Only the word itself counts: PoweringOff is not off. */
    call->fence_machine->is_off = body && text_equal(json_text_or(body, "PowerState", ""), "Off");
    call->is_power_going = body && text_equal(json_text_or(body, "PowerState", ""), "PoweringOff");
    tell(call, why.kind == ERROR_NONE ? NULL : &why);
}

static void on_power_off(void *context, const struct http_answer *answer, const struct error *err)
{
    struct own_call *call = context;
    struct error why = err ? *err : (struct error){ 0 };

    call->exchange = NULL;
    if (!err)
        (void)judge(answer, true, &why);
    tell(call, why.kind == ERROR_NONE ? NULL : &why);
}

static void send(struct own_call *call, const char *url, const char *body, http_done_fn done)
{
    const struct own_machine *machine = call->fence_machine;
    char *login;

    call->failure = (struct error){ 0 }; /* that of another machine */
    login = read_login(machine, &call->failure);
    owned(text) struct text *ca = login && machine->redfish_ca
                                      ? trust_read(machine->redfish_ca, FILE_LIMIT, &call->failure)
                                      : NULL;
    const struct http_header headers[] = { { "Authorization", login ?: "" },
                                           { "Accept", "application/json" },
                                           { "Content-Type", "application/json" } };
    const struct http_tls tls = { .ca_pem = ca ? ca->chars : NULL };

    if (call->failure.kind != ERROR_NONE)
        own_call_later(call, 0, on_failed);
    else
        call->exchange = http_send(call->own->world->http,
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
                                   done, call);
    secret_free(login);
}

void own_ask_power(struct own_call *call, struct own_machine *machine, own_fence_fn then)
{
    call->fence_then = then;
    call->fence_machine = machine;
    send(call, machine->redfish, NULL, on_power);
}

void own_power_off(struct own_call *call, struct own_machine *machine, own_fence_fn then)
{
    owned(chars) char *url = text_format("%s/Actions/ComputerSystem.Reset", machine->redfish);

    call->fence_then = then;
    call->fence_machine = machine;
    send(call, url, "{\"ResetType\": \"ForceOff\"}", on_power_off);
}
