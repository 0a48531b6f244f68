"""Every probe in all folders, users, sandboxes and modes, with one table of verdicts.

A refusal may be any error: the file may be missing or forbidden.
"""

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
from tests.attacks.sandbox.probes import PROBES, WORK
from tests.attacks.sandbox.scene import NO_SANDBOX, Case, Folder, User

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")

ROOT = Path(__file__).parents[3]
CORPUS = [
    Case(sandbox, "restricted" if is_wide else "strict", folder, user)
    for sandbox, is_wide, folder, user in product(
        ("landlock", "bubblewrap"), (True, False), get_args(Folder), get_args(User)
    )
]
"""Ordered so that every tenth covers both sandboxes and both modes."""


METADATA = [
    Case(sandbox, "restricted" if is_wide else "strict", "plain", user, program="metadata")
    for sandbox, is_wide, user in product(("landlock", "bubblewrap"), (True, False), get_args(User))
]


TABLE = dict.fromkeys(PROBES, "refused") | dict.fromkeys(WORK, "allowed")
ALWAYS = [case for case in CORPUS if case.mode == "restricted" and case.folder == "plain"]
"""Both sandboxes with both users."""


@pytest.mark.parametrize("case", ALWAYS, ids=lambda case: case.name)
def test_both_sandboxes_give_the_same_verdicts(case: Case) -> None:
    assert verdicts(case) == TABLE


@pytest.mark.parametrize("case", cases([case for case in CORPUS if case not in ALWAYS], lambda case: case.name))
def test_no_probe_reaches_anything(case: Case) -> None:
    assert verdicts(case) == TABLE


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case in METADATA[:2] else pytest.mark.nightly) for case in METADATA],
)
def test_modes_owners_attributes_and_times_change_in_writable_places_only(case: Case) -> None:
    wrong = {name: how for name, how in played(case).items() if how in ("REACHED", "HARMED") or "(" in how}
    assert wrong == {}


def verdicts(case: Case) -> dict[str, str]:
    words = {"REACHED": "allowed", "worked": "allowed", "HARMED": "harmed"}
    return {name: words.get(how, how if "(" in how else "refused") for name, how in played(case).items()}


def played(case: Case) -> dict[str, str]:
    if case.user == "another" and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    process = subprocess.run(  # noqa: TID251 - a whole process
        [sys.executable, "-P", "-m", "tests.attacks.sandbox.scene", json.dumps(asdict(case))],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode == NO_SANDBOX:
        pytest.skip(f"{case.sandbox} does not work for this user on this machine")
    assert process.returncode == 0, process.stderr
    return cast("dict[str, str]", json.loads(process.stdout))
