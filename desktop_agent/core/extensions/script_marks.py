"""Digests of the scripts that a command names, and of what git runs in the repository: they show changes."""

import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path

from msgspec.structs import replace

from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.regex import regex
from desktop_agent.core.policy.risks import git_command
from desktop_agent.core.policy.scripts import folders_searched, packages_of, scripts_of, works_on_files
from desktop_agent.core.policy.segments import CHANGES_FOLDER, ParsedCommand, Segment
from desktop_agent.core.policy.shell import parse
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import ScriptMark
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.git.repository import common_folder, find_repository, read_regular

_MOST_BYTES = 8_000_000
"""Larger files are programs rather than scripts. They are compared by size and by dates, one of which cannot be set."""


def script_marks(command: str, folder: str) -> tuple[ScriptMark, ...]:
    """A mark of every file that `command` runs from `folder`, or would run if it existed. Blocks."""
    return tuple(ScriptMark(path=path, mark=_mark_of(Path(folder, path))) for path in scripts_of(parse(command)))


_THE_FOLDER = regex(
    r"\$(?:(?:CLAUDE_PROJECT_DIR|PWD)\b|\{(?:CLAUDE_PROJECT_DIR|PWD)(?::?-[^{}]*)?\}"
    r"|\((?:pwd|git rev-parse --show-toplevel)\))"
)
"""How command lines name the folder that they run in."""
_MOST_PLACES = 16
_MOST_MATCHES = 300
_MOST_PROGRAMS = 30
_MOST_WILD = 2
"""With more patterns in a path, the search could go through all that is in the folder."""


def marks_from(line: str, root: Path) -> tuple[ScriptMark, ...]:
    """The marks of the scripts that `line` runs from `root` and from the folders below that it goes to. Blocks."""
    line = _THE_FOLDER.sub(".", line)
    top = Path(os.path.realpath(root))
    found = dict.fromkeys(script_marks(line, str(root)))
    for place in _folders_of(parse(line), top) or ():
        if place != top and place.is_relative_to(top):
            inside = place.relative_to(top)
            found |= dict.fromkeys(
                replace(mark, path=str(inside / mark.path)) for mark in script_marks(line, str(place))
            )
    known = {os.path.normpath(top / mark.path) for mark in found}
    return (*found, *(mark for mark in marks_inside(line, root) if os.path.normpath(top / mark.path) not in known))


def marks_inside(line: str, root: Path, folder: Path | None = None, *, is_wide: bool = False) -> tuple[ScriptMark, ...]:
    """The marks of the files in `root` that `line` runs, or may run, from a `folder`. They all exist. Blocks.

    If it is not understood what the line runs, or `is_wide`, every file that it names counts.
    """
    line = _THE_FOLDER.sub(".", line)
    parsed, start, top = parse(line), Path(os.path.normpath(folder or root)), Path(os.path.realpath(root))
    words = dict.fromkeys(_words_of(line, parsed))
    places = _places_in(start, words, root, top)
    searched = [place / each for each in folders_searched(line) for place in places]
    names = dict.fromkeys((*scripts_of(parsed), *(words if is_wide or parsed.problems else ())))
    files = [place / name for place in (*places, *searched) for name in names]
    programs = dict.fromkeys(name for each in parsed.segments for name in (each.program, *each.wrappers) if name)
    files += (place / name for place in searched for name in programs)
    for name in packages_of(parsed):
        files += (file for place in places for file in _entries_of(place, name))
    for pattern in filter(_is_pattern, names):
        with suppress(OSError, ValueError, NotImplementedError, RecursionError):  # it is not a pattern, or a full path
            files += islice(start.glob(re.sub(r"\*+", "*", pattern)), _MOST_MATCHES)
    # Missing files are dropped first, because a line can have thousands of words.
    there = filter(os.path.lexists, dict.fromkeys(files))
    inside = {path: file for file in there if (path := _inside(file, root, top))}
    found = {path: _mark_of(file) or "no file" for path, file in inside.items() if not file.is_dir()}  # as a pipe
    return tuple(ScriptMark(path=path, mark=mark) for path, mark in sorted(found.items()))


def _is_pattern(word: str) -> bool:
    return 0 < sum(any(sign in part for sign in "*?[") for part in word.split("/")) <= _MOST_WILD


def _words_of(line: str, parsed: ParsedCommand) -> Iterator[str]:
    for segment in parsed.segments:
        for word in (*segment.parts, *(word for outer in segment.outer for word in outer)):
            yield from (word.text, word.text.rpartition("=")[2], re.sub(r"^-\w", "", word.text))
    yield from _NAME_ENDS.split(line)


_NAME_ENDS = regex(r"[\s\"'`;|&()<>{}!=,:]+")


def _places_in(start: Path, words: Iterable[str], root: Path, top: Path) -> list[Path]:
    """Return the folders to which a line may go, as it names them: where a link leads may be changed."""
    places = [start]
    for place in places:  # which grows
        for word in words:
            named = Path(os.path.normpath(place / word))
            if len(places) == _MOST_PLACES:
                return places
            is_folder = os.path.isdir(named)  # noqa: PTH112 - false for what is no path
            if is_folder and named not in places and _inside(named, root, top):
                places.append(named)
    return places


def _entries_of(place: Path, package: str) -> Iterator[Path]:
    """What a program may run that is given a folder, or the name of a package that is installed in one."""
    name = re.sub(r"(?<=.)@[^/]*$", "", package)
    yield place / "node_modules" / ".bin" / name.rpartition("/")[2]
    for folder in (place / package, place / "node_modules" / name):
        yield from (folder / entry for entry in _ENTRIES)
        try:
            described = as_object(json.loads(_text_of(folder / "package.json")))
        except (ValueError, RecursionError):
            continue
        programs = described.get("bin")
        for value in (described.get("main"), programs, *islice(as_object(programs).values(), _MOST_PROGRAMS)):
            if isinstance(value, str):
                yield from (folder / value, folder / f"{value}.js", folder / value / "index.js")


_ENTRIES = (
    "__main__.py",
    "pyproject.toml",
    "setup.py",
    "package.json",
    "index.js",
    "index.mjs",
    "index.cjs",
    "index.ts",
)


def _inside(file: Path, root: Path, top: Path) -> str:
    """Return the path of a file in the project, by its name or where it leads; empty if it is elsewhere."""
    plain = Path(os.path.normpath(file))
    for path, folder in ((plain, top), (plain, root), (Path(os.path.realpath(file)), top)):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return ""


def changed_scripts(asked: tuple[ScriptMark, ...], now: tuple[ScriptMark, ...]) -> tuple[str, ...]:
    before = {mark.path: mark.mark for mark in asked}
    after = {mark.path: mark.mark for mark in now}
    return tuple(path for path in after if before.get(path, "") != after[path])


def _mark_of(path: Path) -> Digest:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError):
        return ""
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        return ""
    with os.fdopen(descriptor, "rb") as file:
        if facts.st_size > _MOST_BYTES:
            return f"{facts.st_size}-{facts.st_mtime_ns}-{facts.st_ctime_ns}"
        return digest_of(file.read(_MOST_BYTES + 1))


_MOST_FOLDERS = 5_000
_MOST_CONFIG_BYTES = 1_000_000
_DEEPEST_INCLUDES = 5
_MOST_HOOKS = 300
_LONGEST_WHOLE = 4_000
"""Up to this many characters, a call's details are surely complete."""
_STEERING = regex(r"GIT_.*|HOME|XDG_CONFIG_HOME|PATH|CDPATH|LD_.*|DYLD_.*")
"""Variables that point git at another repository or settings, or make a command line run other programs."""
_STEER_GIT = ("--git-dir", "--work-tree", "--exec-path", "--config-env", "--namespace", "-c")


def repository_mark(command: str, folder: Path, environ: Mapping[str, str]) -> ScriptMark:
    """Return the repository in which all of `command` would run, and a mark of everything that git runs there. Blocks.

    The mark covers configuration, hooks, attributes, submodules, and the scripts and programs in the repository that
    the command runs. Without a repository, the folder is used. Both are empty if the command may go to another
    repository.
    """
    parsed = parse(command)
    folder = Path(os.path.realpath(folder))
    top = _top_of(folder)
    places = _folders_of(parsed, folder)
    if places is None or any(_top_of(place) != top for place in places):
        return ScriptMark(path="", mark="")
    named = _named_folders(parsed.segments, places, top or folder)
    if any(_top_of(place) != top for place in named):
        return ScriptMark(path="", mark="")
    seen: dict[str, str] = {}
    if top is None:
        seen["none"] = str(folder)
    else:
        _mark_repository(top, seen)
    search = os.pathsep.join(str(folder / place) for place in environ.get("PATH", os.defpath).split(os.pathsep))
    for name in sorted({segment.program for segment in parsed.segments if segment.parts}):
        found = shutil.which(name, path=search) if "/" not in name else None
        if found and Path(os.path.realpath(found)).is_relative_to(top or folder):
            seen[f"program {name}"] = f"{found} {_mark_of(Path(found))}"
    elsewhere = [segment for segment in parsed.segments if not works_on_files(segment)]
    for place in dict.fromkeys((*places, *_named_folders(elsewhere, places, top or folder))):
        for script in script_marks(command, str(place)):
            if script.mark:
                seen[f"script {place / script.path}"] = script.mark
    text = "\n".join(f"{name}\0{mark}" for name, mark in sorted(seen.items()))
    return ScriptMark(path=str(top or folder), mark=digest_of(text.encode(errors="surrogateescape")))


def is_steering(name: str) -> bool:
    return _STEERING.fullmatch(name) is not None


def may_steer(details: str) -> bool:
    """Whether variables in a command's details may redirect it. Also true for details so long that they are cut."""
    return len(details) > _LONGEST_WHOLE or any(map(is_steering, re.findall(r"\w+(?==)", details)))


def _folders_of(parsed: ParsedCommand, folder: Path) -> list[Path] | None:
    if parsed.problems and not all(segment.is_static for segment in parsed.segments):
        return None
    places = [folder]
    for segment in parsed.segments:
        words = segment.words
        if any(is_steering(name) for name, _ in segment.assignments):
            return None
        if segment.program == "git":
            options = words[1 : words.index(name)] if (name := git_command(words)) in words else words[1:]
            if any(word.startswith(_STEER_GIT) for word in options):
                return None
            targets = [after for before, after in pairwise(options) if before == "-C"]
        elif segment.program in CHANGES_FOLDER:
            targets = [word for word in words[1:] if not word.startswith("-")]
            if len(targets) != 1:
                return None
        else:
            continue
        if not segment.is_static or any(target.startswith("~") for target in targets):
            return None
        places += [Path(os.path.realpath(place / target)) for target in targets for place in list(places)[:8]]
    return places


def _named_folders(segments: Sequence[Segment], places: Sequence[Path], root: Path) -> list[Path]:
    texts: dict[str, None] = {}
    for segment in segments:
        for word in (*segment.parts[1:], *(word for outer in segment.outer for word in outer[1:])):
            if word.is_known and len(word.text) < 1_000 and "\0" not in word.text:
                texts |= dict.fromkeys((word.text, word.text.rpartition("=")[2], re.sub(r"^-\w", "", word.text)))
    found: dict[Path, None] = {}
    for text in texts:
        for place in places[:8]:
            named = Path(os.path.realpath(place / text)) if text else root
            if named != root and named.is_relative_to(root) and named.is_dir():
                found[named] = None
    return list(found)


def _top_of(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        if os.path.lexists(place / ".git") or all((place / name).exists() for name in ("HEAD", "objects", "refs")):
            return place
    return None


def _mark_repository(top: Path, seen: dict[str, str]) -> None:
    repository = find_repository(top)
    git_dir = repository.git_dir if repository is not None and repository.root == top else top
    common = common_folder(git_dir)
    seen["git"] = f"{git_dir}\0{common}\0{_text_of(top / '.git') if (top / '.git').is_file() else ''}"
    for place in dict.fromkeys((git_dir, common)):
        _mark_inside(place, top, seen)
    for place, folders, files in os.walk(common / "modules"):
        if len(seen) > _MOST_FOLDERS:
            break
        if "HEAD" in files:
            _mark_inside(Path(place), top, seen)
            folders[:] = [name for name in folders if name not in ("objects", "refs", "logs")]
    _mark_file(top / ".gitmodules", seen)
    for walked, (place, folders, files) in enumerate(os.walk(top)):
        if ".git" in (*folders, *files) and Path(place) != top and (inner := find_repository(Path(place))) is not None:
            seen[f"git of {place}"] = str(inner.git_dir)  # git enters submodules by itself
            _mark_inside(inner.git_dir, Path(place), seen)
        folders[:] = sorted(name for name in folders if name != ".git")
        if ".gitattributes" in files:
            _mark_file(Path(place, ".gitattributes"), seen)
        if walked == _MOST_FOLDERS:
            break


def _mark_inside(git_dir: Path, top: Path, seen: dict[str, str]) -> None:
    for name in ("config", "config.worktree"):
        _mark_config(git_dir / name, (top, git_dir), seen, _DEEPEST_INCLUDES)
    _mark_file(git_dir / "info" / "attributes", seen)
    _mark_hooks(git_dir / "hooks", top, seen)


def _mark_config(path: Path, bases: tuple[Path, ...], seen: dict[str, str], depth: int) -> None:
    if str(path) in seen or depth == 0:
        return
    _mark_file(path, seen)
    for line in _text_of(path).replace("\\\n", "").splitlines():
        before, _, value = line.partition("=")
        key = before.rpartition("]")[2].strip().casefold()  # the section may be on the same line
        for word in dict.fromkeys((value.strip().strip('"'), *_WORD_ENDS.split(value))):
            if not word or len(word) > 1_000 or "\0" in word:
                continue
            for base in (*bases, path.parent):
                named = Path(word.replace("~", str(Path.home()), 1)) if word.startswith("~/") else base / word
                if key == "path":
                    _mark_config(named, bases, seen, depth - 1)
                elif named.is_file():
                    _mark_file(named, seen)
                elif key == "hookspath":
                    _mark_hooks(named, bases[0], seen)


_WORD_ENDS = regex(r"[\s\"'`;|&()<>!=,]+")


def _mark_hooks(folder: Path, top: Path, seen: dict[str, str]) -> None:
    files = [Path(place, name) for place, _, names in os.walk(folder) for name in names]
    if folder.name.startswith("_") and folder.parent != top:  # husky's hooks run the ones in the folder above
        files += [path for path in folder.parent.glob("*") if path.is_file()]
    for path in sorted(files)[:_MOST_HOOKS]:
        _mark_file(path, seen)
        text = "" if path.suffix == ".sample" else _text_of(path)
        for word in dict.fromkeys((*scripts_of(parse(text)), *_WORD_ENDS.split(text))) if text else ():
            if word and len(word) < 1_000 and "\0" not in word and (top / word).is_file():
                _mark_file(top / word, seen)


def _mark_file(path: Path, seen: dict[str, str]) -> None:
    if mark := _mark_of(path):
        seen[str(path)] = f"{mark} {path.stat().st_mode:o}" if path.exists() else mark


def _text_of(path: Path) -> str:
    return read_regular(path, _MOST_CONFIG_BYTES).decode(errors="surrogateescape")
