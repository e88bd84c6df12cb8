/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * VolumeAttachments: which volume is attached to which node.  A test says which there are.
 */
#include "tools/simulator/model.h"

#include <inttypes.h>

void sim_kube_list_attachments(struct sim_call *call)
{
    owned(chars) char *version = text_format("%" PRIu64, call->cluster->version);
    owned(json) json_t *items = json_array();
    const char *name;
    void *node;

    call->verb = "list_attachments";
    if (sim_call_fault(call) ||
        !sim_kube_query_is_known(call, (const char *const[]){ "limit", "continue" }, 2))
        return;
    for (size_t i = 0; map_next(call->cluster->attachments, &i, &name, &node);)
        json_array_append_new(
            items, json_make("{s:{s:s}, s:{s:s, s:s, s:{s:s}}, s:{s:b}}", "metadata", "name", name,
                             "spec", "attacher", "csi.example", "nodeName", (const char *)node,
                             "source", "persistentVolumeName", name, "status", "attached", 1));
    sim_answer_json(call->answer, 200,
                    json_make("{s:s, s:s, s:{s:s}, s:O}", "kind", "VolumeAttachmentList",
                              "apiVersion", "storage.k8s.io/v1", "metadata", "resourceVersion",
                              version, "items", items));
}
