# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# A Debian that systemd has booted, in a container; sourced, not run.
#
#   start_container ROOT CONSOLE [OPTION...]    boots the system in the folder ROOT, with options of systemd-nspawn;
#                                               what it prints is in CONSOLE.  False: it does not boot here
#   inside COMMAND...                           in the container, as root; `init` is its first process
#   stop_container

container=
init=

# systemd writes to /dev/console, so it gets a terminal.
start_container() {
    local root=$1 console=$2 i nspawn
    shift 2
    script -qfec "systemd-nspawn -q -D '$root' --boot --register=no --keep-unit $*" "$console" \
        </dev/null >/dev/null 2>&1 &
    container=$!
    for ((i = 0; i < 100; i++)); do
        nspawn=$(pgrep -P "$container" -x systemd-nspawn || pgrep -P "$(pgrep -P "$container" | head -n 1)" || true)
        init=$(pgrep -P "${nspawn:-0}" | head -n 1 || true)
        [ -z "$init" ] || [ "$(cat "/proc/$init/comm" 2>/dev/null)" != systemd ] || return 0
        init=
        sleep 0.1
    done
    return 1
}

inside() {
    nsenter -t "$init" -m -u -i -n -p -C -r -w -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
}

stop_container() {
    [ -z "$container" ] || kill "$container" 2>/dev/null || true
    [ -z "$container" ] || wait "$container" 2>/dev/null || true
    container=
}
