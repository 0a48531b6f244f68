"""Every probe, in every kind of folder, as two users, behind both sandboxes, in both modes: nothing is reached."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import cast, get_args

import pytest

from tests.attacks.corpus import cases
from tests.attacks.sandbox.scene import NO_SANDBOX, Case, Folder, User

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")

ROOT = Path(__file__).parents[3]
CORPUS = [
    Case(sandbox, "restricted" if is_wide else "strict", folder, user)
    for sandbox, is_wide, folder, user in product(
        ("landlock", "bubblewrap"), (True, False), get_args(Folder), get_args(User)
    )
]
"""In this order every tenth has both sandboxes and both modes."""


METADATA = [
    Case(sandbox, "restricted" if is_wide else "strict", "plain", user, program="metadata")
    for sandbox, is_wide, user in product(("landlock", "bubblewrap"), (True, False), get_args(User))
]


@pytest.mark.parametrize("case", cases(CORPUS, lambda case: case.name))
def test_no_probe_reaches_anything(case: Case) -> None:
    assert reached(case) == []


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case in METADATA[:2] else pytest.mark.nightly) for case in METADATA],
)
def test_modes_owners_attributes_and_times_change_in_writable_places_only(case: Case) -> None:
    assert reached(case) == []


def reached(case: Case) -> list[str]:
    """Play `case`, and return what did not hold."""
    if case.user == "another" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    played = subprocess.run(  # noqa: TID251 - a whole process
        [sys.executable, "-P", "-m", "tests.attacks.sandbox.scene", json.dumps(asdict(case))],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if played.returncode == NO_SANDBOX:
        pytest.skip(f"{case.sandbox} does not work for this user on this machine")
    assert played.returncode == 0, played.stderr
    return cast("list[str]", json.loads(played.stdout))
