/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See contract.h.
 */
#include "tests/providers/contract/contract.h"

#include "base/input/yaml.h"
#include "base/text.h"
#include "tests/support/folder.h"

#include <string.h>

enum { RETRY_MS = 30 * SECOND_MS };

static const char pool_name[] = "pool";

const struct contract_fault contract_faults[] = {
    { "refused", 1, ERROR_TRANSIENT, false },
    { "lost_answer", 1, ERROR_UNKNOWN_OUTCOME, true },
    { "lost_answer", 3, ERROR_UNKNOWN_OUTCOME, true },
    { "http_500", 1, ERROR_UNKNOWN_OUTCOME, false },
    { "http_500_after", 1, ERROR_UNKNOWN_OUTCOME, true },
    { "http_500_after", 3, ERROR_UNKNOWN_OUTCOME, true },
    { "http_429", 1, ERROR_THROTTLED, false },
    { "http_429", 3, ERROR_THROTTLED, false },
    /* A conflict would say that an order is carried out, or that nothing can be taken back. */
    { "busy", 1, ERROR_TRANSIENT, false },
    { "busy", 3, ERROR_TRANSIENT, false },
};

const size_t contract_fault_count = COUNT_OF(contract_faults);

/* The text, with the folder's name for "FOLDER". */
static char *in_folder(const char *text, const char *folder)
{
    static const char word[] = "FOLDER";
    const char *at = strstr(text, word);

    return at ? text_format("%.*s%s%s", (int)(at - text), text, folder, at + strlen(word))
              : mem_copy_chars(text);
}

static void *read_settings(const struct settings_kind *kind, const char *yaml)
{
    struct error err = { 0 };
    owned(yaml_document) struct yaml_document *document = yaml_parse(yaml, strlen(yaml), "row",
                                                                     &err);
    void *object = mem_new(kind->size);

    if (!document ||
        settings_read(yaml_root(document), kind->settings, kind->count, object, &err) < 0)
        fail_msg("%s", err.text);
    return object;
}

static void make_simulator(struct contract *it, const char *account, const char *world)
{
    struct error err = { 0 };
    size_t length = strlen(account);
    owned(chars) char *config = text_format(
        "clusters:\n"
        "  lab: {role: research, kubeconfig: lab.kubeconfig}\n"
        "reservations:\n"
        "  main: {machine: p5.48xlarge, region: us-east-1, zone: us-east-1a, gpus_per_node: 8,"
        " nodes: 4}\n"
        "providers:\n"
        "  cloud: {kind: %s%s%.*s}\n"
        "pools:\n"
        "  %s: {cluster: lab, reservation: main, provider: cloud, %s\n"
        "queues: {}\n"
        "workloads: {}\n",
        it->kind->kind->account.name, length > 2 ? ", " : "", (int)length - 2, account + 1,
        pool_name, it->kind->pool + 1);
    owned(chars) char *config_path = test_folder_write(it->folder, "sluice.yaml", config);
    owned(chars) char *world_path = test_folder_write(it->folder, "world.yaml", world);

    it->loop = loop_virtual_new((struct wall_time){ 1790000000000 });
    it->simulator = simulator_new(it->loop, config_path, world_path, &err);
    if (!it->simulator)
        fail_msg("%s", err.text);
}

static void open_provider(struct contract *it)
{
    struct error err = { 0 };

    it->provider = provider_open(&it->world, it->kind->kind, it->account, &err);
    if (!it->provider)
        fail_msg("%s", err.text);
}

void contract_restart(struct contract *it)
{
    provider_close(it->provider);
    open_provider(it);
}

static void open_in(struct contract *it, const struct contract_kind *kind, const char *world,
                    int nodes)
{
    *it = (struct contract){ .kind = kind, .folder = test_folder_new() };
    owned(chars) char *account = in_folder(kind->account, it->folder);

    if (kind->set_up)
        kind->set_up(it->folder);
    make_simulator(it, account, world);
    it->world = (struct world){ it->loop, simulator_http(it->simulator), &it->random, NULL, NULL };
    it->account = read_settings(&kind->kind->account, account);
    it->pool = read_settings(&kind->kind->pool, kind->pool);
    kind->kind->set_zone(it->pool, "us-east-1a");
    open_provider(it);
    if (contract_list(it) != ERROR_NONE)
        fail_msg("%s", it->err.text);
    assert_int_equal(it->count, nodes);
    memcpy(it->before, it->machines, sizeof it->before);
    it->before_count = it->count;
}

void contract_open(struct contract *it, const struct contract_kind *kind, int nodes,
                   const char *world)
{
    owned(chars) char *lines = text_format("pools: {%s: {nodes: %d}}\n%s", pool_name, nodes, world);

    open_in(it, kind, lines, nodes);
}

void contract_open_with(struct contract *it, const struct contract_kind *kind, int nodes,
                        const char *keys)
{
    owned(chars) char *lines = text_format("pools: {%s: {nodes: %d%s%s}}\n%s", pool_name, nodes,
                                           keys ? ", " : "", keys ?: "", kind->traps ?: "");

    open_in(it, kind, lines, nodes);
}

void contract_close(struct contract *it)
{
    const struct provider_kind *kind = it->kind->kind;

    provider_close(it->provider);
    settings_clear(kind->account.settings, kind->account.count, it->account);
    settings_clear(kind->pool.settings, kind->pool.count, it->pool);
    mem_free(it->account);
    mem_free(it->pool);
    simulator_free(it->simulator);
    loop_free(it->loop);
    test_folder_free(it->folder);
}

void contract_wait(struct contract *it, int64_t ms)
{
    loop_run_until(it->loop, loop_now(it->loop) + ms);
}

const struct pool_address *contract_pool(const struct contract *it)
{
    return it->pool;
}

struct contract_order contract_order(int number)
{
    struct contract_order order = { 0 };

    text_print(order.request_id, sizeof order.request_id, "6f1d3a52-3f6e-4a5e-9f0b-0000%08d",
               number);
    text_print(order.request_key, sizeof order.request_key, "key%d", number);
    return order;
}

static enum error_kind await(struct contract *it, int before)
{
    for (int i = 0; i < 6000 && it->calls == before; i++)
        contract_wait(it, 50);
    assert_int_equal(it->calls, before + 1); /* once, and not never */
    return it->err.kind;
}

static void note(struct contract *it, const struct error *err)
{
    it->calls++;
    it->err = err ? *err : (struct error){ 0 };
}

static void on_done(void *context, const char *operation, const struct error *err)
{
    struct contract *it = context;

    note(it, err);
    text_copy(it->operation, sizeof it->operation, operation);
}

static void on_page(void *context, const struct instance_page *page, const struct error *err)
{
    struct contract *it = context;

    note(it, err);
    it->count = page ? page->count : 0;
    it->shortfall = page && page->shortfall ? *page->shortfall : (struct error){ 0 };
    assert_true(it->count <= CONTRACT_MACHINES);
    assert_true(!page || !page->next);
    for (size_t i = 0; i < it->count; i++)
        it->machines[i] = page->items[i];
}

static void on_look(void *context, const struct instance *instance, const struct error *err)
{
    struct contract *it = context;

    note(it, err);
    it->is_seen = instance != NULL;
    it->seen = instance ? *instance : (struct instance){ 0 };
}

static void on_found(void *context, const struct finding *finding)
{
    struct contract *it = context;

    it->wrong += finding->verdict == FINDING_WRONG;
    it->doubtful += finding->verdict == FINDING_DOUBTFUL;
    assert_true(finding->subject[0] && finding->text[0]);
    assert_true((finding->remedy[0] != '\0') == (finding->verdict != FINDING_RIGHT));
}

/* As the broker keeps it: an answer that goes on brings the progress of the next call.  After a
   refusal the order is repeated from its first exchange, under another ID. */
static enum error_kind answer_of_order(struct contract *it, struct contract_order *order,
                                       int before)
{
    enum error_kind kind = await(it, before);

    if (it->err.cause == &provider_goes_on) {
        assert_true(it->operation[0] != '\0');
        assert_true(text_copy(order->progress, sizeof order->progress, it->operation));
    } else if (kind == ERROR_UNKNOWN_OUTCOME) {
        order->is_doubtful = true;
    } else if (kind != ERROR_NONE &&
               !(order->is_doubtful && (kind == ERROR_TRANSIENT || kind == ERROR_THROTTLED))) {
        order->is_doubtful = false;
        order->progress[0] = '\0';
        order->request_id[0] = order->request_id[0] == '9' ? '0' : (char)(order->request_id[0] + 1);
    }
    return kind;
}

static struct provider_order made_of(const struct contract_order *order)
{
    return (struct provider_order){
        .request_key = order->request_key,
        .instance = order->instance,
        .request_id = order->request_id,
        .progress = order->progress,
    };
}

enum error_kind contract_create_once(struct contract *it, struct contract_order *order)
{
    const struct provider_order given = made_of(order);
    int before = it->calls;

    provider_create(it->provider, it->pool, &given, on_done, it);
    return answer_of_order(it, order, before);
}

enum error_kind contract_remove_once(struct contract *it, struct contract_order *order)
{
    const struct provider_order given = made_of(order);
    int before = it->calls;

    provider_remove(it->provider, it->pool, &given, on_done, it);
    return answer_of_order(it, order, before);
}

enum error_kind contract_cancel_once(struct contract *it, struct contract_order *order)
{
    const struct provider_order given = made_of(order);
    int before = it->calls;

    provider_cancel(it->provider, it->pool, &given, on_done, it);
    return answer_of_order(it, order, before);
}

enum error_kind contract_protect_once(struct contract *it, struct contract_order *order)
{
    const struct provider_order given = made_of(order);
    int before = it->calls;

    provider_protect(it->provider, it->pool, &given, on_done, it);
    return answer_of_order(it, order, before);
}

enum error_kind contract_list(struct contract *it)
{
    int before = it->calls;

    provider_list(it->provider, it->pool, NULL, on_page, it);
    return await(it, before);
}

enum error_kind contract_look(struct contract *it, const char *machine)
{
    int before = it->calls;

    provider_look(it->provider, it->pool, machine, on_look, it);
    return await(it, before);
}

enum error_kind contract_inspect(struct contract *it)
{
    int before = it->calls;

    it->wrong = it->doubtful = 0;
    provider_inspect(it->provider, it->pool, on_found, on_done, it);
    return await(it, before);
}

enum error_kind contract_carry_out(struct contract *it, contract_fn send,
                                   struct contract_order *order)
{
    enum error_kind kind = send(it, order);

    for (int i = 0; i < it->kind->attempts; i++) {
        if (kind != ERROR_TRANSIENT && kind != ERROR_THROTTLED && kind != ERROR_UNKNOWN_OUTCOME)
            break;
        if (it->err.cause != &provider_goes_on)
            contract_wait(it, RETRY_MS);
        kind = send(it, order);
    }
    return kind;
}

static bool is_old(const struct contract *it, const char *name)
{
    for (size_t i = 0; i < it->before_count; i++)
        if (text_equal(it->before[i].name, name))
            return true;
    return false;
}

const struct instance *contract_new_machine(const struct contract *it)
{
    for (size_t i = 0; i < it->count; i++)
        if (!is_old(it, it->machines[i].name))
            return &it->machines[i];
    return NULL;
}

const struct instance *contract_find(const struct contract *it, const char *name)
{
    for (size_t i = 0; i < it->count; i++)
        if (text_equal(it->machines[i].name, name))
            return &it->machines[i];
    return NULL;
}

int contract_wanted(const struct contract *it)
{
    return simulator_pool_target(it->simulator, pool_name);
}

int contract_running(const struct contract *it)
{
    return simulator_pool_running(it->simulator, pool_name);
}

void contract_expect_size(struct contract *it, int wanted)
{
    contract_wait(it, CONTRACT_LONG_MS);
    assert_int_equal(contract_wanted(it), wanted);
    assert_int_equal(contract_running(it), wanted);
    assert_int_equal(contract_list(it), ERROR_NONE);
    assert_int_equal(it->count, wanted);
    for (size_t i = 0; i < it->count; i++)
        assert_int_equal(it->machines[i].state, INSTANCE_RUNNING);
}

struct contract_order contract_order_of_removal(const struct contract *it, int number)
{
    struct contract_order order = contract_order(number);

    text_copy(order.instance, sizeof order.instance, it->before[0].name);
    return order;
}

struct contract_order contract_order_of_return(const struct contract *it, int number)
{
    struct contract_order order = contract_order(number);

    assert_non_null(contract_new_machine(it));
    text_copy(order.instance, sizeof order.instance, contract_new_machine(it)->name);
    return order;
}

void contract_expect_return(struct contract *it, bool is_refused, int nodes)
{
    const struct contract_kind *kind = it->kind;
    bool is_counted = kind->want == WANT_COUNTED || kind->want == WANT_FAILED;
    struct contract_order back = contract_order(22);

    if (kind->kind->cancel) {
        assert_int_equal(contract_carry_out(it, contract_cancel_once, &back),
                         is_counted && !is_refused ? ERROR_NONE : ERROR_CONFLICT);
        back = contract_order(23);
        assert_int_equal(contract_carry_out(it, contract_cancel_once, &back), ERROR_CONFLICT);
    }
    if (kind->want == WANT_LISTED) {
        assert_int_equal(contract_list(it), ERROR_NONE);
        back = contract_order_of_return(it, 24);
        assert_int_equal(contract_carry_out(it, contract_remove_once, &back), ERROR_NONE);
    }
    contract_expect_size(it, nodes);
}

enum error_kind contract_first_answer(struct contract *it, contract_fn send,
                                      struct contract_order *order)
{
    enum error_kind kind = send(it, order);

    while (it->err.cause == &provider_goes_on)
        kind = send(it, order);
    return kind;
}

bool contract_is_accepted(enum error_kind kind)
{
    return kind == ERROR_NONE || kind == ERROR_CONFLICT;
}
