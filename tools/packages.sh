# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# How the scripts of this folder install Debian packages; sourced, not run.  Another program that
# installs at the same time holds a lock of dpkg or apt: they wait for it, up to ten minutes.

packages_wait_s=600
packages_pause_s=2

# apt_get WHO ARGUMENTS...: as root or with sudo.  apt itself can wait for dpkg's locks only, and
# fails at once where the lists or the archives are locked.
apt_get() {
    local who=$1 as_root=() log code is_told= end=$((SECONDS + packages_wait_s))
    shift
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    log=$(mktemp)
    while true; do
        code=0
        # env inside sudo: sudo drops the variables of the caller.
        "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@" >&2 2>"$log" || code=$?
        if [ $code -eq 0 ] || ! grep -q 'Could not get lock' "$log" || [ $SECONDS -ge $end ]; then
            break
        fi
        if [ -z "$is_told" ]; then
            echo "$who: waiting for another program that installs packages:" \
                "$(sed -n 's/^E: \(Could not get lock.*\)/\1/p' "$log" | head -n 1)" >&2
            is_told=yes
        fi
        sleep "$packages_pause_s"
    done
    cat "$log" >&2
    rm -f "$log"
    return $code
}

# install_packages WHO PACKAGE...
install_packages() {
    local who=$1
    shift
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "$who: missing: $*; run this as root, install sudo, or install them yourself" >&2
        return 1
    fi
    echo "$who: installing $*" >&2
    apt_get "$who" update -qq || return
    apt_get "$who" install -y -qq --no-install-recommends "$@"
}
