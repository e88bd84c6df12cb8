# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the plays of packages share; sourced, not run.  A line for each check: `ok WHAT`, `FAILED WHAT`,
# or `skipped WHAT: why`.  They have a folder that goes when they end.

packaging_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tools/packages.sh
. "$packaging_root/tools/packages.sh"
packaging_kept=$packaging_root/build/packaging # what takes long to make
packaging_folder=$(mktemp -d)
packaging_failures=0
mkdir -p "$packaging_kept"
export PATH=$packaging_kept/bin:$PATH

packaging_end() {
    declare -F at_end >/dev/null && at_end
    rm -rf "$packaging_folder"
}
trap packaging_end EXIT
trap 'exit 143' HUP INT TERM

# check WHAT COMMAND...: what the command says is shown if it fails.
check() {
    local what=$1
    shift
    if "$@" >"$packaging_folder/said" 2>&1; then
        echo "ok $what"
    else
        echo "FAILED $what: $(tail -n 20 "$packaging_folder/said")"
        packaging_failures=$((packaging_failures + 1))
    fi
}

skipped() {
    echo "skipped $*"
}

# need PROGRAM PACKAGE: installs Debian's package if there is no such program; false without it.
need() {
    command -v "$1" >/dev/null || install_packages tests/packaging "$2" >&2 || return 1
    command -v "$1" >/dev/null
}

# The libraries for Python of requirements.txt, in an environment of their own; false without them.
need_python() {
    local folder=$packaging_kept/python wanted=$packaging_root/tests/packaging/requirements.txt
    cmp -s "$wanted" "$folder/installed" && return
    { need python3 python3 && install_packages tests/packaging python3-venv &&
        python3 -m venv --clear "$folder" &&
        "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted"; } >&2 || return 1
    cp "$wanted" "$folder/installed"
}

# need_go PROGRAM MODULE@VERSION: builds it once, from the module proxy.
need_go() {
    command -v "$1" >/dev/null && return
    { need go golang-go &&
        GOBIN=$packaging_kept/bin CGO_ENABLED=0 go install -trimpath -ldflags='-s -w' "$2"; } >&2 || return 1
}

# The definition of ServiceMonitors, as a file in $packaging_kept; false without it.
need_service_monitor() {
    local module=github.com/prometheus-operator/prometheus-operator@v0.82.0 folder
    service_monitor=$packaging_kept/servicemonitors.yaml
    [ ! -e "$service_monitor" ] || return 0
    need go golang-go || return 1
    folder=$(cd "$packaging_folder" && go mod download -json $module | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    cp "$folder/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml" "$service_monitor"
}

# For the end of a play: its exit code.
conclude() {
    [ $packaging_failures -eq 0 ]
}

# says WHAT COMMAND...: its output has the text.
says() {
    local wanted=$1
    shift
    "$@" >"$packaging_folder/says" 2>&1 || true
    grep -qF -- "$wanted" "$packaging_folder/says" && return
    echo "does not say \"$wanted\":"
    tail -n 20 "$packaging_folder/says"
    return 1
}

# refused COMMAND...: it fails.
refused() {
    ! "$@"
}
