"""Tells, by its words alone, which files a command line runs as programs.

An approval covers the command *and* its scripts, and a script can change while the approval is pending.
"""

import posixpath
import re
from collections.abc import Collection, Iterator, Sequence

from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.segments import (
    INTERPRETERS,
    OTHER_SHELLS,
    SHELLS,
    SYSTEM_FOLDERS,
    ParsedCommand,
    Segment,
)

MOST_SCRIPTS = 32

_SEARCHED = regex(r"""\b(PATH|PYTHONPATH|NODE_PATH|PERL5LIB|RUBYLIB)=(?:"([^"]*)"|'([^']*)'|([^\s;&|)]+))""")
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
_LAUNCHERS = frozenset(
    {
        "npx", "bunx", "uvx", "pipx", "pipenv", "tsx", "ts-node", "zx", "vite-node", "java", "jbang", "kotlin",
        "groovy", "scala", "dotnet", "mono", "swift", "julia", "elixir", "escript", "wasmtime",
    }
)  # fmt: skip
_WITH_SUBCOMMANDS = frozenset({"uv", "npm", "pnpm", "yarn", "bun", "deno", "pipx", "poetry", "pdm", "hatch"})
_RUNNING = frozenset({"run", "exec", "x", "dlx"})
_RUN_FILES = SHELLS | OTHER_SHELLS | _SOURCING | {"awk", "gawk", "mawk", "sed"} | _LAUNCHERS | _RECIPES.keys()
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


def packages_of(parsed: ParsedCommand) -> tuple[str, ...]:
    """Return the words that may be a folder or a package that is run: `node .`, `npx ./x`, `uvx --from ./x y`."""
    found: dict[str, None] = {}
    for segment in parsed.segments:
        words = [part.text for part in segment.parts[1:] if part.is_known and not part.text.startswith("-")]
        name = posixpath.basename(segment.program)
        if name in _WITH_SUBCOMMANDS:
            words = words[1:] if words[:1] and words[0] in _RUNNING else []
        elif not _is_interpreter(name) and name not in _LAUNCHERS:
            continue
        if words:
            found[words[0]] = None
    return tuple(found)[:MOST_SCRIPTS]


def folders_of_programs(line: str) -> tuple[str, ...]:
    return tuple(folder for folder in folders_searched(line, ("PATH",)) if folder.startswith("/"))


def folders_searched(line: str, variables: Collection[str] = ()) -> tuple[str, ...]:
    """Return the folders in which a line has programs, or modules, looked for, by these or all such variables."""
    found = [match for match in _SEARCHED.finditer(line) if not variables or match[1] in variables]
    values = [match[2] or match[3] or match[4] or "" for match in found]
    return tuple(dict.fromkeys(folder for value in values for folder in value.split(":") if folder))


def _is_interpreter(name: str) -> bool:
    return (re.sub(r"[\d.]+$", "", name) or name) in INTERPRETERS


def _of_segment(segment: Segment) -> Iterator[str]:
    words = tuple(part.text for part in segment.parts if part.is_known)
    if not words:
        return
    if "/" in words[0]:
        yield words[0]
    name = posixpath.basename(words[0])
    yield from _RECIPES.get(name, ())
    if name in _WORK_ON_FILES or not (_is_interpreter(name) or name in _RUN_FILES):
        return
    yield from _arguments(words[1:])
    yield from (redirection.target.text for redirection in segment.redirections if redirection.operator == "<")


_MODULE = regex(r"-[BEIOPRSbdiqsuvx]*m(?P<name>[A-Za-z_][\w.]*)?|--module")
"""The options that make Python and uv run a module: `-m x`, `-Im x`, `-mx`."""


def _arguments(words: Sequence[str]) -> Iterator[str]:
    for before, word in zip(("", *words), words, strict=False):
        option, joined = _MODULE.fullmatch(before), _MODULE.fullmatch(word)
        if option is not None and option["name"] is None:
            name = word
        else:
            name = (joined["name"] if joined is not None else None) or ""
        if name:
            yield from _RECIPES.get(name, ())
            if name in _WORK_ON_FILES:
                return
            yield from _files_of_module(name)
        elif not word.startswith("-") and "\0" not in word and len(word) < 1_000:
            yield word
        elif word.startswith("--") and "=" in word:
            yield word.partition("=")[2]


def _files_of_module(name: str) -> Iterator[str]:
    module = name.replace(".", "/")
    yield f"{module}.py"
    yield f"{module}/__main__.py"
    packages = module.split("/")
    yield from ("/".join((*packages[:count], "__init__.py")) for count in range(1, len(packages) + 1))
