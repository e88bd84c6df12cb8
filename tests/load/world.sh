# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# The world of tests/load/run: a production and a research pool with half of the nodes each; sourced,
# not run.  Uses $build, $persons and $pids.

tls_port=18443
tick_ms=20

write_world() { # FOLDER NODES IN_FLIGHT
    local half=$(($2 / 2))
    mkdir -p "$1/schedules"
    cat >"$1/world.yaml" <<END
seed: 1
pools: {prod-a-east: {nodes: $half}, research-a-east: {nodes: $half}}
replicas: {chat-2x: {prod-a: 4}}
latency: {api: 1ms..5ms, delete: 5s..10s, create: 5s..10s, join: 5s..10s, gpus: 2s..4s, pod_start: 1s..3s, pod_stop: 1s..5s}
jobs: {backlog: $((half / 2)), duration: 20m..2h}
END
    cat >"$1/sluice.yaml" <<END
time_zone: America/New_York
windows:
  day: {days: mon-sun, from: '08:00', to: '20:00'}
  night: {days: mon-sun, from: '20:00', to: '08:00'}
socket: $1/sluice.sock
journal: sluice.db
schedules: schedules
repack_nodes: 0
metrics_port: 0
listen: {address: '0.0.0.0:$tls_port', certificate: server.pem, key: server.key, client_ca: people.pem}
access:
  viewer: {certificates: "$(seq -f 'p%g' -s ', ' $((persons / 2)))"}
drain: {notice: 5s, deadline: 1m, settle: 1s}
guard: {in_flight: $3, in_flight_per_cluster: $3}
clusters:
  prod-a: {role: production, kubeconfig: prod-a.kubeconfig}
  research-a: {role: research, kubeconfig: research-a.kubeconfig}
reservations:
  east: {machine: a3-megagpu-8g, region: us-east5, zone: us-east5-a, gpus_per_node: 8, nodes: $2}
providers:
  google: {kind: gcp, endpoint: 'http://127.0.0.1:1/gcp', metadata: 'http://127.0.0.1:1/gcp'}
pools:
  prod-a-east: {cluster: prod-a, reservation: east, provider: google, project: p, group: prod-a-east, static_nodes: 2}
  research-a-east: {cluster: research-a, reservation: east, provider: google, project: p, group: research-a-east, static_nodes: 1}
queues:
  chat: {wait_target: 30s, service: 20s}
workloads:
  chat-2x: {queue: chat, namespace: serving, gpus: 2, clusters: {prod-a: {}}}
END
    write_schedules "$1" "$half"
}

write_schedules() { # FOLDER NODES
    local window
    for window in day night; do
        printf 'workloads:\n  chat-2x:\n    prod-a: 4\ncompute:\n  a3-megagpu-8g:\n    us-east5:\n      prod-a:\n        counts: [%d]\n' \
            "$2" >"$1/schedules/$window.yaml"
    done
}

say() { # FOLDER COMMAND...
    local where=$1
    shift
    "$build/sluice" "$@" --config "$where/sluice.yaml"
}

# issue NAME AUTHORITY WORDS...: a certificate and its key.
issue() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -CA "$2.pem" \
        -CAkey "$2.key" -addext basicConstraints=critical,CA:FALSE "${@:3}" -keyout "$1.key" -out "$1.pem" 2>/dev/null
}

make_certificates() { # FOLDER
    local name
    (
        cd "$1"
        for name in machines people; do
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$name" \
                -keyout $name.key -out $name.pem 2>/dev/null
        done
        issue server machines -addext subjectAltName=IP:127.0.0.1,IP:10.255.7.1
        for name in $(seq -f 'p%g' $((persons / 2))); do
            issue "$name" people
        done
        chmod 600 ./*.key
    )
}

# start_world FOLDER: the simulator and the service; returns when both clusters were seen.  The
# service's watchdog must be fed every $tick_ms.
start_world() {
    local port
    "$build/sluice-simulator" --config "$1/sluice.yaml" --world "$1/world.yaml" --write-kubeconfigs "$1" \
        >"$1/simulator.log" 2>&1 &
    simulator=$!
    pids+=("$simulator")
    until port=$(grep -oE 'http://127.0.0.1:[0-9]+' "$1/simulator.log" | grep -oE '[0-9]+$'); do
        kill -0 "$simulator" || return 1
        sleep 0.1
    done
    sed -i "s|127.0.0.1:1/|127.0.0.1:$port/|g" "$1/sluice.yaml"
    NOTIFY_SOCKET=$1/notify WATCHDOG_USEC=$((2 * tick_ms * 1000)) \
        "$build/sluice" serve --config "$1/sluice.yaml" >"$1/serve.log" 2>&1 &
    service=$!
    pids+=("$service")
    for _ in $(seq 600); do
        if say "$1" status -o json >"$1/status.json" 2>/dev/null &&
            ! grep -qE 'STALE|"nodes": null' "$1/status.json"; then
            chmod 666 "$1/sluice.sock"
            return
        fi
        sleep 0.5
    done
    echo "tests/load: the service does not see its clusters" >&2
    tail -n 20 "$1/serve.log" >&2
    return 1
}

end_world() {
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
    pids=()
}

watch_ticks() { # FOLDER
    rm -f "$1/notify"
    "$build/storm" ticks "$1/notify" "$tick_ms" >"$1/ticks" &
    ticks=$!
    pids+=("$ticks")
    until [ -S "$1/notify" ]; do
        kill -0 "$ticks" || return 1
        sleep 0.05
    done
}

end_ticks() { # FOLDER: sets $worst_ms
    kill "$ticks"
    wait "$ticks" || true
    sed 's/^/   /' "$1/ticks"
    worst_ms=$(sed -n 's/.*worst_ms //p' "$1/ticks")
}

live() { # FOLDER: transfers under way
    say "$1" status -o json | sed -n 's/.*"live_transfers": \([0-9]*\).*/\1/p'
}

# move FOLDER NODES: until production has so many; sets $moved_s.
move() {
    local begin=$SECONDS
    write_schedules "$1" "$2"
    say "$1" apply >/dev/null
    for _ in $(seq 300); do
        [ "$(live "$1")" -gt 0 ] && break
        sleep 0.2
    done
    while [ "$(live "$1")" -gt 0 ]; do
        if [ $((SECONDS - begin)) -gt 300 ]; then
            say "$1" status >&2
            return 1
        fi
        sleep 0.5
    done
    moved_s=$((SECONDS - begin))
}
