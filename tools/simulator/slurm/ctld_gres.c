/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * GPUs and their slices (MIG), by type, as select/cons_tres gives them out: each GPU or slice of a
 * node has a number, those of one type in a row, and a job gets the first that are free.
 */
#include "tools/simulator/slurm/ctld.h"

static size_t kinds_of(const struct ctld_node *node, struct ctld_gres ret[CTLD_KINDS])
{
    const struct machine *machine = node->machine;

    memcpy(ret, node->kinds, sizeof node->kinds);
    if (node->kind_count)
        return node->kind_count;
    text_copy(ret[0].type, sizeof ret[0].type, "h100");
    ret[0].count = machine ? machine->pool->reservation->plan->gpus_per_node : 8;
    return 1;
}

/* The numbers of those of one type. */
static uint64_t bits_of(const struct ctld_gres *kinds, size_t at)
{
    uint64_t bits = 0;
    int first = 0;

    for (size_t i = 0; i < at; i++)
        first += kinds[i].count;
    for (int i = first; i < first + kinds[at].count && i < CTLD_GPUS; i++)
        bits |= UINT64_C(1) << i;
    return bits;
}

/* The first `count` of these. */
static bool take_first(uint64_t free, int count, uint64_t *ret)
{
    for (int i = 0; i < CTLD_GPUS && count > 0; i++)
        if (free & UINT64_C(1) << i) {
            *ret |= UINT64_C(1) << i;
            count--;
        }
    return count <= 0;
}

static bool take(const struct ctld_job *job, const struct ctld_node *node, uint64_t taken,
                 uint64_t *ret)
{
    const struct ctld_gres any = { "", job->gpus };
    const struct ctld_gres *wants = job->want_count ? job->wants : &any;
    struct ctld_gres kinds[CTLD_KINDS];
    size_t kind_count = kinds_of(node, kinds);

    *ret = 0;
    for (size_t w = 0; w < (job->want_count ?: 1); w++) {
        uint64_t free = 0;

        for (size_t k = 0; k < kind_count; k++)
            if (wants[w].type[0] == '\0' || text_equal(wants[w].type, kinds[k].type))
                free |= bits_of(kinds, k) & ~taken;
        if (!take_first(free, wants[w].count, ret))
            return false;
    }
    return true;
}

bool ctld_gres_could(const struct ctld_job *job, const struct ctld_node *node)
{
    uint64_t bits;

    return take(job, node, 0, &bits);
}

bool ctld_gres_take(const struct ctld_job *job, const struct ctld_node *node, uint64_t *ret_bits)
{
    return take(job, node, node->gpu_bits, ret_bits);
}

/* ---- as texts ---- */

/* "0-2,5" */
static void print_bits(struct text *out, uint64_t bits)
{
    const char *comma = "";

    for (int i = 0; i < CTLD_GPUS; i++) {
        int last = i;

        if (!(bits & UINT64_C(1) << i))
            continue;
        while (last + 1 < CTLD_GPUS && bits & UINT64_C(1) << (last + 1))
            last++;
        text_add(out, "%s%d", comma, i);
        if (last > i)
            text_add(out, "-%d", last);
        comma = ",";
        i = last;
    }
}

char *ctld_gres_of_node(const struct ctld_node *node, bool is_used)
{
    struct ctld_gres kinds[CTLD_KINDS];
    size_t count = kinds_of(node, kinds);
    struct text *out = text_new(4096);

    for (size_t i = 0; i < count; i++) {
        uint64_t used = node->gpu_bits & bits_of(kinds, i);

        text_add(out, "%sgpu:%s:%d", i ? "," : "", kinds[i].type,
                 is_used ? __builtin_popcountll(used) : kinds[i].count);
        if (!is_used)
            continue;
        text_add(out, "(IDX:%s", used ? "" : "N/A");
        print_bits(out, used);
        text_add(out, ")");
    }
    return text_take(out);
}

static bool is_asked_for(const struct ctld_job *job, const char *type)
{
    bool is = job->want_count == 0;

    for (size_t i = 0; i < job->want_count; i++)
        is |= job->wants[i].type[0] == '\0' || text_equal(job->wants[i].type, type);
    return is;
}

/* Each type that it asked for; where it asked for any, each of the node. */
char *ctld_gres_of_job(const struct ctld_job *job, int at)
{
    struct ctld_gres kinds[CTLD_KINDS];
    size_t count = kinds_of(job->nodes[at], kinds);
    struct text *out = text_new(4096);

    for (size_t i = 0; i < count; i++) {
        uint64_t used = job->gpu_bits[at] & bits_of(kinds, i);

        if (!is_asked_for(job, kinds[i].type))
            continue;
        text_add(out, "%sgpu:%s:%d(IDX:", out->length ? "," : "", kinds[i].type,
                 __builtin_popcountll(used));
        print_bits(out, used);
        text_add(out, ")");
    }
    return text_take(out);
}

/* ---- what a job asks for ---- */

static const char bad_gres[] = "Invalid generic resource (gres) specification";
static const char bad_tres[] = "Invalid Trackable RESource (TRES) specification";
static const char bad_tres_of_job[] = "Batch job submission failed: Invalid Trackable RESource "
                                      "(TRES) specification";
static const char mixed[] = "Invalid GRES specification (with and without type identification)";

/* "3g.20gb:1" behind "gpu:"; 22.05 takes what begins with a digit for a count. */
static const char *read_want(const char *item, int release, struct ctld_gres *ret)
{
    const char *colon = strrchr(item, ':');
    const char *digits = colon ? colon + 1 : item;
    bool is_count = item[0] >= '0' && item[0] <= '9';
    long long count = 1;

    if (!colon && text_to_int(item, 0, CTLD_GPUS, &count)) {
        ret->type[0] = '\0';
    } else if (!colon && is_count && release < 2411) {
        return bad_tres_of_job;
    } else if (colon && !text_to_int(digits, 0, 1000, &count)) {
        return release < 2411 ? bad_gres : bad_tres;
    } else {
        text_print(ret->type, sizeof ret->type, "%.*s",
                   (int)(colon ? (size_t)(colon - item) : strlen(item)), item);
    }
    ret->count = (int)count;
    return NULL;
}

/* A type that is named twice counts as the last says. */
static const char *add_want(struct ctld_job *job, const struct ctld_gres *want)
{
    for (size_t i = 0; i < job->want_count; i++) {
        if ((job->wants[i].type[0] == '\0') != (want->type[0] == '\0'))
            return mixed;
        if (text_equal(job->wants[i].type, want->type)) {
            job->wants[i].count = want->count;
            return NULL;
        }
    }
    if (job->want_count == CTLD_KINDS)
        return bad_gres;
    job->wants[job->want_count++] = *want;
    return NULL;
}

bool ctld_gres_read(const char *text, int release, struct ctld_job *job, const char **ret_why)
{
    *ret_why = NULL;
    while (*text && !*ret_why) {
        size_t length = strcspn(text, ",");
        owned(chars) char *item = text_format("%.*s", (int)length, text);
        struct ctld_gres want = { "", 1 };

        if (text_starts_with(item, "gpu:"))
            *ret_why = read_want(item + strlen("gpu:"), release, &want);
        else if (!text_equal(item, "gpu"))
            *ret_why = bad_gres;
        if (!*ret_why)
            *ret_why = add_want(job, &want);
        text += length + (text[length] == ',');
    }
    job->gpus = 0;
    for (size_t i = 0; i < job->want_count; i++)
        job->gpus += job->wants[i].count;
    return !*ret_why;
}

/* ---- nodes ---- */

void ctld_slice(struct ctld *slurm)
{
    const struct yaml_node *sliced = slurm->cluster->plan->sliced;

    for (size_t i = 0; sliced && i < sliced->count; i++) {
        const struct yaml_node *own = &sliced->children[i];
        struct ctld_node *node = ctld_node_new(slurm, own->key, 0);

        for (size_t k = 0; k < own->count && k < CTLD_KINDS; k++) {
            struct ctld_gres *kind = &node->kinds[node->kind_count++];

            text_copy(kind->type, sizeof kind->type, own->children[k].key);
            kind->count = (int)ctld_leading(own->children[k].text);
            node->gpus += kind->count;
        }
        node->base = CTLD_IDLE;
        node->is_alive = node->has_gpus = true;
        node->boot_ms = node->slurmd_ms = node->seen_ms = sim_now(slurm->sim) + 1;
        slurm->sliced++;
    }
}
