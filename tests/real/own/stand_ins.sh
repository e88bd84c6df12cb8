# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Strict stand-ins for what the steps of a machine run; sourced, not run.  Each fails when it is called
# twice or out of order, and notes what it did in FOLDER/steps.  `kubeadm` also notes all processes'
# arguments while it runs.
#
# FOLDER/state/lose_shell: `kubeadm reset` kills the shell of its run, and alone goes on for 3 s.
# FOLDER/state/hang and .../fail: `kubeadm join` does not end, or fails.  .../garbage: the script prints it.
# FOLDER/state/boast: the script fails, and its last 300 bytes of errors begin within the token.
# FOLDER/state/ends, which has the n-th call of `flock`: FOLDER/state/ended is the marker from then on, as if
# the run ended at that moment.
# FOLDER/state/no_start and .../slow_start: the next run does not start, and says its token, or starts after 5 s.
# FOLDER/state/fill, which names a folder: `kubeadm reset` fills the disk there.
# FOLDER/state/die and .../die_after, which have a program's words: it kills the steps (all processes of its
# session) before, or after, it does this.
#
#   write_stand_ins FOLDER    FOLDER/bin/* and FOLDER/root

write_stand_ins() {
    local folder=$1 name
    mkdir -p "$folder/bin" "$folder/root/etc/kubernetes/pki" "$folder/state" "$folder/ended"
    : >"$folder/steps"
    cat >"$folder/bin/die" <<END
#!/bin/sh
# die die|die_after WORDS
grep -qxF "\$2" "$folder/state/\$1" 2>/dev/null || exit 0
rm "$folder/state/\$1"
for pid in \$(ps -o pid= --sid "\$(ps -o sid= -p \$\$ | tr -d ' ')"); do
    [ "\$pid" = \$\$ ] || kill -KILL "\$pid" 2>/dev/null
done
exit 1
END
    cat >"$folder/bin/kubeadm" <<END
#!/bin/sh
die die "kubeadm \$1" || exit 1
trap 'die die_after "kubeadm '\$1'"' EXIT
conf=$folder/root/etc/kubernetes/kubelet.conf
case \$1 in
join)
    [ "\$2 \$3" = "--config /dev/stdin" ] || { echo "kubeadm: arguments: \$*" >&2; exit 64; }
    config=\$(cat)
    [ ! -e "\$conf" ] || { echo "kubeadm: /etc/kubernetes/kubelet.conf already exists" >&2; exit 1; }
    [ -e $folder/state/clean ] || { echo "kubeadm: the machine was not cleaned" >&2; exit 1; }
    echo "\$config" | grep -qE '^    token: "[a-z0-9]{6}\.[a-z0-9]{16}"\$' || { echo "kubeadm: no token" >&2; exit 1; }
    echo "\$config" | grep -qE 'caCertHashes: \[sha256:[0-9a-f]{64}\]' || { echo "kubeadm: no pins" >&2; exit 1; }
    echo "\$config" | grep -qF '  taints: [{key: "nvidia.com/gpu", value: "", effect: "NoSchedule"}' ||
        { echo "kubeadm: no taints" >&2; exit 1; }
    echo "\$config" | grep -qF '{name: node-labels, value: "sluice.dev/ephemeral=true"}' ||
        { echo "kubeadm: no labels" >&2; exit 1; }
    echo "\$config" >"$folder/config"
    ps -eo args >>"$folder/processes"
    sleep 0.3
    rm $folder/state/clean
    mkdir $folder/root/etc/kubernetes/pki
    if [ -e "$folder/state/hang" ]; then
        rm "$folder/state/hang"
        echo "waiting for the kubelet"
        sleep 600 &
        echo \$! >"$folder/child"
        wait
    fi
    if [ -e "$folder/state/fail" ]; then
        rm "$folder/state/fail"
        echo "cannot use \$config" >&2
        exit 1
    fi
    echo "kubeadm join" >>"$folder/steps"
    echo "joined with \$config"
    : >"\$conf"
    ;;
reset)
    [ -e $folder/root/etc/kubernetes/pki ] || { echo "kubeadm: nothing to reset" >&2; exit 1; }
    ps -eo args >>"$folder/processes"
    sleep 0.2
    if [ -e $folder/state/lose_shell ]; then
        rm $folder/state/lose_shell
        pkill -KILL -s "\$(ps -o sid= -p \$\$ | tr -d ' ')" -f 'sluice work'
        sleep 3
    fi
    if [ -e $folder/state/fill ]; then
        cat /dev/zero >"\$(cat $folder/state/fill)/filler" 2>/dev/null
        rm $folder/state/fill
    fi
    echo "kubeadm reset" >>"$folder/steps"
    rm -rf "\$conf" $folder/root/etc/kubernetes/pki
    : >$folder/state/reset
    ;;
version) echo v1.33.1 ;;
esac
END
    cat >"$folder/bin/systemctl" <<END
#!/bin/sh
die die "systemctl \$*" || exit 1
trap 'die die_after "systemctl '"\$*"'"' EXIT
case "\$*" in
"is-active --quiet k3s-agent" | "is-enabled --quiet k3s-agent") [ -e $folder/state/k3s ] ;;
"is-active --quiet slurmd" | "is-enabled --quiet slurmd") [ -e $folder/state/slurmd ] ;;
"restart containerd")
    [ -e $folder/state/reset ] || { echo "systemctl: containerd is restarted before a reset" >&2; exit 1; }
    sleep 0.1
    rm $folder/state/reset
    echo "restart containerd" >>"$folder/steps"
    : >$folder/state/clean
    ;;
"enable --now k3s-agent")
    [ -e $folder/root/etc/systemd/system/k3s-agent.service.env ] || exit 1
    printf 'node-label+:\n  - "sluice.dev/ephemeral=true"\nnode-taint+:\n  - "nvidia.com/gpu=:NoSchedule"\n' |
        cmp - $folder/root/etc/rancher/k3s/config.yaml.d/sluice.yaml >&2 || exit 1
    [ ! -e $folder/state/k3s ] || { echo "systemctl: k3s-agent runs" >&2; exit 1; }
    : >$folder/state/k3s
    echo "k3s start" >>"$folder/steps"
    ;;
"disable --now k3s-agent")
    [ -e $folder/state/k3s ] || { echo "systemctl: k3s-agent does not run" >&2; exit 1; }
    rm $folder/state/k3s
    echo "k3s stop" >>"$folder/steps"
    ;;
"enable --now slurmd")
    grep -qxF "SLURMD_OPTIONS='--conf-server slurm:6817 -Z'" $folder/root/etc/default/slurmd || exit 1
    [ ! -e $folder/state/slurmd ] || { echo "systemctl: slurmd runs" >&2; exit 1; }
    : >$folder/state/slurmd
    echo "slurmd start" >>"$folder/steps"
    ;;
"disable --now slurmd")
    [ -e $folder/state/slurmd ] || { echo "systemctl: slurmd does not run" >&2; exit 1; }
    rm $folder/state/slurmd
    echo "slurmd stop" >>"$folder/steps"
    ;;
*) echo "systemctl: \$*" >&2; exit 1 ;;
esac
END
    printf '#!/bin/sh\necho "k3s kill all" >>%s/steps\n' "$folder" >"$folder/bin/k3s-killall.sh"
    # The machine's own links and rules are not touched.
    for name in ip ipvsadm iptables-save ip6tables-save iptables-restore ip6tables-restore; do
        printf '#!/bin/sh\nexit 0\n' >"$folder/bin/$name"
    done
    cat >"$folder/bin/moved" <<END
#!/bin/sh
IFS= read -r token
echo "using \$token" >&2
echo "script \$1 \$SLUICE_GROUP" >>"$folder/steps"
if [ -e $folder/state/boast ]; then
    rm $folder/state/boast
    printf '%s%0290d' "\$token" 0 >&2
    exit 1
fi
[ ! -e $folder/state/garbage ] || { cat $folder/state/garbage; rm $folder/state/garbage; exit 0; }
echo '{"done": true}'
END
    cat >"$folder/bin/flock" <<END
#!/bin/sh
if [ -e $folder/state/ends ]; then
    read -r calls <$folder/state/ends
    echo \$((calls - 1)) >$folder/state/ends
    if [ "\$calls" -eq 1 ]; then
        mv $folder/state/ended "$folder/ended/marker"
        rm $folder/state/ends
    fi
fi
exec $(command -v flock) "\$@"
END
    cat >"$folder/bin/setsid" <<END
#!/bin/sh
if [ -e $folder/state/no_start ]; then
    rm $folder/state/no_start
    IFS= read -r token
    echo "Failed to connect to bus with \$token: Connection refused" >&2
    exit 1
fi
if [ -e $folder/state/slow_start ]; then
    rm $folder/state/slow_start
    sleep 5
fi
exec $(command -v setsid) "\$@"
END
    chmod 0755 "$folder"/bin/*
    : >"$folder/root/etc/kubernetes/kubelet.conf" # it is in a cluster when the test begins
}
