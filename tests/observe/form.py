# SPDX-License-Identifier: Apache-2.0
"""form.py DASHBOARD: reads it with Grafana's own library and prints it again.  What the library does
not know is lost on the way; then the dashboard is not of Grafana's form."""
import json
import sys

from grafana_foundation_sdk.cog import encoder, plugins
from grafana_foundation_sdk.models import dashboard


def lost(ours, theirs, place):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key in theirs:
                yield from lost(value, theirs[key], f"{place}/{key}")
            else:
                yield f"{place}/{key}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (one, other) in enumerate(zip(ours, theirs)):
            yield from lost(one, other, f"{place}/{at}")
    elif ours != theirs:
        yield place


def main():
    plugins.register_default_plugins()
    with open(sys.argv[1], encoding="utf-8") as file:
        ours = json.load(file)
    read = dashboard.Dashboard.from_json(ours)
    bad = list(lost(ours, json.loads(encoder.JSONEncoder(sort_keys=True).encode(read)), ""))
    for place in bad:
        print(f"FAILED Grafana does not know {place}")
    if not bad:
        print("ok the dashboard has the form of Grafana 10.1")
    sys.exit(1 if bad else 0)


main()
