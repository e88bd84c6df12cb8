# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# A real Prometheus (the Debian package) over metrics that promtool filled in; sourced, not run.
# shellcheck disable=SC2154 # folder is the caller's

if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
    echo "$(basename "$0"): SKIPPED, needs the package prometheus"
    exit 77
fi

folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; wait "$server"; fi 2>/dev/null || true
    rm -rf "$folder"' EXIT

# fill_prometheus METRICS
fill_prometheus() {
    promtool tsdb create-blocks-from openmetrics "$1" "$folder/data" >"$folder/promtool.log" 2>&1 ||
        fail "promtool refused the metrics: $(tail -3 "$folder/promtool.log")"
}

# start_prometheus: sets `port`.  An address that is free now may be taken a moment later: some are
# tried.
start_prometheus() {
    local try
    echo 'global: {}' >"$folder/prometheus.yml"
    for try in 1 2 3 4 5; do
        : >"$folder/prometheus.log"
        port=$((20000 + (RANDOM % 20000)))
        prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/data" \
            --storage.tsdb.retention.time=30d --web.listen-address="127.0.0.1:$port" \
            >>"$folder/prometheus.log" 2>&1 &
        server=$!
        until grep -q 'Server is ready' "$folder/prometheus.log"; do
            kill -0 "$server" 2>/dev/null || break
            sleep 0.1
        done
        if kill -0 "$server" 2>/dev/null; then
            return
        fi
        server=
        [ "$try" -lt 5 ] || fail "prometheus does not start: $(tail -3 "$folder/prometheus.log")"
    done
}
