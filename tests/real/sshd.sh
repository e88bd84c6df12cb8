# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# A real sshd on 127.0.0.1 with keys of its own; sourced, not run.
#
#   need_sshd            exits with 77 (skipped) without Debian's openssh-server and openssh-client
#   start_sshd FOLDER    sets sshd_port; the files below FOLDER: host, host_ecdsa, user, user_ecdsa, stranger,
#                        user_rsa (private keys, .pub beside them), log.  sshd_more: further lines of its
#                        configuration; sshd_by: a function that runs it elsewhere
#   stop_sshd FOLDER

need_sshd() {
    local program
    for program in sshd ssh-keygen ssh-agent ssh-add; do
        PATH=$PATH:/usr/sbin command -v $program >/dev/null || {
            echo "needs $program: apt install openssh-server openssh-client"
            exit 77
        }
    done
    [ "$(id -u)" -eq 0 ] || { echo "needs root: sshd starts as root only"; exit 77; }
}

start_sshd() {
    local folder=$1 name i
    mkdir -p "$folder" /run/sshd # sshd refuses to start without the latter
    chmod 0755 /run/sshd
    for name in host user stranger; do
        [ -f "$folder/$name" ] || ssh-keygen -q -t ed25519 -N '' -C '' -f "$folder/$name"
    done
    # As PEM: of an ecdsa key in OpenSSH's own format libssh2 1.10 loses 112 bytes at each log-in.
    for name in host_ecdsa user_ecdsa; do
        [ -f "$folder/$name" ] || ssh-keygen -q -t ecdsa -m PEM -N '' -C '' -f "$folder/$name"
    done
    [ -f "$folder/user_rsa" ] || ssh-keygen -q -t rsa -b 2048 -N '' -C '' -f "$folder/user_rsa"
    cat "$folder/user.pub" "$folder/user_ecdsa.pub" "$folder/user_rsa.pub" >"$folder/authorized"
    for ((i = 0; i < 20; i++)); do
        sshd_port=$((20000 + RANDOM % 12000))
        cat >"$folder/config" <<END
Port $sshd_port
ListenAddress 127.0.0.1
HostKey $folder/host
HostKey $folder/host_ecdsa
PidFile none
AuthorizedKeysFile $folder/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
LogLevel VERBOSE
${sshd_more:-}
END
        ${sshd_by:-} /usr/sbin/sshd -D -e -f "$folder/config" >"$folder/log" 2>&1 </dev/null &
        sshd_pid=$!
        if await_sshd; then
            return 0
        fi
    done
    echo "sshd does not start: $(cat "$folder/log")" >&2
    return 1
}

# Until it listens; false: it ended (the port is another program's).
await_sshd() {
    local i
    for ((i = 0; i < 200; i++)); do
        kill -0 "$sshd_pid" 2>/dev/null || return 1
        ! (exec 3<>"/dev/tcp/127.0.0.1/$sshd_port") 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}

stop_sshd() {
    [ -n "${sshd_pid:-}" ] || return 0
    kill "$sshd_pid" 2>/dev/null || true
    wait "$sshd_pid" 2>/dev/null || true
}
