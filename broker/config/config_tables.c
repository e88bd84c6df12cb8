/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * THE settings tables of sluice.yaml.  Limits here are those of one value alone; what concerns
 * several is in config_check.c.
 */
#include "broker/config/config_tables.h"

#include "base/timestamp.h"
#include "broker/sources/source.h"
#include "clusters/cluster.h"
#include "providers/kinds.h"

#define TOP(field) offsetof(struct config_file, config.field)
#define NODE(field) offsetof(struct config_file, field)

static const struct setting top_settings[] = {
    { "time_zone", SETTING_TEXT, TOP(time_zone), NULL, 0, 0,
      "IANA name of the zone in which windows begin and end, and of times in a demand file that "
      "have no offset: America/New_York" },
    { "windows", SETTING_NODE, NODE(windows), "", 0, 0,
      "the windows of the week; absent: weekday-day, weekday-peak, weekday-night, weekend-day, "
      "weekend-night" },
    { "holidays", SETTING_NODE, NODE(holidays), "", 0, 0,
      "dates that have another day's windows: `2026-12-25: sunday`" },
    { "events", SETTING_NODE, NODE(events), "", 0, 0, "dated windows, by name" },
    { "schedules", SETTING_TEXT, TOP(schedules), "schedules", 0, 0,
      "folder of the schedule files, one a window" },
    { "journal", SETTING_TEXT, TOP(journal), "sluice.db", 0, 0,
      "SQLite file of transfers, orders and events; `:memory:` forgets them at the end" },
    { "socket", SETTING_TEXT, TOP(socket), "sluice.sock", 0, 0,
      "unix socket on which `sluice serve` answers" },
    { "socket_group", SETTING_TEXT, TOP(socket_group), "", 0, 0,
      "unix group, by name or number, whose members may open the socket; absent: the group of the "
      "service's user" },
    { "listen", SETTING_NODE, NODE(listen), "", 0, 0,
      "TCP with TLS for other machines; absent: none" },
    { "access", SETTING_NODE, NODE(access), "", 0, 0,
      "who may do more than look; absent: root and the service's user" },
    { "tokens", SETTING_NODE, NODE(tokens), "", 0, 0,
      "bearer tokens that are believed over TLS; absent: none" },
    { "metrics_port", SETTING_INT, TOP(metrics_port), "0", 0, 65535,
      "port on 127.0.0.1 where everyone may read `/metrics`, `/healthz` and `/readyz`, and nothing "
      "else; 0: none" },
    { "ephemeral_label", SETTING_TEXT, TOP(ephemeral_label), "sluice.dev/ephemeral=true", 0, 0,
      "key=value; only nodes that carry it are ever moved" },
    { "poll", SETTING_DURATION, TOP(poll_ms), "15s", SECOND_MS, HOUR_MS,
      "how often the instances of each pool are listed" },
    { "repack_nodes", SETTING_INT, TOP(repack_nodes), "1", 0, 1000,
      "spare nodes for each production cluster, for pods that do not pack perfectly" },
    { "drain", SETTING_NODE, NODE(drain), "", 0, 0, "how nodes are emptied" },
    { "guard", SETTING_NODE, NODE(guard), "", 0, 0, "limits on what sluice may do" },
    { "lead", SETTING_NODE, NODE(lead), "", 0, 0,
      "assumed time of a transfer, before there is history" },
    { "join", SETTING_NODE, NODE(join), "", 0, 0, "when a new machine may serve" },
    { "traces", SETTING_NODE, NODE(traces), "", 0, 0, "where spans of transfers are sent" },
    { "victims", SETTING_NODE, NODE(victims), "", 0, 0, "which nodes are taken" },
    { "headroom", SETTING_NODE, NODE(headroom), "", 0, 0, "which losses plans are made for" },
    { "accelerators", SETTING_NODE, NODE(accelerators), "", 0, 0,
      "how many GPUs one unit of an extended resource counts as: `example.com/npu: 1`" },
    { "clusters", SETTING_NODE, NODE(clusters), NULL, 0, 0, "the clusters, by name" },
    { "reservations", SETTING_NODE, NODE(reservations), NULL, 0, 0,
      "the capacity that is paid for, by name" },
    { "providers", SETTING_NODE, NODE(providers), NULL, 0, 0, "the cloud accounts, by name" },
    { "pools", SETTING_NODE, NODE(pools), NULL, 0, 0, "the node pools, by name" },
    { "sources", SETTING_NODE, NODE(sources), "", 0, 0,
      "where recorded arrivals are asked for, by name; for `sluice snapshot`" },
    { "queues", SETTING_NODE, NODE(queues), NULL, 0, 0, "the request queues, by name" },
    { "workloads", SETTING_NODE, NODE(workloads), NULL, 0, 0,
      "the Deployments that serve queues, by name" },
    { "quotas", SETTING_NODE, NODE(quotas), "", 0, 0,
      "Kueue quotas that follow the nodes, by name" },
    { "webhooks", SETTING_NODE, NODE(webhooks), "", 0, 0, "who is told of what happens, by name" },
};

static const struct setting drain_settings[] = {
    { "notice", SETTING_DURATION, offsetof(struct config_drain, notice_ms), "30m", 0,
      7 * (int64_t)DAY_MS, "time from the announcement that a node leaves until its cordon" },
    { "deadline", SETTING_DURATION, offsetof(struct config_drain, deadline_ms), "10m", 0, DAY_MS,
      "time from the cordon until the pods that remain are deleted" },
    { "settle", SETTING_DURATION, offsetof(struct config_drain, settle_ms), "5s", 0, HOUR_MS,
      "time after the cordon before a node may count as empty" },
    { "gangs", SETTING_TEXT, offsetof(struct config_drain, gangs_name), "suspend", 0, 0,
      "`suspend`: the owner of a gang (Kueue Workload, JobSet, training job, Job, Argo Workflow) "
      "is suspended before its first pod is evicted, and resumed when the nodes are empty; "
      "`evict`: pods are evicted one by one" },
};

static const struct setting guard_settings[] = {
    { "in_flight", SETTING_INT, offsetof(struct config_guard, in_flight), "100", 1, 100000,
      "transfers at once, in all" },
    { "in_flight_per_cluster", SETTING_INT, offsetof(struct config_guard, in_flight_per_cluster),
      "50", 1, 100000, "transfers at once out of one cluster" },
    { "fresh", SETTING_DURATION, offsetof(struct config_guard, fresh_ms), "2m", 90 * SECOND_MS,
      HOUR_MS,
      "no node leaves on facts older than this; even a quiet cluster renews its facts once a "
      "minute" },
    { "attempts", SETTING_INT, offsetof(struct config_guard, attempts), "5", 1, 100,
      "attempts to create a machine, before the node is given back to the pool that it came from" },
    { "breaker", SETTING_INT, offsetof(struct config_guard, breaker), "3", 0, 1000,
      "after so many failed attempts in a row to create machines of a pool (no capacity, or never "
      "ready), no scheduled move to it begins; 0: pools are never closed" },
    { "breaker_pause", SETTING_DURATION, offsetof(struct config_guard, breaker_pause_ms), "30m",
      SECOND_MS, 7 * (int64_t)DAY_MS,
      "how long the pool then stays closed, unless an attempt succeeds earlier; after it one node "
      "is tried" },
    { "canary", SETTING_BOOL, offsetof(struct config_guard, canary), "false", 0, 0,
      "`true`: the first scheduled move to a pool takes one node, and so does the first after a "
      "failure; the next moves take 2, 4, 8 and so on; each begins when all nodes of the move "
      "before serve" },
    { "approval_nodes", SETTING_INT, offsetof(struct config_guard, approval_nodes), "0", 0, 100000,
      "an apply or a reclaim of so many nodes waits for a second person; what one person moves "
      "alone within 24 hours counts together; 0: nothing waits" },
    { "approval_wait", SETTING_DURATION, offsetof(struct config_guard, approval_wait_ms), "4h",
      MINUTE_MS, 7 * (int64_t)DAY_MS, "how long it waits; then it is over, and nothing was done" },
};

static const struct setting lead_settings[] = {
    { "prior_p50", SETTING_DURATION, offsetof(struct config_lead, prior_p50_ms), "30m", SECOND_MS,
      DAY_MS, "median time of a transfer, until the journal knows better" },
    { "prior_p95", SETTING_DURATION, offsetof(struct config_lead, prior_p95_ms), "60m", SECOND_MS,
      DAY_MS, "95th percentile of a transfer's time, until the journal knows better" },
};

static const struct setting join_settings[] = {
    { "deadline", SETTING_DURATION, offsetof(struct config_join, deadline_ms), "45m", MINUTE_MS,
      DAY_MS,
      "time from the machine's start until its node may serve; a machine that misses it is "
      "discarded, and another attempt is made" },
    { "stable", SETTING_DURATION, offsetof(struct config_join, stable_ms), "10s", 0, HOUR_MS,
      "how long the node must meet these conditions without interruption" },
    { "startup_taints", SETTING_TEXT, offsetof(struct config_join, startup_taints), "", 0, 0,
      "keys of taints that must be gone, separated by commas, besides Kubernetes' own (not-ready, "
      "unreachable, network-unavailable, uninitialized)" },
    { "labels", SETTING_TEXT, offsetof(struct config_join, labels), "", 0, 0,
      "keys of labels that the node must carry, separated by commas: nvidia.com/gpu.product" },
    { "daemons", SETTING_TEXT, offsetof(struct config_join, daemons), "", 0, 0,
      "NAMESPACE/NAME of DaemonSets whose pod must be Ready on the node, separated by commas" },
    { "quarantine", SETTING_DURATION, offsetof(struct config_join, quarantine_ms), "24h", 0,
      90 * (int64_t)DAY_MS,
      "for how long the physical host of a machine that missed the deadline is not used again, "
      "if the cloud names the host; 0: never" },
};

static const struct setting trace_settings[] = {
    { "endpoint", SETTING_URL, offsetof(struct config_traces, endpoint), "", 0, 0,
      "the whole URL: `http://127.0.0.1:4318/v1/traces`; plain http only to this machine; absent: "
      "none are sent" },
};

static const struct setting listen_settings[] = {
    { "address", SETTING_TEXT, offsetof(struct config_listen, address), NULL, 0, 0,
      "IP address and port: `0.0.0.0:8443`, `[::]:8443`" },
    { "certificate", SETTING_PATH, offsetof(struct config_listen, certificate), NULL, 0, 0,
      "PEM file: the server's certificate, then those of its issuers. Requests must name one of "
      "its names in `Host`" },
    { "key", SETTING_PATH, offsetof(struct config_listen, key), NULL, 0, 0,
      "PEM file: its key, not encrypted; other users must not be able to read it" },
    { "client_ca", SETTING_PATH, offsetof(struct config_listen, client_ca), "", 0, 0,
      "PEM file: the authorities that issue client certificates, and no others; required without "
      "`tokens`" },
    { "client_crl", SETTING_PATH, offsetof(struct config_listen, client_crl), "", 0, 0,
      "PEM file: the revocation lists (CRL) of all these authorities; after the end of a list all "
      "its authority's certificates are refused. Absent: none are read" },
};

static const struct setting token_settings[] = {
    { "issuer", SETTING_TEXT, offsetof(struct access_tokens, issuer), NULL, 0, 0,
      "the claim `iss` of its tokens, exactly" },
    { "audience", SETTING_TEXT, offsetof(struct access_tokens, audience), NULL, 0, 0,
      "the claim `aud` of tokens for this service, or one item of it" },
    { "keys", SETTING_PATH, offsetof(struct access_tokens, keys), "", 0, 0,
      "JSON file: the issuer's public keys (JWKS), for RS256 and ES256. Read again when it "
      "changes" },
    { "keys_url", SETTING_TEXT, offsetof(struct access_tokens, keys_url), "", 0, 0,
      "instead of `keys`: the https URL of that file (the issuer's `jwks_uri`). Fetched every "
      "hour, and when a token names a key that is not in it" },
    { "person", SETTING_TEXT, offsetof(struct access_tokens, person), "sub", 0, 0,
      "the claim that names the person in events" },
};

static const struct setting access_settings[] = {
    { "groups", SETTING_TEXT, offsetof(struct access_rule, groups), "", 0, 0,
      "unix groups, by name or number, separated by commas, whose members have the role on the "
      "socket" },
    { "certificates", SETTING_TEXT, offsetof(struct access_rule, certificates), "", 0, 0,
      "names of client certificates, separated by commas, that have the role over TLS: an email, "
      "URI or DNS name of subjectAltName; if there is none, the common name" },
    { "claims", SETTING_TEXT, offsetof(struct access_rule, claims), "", 0, 0,
      "CLAIM=VALUE of bearer tokens, separated by commas, that have the role over TLS: a claim "
      "that is this text, or a list that has it" },
};

static const struct setting victim_settings[] = {
    { "checkpoint_annotation", SETTING_TEXT, offsetof(struct config_victims, checkpoint),
      "sluice.dev/last-checkpoint", 0, 0,
      "annotation of a pod: when its job wrote its last checkpoint, RFC 3339; without it the work "
      "since the start counts as lost, but at most the median run time" },
    { "team_label", SETTING_TEXT, offsetof(struct config_victims, team), "", 0, 0,
      "label of a pod that names its team; absent: its namespace" },
    { "block_labels", SETTING_TEXT, offsetof(struct config_victims, blocks),
      "cloud.google.com/gce-topology-block,topology.k8s.aws/network-node-layer-3,"
      "nvidia.com/gpu.clique",
      0, 0,
      "labels of a node that name its topology block, separated by commas; the first counts" },
    { "block_hours", SETTING_DOUBLE, offsetof(struct config_victims, block_hours), "0", 0, 1000000,
      "GPU-hours of work that sluice may lose to avoid one partly taken block; 0: whole blocks are "
      "preferred only among equal losses" },
    { "fairness", SETTING_DOUBLE, offsetof(struct config_victims, fairness), "1", 0, 100,
      "the weight of a team's lost work is 1 + this x the team's share of all recently lost work "
      "(half-life: seven days)" },
    { "protected_classes", SETTING_TEXT, offsetof(struct config_victims, classes), "", 0, 0,
      "names of PriorityClasses, separated by commas; nodes with their pods are taken only when "
      "the others are not enough" },
    { "protected_priority", SETTING_INT, offsetof(struct config_victims, priority), "0", 0,
      2147483647, "the same for pods of this priority or a higher one; 0: none" },
};

static const struct setting headroom_settings[] = {
    { "node", SETTING_BOOL, offsetof(struct config_headroom, node), "false", 0, 0,
      "enough replicas that every wait stays within twice its target if the fullest node is lost" },
    { "zone", SETTING_BOOL, offsetof(struct config_headroom, zone), "false", 0, 0,
      "the same if the worst zone is lost; each cluster's replicas count as spread over its zones "
      "as its nodes are" },
};

static const struct setting cluster_settings[] = {
    { "kind", SETTING_TEXT, offsetof(struct config_cluster, kind_name), "kubernetes", 0, 0, "" },
    { "role", SETTING_TEXT, offsetof(struct config_cluster, role_name), NULL, 0, 0,
      "`production` or `research`" },
    { "weight", SETTING_INT, offsetof(struct config_cluster, weight), "1", 1, 1000000,
      "research: share of the nodes that production leaves" },
    { "slurm", SETTING_TEXT, offsetof(struct config_cluster, slurm_name), "", 0, 0,
      "the Slurm cluster, also in this file, whose slurmd run as pods of this cluster (Slinky, "
      "SUNK, Soperator); absent: a node with such a pod is not moved" },
};

/* For providers, pools and sources only the keys that all kinds have: the others are in the tables
   of the kinds.  The help of `kind` is made from their names. */
static const struct setting provider_settings[] = {
    { "kind", SETTING_TEXT, offsetof(struct config_provider, kind_name), NULL, 0, 0, "" },
};

static const struct setting pool_settings[] = {
    { "cluster", SETTING_TEXT, offsetof(struct config_pool, cluster_name), NULL, 0, 0,
      "the cluster that its nodes join" },
    { "reservation", SETTING_TEXT, offsetof(struct config_pool, reservation_name), NULL, 0, 0,
      "the capacity that its nodes come from" },
    { "provider", SETTING_TEXT, offsetof(struct config_pool, provider_name), NULL, 0, 0,
      "the account that makes its machines" },
    { "static_nodes", SETTING_INT, offsetof(struct config_pool, static_nodes), "0", 0, 100000,
      "nodes that never leave: the pool's floor" },
    { "node_max", SETTING_INT, offsetof(struct config_pool, node_max), "0", 0, 100000,
      "the pool never grows over this; 0: the reservation's size" },
};

static const struct setting source_settings[] = {
    { "kind", SETTING_TEXT, offsetof(struct config_source, kind_name), NULL, 0, 0, "" },
    { "missing", SETTING_TEXT, offsetof(struct config_source, missing), "unknown", 0, 0,
      "what a step without a point counts as: `unknown`, or `zero` if its hour has other points; "
      "an hour without any point is always unknown" },
    { "settle", SETTING_DURATION, offsetof(struct config_source, settle_ms), "15m", 0, DAY_MS,
      "points younger than this may still change and are not asked for" },
};

static const struct setting queue_settings[] = {
    { "source", SETTING_TEXT, offsetof(struct config_queue, source_name), "", 0, 0,
      "the source of its recorded arrivals" },
    { "arrivals", SETTING_TEXT, offsetof(struct config_queue, arrivals), "", 0, 0,
      "what the source calls them: a counter with its labels (prometheus), the name of the SQS "
      "queue (cloudwatch), a filter (monitoring)" },
    { "arrivals_high", SETTING_TEXT, offsetof(struct config_queue, arrivals_high), "", 0, 0,
      "the same for requests of high priority, together with `arrivals_low` instead of "
      "`arrivals`" },
    { "arrivals_low", SETTING_TEXT, offsetof(struct config_queue, arrivals_low), "", 0, 0,
      "the same for requests of low priority" },
    { "wait_target", SETTING_DURATION, offsetof(struct config_queue, wait_target_ms), NULL, 1,
      DAY_MS, "how long a request may wait, at the percentile" },
    { "percentile", SETTING_DOUBLE, offsetof(struct config_queue, percentile), "98", 1, 100,
      "how many of 100 requests must wait no longer than `wait_target`" },
    { "ttft_target", SETTING_SECONDS, offsetof(struct config_queue, ttft_target_s), "0s", 0,
      DAY_MS *(int64_t)1000, "engine: until the first token, wait and prompt included; 0s: none" },
    { "ttft_percentile", SETTING_DOUBLE, offsetof(struct config_queue, ttft_percentile), "0", 0,
      100, "how many of 100 requests must meet `ttft_target`; 0: as `percentile`" },
    { "itl_target", SETTING_SECONDS, offsetof(struct config_queue, itl_target_s), "0s", 0,
      MINUTE_MS *(int64_t)1000, "engine: mean time of a request's later tokens; 0s: none" },
    { "itl_percentile", SETTING_DOUBLE, offsetof(struct config_queue, itl_percentile), "0", 0, 100,
      "how many of 100 requests must meet `itl_target`; 0: as `percentile`" },
    { "slo", SETTING_TEXT, offsetof(struct config_queue, slo), "pooled", 0, 0,
      "`pooled`: the percentile is taken over all days of a window together; `each-day`: every day "
      "must meet the target by itself" },
    { "service", SETTING_DURATION, offsetof(struct config_queue, service_ms), "0s", 0, DAY_MS,
      "mean time that one replica takes for one request; required unless `service_file` or "
      "`engine` gives it; with an `engine` that has only `slots`: the time in a full batch" },
    { "service_cv", SETTING_DOUBLE, offsetof(struct config_queue, service_cv), "1", 0, 100,
      "standard deviation of that time over its mean; 0: constant; 1: exponential; else "
      "lognormal" },
    { "service_law", SETTING_TEXT, offsetof(struct config_queue, service_law), "", 0, 0,
      "`constant`, `exponential` or `lognormal`, whatever `service_cv` is" },
    { "service_file", SETTING_TEXT, offsetof(struct config_queue, service_file), "", 0, 0,
      "instead of `service`, `service_cv` and `service_law`: CSV of measured times, a column of "
      "seconds or seconds and count" },
    { "service_histogram", SETTING_TEXT, offsetof(struct config_queue, service_histogram), "", 0, 0,
      "prometheus: the histogram of its times, without `_bucket`, with its labels; `sluice "
      "snapshot` measures it, and plans made from that snapshot use it instead of `service`" },
    { "service_max", SETTING_DURATION, offsetof(struct config_queue, service_max_ms), "0s", 0,
      DAY_MS, "no request takes longer: the bound of the histogram's last bucket" },
    { "engine", SETTING_NODE, offsetof(struct config_queue, engine_node), "", 0, 0,
      "a replica serves many requests at once, as engines of language models do" },
    { "scale_up", SETTING_DOUBLE, offsetof(struct config_queue, scale_up), "1", 0, 1000,
      "arrivals are multiplied by this before replicas are counted" },
};

#define ENGINE(field) offsetof(struct config_engine, field)

static const struct setting engine_settings[] = {
    { "slots", SETTING_INT, ENGINE(slots), NULL, 1, ENGINE_SLOTS_MAX,
      "requests that run at once in one replica: vLLM's `max_num_seqs`; without the keys below "
      "`service` is the time of a request in a full batch" },
    { "iteration", SETTING_SECONDS, ENGINE(iteration_s), "0s", 0, 10 * (int64_t)1000000,
      "fixed part of the time of one iteration, which gives each running request a token" },
    { "iteration_per_request", SETTING_SECONDS, ENGINE(per_request_s), "0s", 0, 1000000,
      "time that each running request adds to an iteration" },
    { "prefill_per_token", SETTING_SECONDS, ENGINE(prefill_s), "0s", 0, 1000000,
      "time that each prompt token computed in an iteration adds to it" },
    { "tokens_in", SETTING_DOUBLE, ENGINE(tokens_in), "0", 0, 1000000,
      "mean length of a prompt that is not in the engine's cache" },
    { "tokens_out", SETTING_DOUBLE, ENGINE(tokens_out), "0", 0, 1000000,
      "mean length of an answer; if `tokens_in`, `tokens_out` and `tokens_file` are all absent, "
      "plans take both lengths from the demand's columns of tokens" },
    { "tokens_cv", SETTING_DOUBLE, ENGINE(tokens_cv), "1", 0, 10,
      "standard deviation of an answer's length over its mean; 0: constant; 1: exponential; else "
      "lognormal" },
    { "tokens_law", SETTING_TEXT, ENGINE(tokens_law), "", 0, 0,
      "`constant`, `exponential` or `lognormal`, whatever `tokens_cv` is" },
    { "tokens_file", SETTING_TEXT, ENGINE(tokens_file), "", 0, 0,
      "instead of `tokens_in`, `tokens_out`, `tokens_cv` and `tokens_law`: CSV of requests with "
      "columns `input_tokens` and `output_tokens` (or as public traces name them); with a column "
      "`queue` or `model`, the rows of this queue" },
    { "kv_tokens", SETTING_INT, ENGINE(kv_tokens), "0", 0, 1000000000,
      "tokens that a replica's KV cache holds: number of blocks x block size; a request takes its "
      "prompt and half of its answer; 0: only `slots` is a limit" },
    { "router", SETTING_TEXT, ENGINE(router_name), "least-outstanding", 0, 0,
      "how requests are given to replicas: `least-outstanding`, `random`, `round-robin`, or "
      "`central` (one queue for all)" },
    { "metrics", SETTING_TEXT, ENGINE(metrics), "", 0, 0,
      "prometheus: the engine and its labels, as `vllm{model_name=\"chat\"}`; `sluice snapshot` "
      "measures it as `sluice profile` does, and plans made from that snapshot use what it found" },
};

static const struct setting workload_settings[] = {
    { "queue", SETTING_TEXT, offsetof(struct config_workload, queue_name), NULL, 0, 0,
      "the queue that it serves" },
    { "namespace", SETTING_TEXT, offsetof(struct config_workload, namespace), "default", 0, 0,
      "namespace of its Deployment in each cluster" },
    { "gpus", SETTING_INT, offsetof(struct config_workload, gpus), NULL, 1, 1024,
      "whole GPUs of one replica (a slice of a GPU counts as one); must divide `gpus_per_node`. "
      "With "
      "`kind: leaderworkerset` it may be a multiple: a replica then takes whole nodes of one pool, "
      "which gets its nodes in such groups" },
    { "kind", SETTING_TEXT, offsetof(struct config_workload, kind_name), "deployment", 0, 0,
      "kind of the object with the workload's name: `deployment` or `leaderworkerset`" },
    { "keeps", SETTING_TEXT, offsetof(struct config_workload, keeps_name), "replicas", 0, 0,
      "what sluice sets: `replicas`; `hpa`: `minReplicas` of its HorizontalPodAutoscaler; `keda`: "
      "`minReplicaCount` of its ScaledObject" },
    { "autoscaler", SETTING_TEXT, offsetof(struct config_workload, autoscaler), "", 0, 0,
      "name of the HorizontalPodAutoscaler or ScaledObject, if it is not the workload's name" },
    { "headroom", SETTING_NODE, offsetof(struct config_workload, headroom_node), "", 0, 0,
      "losses that plans keep room for, if they differ from the top-level `headroom`" },
    { "clusters", SETTING_NODE, offsetof(struct config_workload, clusters_node), NULL, 0, 0,
      "the production clusters that run it, by name" },
};

static const struct setting share_settings[] = {
    { "weight", SETTING_INT, offsetof(struct config_share, weight), "1", 1, 1000000,
      "this cluster's share of the replicas" },
    { "replica_min", SETTING_INT, offsetof(struct config_share, replica_min), "0", 0, 100000,
      "replicas that always run here" },
};

static const struct setting quota_settings[] = {
    { "cluster", SETTING_TEXT, offsetof(struct config_quota, cluster_name), NULL, 0, 0,
      "the cluster of the ClusterQueue" },
    { "cluster_queue", SETTING_TEXT, offsetof(struct config_quota, cluster_queue), NULL, 0, 0,
      "name of the ClusterQueue" },
    { "flavor", SETTING_TEXT, offsetof(struct config_quota, flavor), NULL, 0, 0,
      "the ResourceFlavor whose nominalQuota it is" },
    { "resource", SETTING_TEXT, offsetof(struct config_quota, resource), "nvidia.com/gpu", 0, 0,
      "the resource" },
    { "pool", SETTING_TEXT, offsetof(struct config_quota, pool_name), "", 0, 0,
      "only this pool's nodes count; absent: all movable nodes of the cluster; no node counts for "
      "two quotas of a resource" },
    { "fixed_gpus", SETTING_INT, offsetof(struct config_quota, fixed_gpus), "0", 0, 1000000,
      "GPUs of the quota in addition to those of the movable nodes" },
    { "reserved", SETTING_BOOL, offsetof(struct config_quota, is_reserved), "false", 0, 0,
      "`true`: sluice never writes this quota. No node leaves the cluster while its reserved "
      "quotas "
      "and `fixed_gpus` of the resource together exceed the usable static nodes' GPUs" },
};

#define TABLE(rows) .settings = (rows), .count = COUNT_OF(rows)
#define KINDS(type, list) .kinds = (list), .own_offset = offsetof(struct type, own)
#define ENTRIES(one)                                                                               \
    .item_size = sizeof(struct config_##one), .name_offset = offsetof(struct config_##one, name),  \
    .items_offset = offsetof(struct config, one##s),                                               \
    .count_offset = offsetof(struct config, one##_count)

const struct config_table config_tables[CONFIG_TABLE_COUNT] = {
    [CONFIG_TOP] = { "", "Paths are relative to the folder of the file.", TABLE(top_settings) },
    [CONFIG_DRAIN] = { "drain", "How nodes are emptied.", TABLE(drain_settings) },
    [CONFIG_GUARD] = { "guard", "Limits on what sluice may do.", TABLE(guard_settings) },
    [CONFIG_LEAD] = { "lead", "Assumed time of a transfer, before there is history.",
                      TABLE(lead_settings) },
    [CONFIG_JOIN] = { "join",
                      "When a new machine may serve: its Node (found by provider ID) is Ready, and "
                      "has all its GPUs, the labels and DaemonSets below, and no start-up taint "
                      "except ours. sluice removes its own taint last.",
                      TABLE(join_settings) },
    [CONFIG_TRACES] = { "traces",
                        "A collector of OpenTelemetry (OTLP/HTTP with JSON), without a login.",
                        TABLE(trace_settings) },
    [CONFIG_LISTEN] = { "listen",
                        "TCP with TLS 1.2 or later, for commands on other machines. Each client "
                        "needs a certificate or a token. The files are read again when they "
                        "change.",
                        TABLE(listen_settings) },
    [CONFIG_ACCESS] = { "access.ROLE",
                        "Who has the role `viewer`, `operator`, `dispatcher` or `admin`; each may "
                        "do what those before it may. Root and the service's user are admins. "
                        "Others who may open the socket are viewers, unless `access.viewer.groups` "
                        "is set.",
                        TABLE(access_settings), .item_size = sizeof(struct access_rule),
                        .name_offset = offsetof(struct access_rule, name),
                        .items_offset = offsetof(struct config, access),
                        .count_offset = offsetof(struct config, access_count) },
    [CONFIG_TOKENS] = { "tokens",
                        "JSON Web Tokens of one issuer, signed with RS256 or ES256. `exp` is "
                        "required; clocks may differ by a minute.",
                        TABLE(token_settings) },
    [CONFIG_VICTIMS] = { "victims",
                         "Which nodes are taken: idle nodes first, then those that lose the least "
                         "work, counted by whole gangs. Nodes with protected pods are last.",
                         TABLE(victim_settings) },
    [CONFIG_HEADROOM] = { "headroom",
                          "Which losses `sluice allocate` keeps room for. A workload's own "
                          "`headroom` has the same keys, and overrides this one.",
                          TABLE(headroom_settings) },
    [CONFIG_CLUSTERS] = { "clusters.NAME", "One cluster. Only the keys of its kind may be set.",
                          TABLE(cluster_settings), ENTRIES(cluster),
                          KINDS(config_cluster, cluster_kind_settings) },
    [CONFIG_RESERVATIONS] = { "reservations.NAME",
                              "Finite capacity of one machine type in one zone. Nodes move only "
                              "inside a reservation.",
                              TABLE(config_reservation_settings), ENTRIES(reservation) },
    [CONFIG_PROVIDERS] = { "providers.NAME", "One way into a cloud.", TABLE(provider_settings),
                           ENTRIES(provider), KINDS(config_provider, provider_account_kind) },
    [CONFIG_POOLS] = { "pools.NAME",
                       "One node group of one cluster in one reservation: the unit that is "
                       "resized.",
                       TABLE(pool_settings), ENTRIES(pool), KINDS(config_pool, provider_pool_kind),
                       .kind_of = config_kind_of_pool },
    [CONFIG_SOURCES] = { "sources.NAME",
                         "One place where recorded arrivals are asked for. Only the keys of its "
                         "kind may be set.",
                         TABLE(source_settings), ENTRIES(source),
                         KINDS(config_source, source_kind_settings) },
    [CONFIG_QUEUES] = { "queues.NAME", "One stream of requests and how long they may wait.",
                        TABLE(queue_settings), ENTRIES(queue) },
    [CONFIG_ENGINES] = { "queues.NAME.engine",
                         "A replica that serves many requests at once: an engine with continuous "
                         "batching. Its times follow from tokens, or, with `slots` alone, from "
                         "`service`. How to measure them: windows/ENGINES.md.",
                         TABLE(engine_settings) },
    [CONFIG_WORKLOADS] = { "workloads.NAME", "One Deployment, in each of its clusters.",
                           TABLE(workload_settings), ENTRIES(workload) },
    [CONFIG_SHARES] = { "workloads.NAME.clusters.CLUSTER",
                        "The share of a workload that runs in one cluster.",
                        TABLE(share_settings) },
    [CONFIG_QUOTAS] = { "quotas.NAME",
                        "A quota of a Kueue ClusterQueue. It shrinks before nodes are closed, and "
                        "grows when their GPUs can be used.\nWhile it cannot be set, only a "
                        "reclaim takes its nodes.",
                        TABLE(quota_settings), ENTRIES(quota) },
    [CONFIG_WEBHOOKS] = { "webhooks.NAME", "One receiver of messages.",
                          TABLE(config_webhook_settings), ENTRIES(webhook) },
};
