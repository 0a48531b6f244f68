"""A generated project of any size, the same each time, for searching and listing."""

import os
import random
import shutil
import subprocess
from pathlib import Path

GIT = shutil.which("git") or ""

_VERBS = ("get", "set", "load", "store", "parse", "render", "resume", "close", "merge", "split")
_NOUNS = ("page", "user", "index", "cache", "session", "token", "widget", "patch", "queue", "folder")
_KINDS = ("py", "py", "py", "py", "ts", "ts", "c", "h", "go", "md", "json", "txt")
_FILES_PER_FOLDER = 12
_FOLDERS_PER_PACKAGE = 40
FILES = 30_000


def grow(root: Path) -> None:
    """Write `FILES` files (and a tenth more that git ignores) in nested folders and commit most of them. Blocks.

    Sizes are like those of source code. Every file has unique lines such as `def store_cache_4711(value):`,
    so that a literal can be rare.
    """
    chance = random.Random(7)
    filler = [f"    {a}_{b} = {b}.{a}({c!r}, {a}{b.title()})  # {a} the {b} before it is {c}\n"
              for a in _VERBS for b in _NOUNS for c in _VERBS]  # fmt: skip
    for number in range(FILES):
        folder = _folder(root, number)
        if number % _FILES_PER_FOLDER == 0:
            folder.mkdir(parents=True, exist_ok=True)
        name = f"{chance.choice(_VERBS)}_{chance.choice(_NOUNS)}_{number:05}.{chance.choice(_KINDS)}"
        lines = chance.choices(filler, k=2000 if number % 500 == 0 else chance.randrange(10, 90))
        defined = (f"def {chance.choice(_VERBS)}_{chance.choice(_NOUNS)}_{chance.randrange(10_000)}(value):\n"
                   for _ in range(len(lines) // 12 + 1))  # fmt: skip
        for line in defined:
            lines.insert(chance.randrange(len(lines)), line)
        (folder / name).write_text("".join(lines))
        if number % 10 == 9:
            (folder / f"trace{number:05}.log").write_text("".join(lines[:20]))
    _add_what_git_ignores(root)
    _commit(root)


def _folder(root: Path, number: int) -> Path:
    group = number // _FILES_PER_FOLDER
    package = root / f"pkg{group // _FOLDERS_PER_PACKAGE:02}"
    inner = group % _FOLDERS_PER_PACKAGE
    return package / f"area{inner // 8}" / f"mod{inner:02}" if inner % 3 else package / f"mod{inner:02}"


def _add_what_git_ignores(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\nbuild/\nnode_modules/\n/dist\n*.py[co]\n")
    for package in sorted(root.glob("pkg*"))[::5]:
        (package / ".gitignore").write_text("generated/\n!keep.log\n")
        (package / "keep.log").write_text("kept\n")
        for name in ("generated", "build"):
            (package / name).mkdir()
            for number in range(30):
                (package / name / f"made{number}.py").write_text("def store_cache_made(): ...\n")


def _commit(root: Path) -> None:
    """Commit all but one package, so that git has tracked and untracked files.

    Objects are packed at once; git would do it in the background during the measurement.
    """
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    last = max(path.name for path in root.glob("pkg*"))
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "core.compression=0")
    for command in (
        ("init", "-q"),
        ("config", "gc.auto", "0"),
        ("config", "maintenance.auto", "false"),
        ("add", "--", ".", f":!{last}"),
        ("commit", "-q", "-m", "grow"),
        ("gc", "-q"),
    ):
        subprocess.check_call([GIT, *identity, *command], cwd=root, env=environ)
