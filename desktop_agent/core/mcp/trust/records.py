"""The definitions of servers' tools as the user allowed them, so that a later change is seen before it counts.

One file a server, in the user's own folder, where no command in a sandbox can write. It is kept by the server's name
and by what runs or is reached, so a server that takes another's name starts with nothing allowed. It has the
definitions themselves, because what changed is shown. It fails closed: what cannot be read was not allowed.
"""

import json
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.learned import learned
from desktop_agent.core.mcp.definition import ServerDefinition
from desktop_agent.core.mcp.offers import OfferedTool
from desktop_agent.core.mcp.trust.definitions import definition_digest, definition_texts, diff_of_texts
from desktop_agent.core.protocol.model import ToolChange
from desktop_agent.core.settings.loading import read_plain
from desktop_agent.core.system.file_writes import write_atomically
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.private_files import PRIVATE_FILE, FileStamp, is_unchanged, make_private_folder, stamp_of

_LARGEST_BYTES = 2**25
_LOCK_TIMEOUT_S = 5.0


class TrustedTools(Struct, frozen=True):
    """What is on record of one server."""

    tools: Mapping[str, OfferedTool] = field(default_factory=dict[str, OfferedTool])
    """By the server's own names."""
    is_broken: bool = False
    """Whether there is a record that cannot be read."""


class _Record(Struct, frozen=True):
    """What stands in a file."""

    server: str
    fingerprint: str
    tools: tuple[OfferedTool, ...]


class _Known(Struct, frozen=True):
    """The last look at a file."""

    stamp: FileStamp | None
    content: bytes | None
    found: TrustedTools


class ToolTrust:
    """The records of one user. Several processes may change them; for any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, _Known] = {}
        self._lock = threading.Lock()

    def path_for(self, server: ServerDefinition) -> Path:
        """Where the record of a server is kept."""
        return self._folder / f"{digest_of(f'{server.name} {server.fingerprint}'.encode())[:32]}.json"

    def read(self, server: ServerDefinition) -> TrustedTools:
        """Return what is on record, the same object as long as the file did not change. Blocks; never raises."""
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
        """Let nothing be allowed of a server any more. No error when there is no record.

        Blocks. Raises `StorageError` when the record cannot be removed.
        """
        path = self.path_for(server)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            title = "What was allowed of the server could not be forgotten."
            raise StorageError(title, detail=f"{path}: {error}") from error

    def trust(self, server: ServerDefinition, tools: Iterable[OfferedTool]) -> None:
        """Put these definitions on record in place of those of the same names. Blocks.

        A record that cannot be read is begun anew. Raises `StorageError` when it cannot be written.
        """
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
    """Return how a tool differs from what the user allowed; None: it does not. Blocks."""
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
    """Return what stands in a file; nothing (`b""`) where that cannot be read, and None where there is no file."""
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
