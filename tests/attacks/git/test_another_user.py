"""Attacks on git with an unprivileged user's workspace, git and sandbox."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.attacks.corpus import cases
from tests.attacks.git.hostile import LAYOUTS, VECTORS
from tests.attacks.git.scene import Case
from tests.attacks.sandbox.scene import NO_SANDBOX

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")

ROOT = Path(__file__).parents[3]
OUR_GIT = [Case(VECTORS[turn].name, layout=layout.__name__) for turn, layout in enumerate(LAYOUTS)]
CONFINED = [
    Case(attack, sandbox=sandbox) for attack in ("empty_submodule", "deep") for sandbox in ("landlock", "bubblewrap")
]
"""A change that must fail, and a repository that must be reported, behind each sandbox."""


@pytest.mark.parametrize("case", [*cases(OUR_GIT, lambda one: one.name), *cases(CONFINED, lambda one: one.name)])
def test_an_attack_on_git_does_as_little_to_an_unprivileged_user(case: Case) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    played = subprocess.run(  # noqa: TID251 - a whole process
        [sys.executable, "-P", "-m", "tests.attacks.git.scene", json.dumps(asdict(case))],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if played.returncode == NO_SANDBOX:
        pytest.skip(f"this machine lets no test become another user, or {case.sandbox} does not work for that user")
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout) == []
