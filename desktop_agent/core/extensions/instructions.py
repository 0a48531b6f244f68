"""Files whose text goes to the model without a question: AGENTS.md, and its counterparts for other agents.

Anybody may have written the files of a workspace and its repository. No link out of them is followed, no file with
secrets is read, and numbers, sizes and depths are limited: what is farthest from the workspace is cut first.
"""

import codecs
import errno
import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.file_types import byte_order_mark
from desktop_agent.core.base.globs import Glob
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.untrusted import (
    FrontMatter,
    HoldsSecretsError,
    SecretAt,
    read_start,
    split,
    why_unread,
)
from desktop_agent.core.protocol.model import GuidanceFile, GuidanceScope
from desktop_agent.core.settings.workspace_settings import ProjectItem, digest_of_text
from desktop_agent.core.system.git.repository import find_repository, stranger_of
from desktop_agent.core.system.private_files import FileStamp, is_unchanged
from desktop_agent.core.system.workspace import entries_below

OWN_NAMES = ("AGENTS.override.md", "AGENTS.md")
"""The first of them that a folder has is read."""

_IMPORTING = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", "GEMINI.md")

MAX_BYTES = 32 * 1024
ROOM: Mapping[GuidanceScope, int] = {"person": 32 * 1024, "workspace": 64 * 1024, "folder": 128 * 1024}
"""How many bytes all files of a scope may have together."""
MAX_FOLDERS = 24
"""How many folders can contribute guidance. In a hostile tree, every folder has a file."""
MAX_RULES = 200
"""How many rules a folder can have of one kind, among at most ten times as many files and folders."""
MAX_IMPORT_DEPTH = 5
MAX_IMPORTS = 100
MAX_PROBLEMS = 12

_DOCUMENTS = frozenset({".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc"})
"""The kinds of files that can be imported from outside of the folder, where others often hold keys."""

_NOT_TEXT = "it is not text in UTF-8; what cannot be read is shown as \ufffd"
_TOO_LONG = f"it has more than {MAX_BYTES // 1024} KiB"


class GuidanceProblem(Struct, frozen=True):
    path: str
    reason: str


class Instructions(Struct, frozen=True):
    files: tuple[GuidanceFile, ...] = ()
    """Those of folders and for some files last, the nearest of each scope last."""
    off: tuple[GuidanceFile, ...] = ()
    """Those that would be in force if the user had not switched them off."""
    order: tuple[str, ...] = ()
    """The paths of both, in the order in which all of them would be sent."""
    problems: tuple[GuidanceProblem, ...] = ()


class UserFolders(Struct, frozen=True, kw_only=True):
    """Where the user's own files are."""

    home: Path
    config: Path
    """The folder of this application's settings."""
    codex: Path
    claude: Path

    @classmethod
    def of(cls, config: Path, environ: Mapping[str, str]) -> "UserFolders":
        home = Path(environ.get("HOME") or Path.home())
        codex, claude = environ.get("CODEX_HOME"), environ.get("CLAUDE_CONFIG_DIR")
        return cls(
            home=home,
            config=config,
            codex=Path(codex) if codex else home / ".codex",
            claude=Path(claude) if claude else home / ".claude",
        )

    def at(self, place: str) -> Path:
        """Return a folder of an agent's in the home folder, such as `.codex/skills`, where its variable moved it."""
        agent, _, rest = place.partition("/")
        moved = {".codex": self.codex, ".claude": self.claude}
        return moved[agent] / rest if agent in moved else self.home / place

    def shown(self, place: str) -> str:
        """Return that folder as the user knows it: `~/.codex/skills`."""
        path = self.at(place)
        return f"~/{path.relative_to(self.home)}" if path.is_relative_to(self.home) else str(path)


class _Place(NamedTuple):
    """A folder, what its files apply to, and the folder that no link in it may leave; `None` for the user's own."""

    folder: Path
    boundary: Path | None
    scope: GuidanceScope
    holds_for: str = ""


class InstructionReader:
    """Reads the files in force in one workspace. Unchanged files are not read twice. Everything here blocks."""

    def __init__(
        self, root: Path, homes: UserFolders, secrets_in: Callable[[Path], SecretAt], trusts: Callable[[str], bool]
    ) -> None:
        """`secrets_in` returns what recognises secrets in the workspace, its repository or the home folder.

        `trusts` says whether the user lets the folder's files import this one from outside, named `~/…`.
        """
        self.root = root
        self.top = root
        """The repository's folder, if the workspace is in a repository; found at each reading."""
        self.homes = homes
        self._secrets_in = secrets_in
        self.trusts = trusts
        self._moved: dict[Path, Path] = {}
        """Where files that were switched off are now, after their folder was moved."""
        self.new_entries: dict[Path, str] = {}
        """New entries for the user's list, by the old path, so that moved files stay off when they change."""
        self._known: dict[tuple[Path, Path | None], _Content | None] = {}
        self._split: dict[Path, tuple[str, FrontMatter]] = {}

    def read(self, known: Iterable[GuidanceFile], touched: Iterable[str], off: Sequence[str] = ()) -> Instructions:
        """Return all that is in force, given the `known` files of folders and the paths just `touched`. Never raises.

        `off` are the entries of the setting.
        """
        self.top = _top_of(self.root)
        self._look_for_moved(OffList(off))
        return _Reading(self, self.off_list(off), known, list(touched)).all()

    def off_list(self, entries: Iterable[str]) -> "OffList":
        """Return the user's list, with the places to which its files are known to have moved."""
        found = OffList(entries)
        found.paths += [self._moved[path] for path in found.paths if path in self._moved]
        return found

    def off_entry(self, path: Path) -> str:
        """Return the entry that switches a file off, also once its folder is moved. Blocks."""
        content = self.content(path, self.top if path.is_relative_to(self.top) else None)
        return f"{path}#{digest_of_text(content.text)[:_MARK]}" if content is not None and content.text else str(path)

    def _look_for_moved(self, off: "OffList") -> None:
        """Find files that are gone from where they were switched off, by the end of their path and their content."""
        for path, mark in off.marks.items():
            if path in self._moved or os.path.lexists(path):
                continue
            ends = (Path(*path.parts[at:]) for at in range(max(1, len(path.parts) - _MOST_PARTS), len(path.parts)))
            for place in (base / end for end in ends for base in dict.fromkeys((self.root, self.top))):
                content = self.content(place, self.top)
                if content is not None and digest_of_text(content.text)[:_MARK] == mark:
                    self._moved[path] = place
                    self.new_entries[path] = f"{place}#{mark}"
                    break

    def folders_of(self, paths: Iterable[str]) -> list[str]:
        """Return the folders inside the workspace that contain these files or folders, outer ones first. Blocks."""
        found: dict[str, None] = {}
        for text in paths:
            path = Path(os.path.normpath(self.root / text))
            if not path.is_relative_to(self.root):
                continue
            place = PurePosixPath(path.relative_to(self.root).as_posix())
            inside = place if _is_folder(path) else place.parent
            around = [inside, *inside.parents]
            found |= dict.fromkeys(str(folder) for folder in reversed(around) if folder != PurePosixPath("."))
        return list(found)

    def name_of(self, path: Path) -> str:
        """Return a path as it is shown and recorded: relative inside the workspace and above it, or absolute."""
        if path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        is_above = path.is_relative_to(self.top)
        return Path(os.path.relpath(path, self.root)).as_posix() if is_above else str(path)

    def path_of(self, name: str) -> Path:
        return Path(os.path.normpath(self.root / name))

    def imported(self, target: str, importer: Path) -> Path:
        """Return the path that an import means. Raises `ValueError` and `OSError` for an invalid path."""
        home = self.homes.home
        return Path(os.path.normpath(home / target[2:] if target.startswith("~/") else importer.parent / target))

    def name_outside(self, path: Path) -> str:
        """Return a name `~/…` for a document in the home folder, but not in the repository; empty for others."""
        real, home = (Path(os.path.realpath(each)) for each in (path, self.homes.home))
        is_document = real.suffix.lower() in _DOCUMENTS and real.is_relative_to(home)
        return f"~/{real.relative_to(home).as_posix()}" if is_document and not real.is_relative_to(self.top) else ""

    def content(self, path: Path, boundary: Path | None) -> "_Content | None":
        """Return a file's text, or why it has none; `None` if there is no such file."""
        try:
            facts = os.stat(path)  # noqa: PTH116 - for hundreds of files at each step of a turn
            stamp, known = FileStamp.of(facts), self._known.get((path, boundary))
            if known is not None and is_unchanged(stamp, known.stamp):
                return known
            real = path.resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError, ValueError):  # the last for a NUL, which no path can contain
            self._known.pop((path, boundary), None)
            return None
        except (OSError, RuntimeError) as error:  # no permission, or circular links
            if getattr(error, "errno", None) == errno.ENAMETOOLONG:
                return None  # a path that the model made up: there can be no such file
            return _Content(None, path, problem=f"it cannot be read: {why_unread(error)}")
        if boundary is not None and not real.is_relative_to(boundary):
            where = "workspace" if boundary == self.root else "repository"
            read = _Content(stamp, real, problem=f"it is a link that leads out of the {where}")
        elif not stat.S_ISREG(facts.st_mode):
            read = _Content(stamp, real, problem="it is not a file")
        else:
            read = self._loaded(real, stamp, boundary)
        self._known[path, boundary] = read
        return read

    def fields_of(self, content: "_Content") -> FrontMatter:
        known = self._split.get(content.path)
        if known is None or known[0] != content.text:
            known = self._split[content.path] = (content.text, split(content.text))
        return known[1]

    def _loaded(self, path: Path, stamp: FileStamp, boundary: Path | None) -> "_Content":
        secret_at = None if boundary is None else self._secrets_in(boundary)
        try:
            content = read_start(path, MAX_BYTES + 1, secret_at)
        except HoldsSecretsError as error:
            # Without a stamp, since it may lose its other name without a change of its own.
            return _Content(None, path, problem=str(error))
        except OSError as error:
            return _Content(stamp, path, problem=f"it cannot be read: {why_unread(error)}")
        is_cut = len(content) > MAX_BYTES
        text, is_clean = _decoded(content[:MAX_BYTES], is_cut=is_cut)
        return _Content(stamp, path, text, is_cut, "" if is_clean else _NOT_TEXT)


def _top_of(root: Path) -> Path:
    """The folder of the repository that the workspace is in; the workspace if there is none, or another user's."""
    repository = find_repository(root)
    with suppress(OSError):
        if repository is not None and stranger_of(repository) is None:
            return repository.root
    return root


class _Content(Struct, frozen=True):
    stamp: FileStamp | None
    path: Path
    """Without links."""
    text: str = ""
    is_cut: bool = False
    problem: str = ""


_MARK = 16
_MARKED = regex(r"(/.+)#([0-9a-f]{16})")
_MOST_PARTS = 8
"""How many of the last parts of a moved file's path are looked for."""


class OffList:
    """The user's list of what is not sent: paths, with a mark of their content or without, or globs for their ends."""

    def __init__(self, entries: Iterable[str]) -> None:
        self.paths: list[Path] = []
        self.marks: dict[Path, str] = {}
        """Digests of files when they were switched off, by which they are found again after a move."""
        self._globs: list[Glob] = []
        for entry in entries:
            text, mark = (marked[1], marked[2]) if (marked := _MARKED.fullmatch(entry)) else (entry, "")
            text = os.path.expanduser(text)  # noqa: PTH111 - Path's raises for a user that does not exist
            if os.path.isabs(text) and not re.search(r"[*?[{]", text):  # noqa: PTH117 - a text so far
                self.paths.append(path := Path(os.path.normpath(text)))
                if mark:
                    self.marks[path] = mark
            else:
                with suppress(ValueError):  # it is not a glob, so it matches nothing
                    is_free = "/" in text and not text.startswith(("/", "**/"))
                    self._globs.append(Glob(f"**/{text}" if is_free else text))

    def has(self, path: Path) -> bool:
        return path in self.paths or self.has_by_glob(path)

    def has_by_glob(self, path: Path) -> bool:
        return any(glob.matches(path.as_posix().removeprefix("/")) for glob in self._globs)


class _Reading:
    """One reading: each file once, where it is met first."""

    def __init__(
        self, reader: InstructionReader, off_list: OffList, known: Iterable[GuidanceFile], touched: Sequence[str]
    ) -> None:
        self._reader = reader
        self._off_list = off_list
        self._touched = touched
        self._known = {file.path: _folder_of(file.path, file.holds_for) for file in known}
        """The folders of what was in force, also of what was switched off, so that it can be switched on."""
        for path in off_list.paths:
            name = reader.name_of(path)
            self._known.setdefault(name, _folder_of(name))
        self._seen: set[Path] = set()
        self._texts: set[str] = set()
        self._imports = 0
        self._for_some: list[GuidanceFile] = []
        self._off: dict[str, GuidanceFile] = {}
        self._problems: dict[GuidanceProblem, None] = {}

    def all(self) -> Instructions:
        root, top = self._reader.root, self._reader.top
        persons = self._persons()
        around = [folder for folder in (root, *root.parents) if folder.is_relative_to(top)]
        places = [_Place(folder, root if folder == root else top, "workspace") for folder in reversed(around)]
        always = [file for place in places for file in self._of(place)]
        inside = [_Place(root / folder, root, "folder", f"{folder}/") for folder in self._folders()]
        others = [file for place in inside for file in self._of(place)]
        sometimes = [*self._for_some, *others]
        old = [file for name in self._known for file in sometimes if file.path == name]
        new = [file for file in sometimes if file.path not in self._known]
        files = (
            *self._fitted(persons, persons[::-1], "the farthest are"),
            *self._fitted(always, always[::-1], "the farthest are"),
            # What is in the conversation already must not change.
            *self._fitted([*old, *new], [*old, *new[::-1]], "the newest are"),
        )
        order = tuple(file.path for file in (*persons, *always, *old, *new))
        return Instructions(files, tuple(self._off.values()), order, tuple(self._problems))

    def _persons(self) -> list[GuidanceFile]:
        homes = self._reader.homes
        self._texts = set()
        folders = (homes.config, homes.home / ".agents", homes.codex)
        groups = [self._own(_Place(folder, None, "person")) for folder in folders]
        claude = _Place(homes.claude, None, "person")
        groups.append(self._take(claude.folder / "CLAUDE.md", claude, has_imports=True))
        groups.append(self._rules(claude.folder / "rules", ".md", claude))
        return list(chain.from_iterable(reversed(groups)))

    def _folders(self) -> list[str]:
        """The folders below the workspace whose files hold: of known files, and of the files just touched."""
        found = list(dict.fromkeys([*filter(None, self._known.values()), *self._reader.folders_of(self._touched)]))
        if len(found) > MAX_FOLDERS:
            self._note(found[MAX_FOLDERS], f"the instructions of {MAX_FOLDERS} folders are in use already")
        return found[:MAX_FOLDERS]

    def _of(self, place: _Place) -> list[GuidanceFile]:
        """Return the files of one folder. The one that counts most is read first, and comes last."""
        folder = place.folder
        self._texts = set()
        groups = [
            self._take(folder / "CLAUDE.local.md", place, has_imports=True),
            self._own(place),
            self._take(folder / "CLAUDE.md", place, has_imports=True),
            self._take(folder / ".claude/CLAUDE.md", place, has_imports=True),
            self._rules(folder / ".claude/rules", ".md", place),
            self._take(folder / "GEMINI.md", place, has_imports=True),
        ]
        if place.scope == "workspace":
            groups.append(self._take(folder / ".github/copilot-instructions.md", place))
            groups.append(self._rules(folder / ".github/instructions", ".instructions.md", place))
        groups.append(self._rules(folder / ".cursor/rules", ".mdc", place))
        return list(chain.from_iterable(reversed(groups)))

    def _own(self, place: _Place) -> list[GuidanceFile]:
        override, usual = (place.folder / name for name in OWN_NAMES)
        content = self._reader.content(override, place.boundary)
        if content is None or not (content.text.strip() or content.problem):
            return self._take(usual, place)
        self._seen.add(Path(os.path.realpath(usual)))
        return self._take(override, place)

    def _take(
        self, path: Path, place: _Place, *, has_imports: bool = False, body: str | None = None, depth: int = 0
    ) -> list[GuidanceFile]:
        """Return a file, if it exists and is new, and what it imports. `body` is the text without front matter."""
        content = self._reader.content(path, place.boundary)
        if content is None or content.path in self._seen:
            return []
        self._seen.add(content.path)
        name = self._reader.name_of(path)
        if not _is_text(name):
            return []
        is_off = self._off_list.has(path)
        if not is_off and (problem := content.problem or (_TOO_LONG if content.is_cut else "")):
            self._note(name, problem)
        text, imports = content.text if body is None else body, tuple[str, ...]()
        if has_imports:
            text, imports = with_imports(text)
        bare = text.strip()
        found: list[GuidanceFile] = []
        if bare and bare not in self._texts and not (has_imports and is_only_imports(bare)):
            self._texts.add(bare)
            file = GuidanceFile(
                path=name,
                scope=place.scope,
                text=text,
                is_cut=content.is_cut,
                # The folder that a file is in is clear from its path.
                holds_for="" if place.holds_for == f"{name.rpartition('/')[0]}/" else place.holds_for,
            )
            found.append(file)
            if is_off:
                self._off[name] = file
        for target in imports if not is_off else ():
            found += self._imported(target, path, place, depth + 1)
        return found

    def _imported(self, target: str, importer: Path, place: _Place, depth: int) -> list[GuidanceFile]:
        reader = self._reader
        if self._imports >= MAX_IMPORTS or depth > MAX_IMPORT_DEPTH:
            why = f"imports are followed {MAX_IMPORT_DEPTH} levels deep, and {MAX_IMPORTS} of them in all"
            self._note(reader.name_of(importer), f"it imports `{target}`, but {why}")
            return []
        self._imports += 1
        with suppress(OSError, ValueError):
            path = reader.imported(target, importer)
            if not path.is_file():  # mostly an `@` that means something else
                return []
            boundary = place.boundary and reader.top
            if boundary is not None and not Path(os.path.realpath(path)).is_relative_to(boundary):
                name = reader.name_outside(path)
                if not name or not reader.trusts(name):
                    why = " and waits until you trust the project" if name else ""
                    self._note(reader.name_of(importer), f"`{target}`, which it imports, is outside of the folder{why}")
                    return []
                boundary = Path(os.path.realpath(reader.homes.home))
            return self._take(path, place._replace(boundary=boundary), has_imports=True, depth=depth)
        return []

    # -- rules --

    def _rules(self, folder: Path, ending: str, place: _Place) -> list[GuidanceFile]:
        """Return the rules that apply to the whole place. Those for some files go to `_for_some` if they hold."""
        boundary = place.boundary
        paths = rules_in(folder, ending, boundary)
        if not paths:
            return []
        found: list[GuidanceFile] = []
        touched = self._touched_in(place)
        if len(paths) > MAX_RULES:
            self._note(self._reader.name_of(folder), f"only the first {MAX_RULES} of its rules are read")
        for path in paths[:MAX_RULES]:
            content = self._reader.content(path, boundary)
            if content is None:
                continue
            fields = self._reader.fields_of(content)
            if fields.problem:
                self._note(self._reader.name_of(path), fields.problem)
            globs = globs_of(fields, ending)
            if globs is None:
                continue
            if not globs:
                found += self._take(path, place, has_imports=ending == ".md", body=fields.body)
            elif self._reader.name_of(path) in self._known or self._is_for(path, globs, touched):
                holds_for = ", ".join(f"{place.holds_for}{glob}" for glob in globs)
                for_some = place._replace(scope="folder", holds_for=holds_for)
                self._for_some += self._take(path, for_some, has_imports=ending == ".md", body=fields.body)
        return found

    def _touched_in(self, place: _Place) -> list[str]:
        """The touched files as seen from a rule's folder; from the workspace for the user's own rules."""
        folder = place.folder if place.boundary else self._reader.root
        paths = (self._reader.path_of(text) for text in self._touched)
        return [path.relative_to(folder).as_posix() for path in paths if path.is_relative_to(folder)]

    def _is_for(self, rule: Path, globs: Sequence[str], touched: Sequence[str]) -> bool:
        is_for = False
        for text in globs:
            try:
                is_for = any(map(_glob(text).matches, touched)) or is_for
            except ValueError as error:
                self._note(self._reader.name_of(rule), str(error))
        return is_for

    # -- limits --

    def _fitted(
        self, files: Sequence[GuidanceFile], dearest_first: Iterable[GuidanceFile], cut: str
    ) -> list[GuidanceFile]:
        kept = fitted(file for file in dearest_first if file.path not in self._off)
        for file in files:
            if file.path in self._off:
                continue
            if file.path not in kept or kept[file.path].text != file.text:
                room = ROOM[file.scope] // 1024
                self._note(file.path, f"the instructions have more than {room} KiB together, of which {cut} cut")
        return [kept[file.path] for file in files if file.path in kept]

    def _note(self, path: str, reason: str) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.setdefault(GuidanceProblem(shortened(named(path), 200), reason))
        else:
            self._problems.setdefault(GuidanceProblem("At least one more file", "only the first problems are reported"))


def rules_in(folder: Path, ending: str, boundary: Path | None) -> list[Path]:
    """Return the files of a folder of rules, some more than may be used; none if a link leads out of `boundary`."""
    if not _is_folder(folder) or (boundary is not None and not Path(os.path.realpath(folder)).is_relative_to(boundary)):
        return []
    entries = islice(entries_below((folder,)), MAX_RULES * 10)
    return sorted(folder / path for _, path, _ in entries if path.endswith(ending))


def outside_imports(reader: InstructionReader) -> Iterator[ProjectItem]:
    """Yield what the instructions of a folder and above it import from outside, for the question about trust.

    What an imported file imports is followed, also outside: each file needs its own answer. Never raises.
    """
    reader.top = top = _top_of(reader.root)
    home = Path(os.path.realpath(reader.homes.home))
    waiting: deque[tuple[Path, Path, int]] = deque()
    for folder in (reader.root, *reader.root.parents):
        if folder.is_relative_to(top):
            boundary = reader.root if folder == reader.root else top
            rules = rules_in(folder / ".claude/rules", ".md", boundary)[:MAX_RULES]
            waiting += [(path, boundary, 0) for path in (*(folder / name for name in _IMPORTING), *rules)]
    seen: set[Path] = set()
    named: set[str] = set()
    while waiting and len(named) < MAX_IMPORTS:
        path, boundary, depth = waiting.popleft()
        content = reader.content(path, boundary)
        if content is None or content.path in seen or "@" not in content.text:
            continue
        seen.add(content.path)
        for target in with_imports(content.text)[1][:MAX_IMPORTS] if depth < MAX_IMPORT_DEPTH else ():
            with suppress(OSError, ValueError):
                meant = reader.imported(target, path)
                if not meant.is_file():
                    continue
                name = reader.name_outside(meant)
                waiting.append((meant, home if name else top, depth + 1))
                if name and name not in named:
                    named.add(name)
                    yield import_item(name, path)


def import_item(name: str, importer: Path = Path()) -> ProjectItem:
    return ProjectItem(kind="import", name=name, path=importer, digest=digest_of_text(name))


def fitted(files: Iterable[GuidanceFile]) -> dict[str, GuidanceFile]:
    """Return, by path, as much of `files`, all of one scope, as there is room for. Earlier ones take precedence."""
    kept: dict[str, GuidanceFile] = {}
    used = 0
    for file in files:
        encoded, room = file.text.encode(), ROOM[file.scope] - used
        used += len(encoded)
        if len(encoded) <= room:
            kept[file.path] = file
        elif text := encoded[: max(room, 0)].decode(errors="ignore").strip():
            kept[file.path] = replace(file, text=text, is_cut=True)
    return kept


_PIECE = regex(
    r"""
      (?P<fence> ^[ \t]{0,3} (?P<mark>`{3,}|~{3,}) [^\n]* (?:\n|\Z) (?: .*? ^[ \t]{0,3}(?P=mark)[`~]*[ \t]*$ | .* ) )
    | (?P<code> (?<!`)(?P<ticks>`+)(?!`) (?:(?!\n[ \t]*\n).)*? (?<!`)(?P=ticks)(?!`) )
    | (?P<comment> <!-- .*? (?:-->|\Z) )
    | (?P<import> (?<![^\s*_])@(?P<path>(?:\\[ ]|[^\s\\])+) )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@lru_cache(maxsize=1_000)
def with_imports(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without HTML comments, and what it imports: `@path`, but not in code, as in Claude Code."""
    if "@" not in text and "<!--" not in text:
        return text, ()
    imports: dict[str, None] = {}

    def seen(match: re.Match[str]) -> str:
        if match["import"]:
            path = match["path"].replace("\\ ", " ").partition("#")[0].rstrip("*_,.;:!?)\"'")
            if re.match(r"[\w./~-]", path):
                imports[path] = None
        return "" if match["comment"] else match[0]

    return _PIECE.sub(seen, text), tuple(imports)


def is_only_imports(text: str) -> bool:
    return all(word.startswith("@") for word in text.replace("\\ ", "_").split())


_glob = lru_cache(maxsize=1_000)(Glob)

_EVERYTHING = frozenset({"*", "**", "**/*", "**/**"})


def globs_of(fields: FrontMatter, ending: str) -> tuple[str, ...] | None:
    """Return the globs of a rule: empty for all files; `None` if the rule applies only when it is asked for by name."""
    if ending == ".mdc" and fields.switch("alwaysapply", default=False):
        return ()
    name = {".md": "paths", ".mdc": "globs"}.get(ending, "applyto")
    value = fields.fields.get(name, "")
    texts = value if isinstance(value, list) else [value]
    globs = tuple(glob for text in texts if isinstance(text, str) for glob in _listed(text))
    if not globs:
        return () if ending == ".md" else None
    return () if _EVERYTHING.intersection(globs) else globs


def _listed(text: str) -> Iterator[str]:
    """Split at commas, but not inside of braces."""
    return filter(None, (part.strip() for part in re.findall(r"(?:\{[^{}]*\}|[^,])+", text)))


def is_of_others(file: GuidanceFile) -> bool:
    return file.scope != "skills" and file.path.rpartition("/")[2] not in OWN_NAMES


def _folder_of(name: str, holds_for: str = "") -> str:
    """Return the folder below the workspace whose file this is; empty for none, or if another file imports it."""
    if holds_for.endswith("/"):
        return holds_for[:-1]
    *folders, last = PurePosixPath(name).parts
    hidden = next((at for at, part in enumerate(folders) if part in (".claude", ".cursor", ".github")), None)
    is_read_there = hidden is not None or last in OWN_NAMES or last in _IMPORTING
    is_below = not PurePosixPath(name).is_absolute() and ".." not in folders
    return "/".join(folders[:hidden]) if is_read_there and is_below else ""


def _decoded(content: bytes, *, is_cut: bool) -> tuple[str, bool]:
    mark, encoding = byte_order_mark(content)
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(content[len(mark) :], final=not is_cut).replace("\r\n", "\n").replace("\0", "\ufffd")
    return text, "\ufffd" not in text


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_text(name: str) -> bool:
    return name.isprintable() and not re.search("[\ud800-\udfff]", name)
