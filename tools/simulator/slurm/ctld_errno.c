/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What Slurm's errors are called.
 */
#include "tools/simulator/slurm/ctld.h"

static const struct {
    enum ctld_errno number;
    const char *text;
} rows[] = {
    { CTLD_OK, "No error" },
    { CTLD_ERROR_DENIED, "Access/permission denied" },
    { CTLD_ERROR_USER, "Invalid user id" },
    { CTLD_ERROR_INVALID_JOB, "Invalid job id specified" },
    { CTLD_ERROR_INVALID_NODE, "Invalid node name specified" },
    { CTLD_ERROR_TRANSITION, "Job can not be altered now, try again later" },
    { CTLD_ERROR_DONE, "Job/step already completing or completed" },
    { CTLD_ERROR_DISABLED, "Requested operation is presently disabled" },
    { CTLD_ERROR_NODE_STATE, "Invalid node state specified" },
    { CTLD_ERROR_NODES_BUSY, "Requested nodes are busy" },
    { CTLD_ERROR_RESERVATION, "Requested reservation is invalid" },
    { CTLD_ERROR_TIME, "Invalid time specified" },
    { CTLD_ERROR_DUPLICATE_RESERVATION, "Duplicate reservation name" },
    { CTLD_ERROR_RESERVATION_STARTED, "Reservation already started" },
    { CTLD_ERROR_PENDING, "Job is pending execution" },
    { CTLD_ERROR_NOT_HET_LEADER, "Job not heterogeneous job leader" },
    { CTLD_ERROR_NODE_EXISTS, "Node already exists in the node table" },
    { CTLD_ERROR_CONNECT, "Unable to contact slurm controller (connect failure)" },
};

const char *ctld_errno_text(enum ctld_errno error)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].number == error)
            return rows[i].text;
    return "Unspecified error";
}
