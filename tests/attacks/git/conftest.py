import os
from pathlib import Path

import pytest

from desktop_agent.core.sandbox.find import Sandbox, SandboxSearch
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from tests.attacks.git.hostile import git
from tests.harness import Ground
from tests.sandboxes import sandbox_named

DEEP = "packages/group/team/lib"
EMPTY = "packages/empty"
OWN = "vendor/a/b/c/clone"
"""An independent repository that the workspace's git does not know."""


@pytest.fixture(params=["bubblewrap", "landlock"])
def ground(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    sandbox = sandbox_named(request.param, os.environ)
    ground = make_ground(tmp_path, sandbox)
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(ground.paths.data.parent))
    return ground


def make_ground(folder: Path, sandbox: Sandbox) -> Ground:
    ground = Ground(folder / "ground")
    ground.probe = SandboxProbe(os.environ, lambda _: SandboxSearch(sandbox=sandbox, reports=()))
    library = folder / "library"
    for top in (library, ground.workspace, ground.workspace / OWN):
        top.mkdir(parents=True, exist_ok=True)
        git(top, "init", "-q", "-b", "main")
        git(top, "commit", "-q", "--allow-empty", "-m", "one")
    for place in (DEEP, EMPTY):
        git(ground.workspace, "submodule", "--quiet", "add", str(library), place)
    git(ground.workspace, "commit", "-qm", "with submodules")
    git(ground.workspace, "submodule", "--quiet", "deinit", "--force", EMPTY)
    ground.write("src/a.txt", "a\n")
    return ground
