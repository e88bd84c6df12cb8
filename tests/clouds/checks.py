# SPDX-License-Identifier: Apache-2.0
"""A line for each check, and the exit code that says whether all of them held."""
import sys

_failed = 0


def check(what, found, wanted):
    global _failed
    if found == wanted:
        print(f"ok {what}")
    else:
        _failed += 1
        print(f"FAILED {what}: {found!r}, expected {wanted!r}")
    sys.stdout.flush()


def refusal(error, call, *arguments, **named):
    """What a call raises; fails if it raises nothing."""
    try:
        call(*arguments, **named)
    except error as raised:
        return raised
    raise AssertionError("it was not refused")


def _stop(kind, raised, trace):
    sys.__excepthook__(kind, raised, trace)
    print(f"FAILED with {kind.__name__}: {raised}")


sys.excepthook = _stop


def end():
    sys.exit(1 if _failed else 0)
