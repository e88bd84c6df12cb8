# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests on Cluster API's controllers share; sourced after planes.sh, not run.

capi=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
capi_plane=

end_controllers() {
    [ -z "$capi_plane" ] || "$capi/controllers" stop "$capi_plane"
    end_all
}
trap end_controllers EXIT

# start_controllers NAME: that control plane becomes a management cluster, where the user broker may
# do what sluice's provider needs, and no more.
start_controllers() {
    in_turn "$capi/controllers" build
    capi_plane=$1
    in_turn "$capi/controllers" start "$1"
    "$planes" kubectl "$1" apply -f - >/dev/null <<'END_OF_ROLE'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: sluice, namespace: default}
rules:
  - {apiGroups: [cluster.x-k8s.io], resources: [machines], verbs: [list, get, patch]}
  - {apiGroups: [cluster.x-k8s.io], resources: [machinedeployments], verbs: [get]}
  - {apiGroups: [cluster.x-k8s.io], resources: [machinedeployments/scale], verbs: [patch]}
  - {apiGroups: [cluster.x-k8s.io], resources: [machinehealthchecks], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: sluice, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: sluice}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: broker}]
END_OF_ROLE
}

# add_cluster CLUSTER POOL...: a workload cluster, and MachineDeployments of three machines of it.
add_cluster() {
    local cluster=$1 pool
    shift
    {
        sed "s/CLUSTER/$cluster/g" "$capi/workload.yaml"
        for pool in "$@"; do
            sed "s/CLUSTER/$cluster/g; s/POOL/$pool/g" "$capi/pool.yaml"
        done
    } | "$planes" kubectl "$capi_plane" apply -f - >/dev/null
}
