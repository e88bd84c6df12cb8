# SPDX-License-Identifier: Apache-2.0
"""Compares an answer with the model of its API that AWS publishes in its client: members that the
model does not have, members that it requires, and values that it does not allow."""
import json
import re
from xml.etree import ElementTree

compared = 0
SCALARS = {
    "integer": r"-?\d+",
    "long": r"-?\d+",
    "boolean": r"true|false",
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\d+(\.\d+)?",
}


def _parts(value):
    """The members of a structure."""
    if isinstance(value, dict):
        return list(value.items())
    return [(child.tag.rpartition("}")[2], child) for child in value]


def _text(value):
    if isinstance(value, ElementTree.Element):
        return value.text or ""
    return json.dumps(value) if isinstance(value, (bool, int, float)) else str(value)


def _compare(value, shape, path, found):
    if shape.type_name == "structure":
        members = {member.serialization.get("name", name): (name, member)
                   for name, member in shape.members.items()}
        seen = set()
        for key, child in _parts(value):
            if key in members:
                seen.add(members[key][0])
                _compare(child, members[key][1], f"{path}.{key}", found)
            else:
                found.add(f"{path}.{key} is not in the model")
        found.update(f"{path} lacks {name}" for name in set(shape.required_members) - seen)
    elif shape.type_name == "list":
        for child in value:
            _compare(child, shape.member, f"{path}[]", found)
    elif shape.type_name != "map":
        text = _text(value)
        if not re.fullmatch(SCALARS.get(shape.type_name, "(?s:.*)"), text):
            found.add(f"{path} is {text!r}, no {shape.type_name}")
        if getattr(shape, "enum", None) and text not in shape.enum:
            found.add(f"{path} is {text!r}, none of {shape.enum}")


def _result(whole, wrapper):
    """The element that holds the members: the wrapper if the service has one."""
    for child in list(whole):
        name = child.tag.rpartition("}")[2]
        if name == wrapper:
            return child
        if name == "requestId":
            whole.remove(child)
    return whole


def watch(client, found):
    """Compares each answer that this client gets; adds to the set what differs."""

    def compare(operation_model, response_dict, **_):
        global compared
        shape = operation_model.output_shape
        if response_dict["status_code"] >= 300 or shape is None:
            return
        if operation_model.service_model.metadata["protocol"] == "rest-json":
            value = json.loads(response_dict["body"])
        else:
            value = _result(ElementTree.fromstring(response_dict["body"]),
                            shape.serialization.get("resultWrapper"))
        compared += 1
        _compare(value, shape, operation_model.name, found)

    client.meta.events.register("before-parse", compare)
