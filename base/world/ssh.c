/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is common to both kinds of SSH client: handing the verbs on.
 */
#include "base/world/ssh.h"

#include "base/memory.h"

struct ssh_exec *ssh_run(struct ssh *ssh, const struct ssh_host *host,
                         const struct ssh_request *request, ssh_done_fn done, void *context)
{
    require(host->address && host->user && host->host_key && request->command && done);
    require(request->timeout_ms > 0 && request->output_limit > 0);
    require(request->input_length <= SSH_INPUT_LIMIT);
    require(!host->jump || !host->jump->jump);
    return ssh->verbs->run(ssh, host, request, done, context);
}

void ssh_cancel(struct ssh_exec *exec)
{
    if (exec)
        exec->ssh->verbs->cancel(exec);
}

void ssh_free(struct ssh *ssh)
{
    if (ssh)
        ssh->verbs->free(ssh);
}
