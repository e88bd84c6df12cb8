/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See doctor.h.  Each part is an exam: it is open until its last question is answered.
 */
#include "broker/doctor/doctor.h"

#include "base/text.h"
#include "broker/doctor/pool_match.h"
#include "broker/fleet/fleet.h"
#include "broker/sizing/source_world.h"
#include "broker/sources/source.h"

enum { SOURCE_SPAN_MS = HOUR_MS };

struct exam {
    struct doctor *doctor;
    const char *part;
    const char *name;
    bool is_done;
    bool is_wrong; /* something was found to be */

    const struct config_cluster *cluster_config; /* of a cluster */
    struct cluster *cluster;
    bool is_inspected;

    const struct config_pool *pool; /* of a pool */
    struct provider *provider;      /* borrowed */
    struct map *instances;          /* as listed so far */
    bool is_listed;

    struct source *source; /* of a source */
    struct source_queue *queues;
    struct source_settings settings; /* of the source, which borrows them */
};

struct doctor {
    struct world *world;
    const struct config *config;
    doctor_row_fn row;
    void *context;
    struct provider **providers; /* as config->providers; NULL: cannot be opened */
    struct exam *exams;
    size_t count;
};

static void tell(void *context, const struct finding *finding)
{
    struct exam *exam = context;
    const struct doctor_row row = { exam->part, exam->name, *finding };

    exam->is_wrong |= finding->verdict == FINDING_WRONG;
    exam->doctor->row(exam->doctor->context, &row);
}

static void fail(struct exam *exam, const char *subject, const struct error *err,
                 const char *remedy)
{
    tell(exam, &(struct finding){ FINDING_WRONG, subject, err->text, remedy });
    exam->is_done = true;
}

static struct exam *add_exam(struct doctor *doctor, const char *part, const char *name)
{
    struct exam *exam = &doctor->exams[doctor->count++];

    exam->doctor = doctor;
    exam->part = part;
    exam->name = name;
    return exam;
}

/* ---- pools ---- */

static struct exam *exam_of_cluster(const struct doctor *doctor,
                                    const struct config_cluster *cluster)
{
    for (size_t i = 0; i < doctor->count; i++)
        if (doctor->exams[i].cluster_config == cluster)
            return &doctor->exams[i];
    return NULL;
}

static void pool_inspected(void *context, const char *operation, const struct error *err)
{
    struct exam *exam = context;

    (void)operation;
    if (err && exam->is_listed)
        fail(exam, "cloud", err,
             "see that the cloud can be reached, and that its account is valid");
    exam->is_done = true;
}

static void inspect_pool(struct exam *exam)
{
    exam->is_inspected = true;
    if (provider_can_inspect(exam->provider))
        provider_inspect(exam->provider, exam->pool->own.settings, tell, pool_inspected, exam);
    else
        exam->is_done = true;
}

/* When the list and the cluster's nodes are both there; without nodes only the cloud is asked. */
static void examine_pool(struct exam *exam)
{
    const struct exam *home = exam_of_cluster(exam->doctor, exam->pool->cluster);
    bool has_nodes = home && home->cluster && cluster_snapshot(home->cluster)->is_known;

    if (!exam->is_listed || exam->is_inspected || !(has_nodes || !home || home->is_done))
        return;
    if (has_nodes) {
        struct pool_match match = { exam->doctor->config,
                                    exam->pool,
                                    exam->instances,
                                    cluster_snapshot(home->cluster),
                                    tell,
                                    exam };

        pool_match_find(&match);
    }
    inspect_pool(exam);
}

/* The inspection names the permission that a refused list lacks; not each cloud does. */
static void fail_list(struct exam *exam, const struct error *err)
{
    fail(exam, "list", err, "see that group, project and account of the pool are right");
    if (err->kind == ERROR_DENIED) {
        exam->is_done = false;
        inspect_pool(exam);
    }
}

static void listed(void *context, const struct instance_page *page, const struct error *err)
{
    struct exam *exam = context;

    if (err) {
        fail_list(exam, err);
        return;
    }
    for (size_t i = 0; i < page->count; i++) {
        struct instance *instance = mem_new(sizeof *instance);

        *instance = page->items[i];
        map_set(exam->instances, instance->name, instance);
    }
    if (page->next) {
        provider_list(exam->provider, exam->pool->own.settings, page->next, listed, exam);
        return;
    }
    if (page->shortfall)
        tell(exam, &(struct finding){ FINDING_DOUBTFUL, "size", page->shortfall->text,
                                      "the group wants more machines than it gets: see its size" });
    exam->is_listed = true;
    examine_pool(exam);
}

static void begin_pool(struct doctor *doctor, const struct config_pool *pool)
{
    struct exam *exam = add_exam(doctor, "pool", pool->name);

    exam->pool = pool;
    exam->instances = map_new(mem_free);
    exam->provider = doctor->providers[pool->provider - doctor->config->providers];
    if (!exam->provider)
        exam->is_done = true; /* its provider's row says why */
    else
        provider_list(exam->provider, pool->own.settings, NULL, listed, exam);
}

/* ---- clusters ---- */

static void examine_pools(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++)
        if (doctor->exams[i].pool && !doctor->exams[i].is_done)
            examine_pool(&doctor->exams[i]);
}

/* Its inspection has ended, and its nodes are read or cannot be. */
static void end_cluster(struct exam *exam)
{
    const char *trouble = cluster_trouble(exam->cluster);
    bool is_known = cluster_snapshot(exam->cluster)->is_known;

    if (exam->is_inspected && !exam->is_done && (is_known || trouble[0] != '\0')) {
        exam->is_done = true;
        if (!is_known && !exam->is_wrong)
            tell(exam, &(struct finding){ FINDING_WRONG, "nodes and pods", trouble,
                                          "see that the account may list and watch both" });
    }
    examine_pools(exam->doctor);
}

static void cluster_inspected(void *context)
{
    struct exam *exam = context;

    exam->is_inspected = true;
    end_cluster(exam);
}

static void cluster_news(void *context)
{
    end_cluster(context);
}

static struct cluster_needs needs_of(const struct config *config,
                                     const struct config_cluster *cluster)
{
    struct cluster_needs needs = { .is_production = cluster->role == ROLE_PRODUCTION,
                                   .is_research = cluster->role == ROLE_RESEARCH,
                                   .has_protected_classes = (config->victims.classes ?: "")[0] !=
                                                            '\0' };

    for (size_t i = 0; i < config->quota_count; i++)
        needs.has_quotas |= config->quotas[i].cluster == cluster;
    for (size_t i = 0; i < config->workload_count; i++) {
        const struct config_workload *workload = &config->workloads[i];

        for (size_t k = 0; k < workload->share_count; k++) {
            if (workload->shares[k].cluster != cluster)
                continue;
            needs.has_hpa |= workload->keeps == KEEPS_HPA;
            needs.has_keda |= workload->keeps == KEEPS_KEDA;
        }
    }
    return needs;
}

static void begin_cluster(struct doctor *doctor, const struct config_cluster *config)
{
    struct exam *exam = add_exam(doctor, "cluster", config->name);
    struct cluster_needs needs = needs_of(doctor->config, config);
    struct cluster_inspector inspector = { tell, cluster_inspected, exam };
    struct error err = { 0 };

    exam->cluster_config = config;
    exam->cluster = fleet_open_cluster(doctor->world, doctor->config, config, &err);
    if (!exam->cluster) {
        fail(exam, "access", &err, "correct the file that the sentence names");
        return;
    }
    cluster_watch(exam->cluster, cluster_news, exam);
    if (!cluster_inspect(exam->cluster, &needs, &inspector))
        exam->is_inspected = true;
}

/* ---- sources ---- */

static void fetched(void *context, struct demand *demand, const struct error *err)
{
    struct exam *exam = context;

    if (err) {
        fail(exam, "arrivals", err, "see the source's endpoint, account, and names of queues");
        return;
    }
    tell(exam,
         &(struct finding){ FINDING_RIGHT, "arrivals", "it tells those of the last hour", "" });
    demand_free(demand);
    exam->is_done = true;
}

static struct source_query query_of(struct exam *exam, const struct config_source *source)
{
    const struct config *config = exam->doctor->config;
    int64_t to_ms = loop_wall(exam->doctor->world->loop).ms - source->settle_ms;
    struct source_query query = { .span = { .step_ms = MINUTE_MS } };

    query.span.to.ms = to_ms - to_ms % MINUTE_MS;
    query.span.from.ms = query.span.to.ms - SOURCE_SPAN_MS;
    exam->queues = mem_new_array(config->queue_count + 1, sizeof *exam->queues);
    for (size_t i = 0; i < config->queue_count; i++)
        if (config->queues[i].source == source)
            exam->queues[query.queue_count++] = source_queue_of(&config->queues[i]);
    query.queues = exam->queues;
    return query;
}

static void begin_source(struct doctor *doctor, const struct config_source *config)
{
    struct exam *exam = add_exam(doctor, "source", config->name);
    struct source_query query = query_of(exam, config);
    struct error err = { 0 };

    exam->settings = source_settings_of(config);
    if (query.queue_count == 0) {
        tell(exam, &(struct finding){ FINDING_DOUBTFUL, "queues", "no queue names it",
                                      "set queues.NAME.source, or remove the source" });
        exam->is_done = true;
        return;
    }
    exam->source = source_open(doctor->world, &exam->settings, &err);
    if (!exam->source || source_fetch(exam->source, &query, fetched, exam, &err) < 0)
        fail(exam, "access", &err, "correct what the sentence names");
}

/* ---- all of them ---- */

static void open_providers(struct doctor *doctor)
{
    const struct config *config = doctor->config;

    doctor->providers = mem_new_array(config->provider_count + 1, sizeof *doctor->providers);
    for (size_t i = 0; i < config->provider_count; i++) {
        struct exam *exam = add_exam(doctor, "provider", config->providers[i].name);
        struct error err = { 0 };

        exam->is_done = true;
        doctor->providers[i] = provider_open(doctor->world, config->providers[i].kind,
                                             config->providers[i].own.settings, &err);
        if (!doctor->providers[i])
            fail(exam, "access", &err, "correct the file or the setting that the sentence names");
    }
}

struct doctor *doctor_open(struct world *world, const struct config *config, doctor_row_fn row,
                           void *context)
{
    struct doctor *doctor = mem_new(sizeof *doctor);

    doctor->world = world;
    doctor->config = config;
    doctor->row = row;
    doctor->context = context;
    doctor->exams = mem_new_array(config->provider_count + config->cluster_count +
                                      config->pool_count + config->source_count + 1,
                                  sizeof *doctor->exams);
    open_providers(doctor);
    for (size_t i = 0; i < config->cluster_count; i++)
        begin_cluster(doctor, &config->clusters[i]);
    for (size_t i = 0; i < config->pool_count; i++)
        begin_pool(doctor, &config->pools[i]);
    for (size_t i = 0; i < config->source_count; i++)
        begin_source(doctor, &config->sources[i]);
    return doctor;
}

bool doctor_is_done(const struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++)
        if (!doctor->exams[i].is_done)
            return false;
    return true;
}

/* What a cluster says of itself is better than that it did not answer. */
static const char *trouble_of(const struct exam *exam)
{
    const char *trouble = exam->cluster ? cluster_trouble(exam->cluster) : "";

    return trouble[0] != '\0' ? trouble : NULL;
}

void doctor_give_up(struct doctor *doctor, int64_t waited_ms)
{
    for (size_t i = 0; i < doctor->count; i++) {
        struct exam *exam = &doctor->exams[i];
        char waited[DURATION_TEXT_SIZE];

        if (exam->is_done)
            continue;

        owned(chars) char *text = text_format("no answer in %s",
                                              duration_format(waited_ms, waited));

        tell(exam, &(struct finding){ FINDING_WRONG, "answer", trouble_of(exam) ?: text,
                                      "see that it can be reached from here; or wait longer, with "
                                      "--timeout" });
        exam->is_done = true;
    }
}

void doctor_close(struct doctor *doctor)
{
    if (!doctor)
        return;
    for (size_t i = 0; i < doctor->count; i++) {
        source_close(doctor->exams[i].source);
        mem_free(doctor->exams[i].queues);
        cluster_close(doctor->exams[i].cluster);
    }
    for (size_t i = 0; doctor->providers && i < doctor->config->provider_count; i++)
        provider_close(doctor->providers[i]);
    for (size_t i = 0; i < doctor->count; i++)
        map_free(doctor->exams[i].instances);
    mem_free(doctor->providers);
    mem_free(doctor->exams);
    mem_free(doctor);
}
