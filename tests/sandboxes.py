"""This machine's sandboxes, tried once: a trial runs two confined commands, and hundreds of tests ask."""

import os
from collections.abc import Mapping
from functools import cache

import pytest
from msgspec.structs import replace

from desktop_agent.core.sandbox.bubblewrap import Bubblewrap
from desktop_agent.core.sandbox.find import Sandbox, every_sandbox
from desktop_agent.core.sandbox.guarded import Guards
from desktop_agent.core.sandbox.landlock import Landlock


def sandbox_named(name: str, environ: Mapping[str, str]) -> Sandbox:
    """Return the sandbox, with guards for the user of `environ`. Skips the test if there is none."""
    found = _working().get(name)
    if found is None:
        pytest.skip(f"{name} does not work on this machine")
    return replace(found, guards=Guards.of(environ))


@cache
def _working() -> dict[str, Bubblewrap | Landlock]:
    return {one.name: one for one in every_sandbox(os.environ) if isinstance(one, Bubblewrap | Landlock)}
