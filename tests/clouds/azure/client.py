# SPDX-License-Identifier: Apache-2.0
"""azure-mgmt-containerservice with azure-identity against the simulator: it logs in, lists machines,
deletes one by its name, grows a pool by one, waits for both operations, and reads an error of each
class.  Azure's clients speak TLS only, so a small proxy stands before the simulator."""
import http.client
import logging
import os
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from azure.core import MatchConditions
from azure.core.exceptions import (ClientAuthenticationError, HttpResponseError,
                                   ResourceModifiedError, ResourceNotFoundError)
from azure.identity import (ClientSecretCredential, ManagedIdentityCredential,
                            WorkloadIdentityCredential)
from azure.mgmt.containerservice import ContainerServiceClient

from checks import check, end, refusal

logging.getLogger("azure.identity").setLevel(logging.CRITICAL)
folder, usual, throttling, empty = sys.argv[1:5]


def proxy(url):
    """The address of a server that adds TLS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            onward = http.client.HTTPConnection(url.removeprefix("http://"))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            onward.request(self.command, "/azure" + self.path, body,
                           {**dict(self.headers), "X-Forwarded-Proto": "https"})
            answer = onward.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = answer

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/certificate.pem", folder + "/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"https://127.0.0.1:{server.server_port}"


def connect(address, secret="secret", credential=None):
    credential = credential or ClientSecretCredential(
        "t-1", "client", secret, authority=address, disable_instance_discovery=True)
    return ContainerServiceClient(
        credential, "s-1", base_url=address, polling_interval=1, retry_total=0,
        credential_scopes=["https://management.azure.com/.default"])


AT = ("rg", "c")
server = proxy(usual)
client = connect(server)
differences = set()
compared = 0


def names(pool="gpu"):
    return [each.name for each in client.machines.list(*AT, pool)]


def read(pool="gpu"):
    """A pool; names what its answer has and the client's model does not."""
    global compared

    def compare(response):
        global compared
        compared += 1
        known = {field._rest_name for field in
                 found.properties._attr_to_rest_field.values()}
        differences.update(set(response.http_response.json()["properties"]) - known)

    kept = []
    found = client.agent_pools.get(*AT, pool, raw_response_hook=kept.append)
    compare(kept[0])
    return found


def begin(pool="gpu", by=1, etag=None):
    found = read(pool)
    found.count += by
    return client.agent_pools.begin_create_or_update(
        *AT, pool, found, etag=etag or found.e_tag,
        match_condition=MatchConditions.IfNotModified)


def grow(*arguments, **named):
    return begin(*arguments, **named).result()


def code(error):
    return [error.status_code, error.error.code]


before = names()
check("machines on two pages", len(before), 3)
machine = client.machines.get(*AT, "gpu", before[1])
check("a machine's resource ID", machine.properties.resource_id.endswith("/virtualMachines/1"), True)
check("agent pools", [each.name for each in client.agent_pools.list(*AT)],
      ["gpu", "limited", "forbidden"])
client.agent_pools.begin_delete_machines(*AT, "gpu", {"machineNames": [before[1]]}).result()
check("machines after a deletion", names(), [before[0], before[2]])
check("the count fell too", read().count, 2)
check("the answer of a growth", grow().count, 3)
check("machines after a growth", [len(names()), before[1] in names()], [3, False])

check("an old ETag", refusal(ResourceModifiedError, grow, etag="old").error.code, "EtagMismatch")
quota = refusal(HttpResponseError, grow, "limited")
check("a quota", code(quota), [409, "OperationNotAllowed"])
check("its sentence", "exceeding approved" in quota.message and "quota" in quota.message, True)
check("a permission", code(refusal(HttpResponseError, grow, "forbidden")),
      [403, "AuthorizationFailed"])
check("no such pool", refusal(ResourceNotFoundError, read, "other").status_code, 404)
check("no such machine", refusal(ResourceNotFoundError, client.machines.get, *AT, "gpu",
                                 before[1]).status_code, 404)
busy_server = connect(proxy(throttling))
refusals = []
for _ in range(50):
    try:
        busy_server.agent_pools.get(*AT, "gpu")
    except HttpResponseError as error:
        refusals.append([error.status_code, error.error and error.error.code])
check("throttled", [429, "TooManyRequests"] in refusals, True)
check("validation", refusal(HttpResponseError, grow, by=2000).status_code, 400)
check("a wrong secret", "AADSTS7000215" in str(refusal(
    ClientAuthenticationError, connect(server, "wrong").agent_pools.get, *AT, "gpu")), True)

token_file = folder + "/assertion"
for what, assertion in (("a workload", "a.b.c"), ("an assertion that has ended", "expired")):
    with open(token_file, "w", encoding="ascii") as file:
        file.write(assertion)
    workload = connect(server, credential=WorkloadIdentityCredential(
        tenant_id="t-1", client_id="client", token_file_path=token_file, authority=server,
        disable_instance_discovery=True))
    if assertion == "expired":
        check(what, "AADSTS700024" in str(refusal(ClientAuthenticationError,
                                                  workload.agent_pools.get, *AT, "gpu")), True)
    else:
        check(what, workload.agent_pools.get(*AT, "gpu").name, "gpu")
# Where the client looks for a machine's identity; the simulator has it below its folder.
os.environ["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = server
check("a machine's identity", connect(server, credential=ManagedIdentityCredential())
      .agent_pools.get(*AT, "gpu").name, "gpu")

# Two operations at once; then one more machine than there is room for.
first = begin(by=2)
busy = refusal(HttpResponseError, begin, "limited", by=0)
check("a busy cluster", code(busy), [409, "OperationNotAllowed"])
check("its sentence", "is in progress" in busy.message, True)
failed = refusal(HttpResponseError, first.result)
check("a failed growth", failed.error.code, "ReconcileVMSSAgentPoolFailed")
left = read()
check("what it leaves", [left.provisioning_state, left.count], ["Failed", 5])
check("and why", left.status.provisioning_error.details[0].code, "AllocationFailed")
client = connect(proxy(empty))
refusal(HttpResponseError, grow)
check("a stock-out", read().status.provisioning_error.details[0].code, "ZonalAllocationFailed")
check("answers are compared with the client's models", compared > 5, True)
check("no answer has what the client does not know", sorted(differences), [])
end()
