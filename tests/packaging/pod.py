#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pod.py OBJECTS SECRETS ROOT PROGRAM: becomes the pod of a StatefulSet, as a kubelet would start it.

OBJECTS: YAML with the StatefulSet and its ConfigMaps.  SECRETS: a folder for each Secret.  ROOT: an empty
folder for its root file system, with the programs of this machine and PROGRAM as sluice.  To be run as
root in a mount namespace of its own: nothing here is unmounted.
"""
import os
import subprocess
import sys

import yaml

objects_path, secrets, root, program = sys.argv[1:]
with open(objects_path, encoding="utf-8") as file:
    objects = [document for document in yaml.safe_load_all(file) if document]


def find(kind, name=None):
    found = [o for o in objects if o["kind"] == kind and name in (None, o["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


spec = find("StatefulSet")["spec"]
pod = spec["template"]["spec"]
container = pod["containers"][0]
context = pod["securityContext"]
group = context["fsGroup"]


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def bind(source, target):
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "x", encoding="utf-8"):
            pass
    mount("--bind", source, target)


def write_keys(folder, keys, mode):
    """As the kubelet does: links to the files of a folder that it can replace at once."""
    os.mkdir(f"{folder}/..1")
    os.chown(f"{folder}/..1", 0, group)
    os.chmod(f"{folder}/..1", 0o2755)
    os.symlink("..1", f"{folder}/..data")
    for key, value in keys.items():
        path = f"{folder}/..1/{key}"
        with open(path, "wb") as file:
            file.write(value)
        os.chown(path, 0, group)
        os.chmod(path, mode | 0o440)
        os.symlink(f"..data/{key}", f"{folder}/{key}")


def make_volume(volume):
    folder = f"{root}/volumes/{volume['name']}"
    is_in_memory = "secret" in volume or volume.get("emptyDir", {}).get("medium") == "Memory"
    os.makedirs(folder)
    if is_in_memory:
        mount("-t", "tmpfs", "tmpfs", folder)
    if "secret" in volume:
        source = f"{secrets}/{volume['secret']['secretName']}"
        keys = {}
        if os.path.isdir(source) or not volume["secret"].get("optional"):
            for key in os.listdir(source):
                with open(f"{source}/{key}", "rb") as file:
                    keys[key] = file.read()
        write_keys(folder, keys, volume["secret"]["defaultMode"])
    elif "configMap" in volume:
        data = find("ConfigMap", volume["configMap"]["name"])["data"]
        write_keys(folder, {key: value.encode() for key, value in data.items()}, 0o644)
    os.chown(folder, 0, group)
    # The folder of a tmpfs has the sticky bit, and that of a claim is its file system's.
    os.chmod(folder, 0o3777 if is_in_memory else 0o2775 if "claim" in volume else 0o2777)
    return folder


mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", root)
for name in ("usr", "dev", "proc", "etc/ssl"):
    os.makedirs(f"{root}/{name}")
    mount("--rbind", f"/{name}", f"{root}/{name}")
for name in ("bin", "lib", "lib64", "sbin"):
    os.symlink(f"usr/{name}", f"{root}/{name}")
bind(program, f"{root}/opt/sluice")

claims = [{"name": claim["metadata"]["name"], "claim": True} for claim in spec["volumeClaimTemplates"]]
folders = {volume["name"]: make_volume(volume) for volume in pod["volumes"] + claims}
# A folder above another comes first.
for wanted in sorted(container["volumeMounts"], key=lambda one: one["mountPath"]):
    source = folders[wanted["name"]] + ("/" + wanted["subPath"] if "subPath" in wanted else "")
    bind(os.path.realpath(source), root + wanted["mountPath"])

os.chroot(root)
os.chdir("/")
os.execve("/usr/bin/setpriv",
          ["setpriv", f"--reuid={context['runAsUser']}", f"--regid={context['runAsGroup']}", f"--groups={group}",
           "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", *container["command"]],
          {"PATH": "/opt:/usr/bin"})
