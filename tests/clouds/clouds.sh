# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts of the clouds share; sourced, not run.  They have a folder that goes when they
# end, simulators that are stopped then, and clients that are kept below build/.

clouds_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clouds_root=$(cd "$clouds_here/../.." && pwd)
clouds_build=${SLUICE_BUILD:-$clouds_root/build/asan}
clouds_clients=${SLUICE_CLIENTS:-$clouds_root/build/clients}
# shellcheck disable=SC2034
clouds_python=$clouds_clients/python/bin/python # of the scripts
# shellcheck source=tools/packages.sh
. "$clouds_root/tools/packages.sh"

clouds_folder=$(mktemp -d)
clouds_servers=()

clouds_end() {
    local server
    for server in "${clouds_servers[@]}"; do
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    done
    rm -rf "$clouds_folder"
}
trap clouds_end EXIT
trap 'exit 143' HUP INT TERM

fail() {
    echo "FAILED $*"
    exit 1
}

# need PROGRAM PACKAGE...: installs Debian's packages if there is no such program.
need() {
    command -v "$1" >/dev/null || install_packages tools/test "${@:2}"
}

# The clients for Python, each in the version of requirements.txt, in an environment of their own.
need_python() {
    local folder=$clouds_clients/python wanted=$clouds_here/requirements.txt
    cmp -s "$wanted" "$folder/installed" && return
    need python3 python3
    echo "installing the clients for Python in $folder" >&2
    python3 -m venv "$folder" 2>/dev/null || {
        install_packages tools/test python3-venv
        python3 -m venv --clear "$folder"
    }
    "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2
    cp "$wanted" "$folder/installed"
}

# await_port PID PORT LOG: until that process listens there.
await_port() {
    local _
    for _ in $(seq 600); do
        (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null && return
        kill -0 "$1" 2>/dev/null || break
        sleep 0.1
    done
    cat "$3" >&2
    fail "nothing listens on port $2"
}

# start_simulator WORLD_FILE [CONFIG_FILE]: with sluice.yaml of the folder if none is given; sets $url.
start_simulator() {
    local port config=${2:-$clouds_folder/sluice.yaml} log
    log=$(mktemp "$clouds_folder/log-XXXXXX")
    "$clouds_build/sluice-simulator" --config "$config" --world "$1" >"$log" 2>&1 &
    clouds_servers+=($!)
    until grep -q '^listening on ' "$log"; do
        kill -0 $! 2>/dev/null || { cat "$log" >&2; fail "the simulator does not start"; }
        sleep 0.05
    done
    url=$(sed -n 's/^listening on //p' "$log")
    port=${url##*:}
    await_port $! "$port" "$log"
}

# A certificate of 127.0.0.1, for clients that speak TLS only: key.pem and certificate.pem.
make_certificate() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$clouds_folder/key.pem" \
        -out "$clouds_folder/certificate.pem" 2>/dev/null
}
