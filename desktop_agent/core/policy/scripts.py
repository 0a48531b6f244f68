"""Tells, by its words alone, which files a command line runs as programs.

An approval covers the command *and* its scripts, and a script can change while the approval is pending.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence

from desktop_agent.core.policy.segments import (
    INTERPRETERS,
    OTHER_SHELLS,
    SHELLS,
    SYSTEM_FOLDERS,
    ParsedCommand,
    Segment,
)

MOST_SCRIPTS = 32

_OWN_PATH = re.compile(r"""\bPATH=(?:"[^"]*"|'[^']*'|[^\s;&|)]+)""")
_SOURCING = frozenset({".", "source"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_PYTEST = ("conftest.py", "tests/conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
_CONTAINERS = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml", "Dockerfile")
_RECIPES: dict[str, tuple[str, ...]] = {
    "make": _MAKEFILES,
    "gmake": _MAKEFILES,
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "npm": ("package.json", ".npmrc"),
    "npx": ("package.json", ".npmrc"),
    "yarn": ("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml"),
    "pnpm": ("package.json", ".npmrc", "pnpm-workspace.yaml", ".pnpmfile.cjs"),
    "bun": ("package.json", ".npmrc", "bunfig.toml"),
    "deno": ("deno.json", "deno.jsonc", "package.json"),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"),
    "go": ("go.mod", "go.work"),
    "pytest": _PYTEST,
    "tox": ("tox.ini", *_PYTHON_PROJECT),
    "nox": ("noxfile.py",),
    "pip": _PYTHON_PROJECT,
    "pip3": _PYTHON_PROJECT,
    "uv": ("uv.toml", *_PYTHON_PROJECT),
    "poetry": _PYTHON_PROJECT,
    "pdm": ("pdm.toml", *_PYTHON_PROJECT),
    "hatch": ("hatch.toml", *_PYTHON_PROJECT),
    "invoke": ("tasks.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "docker": _CONTAINERS,
    "podman": _CONTAINERS,
    "rake": ("Rakefile",),
    "bundle": ("Gemfile", ".bundle/config"),
    "mix": ("mix.exs",),
    "composer": ("composer.json",),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"),
    "mvn": ("pom.xml", ".mvn/maven.config", ".mvn/extensions.xml", ".mvn/jvm.config"),
    "cmake": ("CMakeLists.txt", "CMakePresets.json"),
    "ninja": ("build.ninja",),
}
_RUN_FILES = SHELLS | OTHER_SHELLS | _SOURCING | {"awk", "gawk", "mawk", "sed"} | _RECIPES.keys()
_WORK_ON_FILES = frozenset({"pytest", "cargo", "go"})
"""Other words of these programs only select what they work on, so a rule for the program covers them."""


def scripts_of(parsed: ParsedCommand) -> tuple[str, ...]:
    found = dict.fromkeys(path for segment in parsed.segments for path in _of_segment(segment))
    return tuple(path for path in found if posixpath.dirname(path) not in SYSTEM_FOLDERS)[:MOST_SCRIPTS]


def works_on_files(segment: Segment) -> bool:
    is_module = segment.words[1:2] == ("-m",) and segment.words[2:3] == ("pytest",)
    return segment.program in _WORK_ON_FILES or is_module


def programs_of(parsed: ParsedCommand) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for segment in parsed.segments:
        for parts in (segment.parts, *segment.outer):
            words = tuple(part.text for part in parts if part.is_known)
            if words and words[0] in _SOURCING:
                words = words[1:]
            if words and "/" in words[0]:
                found[words[0]] = None
    return tuple(found)[:MOST_SCRIPTS]


def folders_of_programs(line: str) -> tuple[str, ...]:
    values = [match[0].removeprefix("PATH=").strip("'\"") for match in _OWN_PATH.finditer(line)]
    return tuple(dict.fromkeys(folder for value in values for folder in value.split(":") if folder.startswith("/")))


def _of_segment(segment: Segment) -> Iterator[str]:
    words = tuple(part.text for part in segment.parts if part.is_known)
    if not words:
        return
    if "/" in words[0]:
        yield words[0]
    name = posixpath.basename(words[0])
    yield from _RECIPES.get(name, ())
    is_interpreter = (re.sub(r"[\d.]+$", "", name) or name) in INTERPRETERS
    if name in _WORK_ON_FILES or not (is_interpreter or name in _RUN_FILES):
        return
    yield from _arguments(words[1:])
    yield from (redirection.target.text for redirection in segment.redirections if redirection.operator == "<")


def _arguments(words: Sequence[str]) -> Iterator[str]:
    for before, word in zip(("", *words), words, strict=False):
        if before == "-m":
            yield from _RECIPES.get(word, ())
            if word in _WORK_ON_FILES:
                return
            module = word.replace(".", "/")
            yield f"{module}.py"
            yield f"{module}/__main__.py"
        elif not word.startswith("-") and "\0" not in word and len(word) < 1_000:
            yield word
        elif word.startswith("--") and "=" in word:
            yield word.partition("=")[2]
