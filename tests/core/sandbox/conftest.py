"""A user's home, a workspace, something outside, and this machine's sandboxes."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from desktop_agent.core.sandbox.confinement import ConfinementSpec, confinement_for
from desktop_agent.core.sandbox.find import Sandbox
from desktop_agent.core.system.processes.runner import Command, ProcessOutcome, ProcessRunner
from tests.sandboxes import sandbox_named

NAMES = ("bubblewrap", "landlock")

PYTHON = os.path.realpath(sys.executable)
"""The real interpreter: the tests' environment may lie in `/tmp`, which a sandbox replaces."""


@dataclass(frozen=True)
class Place:
    """Folders like a user's, outside of `/tmp`: a sandbox may show another `/tmp`."""

    home: Path
    workspace: Path
    outside: Path
    temp: Path

    def snapshot(self) -> dict[str, bytes | str]:
        found: dict[str, bytes | str] = {}
        for root in (self.home, self.outside, self.workspace / ".git"):
            for path in sorted(root.rglob("*")):
                if self.workspace in path.parents and self.workspace / ".git" not in (path, *path.parents):
                    continue
                mode = path.lstat().st_mode
                content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
                found[str(path)] = f"{mode:o} {content!r}"
        return found


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with one commit, to be copied: three git processes for each test would be slow."""
    root = tmp_path_factory.mktemp("repository")
    (root / "src").mkdir()
    (root / "src" / "a.txt").write_text("a\n")
    (root / "top.txt").write_text("top\n")
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(root)]
    environ = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.check_call([*git, *arguments], env=environ)
    return root


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, repository: Path) -> Iterator[Place]:
    base = Path(tempfile.mkdtemp(prefix="sandbox-test-", dir="/var/tmp"))
    place = Place(home=base / "home", workspace=base / "home" / "app", outside=base / "outside", temp=base / "temp")
    for folder in (place.outside, place.temp, place.home / ".ssh", place.home / ".config"):
        folder.mkdir(parents=True)
    (place.home / ".ssh" / "id_test").write_text("SECRET-KEY")
    (place.home / ".netrc").write_text("SECRET-PASSWORD")
    (place.home / "notes.txt").write_text("mine")
    (place.outside / "file").write_text("theirs")
    shutil.copytree(repository, place.workspace)
    monkeypatch.setenv("HOME", str(place.home))
    yield place
    shutil.rmtree(base)


@pytest.fixture(params=NAMES)
def sandbox(request: pytest.FixtureRequest, place: Place) -> Sandbox:
    return sandbox_named(request.param, os.environ)


@dataclass(frozen=True)
class Shell:
    runner: ProcessRunner
    sandbox: Sandbox
    place: Place

    async def run(self, script: str, confinement: ConfinementSpec, **environ: str) -> ProcessOutcome:
        variables = {**os.environ, "PYTHON": PYTHON, **environ}
        command = Command(argv=("/bin/bash", "-c", script), cwd=confinement.workspace, environ=variables)
        return await self.runner.run(self.sandbox.wrap(command, confinement), timeout_s=30)

    async def restricted(self, script: str, **environ: str) -> ProcessOutcome:
        confinement = confinement_for("restricted", self.place.workspace, self.place.temp, ())
        return await self.run(script, confinement, **environ)

    async def strict(self, script: str, **environ: str) -> ProcessOutcome:
        confinement = confinement_for("strict", self.place.workspace, self.place.temp, ())
        return await self.run(script, confinement, **environ)


@pytest.fixture
def shell(runner: ProcessRunner, sandbox: Sandbox, place: Place) -> Shell:
    return Shell(runner, sandbox, place)
