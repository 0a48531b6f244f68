"""The definitions of servers' tools as the user allowed them, so that a later change is noticed before it takes effect.

Each server has one file, where no sandboxed command can write. An unreadable record allows nothing.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from desktop_agent.core.base.errors import StorageError, storage_error
from desktop_agent.core.base.ids import Digest
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.diff.diff import find_edits
from desktop_agent.core.diff.hunks import CONTEXT_LINES, group
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.server_status import OfferedTool
from desktop_agent.core.protocol.model import ToolChange
from desktop_agent.core.settings.loading import read_plain
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.private_files import PRIVATE_FILE, FileStamp, is_unchanged, make_private_folder, stamp_of

MOST_SHOWN_CHARS = 60_000
"""How many characters of a definition are shown. A digest stands for the rest, so a change is visible."""

MOST_INTRODUCED_CHARS = 8_000


def introduced(text: str) -> str:
    """Return the lines of a definition that are shown when the user is first asked about the tool."""
    if len(text) <= MOST_INTRODUCED_CHARS:
        return text.removesuffix("\n")
    left = len(text) - MOST_INTRODUCED_CHARS
    return f"{text[:MOST_INTRODUCED_CHARS]}\n… {left:,} more characters that are not shown"


def definition_digest(tool: OfferedTool) -> Digest:
    """Return a digest of the tool's definition that does not depend on the order of its JSON keys."""
    return digest_of(json.dumps(msgspec.to_builtins(tool), sort_keys=True).encode())


def is_same_definition(one: OfferedTool, other: OfferedTool) -> bool:
    return definition_digest(one) == definition_digest(other)


def definition_texts(before: OfferedTool | None, after: OfferedTool) -> tuple[str, str]:
    """Return two definitions as lines for display. If the definitions differ, their texts differ, too."""
    old, new = _text(before, named) if before is not None else "", _text(after, named)
    if before is not None and old == new and not is_same_definition(before, after):
        # One contains the character itself, the other the name that is shown for it.
        return _text(before, json.dumps), _text(after, json.dumps)
    return old, new


def diff_of_texts(before: str, after: str) -> str:
    old, new = before.splitlines(), after.splitlines()
    edits = find_edits(before.encode(), after.encode())
    lines: list[str] = []
    for hunk in group(edits, old_count=len(old), context=CONTEXT_LINES):
        lines += ["…"] if hunk.old_start else []
        at = hunk.old_start
        for edit in hunk.edits:
            lines += [f"  {line}" for line in old[at : edit.old_start]]
            lines += [f"- {line}" for line in old[edit.old_start : edit.old_end]]
            lines += [f"+ {line}" for line in new[edit.new_start : edit.new_end]]
            at = edit.old_end
        lines += [f"  {line}" for line in old[at : hunk.old_end]]
    return "\n".join(lines)


def _text(tool: OfferedTool, shown: Callable[[str], str]) -> str:
    text = "".join(f"{line}\n" for line in _lines(tool, shown))
    if len(text) <= MOST_SHOWN_CHARS:
        return text
    rest = text[MOST_SHOWN_CHARS:]
    digest = digest_of(rest.encode())[:16]
    return f"{text[:MOST_SHOWN_CHARS]}\n… {len(rest):,} more characters that are not shown (digest {digest})\n"


def _lines(tool: OfferedTool, shown: Callable[[str], str]) -> Iterator[str]:
    yield f"Name: {shown(tool.name)}"
    if tool.title:
        yield f"Title: {shown(tool.title)}"
    yield "Description:"
    yield from (f"  {shown(line)}" for line in tool.description.split("\n"))
    if tool.annotations:
        yield "Annotations:"
        yield from _json_lines(tool.annotations, shown)
    if tool.view:
        yield f"Interactive view: {shown(tool.view)}"
    if tool.unusable:
        yield f"Not usable: {tool.unusable}"
    yield "Input schema:"
    yield from _json_lines(tool.input_schema, shown)


def _json_lines(value: object, shown: Callable[[str], str]) -> Iterator[str]:
    pretty = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
    yield from (f"  {shown(line)}" for line in pretty.split("\n"))


_LARGEST_BYTES = 2**25
_LOCK_TIMEOUT_S = 5.0


class TrustedTools(Struct, frozen=True):
    tools: Mapping[str, OfferedTool] = field(default_factory=dict[str, OfferedTool])
    is_broken: bool = False


class _Record(Struct, frozen=True):
    server: str
    fingerprint: str
    tools: tuple[OfferedTool, ...]


class _Known(Struct, frozen=True):
    stamp: FileStamp | None
    content: bytes | None
    found: TrustedTools


class ToolTrust:
    """The records of what one user trusts. Several processes can change them. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, _Known] = {}
        self._lock = threading.Lock()

    def path_for(self, server: ServerDefinition) -> Path:
        return self._folder / f"{digest_of(f'{server.name} {server.fingerprint}'.encode())[:32]}.json"

    def read(self, server: ServerDefinition) -> TrustedTools:
        """Return the record: the same object while its file is unchanged. Blocks; never raises."""
        path = self.path_for(server)
        with self._lock:
            known, stamp = self._known.get(path), stamp_of(path)
            if known is not None and is_unchanged(stamp, known.stamp):
                return known.found
            content = _content(path)
            is_same = known is not None and known.content == content
            found = known.found if known is not None and is_same else _found(content, server)
            self._known[path] = _Known(stamp, content, found)
            return found

    def forget(self, server: ServerDefinition) -> None:
        """Forget what the user allowed of a server. Blocks. Raises `StorageError`."""
        path = self.path_for(server)
        with storage_error("What was allowed of the server could not be forgotten.", path=path):
            path.unlink(missing_ok=True)

    def trust(self, server: ServerDefinition, tools: Iterable[OfferedTool]) -> None:
        """Record these definitions as trusted. An unreadable record is replaced. Blocks. Raises `StorageError`."""
        from filelock import FileLock, Timeout

        path = self.path_for(server)
        try:
            make_private_folder(path.parent)
            with FileLock(path.with_name(f".{path.name}.lock"), timeout=_LOCK_TIMEOUT_S, mode=PRIVATE_FILE):
                known = {**_found(_content(path), server).tools, **{tool.name: tool for tool in tools}}
                record = _Record(server.name, server.fingerprint, tuple(known.values()))
                content = json.dumps(msgspec.to_builtins(record)).encode()
                if len(content) > _LARGEST_BYTES:
                    raise StorageError("What was allowed of the server is too large to be kept.", detail=str(path))
                write_atomically(path, content, mode=PRIVATE_FILE)
        except Timeout as error:
            title = "What was allowed of the server is being changed by another process."
            raise StorageError(title, hint="Try again.") from error
        except OSError as error:
            title = "What was allowed of the server could not be kept."
            raise StorageError(title, detail=f"{path}: {error}") from error


def tool_change(trust: ToolTrust, server: ServerDefinition, tool: OfferedTool) -> ToolChange | None:
    """Return how a tool differs from what the user allowed; `None` if it does not. Blocks."""
    before = trust.read(server).tools.get(tool.name)
    digest = definition_digest(tool)
    if before is not None and definition_digest(before) == digest:
        return None
    old, new = definition_texts(before, tool)
    return ToolChange(
        server=server.name,
        tool=tool.name,
        kind="changed" if before is not None else "unknown",
        before=old,
        after=new,
        diff=diff_of_texts(old, new) if old else new.removesuffix("\n"),
        digest=digest,
    )


def _content(path: Path) -> bytes | None:
    try:
        return read_plain(path, _LARGEST_BYTES)
    except FileNotFoundError:
        return None
    except OSError:
        return b""


def _found(content: bytes | None, server: ServerDefinition) -> TrustedTools:
    if content is None:
        return TrustedTools()
    try:
        record = msgspec.convert(json.loads(content), learned(_Record))
    except (ValueError, RecursionError):  # what msgspec raises is a ValueError
        return TrustedTools(is_broken=True)
    if (record.server, record.fingerprint) != (server.name, server.fingerprint):
        return TrustedTools(is_broken=True)
    return TrustedTools({tool.name: tool for tool in record.tools})
