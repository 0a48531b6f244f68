"""What commands do in a folder, and what is found of it."""

import os
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from desktop_agent.core.capture.capture import CaptureReport, Snapshot, StatCapture
from desktop_agent.core.settings.sections import CaptureSettings
from desktop_agent.core.system.file_writes import write_state
from desktop_agent.core.system.files import FileState, FileTransition, read_state

GIT_ENVIRON = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
LIMITS = CaptureSettings(max_file_bytes=1000, max_total_bytes=10_000)


def shell(root: Path, command: str) -> None:
    subprocess.check_output(["sh", "-ec", command], cwd=root, env=GIT_ENVIRON, stderr=subprocess.STDOUT)


def git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    subprocess.check_output(["git", *identity, *arguments], cwd=root, env=GIT_ENVIRON, stderr=subprocess.STDOUT)


def commit(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all", "--allow-empty")


@dataclass
class Found:
    items: list[FileTransition]
    report: CaptureReport

    @property
    def paths(self) -> list[str]:
        return [item.path for item in self.items]

    def __getitem__(self, path: str) -> FileTransition:
        [item] = [item for item in self.items if item.path == path]
        return item

    def content(self, path: str) -> tuple[bytes | None, bytes | None]:
        item = self[path]
        return item.before.content if item.before else None, item.after.content if item.after else None


def collect(capture: StatCapture, snapshot: Snapshot) -> Found:
    items: list[FileTransition] = []
    return Found(items, capture.collect(snapshot, items.append))


Run = Callable[[str | Callable[[], object]], Found]


def tree(root: Path) -> dict[str, FileState]:
    found: dict[str, FileState] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        state = None if name.split("/")[0] == ".git" else read_state(path, with_special=True)
        if state is not None:
            found[name] = state
    return found


def take_back(root: Path, items: list[FileTransition]) -> None:
    for item in reversed(items):
        write_state(root / item.path, item.before)


def renames(found: Found) -> set[tuple[str, str]]:
    pairs = {(item.moved_from, item.path) for item in found.items if item.moved_from}
    assert pairs == {(item.path, item.moved_to) for item in found.items if item.moved_to}
    return pairs


def rows(database: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(database) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found
