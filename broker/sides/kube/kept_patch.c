/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See kept_patch.h.
 */
#include "broker/sides/kube/kept_patch.h"

#include "broker/transfer/runner.h"
#include "clusters/kube_verbs.h"

struct errand {
    struct runner *runner;
    const struct config_cluster *cluster;
    char *path;
    json_t *change;
    cluster_done_fn done;
    void *context;
};

static void run(void *context, enum journal_fate fate)
{
    struct errand *errand = context;

    if (fate == JOURNAL_KEPT && !errand->runner->is_broken)
        cluster_patch_at(fleet_cluster(errand->runner->fleet, errand->cluster), errand->path,
                         errand->change, errand->done, errand->context);
    json_decref(errand->change);
    mem_free(errand->path);
    mem_free(errand);
}

void kept_patch(struct runner *runner, const struct object_patch *patch, cluster_done_fn done,
                void *context)
{
    struct errand *errand = mem_new(sizeof *errand);

    require(!journal_is_gathering(runner->world->journal));
    require(patch->path[0] == '/' && json_is_object(patch->change));
    *errand = (struct errand){
        .runner = runner,
        .cluster = patch->cluster,
        .path = mem_copy_chars(patch->path),
        .change = json_incref(patch->change),
        .done = done,
        .context = context,
    };
    journal_after(runner->world->journal, run, errand);
}
