"""The settings in force in one folder: the user's, tightened by the project's file if the user trusts the project.

One answer is for all that a project brings: for exactly the settings and the programs that the user saw, and for its
texts for the model, also when these change. It is stored where no sandboxed command can write.
"""

import asyncio
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct, convert, field
from msgspec.structs import asdict, replace

from desktop_agent.core.base.errors import UsageError, storage_error
from desktop_agent.core.base.learned import learned
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.loading import (
    FileProblem,
    FileText,
    FoundTable,
    FoundValues,
    LoadedSettings,
    SettingSource,
    parse_file,
    read_plain,
)
from desktop_agent.core.settings.sections import Settings
from desktop_agent.core.settings.values import Setting, declared_settings, replaced, shown_value, tightened, value_of
from desktop_agent.core.system.file_writes import write_private
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.private_files import FileStamp, is_unchanged, stamp_of

PROJECT_FOLDER = ".desktop-agent"
PROJECT_FILE = "config.toml"

_LARGEST_BYTES = 64 * 1024

_ONLY = (
    "a project may only make approvals, the sandbox, blocked commands, the limits of tools and of spending, and the "
    "search of the web stricter, and set up worktrees"
)


class Tightened(Struct, frozen=True):
    key: str
    before: object
    after: object
    line: int | None


class ProjectItem(Struct, frozen=True, kw_only=True):
    """Something that a project brings besides its settings, as an item of the trust question."""

    kind: Literal["skill", "agent", "import", "hook", "language server", "plugin", "MCP server", "agent program"]
    """`import`: a file outside of the folder, named `~/…`, that the folder's instructions import."""
    name: str
    path: Path
    detail: str = ""
    """What it is for; what a hook, a language server or a plugin would run, in full; which files are run."""
    digest: str = ""
    """Of all that a program would do. It is the same in each copy of the project, so it covers no absolute path."""

    @property
    def is_text(self) -> bool:
        """Whether it is only text of the project for the model. Each other item needs its own answer."""
        return self.kind in ("skill", "agent")

    @property
    def is_program(self) -> bool:
        return self.kind in ("hook", "plugin")

    @property
    def is_files(self) -> bool:
        """Whether it is the files of the project that an MCP server or an agent of its settings runs."""
        return self.kind in ("MCP server", "agent program")

    @property
    def key(self) -> str:
        """The key under which the answer about exactly this item is stored."""
        return f"{self.kind}:{self.digest}"


class ProjectProposal(Struct, frozen=True):
    path: Path
    """The project's settings file; its folder if it has none."""
    text: str
    changes: tuple[Tightened, ...]
    problems: tuple[FileProblem, ...]
    tables: tuple[FoundTable, ...] = ()
    items: tuple[ProjectItem, ...] = ()
    changed: frozenset[str] = frozenset()
    """The keys of the items that have changed since the user's answer."""

    @property
    def digest(self) -> str:
        return digest_of_text(f"{self.text}\0{self.items}")

    @property
    def brings(self) -> tuple[str, ...]:
        kinds = dict.fromkeys(f"{item.kind}s" for item in self.items)
        return ("settings", *kinds) if self.path.name == PROJECT_FILE else tuple(kinds)

    def files_of(self, kind: Literal["MCP server", "agent program"], name: str) -> ProjectItem | None:
        """Return what a server or an agent of this name runs of the project's files, if any."""
        return next((item for item in self.items if item.kind == kind and item.name == name), None)

    def applied_to(self, settings: Settings) -> Settings:
        for change in self.changes:
            settings = replaced(settings, change.key, change.after)
        return settings

    @property
    def sources(self) -> dict[str, SettingSource]:
        return {change.key: SettingSource("project", str(self.path), change.line) for change in self.changes}


def digest_of_text(text: str) -> str:
    return digest_of(text.encode(errors="surrogatepass"))


def read_project(root: Path) -> FileText | None:
    """Return the project's file; `None` unless it is a plain file of reasonable size. Blocks; never raises."""
    path = root / PROJECT_FOLDER / PROJECT_FILE
    try:
        if stat.S_ISLNK(path.parent.lstat().st_mode):
            return _refused(path, "is in a folder that is a symbolic link, so it is not read")
        if stat.S_ISLNK(path.lstat().st_mode):
            return _refused(path, "is a symbolic link, so it is not read")
        # A pipe in its place would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return _refused(path, "is not a file, so it is not read")
            content = file.read(_LARGEST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return _refused(path, f"cannot be read: {error.strerror or error}")
    if len(content) > _LARGEST_BYTES:
        return _refused(path, f"is larger than {_LARGEST_BYTES // 1024} KiB, so it is not read")
    try:
        return parse_file(path, content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _refused(path, f"cannot be read: {error}")


def proposal_of(file: FileText, user_settings: Settings) -> ProjectProposal:
    if file.problem is not None:
        return ProjectProposal(file.path, file.text, (), (file.problem,))
    found = FoundValues(file, user_settings)
    changes: list[Tightened] = []
    for key, value in found.values.items():
        before, line = value_of(user_settings, key), file.line_of(key)
        try:
            after = _tightened(declared_settings()[key], before, value)
        except ValueError as error:
            found.problems.append(FileProblem(file.path, key, str(error), line))
            continue
        if after != before:
            changes.append(Tightened(key, before, after, line))
    own = tuple(replace(table, is_project=True) for table in found.tables)
    return ProjectProposal(file.path, file.text, tuple(changes), tuple(found.problems), own)


def _tightened(setting: Setting, before: object, wanted: object) -> object:
    """Return the setting with the project's value. Raises `ValueError` if a project may not set it so."""
    if setting.about.tightening is None:
        raise ValueError(f"refused: {_ONLY}")
    after = tightened(setting, before, wanted)
    if after is None:
        word = "lower" if setting.about.tightening == "lower" else "stricter"
        raise ValueError(f"refused: {shown_value(wanted)} is not {word} than your {shown_value(before)}")
    return after


def _refused(path: Path, reason: str) -> FileText:
    return FileText(path, "", {}, FileProblem(path, "", reason, is_fault=True))


Answer = Literal["trusted", "ignored"]

_LARGEST_ANSWER_BYTES = 2**20
"""How many bytes a stored answer may have: up to six characters for each of the file's 64 KiB."""


class Trust(Struct, frozen=True, kw_only=True):
    """The user's answer about a project, as it is stored. Earlier versions stored one about the settings alone."""

    folder: str = ""
    digest: str = ""
    answer: Answer | None = None
    text: str = ""
    """The content of the settings file that was trusted last; empty if none was."""
    texts: Answer | None = None
    """The answer about skills and agents. It holds for those that come later, too."""
    programs: Mapping[str, Answer] = {}
    """The answers about imports, hooks, language servers, plugins and files of servers and agents, by their keys."""
    places: Mapping[str, str] = {}
    """Where each item was at the last answer, by its key. If the key is gone and the place is not, the item changed."""
    is_broken: bool = False

    def answer_to(self, text: str) -> Answer | None:
        return self.answer if self.answer is not None and self.digest == digest_of_text(text) else None

    def answer_about(self, item: ProjectItem) -> Answer | None:
        return self.texts if item.is_text else self.programs.get(item.key)

    def about_items(self, answer: Answer, items: Sequence[ProjectItem], places: Mapping[str, str]) -> "Trust":
        programs = {**self.programs, **{item.key: answer for item in items if not item.is_text}}
        is_about_texts = self.texts is not None or any(item.is_text for item in items)
        return replace(
            self,
            texts=answer if is_about_texts else None,
            programs=programs,
            places={key: place for key, place in places.items() if key in programs},
        )


def _places(root: Path, items: Sequence[ProjectItem]) -> dict[str, str]:
    """Return the place, a file and a name in it, of each item that needs its own answer, by its key."""
    return {item.key: f"{item.path} {item.name}".removeprefix(f"{root}/") for item in items if not item.is_text}


class ProjectTrust:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path_for(self, root: Path) -> Path:
        return self._folder / f"{digest_of(str(root).encode(errors='surrogateescape'))[:32]}.json"

    def read(self, root: Path) -> Trust:
        """Return the answer about the project in `root`. Blocks. An unreadable answer `is_broken`."""
        try:
            found: object = json.loads(read_plain(self.path_for(root), _LARGEST_ANSWER_BYTES))
            trust = convert(found, learned(Trust))
        except FileNotFoundError:
            return Trust()
        except (OSError, ValueError, RecursionError):  # what msgspec raises is of the second kind
            return Trust(is_broken=True)
        return trust if trust.folder == str(root) else Trust(is_broken=True)

    def remember(
        self,
        root: Path,
        text: str,
        answer: Answer,
        items: Sequence[ProjectItem] = (),
        *,
        others: Sequence[ProjectItem] = (),
    ) -> None:
        """Store the user's answer about these settings and items. Blocks. Raises `StorageError`.

        `others` are the project's other items, answered earlier or not at all.
        """
        known = self.read(root)
        trust = Trust(
            digest=digest_of_text(text),
            answer=answer,
            text=text if answer == "trusted" else "",
            texts=known.texts,
        )
        self._keep(root, trust.about_items(answer, items, _places(root, (*others, *items))))

    def remember_items(
        self, root: Path, answer: Answer, items: Sequence[ProjectItem], *, others: Sequence[ProjectItem] = ()
    ) -> None:
        """Store the user's answer about these items alone. Blocks. Raises `StorageError`."""
        known = self.read(root)
        places = _places(root, (*others, *items))
        self._keep(root, (Trust() if known.is_broken else known).about_items(answer, items, places))

    def carry_over(self, known: Path, new: Path) -> None:
        """Copy the answer to a copy of the project; that about the settings only if they are the same. Blocks."""
        trust, files = self.read(known), (read_project(known), read_project(new))
        texts = [file.text if file is not None else "" for file in files]
        if texts[0] != texts[1] or trust.answer_to(texts[0]) is None:
            trust = replace(trust, digest="", answer=None, text="")
        if trust.answer or trust.texts or trust.programs:
            self._keep(new, trust)

    def _keep(self, root: Path, trust: Trust) -> None:
        record = asdict(replace(trust, folder=str(root)))
        del record["is_broken"]
        path = self.path_for(root)
        with storage_error("Your answer about the project could not be kept.", path=path):
            write_private(path, json.dumps(record, ensure_ascii=False).encode(errors="backslashreplace"))


FindItems = Callable[[Path], tuple[ProjectItem, ...]]
"""Returns what the project in a folder brings beside its settings. Blocks; never raises."""
ItemOf = Callable[[FoundTable], ProjectItem | None]
"""Returns what a program that the settings define runs of the project's files, if any. Blocks; never raises."""
FindTables = Callable[[], tuple[FoundTable, ...]]
"""Returns what plugins define, as far as the last answer about the project allows. Blocks; never raises."""


class _Project(Struct, frozen=True):
    file: FileText | None = None
    trust: Trust = field(default_factory=Trust)
    stamps: tuple[FileStamp | None, FileStamp | None] = (None, None)
    items: tuple[ProjectItem, ...] = ()
    tables: tuple[FoundTable, ...] = ()
    """Those of plugins."""


class WorkspaceSettings:
    def __init__(
        self,
        live: LiveSettings,
        root: Path,
        trust: ProjectTrust,
        find_items: FindItems = lambda _root: (),
        find_tables: FindTables = tuple,
        item_of: ItemOf = lambda _table: None,
    ) -> None:
        """Does not access the disk. Until the first `refresh`, the user's settings apply."""
        self.live = live
        self.root = root
        self._trust = trust
        self._find_items = find_items
        self._find_tables = find_tables
        self._item_of = item_of
        self._project = _Project()
        self._has_accepted_faults = False
        self._combined: tuple[LoadedSettings, _Project, LoadedSettings] | None = None

    @property
    def current(self) -> Settings:
        return self.loaded.settings

    @property
    def loaded(self) -> LoadedSettings:
        user_loaded, project = self.live.loaded, self._project
        if self._combined is None or self._combined[0] is not user_loaded or self._combined[1] is not project:
            self._combined = (user_loaded, project, self._combine(user_loaded))
        return self._combined[2]

    @property
    def faults(self) -> tuple[FileProblem, ...]:
        """Why nothing may run here: safety settings cannot be read, and there are no earlier values to use instead."""
        return (*self.live.faults, *(() if self._has_accepted_faults else self._own_faults()))

    def go_on(self) -> None:
        self._has_accepted_faults = True
        self.live.go_on()

    @property
    def proposal(self) -> ProjectProposal | None:
        file, items = self._project.file, self._project.items
        if file is not None:
            return replace(proposal_of(file, self.live.current), items=items, changed=self.changed)
        return ProjectProposal(self.root, "", (), (), items=items, changed=self.changed) if items else None

    @property
    def answer(self) -> Answer | None:
        """The answer about the project's settings file, as it is now."""
        return self._project.trust.answer_to(self._project.file.text) if self._project.file is not None else None

    @property
    def answer_to_all(self) -> Answer | None:
        """The answer about all that the project brings; `None` while one about some of it is missing."""
        answers = [self.answer_about(item) for item in self._project.items]
        if self._project.file is not None:
            answers.append(self.answer)
        if not answers or None in answers:
            return None
        return "trusted" if "trusted" in answers else "ignored"

    def answer_about(self, item: ProjectItem) -> Answer | None:
        return self._project.trust.answer_about(item)

    @property
    def changed(self) -> frozenset[str]:
        """The keys of the items that wait because they, or what they run, have changed since the last answer."""
        now, trust = _places(self.root, self._project.items), self._project.trust
        gone = {place for key, place in trust.places.items() if key not in now}
        return frozenset(key for key, place in now.items() if place in gone and key not in trust.programs)

    @property
    def trusts_texts(self) -> bool:
        """Whether the project's skills and agents may be used."""
        return self._project.trust.texts == "trusted"

    @property
    def is_waiting(self) -> bool:
        """Whether the user has to decide about what the project brings."""
        proposal = self.proposal
        if proposal is None:
            return False
        has_settings = bool(proposal.changes or proposal.problems or proposal.tables)
        return (has_settings and self.answer is None) or None in map(self.answer_about, proposal.items)

    async def refresh(self) -> None:
        await self.live.refresh()
        await asyncio.to_thread(self.look)

    def look(self) -> None:
        """Read again what the project and plugins bring and the answer about it, if they changed. Blocks."""
        self._look_at_project()
        tables = self._find_tables()
        if tables != self._project.tables:
            self._project = replace(self._project, tables=tables)

    def _look_at_project(self) -> None:
        stamps = (stamp_of(self.root / PROJECT_FOLDER / PROJECT_FILE), stamp_of(self._trust.path_for(self.root)))
        found = self._find_items(self.root)
        if stamps == (None, None) or all(map(is_unchanged, stamps, self._project.stamps)):
            if stamps == (None, None) and self._project.stamps != stamps:
                self._project = _Project(items=found, tables=self._project.tables)
            elif (items := (*found, *self._items_of(self._project.file))) != self._project.items:
                self._project = replace(self._project, items=items)
            return
        file, trust = read_project(self.root), self._trust.read(self.root)
        if trust.is_broken and not self._project.trust.is_broken and self._project.trust.answer is not None:
            trust = self._project.trust  # the earlier answer still holds
        items = (*found, *self._items_of(file))
        self._project = _Project(file, trust, stamps, items, self._project.tables)

    def _items_of(self, file: FileText | None) -> tuple[ProjectItem, ...]:
        tables = proposal_of(file, self.live.current).tables if file is not None else ()
        return tuple(item for table in tables if (item := self._item_of(table)) is not None)

    def _may_start(self, table: FoundTable) -> bool:
        item = self._item_of(table)
        return item is None or self.answer_about(item) == "trusted"

    def remember(self, answer: Answer, text: str, items: Sequence[ProjectItem] = ()) -> None:
        """Store the user's answer about the settings file with the content `text`, and about these items. Blocks.

        Raises `UsageError` if the trusted content has a mistake that safety depends on, and `StorageError`.
        """
        if answer == "trusted" and (file := self._project.file) is not None:
            found = proposal_of(parse_file(file.path, text), self.live.current)
            if faults := [problem for problem in found.problems if problem.is_fault]:
                raise UsageError(
                    "The project's settings have a mistake, so they cannot be trusted as they are.",
                    hint=f"Fix {file.path} first, or ignore it.",
                    detail="\n".join(map(str, faults)),
                )
        self._trust.remember(self.root, text, answer, items, others=self._project.items)
        self.look()

    def remember_items(self, answer: Answer, items: Sequence[ProjectItem]) -> None:
        """Store the user's answer about these items, such as changed hooks, alone. Blocks. Raises `StorageError`."""
        self._trust.remember_items(self.root, answer, items, others=self._project.items)
        self.look()

    def _own_faults(self) -> tuple[FileProblem, ...]:
        file, trust = self._project.file, self._project.trust
        if trust.is_broken and file is not None:
            message = "cannot be read: it says whether the project's settings are trusted; answer again, or remove it"
            return (FileProblem(self._trust.path_for(self.root), "", message, is_fault=True),)
        if file is None or not trust.text or trust.answer_to(file.text) == "ignored":
            return ()
        proposal = proposal_of(parse_file(file.path, trust.text), self.live.current)
        return tuple(problem for problem in proposal.problems if problem.is_fault)

    def _combine(self, user_loaded: LoadedSettings) -> LoadedSettings:
        """Return the user's settings, tightened by the project's: by the last trusted ones, if the file has changed."""
        file, trust = self._project.file, self._project.trust
        plugins = user_loaded.settings.plugins
        of_plugins = [table for table in self._project.tables if plugins.enable and table.plugin not in plugins.off]
        if of_plugins:
            user_loaded = replace(user_loaded, tables=(*user_loaded.tables, *of_plugins))
        if file is None or not trust.text or trust.answer_to(file.text) == "ignored":
            return user_loaded
        proposal = proposal_of(parse_file(file.path, trust.text), user_loaded.settings)
        return LoadedSettings(
            proposal.applied_to(user_loaded.settings),
            (*user_loaded.problems, *(proposal.problems if trust.answer_to(file.text) else ())),
            {**user_loaded.sources, **proposal.sources},
            (
                *user_loaded.tables,
                *(replace(each, may_start=partial(self._may_start, each)) for each in proposal.tables),
            ),
        )
