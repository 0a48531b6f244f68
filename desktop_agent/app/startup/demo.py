"""The demo workspace: a fresh copy of the bundled project, under version control so that the file tree has a status."""

import shutil
from datetime import datetime
from pathlib import Path

from desktop_agent.core.base.paths import AppPaths, resource_path

DEMO_BRANCH = "fix/off-by-one"
_PROJECT = "pagination"


def make_demo_workspace(paths: AppPaths, now: datetime) -> Path:
    """Copy the bundled project to a folder of its own and return it. Blocks: use a thread.

    Every demo gets a new folder, so that earlier demo sessions keep the files they talk about.
    """
    root = paths.data / "demo" / f"{now:%Y%m%d-%H%M%S-%f}" / _PROJECT
    shutil.copytree(resource_path("demo", _PROJECT), root, ignore=shutil.ignore_patterns("__pycache__"))
    _commit_everything(root)
    return root


def _commit_everything(root: Path) -> None:
    import pygit2

    repository = pygit2.init_repository(str(root), initial_head=DEMO_BRANCH)
    repository.index.add_all()
    repository.index.write()
    author = pygit2.Signature("Demo", "demo@example.invalid")
    tree = repository.index.write_tree()
    repository.create_commit("HEAD", author, author, "The state before the demo", tree, [])
    repository.free()
