# SPDX-License-Identifier: Apache-2.0
#
# What sluice runs on a machine of one's own, by `sh -s sluice VERB` over SSH; POSIX sh and util-linux.
# Before this text sluice sends lines NAME='VALUE' (own_call.c), and after it the secret and `main "$@"`.
#
#   look    prints the report; changes nothing, and works on a full disk
#   claim   reserves a parked machine for one order: wanted_key, wanted_group, wanted_kind
#   join    begins or resumes the steps of joining, detached; secret: the token
#   leave   begins or resumes the steps of leaving, detached
#
# Two more run on the machine alone: `work` does the steps in turn, and `step` one of them.
#
# The marker ($dir/marker) says what the machine is: state (parked, joining, in, leaving), group, key,
# kind, step (the last finished one), failed (why the last run ended early).  Only a run that holds
# $dir/lock changes it.  A secret is passed through pipes alone: the shell's own printf writes it.
set -u
umask 077
LC_ALL=C
export LC_ALL
root=${SLUICE_ROOT:-} # of all paths of the machine; only tests set it

read_marker() {
    m_state=none m_group='' m_key='' m_kind='' m_step='' m_failed=''
    [ -r "$dir/marker" ] || return 0
    while IFS='=' read -r name value; do
        case $name in
        state) m_state=$value ;;
        group) m_group=$value ;;
        key) m_key=$value ;;
        kind) m_kind=$value ;;
        step) m_step=$value ;;
        failed) m_failed=$value ;;
        esac
    done <"$dir/marker"
}

# A crash leaves the old marker or the new one.
write_marker() {
    printf 'state=%s\ngroup=%s\nkey=%s\nkind=%s\nstep=%s\nfailed=%s\n' \
        "$m_state" "$m_group" "$m_key" "$m_kind" "$m_step" "$m_failed" >"$dir/marker.new" &&
        sync "$dir/marker.new" && mv -f "$dir/marker.new" "$dir/marker" && sync "$dir"
}

# A run holds the lock; those who only look share it, for no time at all.
is_running() {
    [ -e "$dir/lock" ] && ! flock -n -s "$dir/lock" true
}

has_kubelet() { [ -e "$root/etc/kubernetes/kubelet.conf" ]; }
# Also what a join that failed leaves.
has_traces() {
    has_kubelet || [ -e "$root/etc/kubernetes/pki" ] || [ -e "$root/var/lib/kubelet/config.yaml" ]
}

# is_unit NAME: it runs, or would be started again.  A unit that crashes again and again is not active.
is_unit() {
    systemctl is-enabled --quiet "$1" 2>/dev/null || systemctl is-active --quiet "$1" 2>/dev/null
}

# is_process NAME...: by the shell alone, as all names may be too many for one command line.
is_process() {
    for file in "$root"/proc/[0-9]*/comm; do
        comm=''
        { read -r comm <"$file"; } 2>/dev/null
        for name in "$@"; do
            if [ "$comm" = "$name" ]; then return 0; fi
        done
    done
    return 1
}

# has_option NAMES FILE...: one of them is set to more than nothing; NAMES is a regular expression.
has_option() {
    names=$1
    shift
    grep -qsE "^[[:space:]]*(export[[:space:]]+)?($names)=[[:space:]]*[\"']?[[:space:]]*[^\"'[:space:]]" "$@"
}

# Packages and installers leave units and files of their own.  What serves, would be started, or has
# options that sluice did not write is in a cluster, or may be.
has_k3s() {
    is_unit k3s-agent || is_unit k3s || is_process k3s k3s-agent k3s-server ||
        has_option 'K3S_[A-Z_]+' "$root/etc/systemd/system/k3s-agent.service.env" \
            "$root/etc/default/k3s-agent" "$root/etc/sysconfig/k3s-agent" ||
        grep -qsE "^[\"']?(server|token|token-file)[\"']?[[:space:]]*:" "$root/etc/rancher/k3s/config.yaml" \
            "$root"/etc/rancher/k3s/config.yaml.d/*.y*ml
}
has_slurmd() {
    is_unit slurmd || is_process slurmd slurmd-wlm ||
        has_option '[A-Za-z_][A-Za-z0-9_]*' "$root/etc/default/slurmd" "$root/etc/sysconfig/slurmd"
}

# found_daemon: prints the name of one that is there.
found_daemon() {
    for daemon in kubelet k3s slurmd; do
        if "has_$daemon"; then
            echo "$daemon"
            return 0
        fi
    done
    return 1
}

# report WORD TEXT: the answer of each verb; WORD is "ok" or a row of own_errors.c.  Whether steps run is
# asked before the marker is read: of a run that ends meanwhile, the marker that is told is the last one.
report() {
    unlock
    if is_running; then running=1; else running=0; fi
    read_marker
    printf 'sluice=1\nanswer=%s\ntext=%s\n' "$1" "$(printf %s "${2:-}" | tr '\n' ' ' | head -c 400)"
    printf 'state=%s\ngroup=%s\nkey=%s\nkind=%s\nstep=%s\n' \
        "$m_state" "$m_group" "$m_key" "$m_kind" "$m_step"
    printf 'failed=%s\nrunning=%d\n' "$m_failed" "$running"
    if [ "$m_state" = in ]; then
        echo "in_s=$(($(date +%s) - $(stat -c %Y "$dir/marker")))" # since when it has joined
    fi
    # With a marker nothing asks for it.
    if [ "$m_state" = none ] && daemon=$(found_daemon); then echo "$daemon=1"; fi
    printf 'end=1\n'
    exit 0
}

lock() {
    mkdir -p "$dir" 2>"/dev/null" || report folder "cannot make $dir: $(mkdir -p "$dir" 2>&1)"
    # A redirection of exec that fails would end the shell; this one ends a subshell.
    why=$( (: >>"$dir/lock") 2>&1) || report folder "cannot write in $dir: $why"
    exec 9>"$dir/lock"
    flock -w 1 9 || report busy "a step runs"
    read_marker
}

unlock() { exec 9>&-; }

# report_unwritten FILE WHY: the shell's own sentence does not say that the disk is full.
report_unwritten() {
    free=$(df -Pk "$dir" | tail -n 1 | awk '{print $4}')
    if [ "${free:-0}" -lt 64 ]; then
        report folder "cannot write $1: its disk is full ($free KiB are free)"
    fi
    report folder "cannot write $1 ($free KiB are free): $2"
}

write_or_report() {
    why=$( (write_marker) 2>&1) || report_unwritten "$dir/marker" "$why"
}

claim() {
    lock
    case $m_state in
    none)
        if daemon=$(found_daemon); then
            report taken "its $daemon runs, is enabled or has options, and it has no marker"
        fi
        ;;
    parked) ;;
    joining | in) [ "$m_key/$m_group" = "$wanted_key/$wanted_group" ] && report ok ;;
    esac
    case $m_state in none | parked) ;; *) report taken "it is $m_state, for order $m_key" ;; esac
    m_state=joining m_group=$wanted_group m_key=$wanted_key m_kind=$wanted_kind m_step='' m_failed=''
    write_or_report
    unlock
    report ok
}

# has_begun: whether a run has the lock, or had it.
has_begun() { is_running || grep -qx began "$dir/log"; }

# begin VERB: the steps go on without us, and get the secret through a pipe.  What starts them lives as
# long as they do, so that a slow start is awaited, and one that failed is told.
begin() {
    why=$( (write_parameters >"$dir/parameters") 2>&1) || report_unwritten "$dir/parameters" "$why"
    why=$( (printf '%s\n' "$tool" >"$dir/tool") 2>&1) || report_unwritten "$dir/tool" "$why"
    why=$( (: >"$dir/log") 2>&1) || report_unwritten "$dir/log" "$why"
    unlock
    if [ -d /run/systemd/system ] && command -v systemd-run >/dev/null 2>&1; then
        printf '%s\n' "$secret" | setsid systemd-run --quiet --collect --pipe \
            --unit="sluice-$1-$$" /bin/sh "$dir/tool" sluice work "$1" "$dir" >"$dir/log" 2>&1 &
    else
        printf '%s\n' "$secret" | setsid /bin/sh "$dir/tool" sluice work "$1" "$dir" >"$dir/log" 2>&1 &
    fi
    starter=$!
    asked=$(uptime_s)
    while ! has_begun; do
        if ! kill -0 "$starter" 2>/dev/null || [ $(($(uptime_s) - asked)) -ge 25 ]; then
            if has_begun; then break; fi
            why=$(hide_secret <"$dir/log" | tail -c 300)
            report failed "the steps did not start: ${why:-nothing says why}"
        fi
        sleep 0.1
    done
    report ok
}

# What the steps need, without the secret; quoted, because they are read as shell text.
write_parameters() {
    for name in server labels taints k3s_config node_name ca_hash cri_socket kubeadm_api slurm_options script \
        step_limit; do
        eval "value=\${$name:-}"
        printf "%s='%s'\n" "$name" "$value"
    done
}

join() {
    lock
    if [ "$m_state" = in ] && [ "$m_key" = "$wanted_key" ]; then report ok; fi
    if [ "$m_state" != joining ] || [ "$m_key" != "$wanted_key" ]; then
        report taken "it is $m_state, for order $m_key"
    fi
    if [ -n "$m_failed" ]; then report failed "$m_failed"; fi
    begin join
}

leave() {
    lock
    if [ "$m_key" != "$wanted_key" ]; then report taken "it is $m_state, for order $m_key"; fi
    case $m_state in
    parked) report ok ;;
    none)
        m_kind=$wanted_kind m_group=$wanted_group
        ;;
    esac
    if [ "$m_state" != leaving ]; then
        m_state=leaving m_step=''
    fi
    m_failed=''
    write_or_report
    begin leave
}

# ---- steps: each may be repeated after an interruption, and does nothing if it is done ----

steps_kubeadm_join='join'
steps_kubeadm_leave='reset clean runtime'
steps_k3s_join='environment start'
steps_k3s_leave='stop remove'
steps_slurmd_join='options start'
steps_slurmd_leave='stop'
steps_script_join='run'
steps_script_leave='run'

kubeadm_join_join() {
    if has_kubelet; then return 0; fi
    {
        printf 'apiVersion: kubeadm.k8s.io/%s\nkind: JoinConfiguration\n' "$kubeadm_api"
        printf 'discovery:\n  bootstrapToken:\n    apiServerEndpoint: "%s"\n' "$server"
        printf '    token: "%s"\n    caCertHashes: [%s]\n' "$secret" "$ca_hash"
        printf 'nodeRegistration:\n  name: "%s"\n  criSocket: "%s"\n' "$node_name" "$cri_socket"
        printf '  taints: [%s]\n' "$taints"
        if [ "$kubeadm_api" = v1beta3 ]; then
            printf '  kubeletExtraArgs: {provider-id: "ssh://%s", node-labels: "%s"}\n' "$node_name" "$labels"
        else
            printf '  kubeletExtraArgs: [{name: provider-id, value: "ssh://%s"}, ' "$node_name"
            printf '{name: node-labels, value: "%s"}]\n' "$labels"
        fi
    } | kubeadm join --config /dev/stdin
}

kubeadm_leave_reset() {
    if ! has_traces; then return 0; fi
    kubeadm reset --force --cri-socket "$cri_socket"
}

# What kubeadm reset leaves behind.
kubeadm_leave_clean() {
    rm -rf "$root"/etc/cni/net.d/* "$root/var/lib/cni" "$root/run/flannel" "$root/var/run/calico" \
        "$root/root/.kube/config" || return 1
    for link in cni0 flannel.1 cilium_host cilium_vxlan vxlan.calico kube-ipvs0; do
        ip link delete "$link" 2>/dev/null || true
    done
    if command -v ipvsadm >/dev/null 2>&1; then ipvsadm --clear || true; fi
    for table in iptables ip6tables; do
        if command -v $table-save >/dev/null 2>&1; then
            $table-save | grep -vE 'KUBE-|CNI-|FLANNEL|cali' | $table-restore || return 1
        fi
    done
}

kubeadm_leave_runtime() { systemctl restart containerd; }

# k3s reads *.yaml there, and so never half a file.
k3s_file=$root/etc/rancher/k3s/config.yaml.d/sluice.yaml

write_k3s_file() {
    if [ -z "$k3s_config" ]; then
        rm -f "$k3s_file"
        return
    fi
    mkdir -p "${k3s_file%/*}" && printf '%s' "$k3s_config" >"$k3s_file.new" &&
        sync "$k3s_file.new" && mv -f "$k3s_file.new" "$k3s_file"
}

k3s_join_environment() {
    write_k3s_file && mkdir -p "$root/etc/systemd/system" &&
        printf "K3S_URL='%s'\nK3S_TOKEN='%s'\nK3S_NODE_NAME='%s'\n" "$server" "$secret" "$node_name" \
            >"$root/etc/systemd/system/k3s-agent.service.env"
}

k3s_join_start() {
    if systemctl is-active --quiet k3s-agent; then return 0; fi
    systemctl enable --now k3s-agent
}

k3s_leave_stop() {
    if is_unit k3s-agent; then
        systemctl disable --now k3s-agent || return 1
    fi
    k3s-killall.sh
}

k3s_leave_remove() {
    rm -rf "$root/etc/systemd/system/k3s-agent.service.env" "$k3s_file" "$k3s_file.new" \
        "$root/var/lib/rancher/k3s/agent" "$root/etc/rancher/node"
}

slurmd_join_options() {
    mkdir -p "$root/etc/default" &&
        printf "SLURMD_OPTIONS='%s'\n" "$slurm_options" >"$root/etc/default/slurmd"
}

# systemd says nothing if a condition of the unit keeps it from starting.
slurmd_join_start() {
    if systemctl is-active --quiet slurmd; then return 0; fi
    systemctl enable --now slurmd || return 1
    if systemctl is-active --quiet slurmd; then return 0; fi
    echo 'slurmd was started and does not run: see `systemctl status slurmd`'
    return 1
}

slurmd_leave_stop() {
    if is_unit slurmd; then
        systemctl disable --now slurmd || return 1
    fi
    rm -f "$root/etc/default/slurmd"
}

# is_json: whether standard input is one line with one JSON value.  Each string becomes \001 and each
# other value \002, until one is left.
is_json() {
    awk '
    /[[:cntrl:]]/ { exit 1 }
    {
        gsub(/"([^"\\]|\\["\\\/bfnrt]|\\u[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f])*"/, "\001")
        gsub(/true|false|null/, "\002")
        gsub(/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/, "\002")
        gsub(/ /, "")
        do {
            count = gsub(/\[([\001\002](,[\001\002])*)?\]/, "\002")
            count += gsub(/\{(\001:[\001\002](,\001:[\001\002])*)?\}/, "\002")
        } while (count > 0)
        exit ($0 !~ /^[\001\002]$/)
    }'
}

# is_done LINE: the form that docs/machines.md has; a second "done" would leave open which one counts.
is_done() {
    case $1 in
    *'"done"'*'"done"'*) return 1 ;;
    '{"done":true'[,}]* | '{"done": true'[,}]*) printf '%s\n' "$1" | is_json ;;
    *) return 1 ;;
    esac
}

newline='
'

# The operator's: docs/machines.md has the contract.
run_script() {
    out=$(printf '%s\n' "$secret" | SLUICE_VERB=$1 SLUICE_NODE=$node_name SLUICE_GROUP=$m_group \
        SLUICE_ORDER=$m_key SLUICE_SERVER=$server SLUICE_CA_HASH=$ca_hash SLUICE_LABELS=$labels \
        "$script" "$1" "$node_name" 2>"$dir/script.errors")
    code=$?
    if [ $code -ne 0 ]; then hide_secret <"$dir/script.errors" | tail -c 300; fi
    rm -f "$dir/script.errors" # it may have the token
    if [ $code -ne 0 ]; then return $code; fi
    last=${out##*"$newline"}
    if is_done "$last"; then return 0; fi
    printf 'the script ended with 0, and printed no JSON object with "done": true as its last line: %s' \
        "$(printf %s "$last" | hide_secret | tr -dc '[:print:]' | head -c 120)"
    return 65
}
script_join_run() { run_script join; }
script_leave_run() { run_script leave; }

# What a program printed may have the token, or its secret half alone.  It is hidden before the text is
# cut, and by the shell alone, as no other program may get it.
hide_secret() {
    half=${secret##*.}
    while IFS= read -r line || [ -n "$line" ]; do
        while [ -n "$half" ]; do
            case $line in
            *"$half"*) line="${line%%"$half"*}(token)${line#*"$half"}" ;;
            *) break ;;
            esac
        done
        printf '%s\n' "$line"
    done
}

# step FUNCTION DIR: a process of its own, so that `timeout` can end all that it has started.  `timeout`
# keeps the lock: if the shell of the run is killed, no other run begins before the step has ended.
# What the step starts does not have it: a daemon would keep it for ever.
step() {
    exec 9>&-
    dir=$2
    IFS= read -r secret
    . "$dir/parameters"
    read_marker
    "$1"
}

uptime_s() { cut -d . -f 1 /proc/uptime; } # whatever the clock does

# run_step VERB STEP: its output is in step.log.  timeout gives 124, or 137 after its SIGKILL.
run_step() {
    began=$(uptime_s)
    printf '%s\n' "$secret" | timeout -k 10 "$step_limit" /bin/sh "$dir/tool" sluice step \
        "${m_kind}_$1_$2" "$dir" >"$dir/step.log" 2>&1
    code=$?
    # On a full disk there is no log.
    hide_secret <"$dir/step.log" >"$dir/step.log.new" && mv -f "$dir/step.log.new" "$dir/step.log" ||
        : >"$dir/step.log"
    why=''
    case $code in
    0) return 0 ;;
    124 | 137)
        if [ $(($(uptime_s) - began)) -ge "$step_limit" ]; then
            why="it did not end within $step_limit s, and was ended: "
        fi
        ;;
    esac
    return 1
}

# work VERB DIR: what runs detached.
work() {
    dir=$2
    exec 9>"$dir/lock"
    flock -w 5 9 || exit 0
    echo began # for begin
    IFS= read -r secret
    . "$dir/parameters"
    read_marker
    case $1/$m_state in join/joining | leave/leaving) ;; *) exit 0 ;; esac
    eval "steps=\$steps_${m_kind}_$1"
    past=$m_step
    for step in $steps; do
        if [ -n "$past" ]; then # finished by an earlier run
            if [ "$past" = "$step" ]; then past=''; fi
            continue
        fi
        if ! run_step "$1" "$step"; then
            m_failed="$m_kind, $1, step $step: $why$(tail -c 300 "$dir/step.log" | tr -c '[:print:]' ' ')"
            write_marker
            exit 1
        fi
        m_step=$step
        write_marker || exit 1
    done
    if [ "$1" = join ]; then m_state=in; else m_state=parked m_group='' m_key=''; fi
    m_step='' m_failed=''
    write_marker
}

main() {
    case $2 in
    look) report ok ;;
    claim) claim ;;
    join) join ;;
    leave) leave ;;
    work) work "$3" "$4" ;;
    step) step "$3" "$4" ;;
    esac
}
