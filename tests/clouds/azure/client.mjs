/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Azure's own client against the simulator: it logs in, lists machines over several pages, deletes
 * one by its name, grows a pool by one, waits for both operations, and reads an error of each class.
 * Azure's clients speak TLS only, so a small proxy stands before the simulator.
 */
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { ContainerServiceClient } from "@azure/arm-containerservice";
import { ClientSecretCredential } from "@azure/identity";

const [port, key, certificate] = process.argv.slice(2);
function check(what, is, wanted) {
    if (JSON.stringify(is) !== JSON.stringify(wanted))
        throw new Error(`FAILED ${what}: ${JSON.stringify(is)}, expected ${JSON.stringify(wanted)}`);
    console.log(`ok ${what}, JavaScript`);
}

/* The error that a promise ends with. */
async function refusal(promise) {
    try {
        await promise;
    } catch (error) {
        return error;
    }
    throw new Error("it was not refused");
}

function startProxy() {
    const files = { key: readFileSync(key), cert: readFileSync(certificate) };
    const server = https.createServer(files, (request, response) => {
        const path = "/azure" + request.url;
        const headers = { ...request.headers, "x-forwarded-proto": "https" };
        const onward = http.request(
            { host: "127.0.0.1", port, path, method: request.method, headers }, (answer) => {
                response.writeHead(answer.statusCode, answer.headers);
                answer.pipe(response);
            });
        onward.on("error", () => response.destroy());
        request.pipe(onward);
    });
    return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

const server = await startProxy();
const endpoint = `https://127.0.0.1:${server.address().port}`;
const credential = (secret) => new ClientSecretCredential("t-1", "client", secret, {
    authorityHost: endpoint,
    disableInstanceDiscovery: true,
});
const options = { endpoint, credentials: { scopes: ["https://management.azure.com/.default"] } };
const client = new ContainerServiceClient(credential("secret"), "s-1", options);
const fast = { updateIntervalInMs: 200 };
const at = ["rg", "c"];

async function machines(pool) {
    const names = [];
    for await (const machine of client.machines.list(...at, pool)) names.push(machine.name);
    return names;
}

async function grow(pool, by, more = {}) {
    const read = await client.agentPools.get(...at, pool);
    return client.agentPools.createOrUpdate(...at, pool, { ...read, ...written(read, by) },
                                            { ...fast, ifMatch: read.eTag, ...more });
}

/* The client itself leaves out what is read-only, but for these two. */
function written(read, by) {
    return { count: read.count + by, status: undefined, powerState: undefined };
}

try {
    const before = await machines("gpu");
    check("machines on two pages", before.length, 3);
    const one = await client.machines.get(...at, "gpu", before[1]);
    check("a machine's resource ID", /\/virtualMachineScaleSets\/aks-gpu-\d+-vmss\/virtualMachines\/1$/
        .test(one.properties.resourceId), true);
    const pools = [];
    for await (const pool of client.agentPools.list(...at)) pools.push(pool.name);
    check("agent pools", pools, ["gpu", "limited", "forbidden"]);

    await client.agentPools.deleteMachines(...at, "gpu", { machineNames: [before[1]] }, fast);
    check("machines after a deletion", await machines("gpu"), [before[0], before[2]]);
    check("the count fell too", (await client.agentPools.get(...at, "gpu")).count, 2);

    const grown = await grow("gpu", 1);
    check("the answer of a growth", grown.count, 3);
    const after = await machines("gpu");
    check("machines after a growth", after.length, 3);
    check("a new number", after.includes(before[1]), false);

    const read = await client.agentPools.get(...at, "gpu");
    const stale = await refusal(client.agentPools.createOrUpdate(
        ...at, "gpu", { ...read, ...written(read, 1) }, { ...fast, ifMatch: "old" }));
    check("an old ETag", [stale.statusCode, stale.code], [412, "EtagMismatch"]);

    const quota = await refusal(grow("limited", 1));
    check("a quota", [quota.statusCode, quota.code], [409, "OperationNotAllowed"]);
    check("its sentence", /exceeding approved .* quota/.test(quota.message), true);

    const denied = await refusal(grow("forbidden", 1));
    check("a permission", [denied.statusCode, denied.code], [403, "AuthorizationFailed"]);

    const missing = await refusal(client.agentPools.get(...at, "other"));
    check("no such pool", missing.statusCode, 404);
    const gone = await refusal(client.machines.get(...at, "gpu", before[1]));
    check("no such machine", gone.statusCode, 404);

    const secret = await refusal(new ContainerServiceClient(credential("wrong"), "s-1", options)
        .agentPools.get(...at, "gpu"));
    check("a wrong secret", /AADSTS7000215/.test(secret.message), true);

    /* Two operations at once; then one more machine than there is room for. */
    const first = grow("gpu", 2);
    await new Promise((done) => setTimeout(done, 500));
    const busy = await refusal(grow("limited", 0));
    check("a busy cluster", [busy.statusCode, busy.code], [409, "OperationNotAllowed"]);
    check("its sentence", /is in progress/.test(busy.message), true);
    const failed = await refusal(first);
    check("a failed growth", /AllocationFailed|capacity/.test(failed.message), true);
    const left = await client.agentPools.get(...at, "gpu");
    check("what it leaves", [left.provisioningState, left.count], ["Failed", 5]);
    check("and why", left.status.provisioningError.details[0].code, "AllocationFailed");
} finally {
    server.close();
    server.closeAllConnections();
}
