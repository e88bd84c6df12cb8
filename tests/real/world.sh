# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests on real sockets share; sourced, not run.  A world is a folder with sluice.yaml,
# world.yaml, schedules and logs, a sluice-simulator and a `sluice serve`.  Times are a few real
# seconds, so that a move of 16 nodes takes about half a minute.

world_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
world_build=${SLUICE_BUILD:-$world_root/build/release}

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# too_slow MS MOST_MS: whether it took longer than that on a machine with a core for each process that
# wants one; with n of them for each core all things take n times as long.
too_slow() {
    local load wanting cores
    load=$(cut -d ' ' -f 4 /proc/loadavg)
    wanting=${load%/*}
    cores=$(nproc)
    [ "$1" -ge $(($2 * (wanting <= cores ? 1 : (wanting + cores - 1) / cores))) ]
}

now_ms() {
    local now=${EPOCHREALTIME/[.,]/}
    echo $((now / 1000))
}

# write_schedule FILE NODES
write_schedule() {
    cat >"$1" <<END
workloads:
  chat-2x:
    prod-a: $(($2 * 4))
compute:
  a3-megagpu-8g:
    us-east5:
      prod-a:
        counts: [$2]
END
}

# write_schedules FOLDER NODES: the same by day and by night, so that the hour does not matter.
write_schedules() {
    mkdir -p "$1/schedules"
    write_schedule "$1/schedules/day.yaml" "$2"
    write_schedule "$1/schedules/night.yaml" "$2"
}

# write_config FOLDER PORT NOTICE
write_config() {
    cat >"$1/sluice.yaml" <<END
time_zone: UTC
windows:
  day: {days: mon-sun, from: '08:00', to: '20:00'}
  night: {days: mon-sun, from: '20:00', to: '08:00'}
poll: 1s
repack_nodes: 0
drain: {notice: $3, deadline: 90s, settle: 1s}
lead: {prior_p50: 20s, prior_p95: 40s}
clusters:
  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}
  research-a: {role: research, kubeconfig: research-a.kubeconfig}
reservations:
  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: 48}
providers:
  google: {kind: gcp, endpoint: 'http://127.0.0.1:$2/gcp', metadata: 'http://127.0.0.1:$2/gcp'}
pools:
  prod-a-east: {cluster: prod-a, reservation: east, provider: google, project: p,
                group: prod-a-east, static_nodes: 2}
  research-a-east: {cluster: research-a, reservation: east, provider: google, project: p,
                    group: research-a-east, static_nodes: 1}
queues:
  chat: {wait_target: 30s, service: 20s}
workloads:
  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}}}
END
}

# write_world FOLDER SEED: 8 nodes in production, 40 in research.
write_world() {
    cat >"$1/world.yaml" <<END
seed: $2
pools:
  prod-a-east: {nodes: 8}
  research-a-east: {nodes: 40}
replicas: {chat-2x: {prod-a: 32}}
latency: {api: 1ms..10ms, delete: 1s..3s, create: 1s..3s, join: 1s..3s, gpus: 200ms..1s,
          pod_start: 200ms..1s, pod_stop: 500ms..2s}
jobs: {backlog: 200, duration: 10m..2h}
END
}

# start_simulator FOLDER: on any free port, which is left in $port; its process in $simulator.
start_simulator() {
    local folder=$1 i
    # The pools of the simulator are those of sluice.yaml, whose endpoint it does not read.
    "$world_build/sluice-simulator" --config "$folder/sluice.yaml" --world "$folder/world.yaml" \
        --write-kubeconfigs "$folder" >"$folder/simulator.out" 2>"$folder/simulator.log" &
    simulator=$!
    port=
    for ((i = 0; i < 1200; i++)); do
        port=$(sed -n 's|^listening on http://127.0.0.1:||p' "$folder/simulator.out" 2>/dev/null) || true
        [ -z "$port" ] || return 0
        kill -0 "$simulator" 2>/dev/null || break
        sleep 0.05
    done
    fail "the simulator does not start: $(cat "$folder/simulator.log")"
}

# start_service FOLDER: its process in $service.
start_service() {
    "$world_build/sluice" serve --config "$1/sluice.yaml" --log-level debug >>"$1/serve.log" 2>&1 &
    service=$!
}

# open_world FOLDER SEED NOTICE: all of it, with schedules that keep things as they are.
open_world() {
    local folder=$1
    mkdir -p "$folder"
    write_config "$folder" 1 "$3"
    write_world "$folder" "$2"
    write_schedules "$folder" 8
    start_simulator "$folder"
    write_config "$folder" "$port" "$3"
    start_service "$folder"
    await_service "$folder"
    sluice "$folder" apply >"$folder/apply.out" || fail "apply: $(cat "$folder/apply.out")"
}

# Ends both; the service as a person would, the simulator after it.
close_world() {
    local folder=$1
    if [ -n "${service:-}" ]; then
        kill "$service" 2>/dev/null || true
        wait "$service" || fail "the service ended with $?: $(tail -n 20 "$folder/serve.log")"
        service=
    fi
    if [ -n "${simulator:-}" ]; then
        kill "$simulator" 2>/dev/null || true
        wait "$simulator" || fail "the simulator ended with $?: $(cat "$folder/simulator.log")"
        simulator=
    fi
}

# For a trap: whatever still runs of ours.
abandon_world() {
    [ -z "${service:-}" ] || kill -KILL "$service" 2>/dev/null || true
    [ -z "${simulator:-}" ] || kill -KILL "$simulator" 2>/dev/null || true
}

# sluice FOLDER ARGUMENTS...
sluice() {
    local folder=$1
    shift
    "$world_build/sluice" "$@" --config "$folder/sluice.yaml"
}

# Until the service answers and has seen both clusters.
await_service() {
    local folder=$1 i
    for ((i = 0; i < 600; i++)); do
        if sluice "$folder" status -o json >"$folder/status.json" 2>/dev/null &&
            ! grep -q '"state": "STALE"' "$folder/status.json"; then
            return 0
        fi
        sleep 0.1
    done
    fail "the service does not answer: $(tail -n 20 "$folder/serve.log")"
}

# fetch PATH [HEADER]: GET from the simulator, the body alone.
fetch() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n%s\r\n' "$1" "${2:+$2$'\r\n'}" >&3
    sed '1,/^\r$/d' <&3
    exec 3<&-
}

# nodes_of CLUSTER: its Node objects as the API server has them.
nodes_of() {
    fetch "/clusters/$1/api/v1/nodes" "Authorization: Bearer sim-$1"
}

# count_of WORD: how often it stands in the input.
count_of() {
    { grep -o -- "$1" || true; } | wc -l
}

# number_after TEXT KEY: the number after "KEY": in a text.
number_after() {
    local rest=${1#*"\"$2\":"}
    rest=${rest# }
    echo "${rest%%[!0-9-]*}"
}

# pool_number REPORT POOL KEY
pool_number() {
    number_after "${1#*"\"$2\":"}" "$3"
}
