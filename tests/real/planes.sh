# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests on real control planes share; sourced, not run.  Whatever ends the script that
# sources it, a timeout too, ends what it runs and takes its control planes down.

planes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/control_plane/control_plane
plane_names=()

end_all() {
    local running
    trap '' HUP INT TERM
    trap - EXIT
    running=$(jobs -pr)
    # shellcheck disable=SC2086
    [ -z "$running" ] || kill $running 2>/dev/null || true
    wait
    [ ${#plane_names[@]} -eq 0 ] || "$planes" down "${plane_names[@]}"
}
trap end_all EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# in_turn COMMAND...: waits for it, and can be ended meanwhile; a command in the foreground would
# have to end first.
in_turn() {
    "$@" &
    wait $!
}

# start_planes NAME...: the user broker may do there what clusters/role.yaml says, and no more.
start_planes() {
    local name
    in_turn "$planes" build
    for name in "$@"; do
        plane_names+=("$name")
        in_turn "$planes" up "$name" >/dev/null
        "$planes" kubectl "$name" apply -f "$here/../../clusters/role.yaml" >/dev/null
        "$planes" kubectl "$name" create clusterrolebinding sluice --clusterrole=sluice \
            --user=broker >/dev/null
    done
}

# play LOG SECONDS COMMAND...: in the background; its process is $!, and ends what it runs.
play() {
    local log=$1 seconds=$2
    shift 2
    timeout --kill-after=10 "$seconds" "$@" >"$log" 2>&1 &
}
