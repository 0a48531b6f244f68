"""A commit's operations on a repository, carried out by git. `quick_objects` does the same without processes.

Settings and attributes are read without git where git is certain to find the same; elsewhere, git is asked.
"""

import asyncio
import os
import secrets
import shutil
import sys
from collections.abc import Awaitable, Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.file_names import all_folders_above, folders_above, name_on_a_line
from desktop_agent.core.commits.selected_lines import States
from desktop_agent.core.protocol.model import FileKind
from desktop_agent.core.system.files import FileState
from desktop_agent.core.system.git.git_process import UsersGit
from desktop_agent.core.system.git.repository import Repository, common_folder, read_plain_settings, read_regular

HOOKS: Final = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
WATCHING: Final = ("reference-transaction", "post-index-change")
"""Hooks that git runs when it writes refs or the index."""
_SYSTEMS_GIT: Final = "/usr/bin/git"
_SYSTEM: Final = Path("/etc")
"""Where the git of a Linux system looks for the system's files. One that is installed elsewhere has another place."""
_LEADING_ON: Final = ("include.", "includeif.", "extensions.")
"""Settings that make git read other files."""
_CONVERTING: Final = ("text", "crlf", "eol", "ident", "filter", "working-tree-encoding")


async def settings_of(git: UsersGit) -> dict[str, str]:
    """Return what `git config --list` prints; of several values of a setting, the last."""
    listed = await asyncio.to_thread(_listed, git)
    if listed is None:
        listed = await git.ask("config", "--list", "-z")
    records = (record.partition("\n") for record in listed.split("\0")[:-1])
    return {name: value if is_set else "true" for name, is_set, value in records}


def _listed(git: UsersGit) -> str | None:
    """Return None if only git can tell."""
    if not _has_known_places(git):
        return None
    listed = ""
    for file in _config_files(git):
        settings = read_plain_settings(file) if os.path.lexists(file) else b""
        if settings is None:
            return None
        listed += os.fsdecode(settings)
    return None if any(record.startswith(_LEADING_ON) for record in listed.split("\0")) else listed


def _has_known_places(git: UsersGit) -> bool:
    is_systems = sys.platform == "linux" and shutil.which("git", path=git.environ["PATH"]) == _SYSTEMS_GIT
    return is_systems and "HOME" in git.environ and git.environ.get("GIT_CONFIG_NOSYSTEM", "0") in ("0", "1")


def _config_files(git: UsersGit) -> Iterator[Path]:
    environ, root = git.environ, git.repository.root
    if environ.get("GIT_CONFIG_NOSYSTEM") != "1":
        yield root / environ.get("GIT_CONFIG_SYSTEM", _SYSTEM / "gitconfig")
    if (users := environ.get("GIT_CONFIG_GLOBAL")) is not None:
        yield root / users
    else:
        yield _in_home(git, "config")
        yield root / environ["HOME"] / ".gitconfig"
    yield common_folder(git.repository.git_dir) / "config"


def _in_home(git: UsersGit, name: str) -> Path:
    folder = git.environ.get("XDG_CONFIG_HOME") or f"{git.environ['HOME']}/.config"
    return git.repository.root / folder / "git" / name


async def has_converting_attributes(
    git: UsersGit, settings: Mapping[str, str], paths: set[str], index: Container[str]
) -> bool:
    """Whether git may convert one of these files. `index` has the paths of the user's index."""
    if not await asyncio.to_thread(_may_have_attributes, git, settings, paths, index):
        return False
    listed = await git.ask("check-attr", "-z", "--stdin", *_CONVERTING, stdin="\0".join([*paths, ""]))
    return not set(listed.split("\0")[2::3]) <= {"unspecified"}


def _may_have_attributes(git: UsersGit, settings: Mapping[str, str], paths: set[str], index: Container[str]) -> bool:
    if not _has_known_places(git) or not settings.keys().isdisjoint(("core.attributesfile", "attr.tree")):
        return True
    common, root = common_folder(git.repository.git_dir), git.repository.root
    folders = {"", *(f"{folder}/" for folder in all_folders_above(paths))}
    inside = [f"{folder}.gitattributes" for folder in folders]
    files = (
        _SYSTEM / "gitattributes",
        _in_home(git, "attributes"),
        common / "info/attributes",
        *map(root.joinpath, inside),
    )
    return any(map(os.path.lexists, files)) or any(name in index for name in inside)


def hooks_in(repository: Repository, settings: Mapping[str, str]) -> set[str]:
    """Return the hooks that git finds, of those that concern a commit."""
    named = settings.get("core.hookspath", "")
    folder = repository.root / Path(named).expanduser() if named else common_folder(repository.git_dir) / "hooks"
    return {name for name in (*HOOKS, *WATCHING) if os.access(folder / name, os.X_OK)}


UNTOUCHED: Final = "Nothing was committed."
NO_FILE: Final = "000000"
_LARGEST_ATTRIBUTES_BYTES: Final = 1024 * 1024
_EMPTY_TREES: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_LINK: Final = "120000"
_KINDS: Final[Mapping[str, tuple[FileKind, int]]] = {
    "100644": ("file", 0o644), "100755": ("file", 0o755), _LINK: ("symlink", 0o777),
}  # fmt: skip


class Entry(NamedTuple):
    """A version of a file in git. An absent file has the mode `NO_FILE`."""

    mode: str
    oid: str


Entries = dict[str, Entry]
Inspect = Callable[[], Awaitable[None]]


class Tip(Struct, frozen=True):
    oid: str
    """Empty before the first commit."""
    branch: str
    """The full name. Empty while detached."""
    settings: Mapping[str, str]
    hooks: tuple[str, ...]
    """The hooks that a commit runs, and the names under which the configuration defines others."""
    is_watched: bool
    """Whether a hook runs when the index or refs change."""

    @property
    def none(self) -> str:
        return _EMPTY_TREES[self.settings.get("extensions.objectformat", "sha1")]

    @property
    def tree(self) -> str:
        return self.oid or self.none

    @property
    def is_signed(self) -> bool:
        return self.is_set("commit.gpgsign")

    def is_set(self, name: str) -> bool:
        return self.settings.get(name, "").lower() in ("true", "yes", "on", "1")


class Objects:
    def __init__(self, git: UsersGit, tip: Tip, folder: Path) -> None:
        """`folder` is for our own files."""
        self.git = git
        self.tip = tip
        self.folder = folder
        self._absent = Entry(NO_FILE, "0" * len(tip.none))
        self.index = Index(git, folder / "index")

    async def near(self, paths: set[str]) -> Entries:
        """Return the committed files at these paths, above them and below them."""
        listing = await self.git.ask("ls-tree", "-r", "-z", "--full-tree", self.tip.tree)
        return await asyncio.to_thread(lambda: entries_near(_tree(listing), paths))

    async def staged(self, environ: Mapping[str, str] | None = None) -> Entries:
        """Return what is staged, besides what is committed. Raises `AgentError` if there are conflicts."""
        options = ("--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
        found = raw_entries(await self.git.ask("diff-index", *options, self.tip.tree, environ=environ))
        clashing = next((path for path, entry in found.items() if entry.mode == "U"), "")
        if clashing:
            title = f"{name_on_a_line(clashing)} has conflicts."
            raise AgentError(title, hint=f"{UNTOUCHED} Resolve them with git first.")
        return found

    async def versions(self, *trees: Entries) -> list[States]:
        """Return the files of each tree as a checkout would write them."""
        return await versions_of(*trees, read=self._contents)

    async def _contents(self, wanted: list[tuple[str, Entry]]) -> list[bytes]:
        return await contents_of(self.git, wanted)

    async def stored(self, name: str, states: States, known: Entries) -> Entries:
        """Store files as `git add` would from the working tree, with filters and attributes.

        `known` has earlier versions, whose line endings and modes git looks at. Our own index has none of the flags
        that make git skip a file.
        """
        if not states:
            return {}
        index, place = Index(self.git, self.folder / name), self.folder / f"{name}-files"
        root, git_dir = self.git.repository.root, self.git.repository.git_dir
        await asyncio.to_thread(_lay_out, place, states, root)
        environ = {**index.environ, "GIT_DIR": str(git_dir), "GIT_WORK_TREE": str(place)}
        if self.tip.settings.get("core.filemode") != "false" and all(map(_is_simple, states, states.values())):
            there = [path for path, state in states.items() if state is not None]
            argv = ("-C", str(place), "hash-object", "-w", "--stdin-paths")
            oids = await self.git.ask(*argv, stdin="".join(f"{path}\n" for path in there), environ=environ)
            return self._entries(states, dict(zip(there, oids.split(), strict=True)))
        await index.put({path: known[path] for path in states if path in known and known[path].mode != NO_FILE})
        argv = ("-C", str(place), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        gone_first = sorted(states, key=lambda path: states[path] is not None)
        await self.git.ask(*argv, stdin="\0".join([*gone_first, ""]), environ=environ)
        listed = _tree(await self.git.ask("ls-files", "-s", "-z", environ=index.environ))
        return self._entries(states, {}) | listed

    def _entries(self, states: States, oids: Mapping[str, str]) -> Entries:
        found = {path: Entry(_mode(state), oids[path]) for path, state in states.items() if state and path in oids}
        return dict.fromkeys(states, self._absent) | found

    async def tree(self, states: States, known: Entries, inspect: Inspect) -> str:
        """Make the commit's tree: the tip's with `states` applied. `inspect` can still change it in `index`."""
        await self.index.copy(self.git.repository.git_dir / "index")
        reading = self.git.ask("read-tree", "-i", "-m", self.tip.tree, environ=self.index.environ)
        async with asyncio.TaskGroup() as group:
            storing, _ = group.create_task(self.stored("made", states, known)), group.create_task(reading)
        await self.index.put(storing.result())
        await inspect()
        return (await self.git.ask("write-tree", environ=self.index.environ)).strip()

    async def difference(self, old: str, new: str) -> Entries:
        return raw_entries(
            await self.git.ask("diff-tree", "-r", "--raw", "-z", "--no-abbrev", "--no-renames", old, new)
        )

    async def next_index(self, seen: bytes | None, staged: Entries, files: Entries) -> bytes:
        """Return the user's index with `files` applied.

        Raises `AgentError` unless the index is still as `seen`, or stages the same as then (`staged`).
        """
        index = Index(self.git, self.folder / "next-index")
        await index.copy(self.git.repository.git_dir / "index")
        is_as_seen = await asyncio.to_thread(index.path.read_bytes) == seen
        if not is_as_seen and await self.staged(index.environ) != staged:
            raise AgentError("What is staged changed meanwhile.", hint=f"{UNTOUCHED} Try again.")
        await index.put(files)
        return await asyncio.to_thread(index.path.read_bytes)

    async def commit(self, tree: str, message: str) -> str:
        """Store a commit on the tip, and sign it if that is configured."""
        argv = (*(("-p", self.tip.oid) if self.tip.oid else ()), *(("-S",) if self.tip.is_signed else ()))
        asking = self.git.ask("-c", "i18n.commitEncoding=UTF-8", "commit-tree", *argv, "-F", "-", tree, stdin=message)
        return (await asking).strip()

    async def move(self, commit: str, reason: str) -> None:
        """Move HEAD from the tip to `commit`, or before the first one. Raises `AgentError` if HEAD is elsewhere."""
        ref = ("HEAD", commit, self.tip.oid or "0" * len(commit)) if commit else ("-d", "HEAD", self.tip.oid)
        await self.git.ask("update-ref", "-m", reason, *ref)


async def versions_of(
    *trees: Entries, read: Callable[[list[tuple[str, Entry]]], Awaitable[list[bytes]]]
) -> list[States]:
    """Return the files of each tree as `read` reads them, such as `contents_of`."""
    wanted = [(path, entry) for tree in trees for path, entry in tree.items() if entry.mode in _KINDS]
    found = dict(zip(wanted, await read(wanted), strict=True)) if wanted else {}
    return [{one[0]: _state(one[1], found.get(one)) for one in tree.items()} for tree in trees]


async def contents_of(git: UsersGit, wanted: list[tuple[str, Entry]]) -> list[bytes]:
    """Return the files as a checkout would write them."""
    mark = secrets.token_hex(16)  # the sizes that git prints do not count what filters add
    names = (path.replace("\n", "?") if entry.mode != _LINK else ".git/link" for path, entry in wanted)
    lines = [f"{entry.oid} {name}\n" for (_, entry), name in zip(wanted, names, strict=True)]
    argv = ("cat-file", f"--batch={mark} %(objectname)", "--filters")
    parts = (await git.ask(*argv, stdin="".join(lines))).split(f"{mark} ")[1:]
    if len(parts) != len(wanted):
        hint = "Nothing was changed. Check it with `git fsck`."
        raise AgentError("git lacks an object of the repository.", hint=hint)
    return [os.fsencode(part.partition("\n")[2][:-1]) for part in parts]


class Index:
    """Our own index, which git uses instead of the user's."""

    def __init__(self, git: UsersGit, path: Path) -> None:
        self._git = git
        self.path = path
        self.environ = {"GIT_INDEX_FILE": str(path)}

    async def copy(self, source: Path) -> None:
        """Copy the user's index. Its modification time tells git which files to look at again."""
        if await asyncio.to_thread(source.exists):
            await asyncio.to_thread(shutil.copy2, source, self.path)
        else:
            await self._git.ask("read-tree", "--empty", environ=self.environ)

    async def put(self, entries: Entries) -> None:
        if entries:
            gone_first = sorted(entries, key=lambda path: entries[path].mode != NO_FILE)
            lines = [f"{entries[path].mode} {entries[path].oid}\t{path}\0" for path in gone_first]
            await self._git.ask("update-index", "-z", "--index-info", stdin="".join(lines), environ=self.environ)


def entries_near(entries: Entries, paths: set[str]) -> Entries:
    """Return the entries at these paths, above them and below them."""
    near = paths | all_folders_above(paths)
    return {path: entry for path, entry in entries.items() if path in near or not paths.isdisjoint(folders_above(path))}


def raw_entries(output: str) -> Entries:
    """Parse `--raw -z`: the new version of each path. The mode of a path with conflicts is `U`."""
    fields = output.split("\0")[:-1]
    heads = [head.split(" ") for head in fields[::2]]
    return {
        path: Entry("U" if status == "U" else mode, oid)
        for path, (_, mode, _, oid, status) in zip(fields[1::2], heads, strict=True)
    }


def _tree(output: str) -> Entries:
    """Parse what `ls-tree` or `ls-files -s` prints."""
    lines = (line.partition("\t") for line in output.split("\0")[:-1])
    return {path: Entry(head[:6], max(head.split(" "), key=len)) for head, _, path in lines}


def _mode(state: FileState) -> str:
    return _LINK if state.kind == "symlink" else "100755" if state.mode & 0o100 else "100644"


def _state(entry: Entry, content: bytes | None) -> FileState | None:
    if entry.mode == NO_FILE:
        return None
    kind, mode = _KINDS.get(entry.mode, ("folder", 0o755))  # a submodule
    return FileState(content=content or b"", mode=mode, kind=kind)


def _is_simple(path: str, state: FileState | None) -> bool:
    """Whether `git add` needs no index: it looks at earlier versions of links and of files with CRLF."""
    is_link = state is not None and state.kind == "symlink"
    return not is_link and "\n" not in path and not (state is not None and b"\r\n" in state.content)


def _lay_out(place: Path, states: States, root: Path) -> None:
    """Write files below a new folder, with the attributes that apply to them."""
    for folder in {"", *all_folders_above(states)}:
        (place / folder).mkdir(parents=True, exist_ok=True)
        if attributes := read_regular(root / folder / ".gitattributes", _LARGEST_ATTRIBUTES_BYTES):
            (place / folder / ".gitattributes").write_bytes(attributes)
    for path, state in states.items():
        if state is None:
            (place / path).unlink(missing_ok=True)
        elif state.kind == "symlink":
            (place / path).symlink_to(os.fsdecode(state.content))
        else:
            (place / path).write_bytes(state.content)
            (place / path).chmod(state.mode)
