"""The plugins of the user and of a project: adds copies, removes them, and says which are in force.

An added plugin is a folder in the data folder, made and removed by one rename. It holds the plugin's files, a folder
for what its programs store, and a record of what the user allowed. A plugin that has changed since starts nothing.
"""

import asyncio
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import UsageError, storage_error
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.paths import real_path
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.plugins import Plugin, UnusablePluginError, is_plugin, read_plugin
from desktop_agent.core.extensions.skills import Source, secret_by_name
from desktop_agent.core.extensions.untrusted import SecretAt, read_start, why_unread
from desktop_agent.core.settings.loading import FoundTable, read_plain
from desktop_agent.core.settings.workspace_settings import ProjectItem, WorkspaceSettings
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.files import digest_of, new_hasher
from desktop_agent.core.system.git.git_process import fetch_newest
from desktop_agent.core.system.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.system.processes.child import unhurried

MOST_FILES: Final = 5_000
MOST_BYTES: Final = 64 * 2**20
OF_PROJECTS: Final = ".agents/plugins"
_MOST_OF_PROJECT: Final = 20
_MOST_PLUGINS: Final = 100
_LEFT_OVER_S: Final = 86_400
_RACY_NS: Final = 2_050_000_000
"""A more recent date proves nothing, because another write might not change it (see `FileStamp`)."""

_FILES, _DATA, _RECORD = "files", "data", "record.json"
_LEFT_OUT: Final = (".git", "__pycache__")
_IS_ADDRESS: Final = regex(r"[a-z][a-z0-9+.-]*:(?://|:)|[\w.-]+@[\w.-]+:", re.IGNORECASE)
_IS_USABLE: Final = regex(
    r"(?:https|ssh|file)://[^\s\x00-\x1f-][^\s\x00-\x1f]*|[\w.-]+@\w[\w.-]*:[^\s\x00-\x1f-][^\s\x00-\x1f]*"
)


class PluginRecord(Struct, frozen=True, kw_only=True):
    source: str
    """The folder or the address that it came from."""
    inside: str = ""
    """The plugin's folder in there, if it is not the top."""
    commit: str = ""
    digest: Digest
    """Of the files that the user saw and allowed."""

    def is_of(self, other: "PluginRecord") -> bool:
        """Whether both came from the same place."""
        return (self.source, self.inside) == (other.source, other.inside)


class AddedPlugin(Struct, frozen=True, kw_only=True):
    folder: Path
    record: PluginRecord
    digest: Digest = ""
    """Of the files as they are now."""
    plugin: Plugin | None = None
    problem: str = ""
    """Why there is no `plugin`."""


class StagedPlugin(Struct, frozen=True, kw_only=True):
    """A copy for the user to review. It is added as it is, or discarded."""

    folder: Path
    plugin: Plugin
    record: PluginRecord
    left_out: tuple[str, ...] = ()
    """Links that lead out of it, and what is neither a file nor a folder."""
    replaces: Digest = ""
    """The digest of the files that it replaces: those of a plugin of its name, added from the same place."""

    @property
    def is_current(self) -> bool:
        return self.record.digest == self.replaces


# --- the files of a plugin ------------------------------------------------------------------------------------------


def _walk(root: Path, left_out: Collection[str] = _LEFT_OUT) -> Iterator[tuple[str, os.stat_result]]:
    """Yield what is below a folder, parents first, links not followed. Raises `UnusablePluginError` and `OSError`."""
    folders, count, size = [""], 0, 0
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            if entry.name in left_out:
                continue
            status, place = entry.stat(follow_symlinks=False), f"{folder}{entry.name}"
            count, size = count + 1, size + status.st_size
            if count > MOST_FILES:
                raise UnusablePluginError(f"it has more than {MOST_FILES:,} files")
            if size > MOST_BYTES:
                raise UnusablePluginError(f"it has more than {MOST_BYTES // 2**20} MiB")
            if stat.S_ISDIR(status.st_mode):
                folders.append(f"{place}/")
            yield place, status


def _leads_out(root: Path, place: str) -> bool:
    return (root / place).readlink().is_absolute() or not real_path(root / place).is_relative_to(root)


class _Trees:
    """The digests of folders. One whose files have the same dates as before is not read again."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[list[object], Digest]] = {}

    def digest(self, root: Path, *, is_projects: bool = False) -> Digest:
        """Return a digest that is equal for equal files, wherever they are. Blocks.

        Of a project's plugin it covers all files, because the agent can write any of them: Python runs what is in
        `__pycache__`. Raises `UnusablePluginError`, also for a link that leads out, and `OSError`.
        """
        found = list(_walk(root, () if is_projects else _LEFT_OUT))
        # A change of the content changes the time of the inode, which cannot be set.
        marks: list[object] = [
            (place, s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev) for place, s in found
        ]
        known = self._known.get(root)
        if known is not None and known[0] == marks:
            return known[1]
        is_settled = time.time_ns() - max((s.st_ctime_ns for _, s in found), default=0) > _RACY_NS
        hasher = new_hasher()
        for place, status in sorted(found):
            hasher.update(json.dumps([place, *_facts(root, place, status)]).encode(errors="surrogatepass"))
        digest = hasher.hexdigest()
        if is_settled:
            self._known[root] = (marks, digest)
        return digest


class PluginFiles(Struct, frozen=True, kw_only=True):
    """The files that a plugin had when it was allowed."""

    root: Path
    digest: Digest
    is_projects: bool

    def __call__(self) -> bool:
        """Whether they are unchanged. Reads them all: a write through a memory mapping need not change a date."""
        try:
            return _Trees().digest(self.root, is_projects=self.is_projects) == self.digest
        except (UnusablePluginError, OSError):
            return False


def _facts(root: Path, place: str, status: os.stat_result) -> list[object]:
    if stat.S_ISDIR(status.st_mode):
        return []
    if stat.S_ISLNK(status.st_mode):
        if _leads_out(root, place):
            raise UnusablePluginError(f"{named(place)} is a link that leads out of it")
        return ["link", str((root / place).readlink())]
    if not stat.S_ISREG(status.st_mode):
        raise UnusablePluginError(f"{named(place)} is neither a file nor a folder")
    content = read_start(root / place, status.st_size + 1, None)
    if len(content) > status.st_size:
        raise UnusablePluginError(f"{named(place)} is being written")
    hasher = new_hasher()
    hasher.update(content)
    return [bool(status.st_mode & stat.S_IXUSR), hasher.hexdigest()]


def _copy(source: Path, target: Path) -> tuple[str, ...]:
    """Copy a plugin, and return what was left out. Raises `UnusablePluginError` and `OSError`."""
    left_out: list[str] = []
    target.mkdir(mode=0o700)
    for place, status in _walk(source):
        if stat.S_ISDIR(status.st_mode):
            (target / place).mkdir(mode=0o700)
        elif stat.S_ISLNK(status.st_mode) and not _leads_out(source, place):
            (target / place).symlink_to((source / place).readlink())
        elif stat.S_ISREG(status.st_mode):
            content = read_start(source / place, MOST_BYTES, None)
            with (target / place).open("xb") as file:
                file.write(content)
            (target / place).chmod(0o700 if status.st_mode & stat.S_IXUSR else PRIVATE_FILE)
        else:
            left_out.append(named(place))
    return tuple(left_out)


# --- those that the user adds ---------------------------------------------------------------------------------------


class PluginStore:
    """The plugins that the user has added. Its functions block, except `stage`."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        """Does not access the disk."""
        self._folder = folder
        self._environ = environ
        self._trees = _Trees()
        self._read: dict[Path, tuple[Digest, Plugin]] = {}

    def added(self) -> tuple[AddedPlugin, ...]:
        """Return the plugins that were added, by name. Never raises."""
        folder = real_path(self._folder)
        try:
            names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))
        except OSError:
            return ()
        found = (self._added(folder / name) for name in names[:_MOST_PLUGINS])
        return tuple(one for one in found if one is not None)

    def _added(self, folder: Path) -> AddedPlugin | None:
        try:
            record = msgspec.convert(json.loads(read_plain(folder / _RECORD, 2**16)), learned(PluginRecord))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):  # without it nothing says what the user allowed
            record, unread = (
                PluginRecord(source="", digest=""),
                "its record cannot be read; remove it, and add it again",
            )
            return AddedPlugin(folder=folder, record=record, problem=unread)
        try:
            digest, plugin = self.read(folder / _FILES, folder / _DATA, secret_by_name, name=folder.name)
        except (UnusablePluginError, OSError) as error:
            return AddedPlugin(folder=folder, record=record, problem=why_unread(error))
        return AddedPlugin(folder=folder, record=record, digest=digest, plugin=plugin)

    def read(
        self, root: Path, data: Path, secret_at: SecretAt, *, name: str, is_projects: bool = False
    ) -> tuple[Digest, Plugin]:
        """Return the plugin in a folder, and a digest of all its files. Raises `UnusablePluginError` and `OSError`."""
        digest = self._trees.digest(root, is_projects=is_projects)
        known = self._read.get(root)
        if known is None or known[0] != digest:
            environ: Mapping[str, str] = {} if is_projects else self._environ
            plugin = read_plugin(root, data, "project" if is_projects else "person", secret_at, environ, name)
            known = self._read[root] = (digest, plugin)
        return known

    def of_project(self, root: Path, secret_at: SecretAt) -> Iterator[tuple[Path, Digest, Plugin | None, str]]:
        """Yield the plugins that a workspace brings; for one that cannot be used, why. Never raises."""
        place = root / OF_PROJECTS
        try:
            names = sorted(entry.name for entry in os.scandir(place) if entry.is_dir(follow_symlinks=False))
            if real_path(place) != place:
                return
        except OSError:
            return
        for name in names[:_MOST_OF_PROJECT]:
            folder = place / name
            try:
                if not is_plugin(folder):
                    continue
                data = self._folder / ".projects" / digest_of(os.fsencode(folder))[:32]
                yield (folder, *self.read(folder, data, secret_at, name=name, is_projects=True), "")
            except (UnusablePluginError, OSError) as error:
                yield folder, "", None, why_unread(error)

    async def stage(self, source: str, inside: str = "") -> StagedPlugin:
        """Copy a plugin from a folder or a git repository, for review. Starts nothing.

        `inside` is the folder of the plugin in there. After an `AgentError`, nothing is left behind.
        """
        place, commit = await asyncio.to_thread(_local, source), ""
        if place is None and _IS_USABLE.fullmatch(source) is None:
            hint = "It should begin with https:// or ssh://, or be written as user@host:path."
            raise UsageError(f"A plugin cannot be fetched from {named(source)}.", hint=hint)
        with storage_error("The plugin could not be copied.", path=self._folder):
            folder = await asyncio.to_thread(self._new_folder)
        try:
            is_address = place is None
            if place is None:
                place = folder / "fetched"
                commit = await fetch_newest(source, place, inside, most_files=MOST_FILES, most_bytes=MOST_BYTES)
            record = PluginRecord(source=source if is_address else str(place), inside=inside, commit=commit, digest="")
            return await asyncio.to_thread(self._staged, folder, place, record)
        except BaseException:
            await unhurried(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))
            raise

    def _new_folder(self) -> Path:
        make_private_folder(self._folder)
        folder = real_path(self._folder)
        for entry in os.scandir(folder):  # left by a kill
            if entry.name.startswith((".new-", ".old-")) and time.time() - entry.stat().st_mtime > _LEFT_OVER_S:
                shutil.rmtree(entry.path, ignore_errors=True)
        return Path(tempfile.mkdtemp(prefix=".new-", dir=folder))

    def _staged(self, folder: Path, place: Path, record: PluginRecord) -> StagedPlugin:
        named_in = [part for part in re.split(r"[/\\:]", f"{record.source}/{record.inside}") if part]
        name = named_in[-1].removesuffix(".git").lower()
        try:
            top = real_path(place)
            source = real_path(top / record.inside)
            if not source.is_relative_to(top):
                raise UnusablePluginError(f"{named(record.inside)} leads out of it")  # noqa: TRY301
            left_out = _copy(source, folder / _FILES)
            digest, plugin = self.read(folder / _FILES, folder / _DATA, secret_by_name, name=name)
            record = replace(record, digest=digest)
            make_private_folder(folder / _DATA)
            write_atomically(folder / _RECORD, msgspec.json.encode(record), mode=PRIVATE_FILE)
        except (UnusablePluginError, OSError) as error:
            where = f"{record.source}, {record.inside}" if record.inside else record.source
            raise UsageError(f"{named(where)} cannot be added as a plugin: {why_unread(error)}.") from error
        shutil.rmtree(folder / "fetched", ignore_errors=True)
        same = (one for one in self.added() if one.folder.name == plugin.name and one.record.is_of(record))
        replaces = next((one.digest for one in same), "")
        return StagedPlugin(folder=folder, plugin=plugin, record=record, left_out=left_out, replaces=replaces)

    def add(self, staged: StagedPlugin) -> None:
        """Add a reviewed copy, or update the plugin that was added from the same place, which keeps what it stored.

        Raises `UsageError` if a plugin from elsewhere has its name, and `StorageError`.
        """
        name = staged.plugin.name
        target = real_path(self._folder) / name
        with storage_error("The plugin could not be added.", path=target):
            if self._trees.digest(staged.folder / _FILES) != staged.record.digest:
                raise UsageError("The copy changed after it was shown, so it was not added.")
            if not (target / _RECORD).exists():
                staged.folder.rename(target)
                return
            if not self.named(name).record.is_of(staged.record):
                hint = f"Remove it first: `desktop-agent plugins remove {name}`."
                raise UsageError(f"There is a plugin named {name} already.", hint=hint)
            # The record comes last: until then the new files count as changed, and start nothing.
            with suppress(FileNotFoundError):  # an update was cut off here
                (target / _FILES).rename(staged.folder / ".before")
            (staged.folder / _FILES).rename(target / _FILES)
            (staged.folder / _RECORD).replace(target / _RECORD)

    def discard(self, staged: StagedPlugin) -> None:
        shutil.rmtree(staged.folder, ignore_errors=True)

    def remove(self, name: str) -> AddedPlugin:
        """Remove a plugin and all that it stored. Raises `UsageError` and `StorageError`."""
        added = self.named(name)
        with storage_error("The plugin could not be removed.", path=added.folder):
            trash = Path(tempfile.mkdtemp(prefix=".old-", dir=added.folder.parent))
            added.folder.rename(trash / name)
            shutil.rmtree(trash, ignore_errors=True)
        return added

    def renew(self, name: str, digest: Digest) -> None:
        """Allow a changed plugin as it was shown, with this digest. Raises `UsageError` and `StorageError`."""
        added = self.named(name)
        record = replace(added.record, digest=digest)
        with storage_error("Your answer could not be kept.", path=added.folder):
            write_atomically(added.folder / _RECORD, msgspec.json.encode(record), mode=PRIVATE_FILE)

    def named(self, name: str) -> AddedPlugin:
        """Raises `UsageError`."""
        found = self.added()
        for added in found:
            if added.folder.name == name.lower():
                return added
        names = ", ".join(added.folder.name for added in found)
        raise UsageError(f"No plugin named {named(name)} was added.", hint=f"There are: {names}." if names else "")


def _local(source: str) -> Path | None:
    """Return the folder that is meant; `None` for an address."""
    path = Path(source).expanduser().absolute()
    return None if _IS_ADDRESS.match(source) and not path.exists() else path


# --- those that a workspace has -------------------------------------------------------------------------------------

State = Literal["on", "off", "waiting", "changed", "unusable"]
"""`waiting`: the user has not said whether they trust the project. `changed`: it starts nothing until it is allowed
again."""


class StandingPlugin(Struct, frozen=True, kw_only=True):
    name: str
    root: Path
    state: State
    plugin: Plugin | None = None
    digest: Digest = ""
    reason: str = ""
    record: PluginRecord | None = None
    """`None` for a project's."""

    @property
    def files(self) -> PluginFiles:
        return PluginFiles(root=self.root, digest=self.digest, is_projects=self.record is None)

    @property
    def gives_texts(self) -> bool:
        """Whether its skills and sub-agents are used: they are text, so those of a changed plugin are, too."""
        return self.state in ("on", "changed")


class Plugins:
    """The plugins of one workspace: those that the user added, and the project's."""

    def __init__(self, store: PluginStore, settings: WorkspaceSettings, secret_at: Callable[[], SecretAt]) -> None:
        self.store = store
        self._settings = settings
        self._secret_at = secret_at

    def look(self) -> tuple[StandingPlugin, ...]:
        """Return all plugins. Of several with one name, the first is used. Blocks; never raises."""
        taken: set[str] = set()
        return tuple(self._judged(one, taken) for one in (*self._of_user(), *self._of_project()))

    def _judged(self, one: StandingPlugin, taken: set[str]) -> StandingPlugin:
        current = self._settings.current.plugins
        if one.plugin is None:
            return one
        if one.name in taken:
            return replace(one, state="unusable", reason="another plugin has this name")
        taken.add(one.name)
        if one.state in ("on", "changed") and (not current.enable or one.name in current.off):
            return replace(one, state="off")
        if one.state == "on" and one.plugin.starts:
            with suppress(OSError):  # its programs say so
                make_private_folder(one.plugin.data)
        return one

    def _of_user(self) -> Iterator[StandingPlugin]:
        for added in self.store.added():
            is_same = added.digest == added.record.digest
            yield StandingPlugin(
                name=added.plugin.name if added.plugin is not None else added.folder.name,
                root=added.folder / _FILES,
                state="unusable" if added.plugin is None else "on" if is_same else "changed",
                plugin=added.plugin,
                digest=added.digest,
                reason=added.problem,
                record=added.record,
            )

    def _of_project(self) -> Iterator[StandingPlugin]:
        for root, digest, plugin, reason in self.store.of_project(self._settings.root, self._secret_at()):
            if plugin is None:
                yield StandingPlugin(name=root.name, root=root, state="unusable", reason=reason)
                continue
            answer = self._settings.answer_about(_item(plugin, digest))
            state: State = "on" if answer == "trusted" else "off" if answer == "ignored" else "waiting"
            yield StandingPlugin(name=plugin.name, root=root, state=state, plugin=plugin, digest=digest)

    def starts(self, root: Path) -> bool:
        """Whether the plugin in a folder may start something now. Blocks.

        No command in the sandbox can write to one that the user added, so the dates of its files are trusted.
        """
        found = (one for one in self.look() if one.root == root and one.state == "on")
        return any(one.record is not None or one.files() for one in found)

    def skill_sources(self) -> Iterator[Source]:
        for plugin in self._giving_texts():
            yield from (*plugin.skills, *plugin.commands)

    def role_sources(self) -> Iterator[Source]:
        for plugin in self._giving_texts():
            yield from plugin.roles

    def _giving_texts(self) -> Iterator[Plugin]:
        return (one.plugin for one in self.look() if one.plugin is not None and one.gives_texts)

    def server_tables(self) -> tuple[FoundTable, ...]:
        running = [one for one in self.look() if one.plugin is not None and one.state == "on"]
        return tuple(
            replace(table, may_start=one.files) for one in running if one.plugin for table in one.plugin.servers
        )

    def items(self) -> Iterator[ProjectItem]:
        """Yield what the question about the project's trust shows of its plugins. Blocks; never raises."""
        for _, digest, plugin, _ in self.store.of_project(self._settings.root, self._secret_at()):
            if plugin is not None:
                parts = [f"{kind}: {', '.join(names)}" for kind, names in plugin.brought.by_kind.items()]
                yield replace(_item(plugin, digest), detail="; ".join((*plugin.starts, *parts)))


def _item(plugin: Plugin, digest: Digest) -> ProjectItem:
    return ProjectItem(kind="plugin", name=plugin.name, path=plugin.root, digest=digest)
