"""What a server in the sandbox may do: as it was written down, in words, and the hosts it may reach. Pure data."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.settings.table_file import flag_in, texts_in

KEYS = ("sandbox", "folders", "read_folders", "hosts")
"""How a definition says it."""

NOT_CONFINED = "Not confined: it can do all that you can do."

_HOST = re.compile(
    r"(?P<name>\*|(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
    r"|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
)
_MOST_SHOWN = 6


class ServerSandbox(Struct, frozen=True, kw_only=True):
    """What a server in the sandbox may do besides reading what a confined command reads.

    Folders are absolute, begin with `~/`, or are relative to the folder that is open.
    """

    folders: tuple[str, ...] = ()
    """Where it may write."""
    read_folders: tuple[str, ...] = ()
    """What it may read in a home folder, which is else empty for it."""
    hosts: tuple[str, ...] = ()
    """The hosts it may reach: `name`, `*.name`, `[address]`, `*`; each with a `:port`, or with 80 and 443."""

    @property
    def words(self) -> str:
        """What it may do, in one sentence for the user, with names for what cannot be seen; long lists are cut."""
        return f"Confined: {self._may(_MOST_SHOWN)}."

    @property
    def in_full(self) -> str:
        """The same, with all of it."""
        return f"confined: {self._may(None)}"

    def _may(self, most: int | None) -> str:
        writes = f"it writes {_listed(self.folders, most) or 'nothing of yours'}"
        reads = f", also reads {_listed(self.read_folders, most)}" if self.read_folders else ""
        return f"{writes}{reads} and reaches {_listed(self.hosts, most) or 'no network'}"


def sandbox_in(values: Mapping[str, object]) -> ServerSandbox | None:
    """Return what a definition's table says of the sandbox. Raises `ValueError` that says what is wrong with it."""
    if not flag_in(values, "sandbox"):
        if wrong := next((key for key in KEYS[1:] if key in values), None):
            raise ValueError(f"{wrong!r} is for a server in the sandbox: add sandbox = true")
        return None
    return ServerSandbox(
        folders=_folders(values, "folders"),
        read_folders=_folders(values, "read_folders"),
        hosts=tuple(dict.fromkeys(map(_host, texts_in(values, "hosts")))),
    )


def sandbox_table(sandbox: ServerSandbox | None) -> dict[str, object]:
    """Return what a definition's table says of the sandbox, without what is as usual."""
    if sandbox is None:
        return {}
    lists = (("folders", sandbox.folders), ("read_folders", sandbox.read_folders), ("hosts", sandbox.hosts))
    return {"sandbox": True, **{key: list(texts) for key, texts in lists if texts}}


def folder_meant(text: str, workspace: Path) -> Path:
    """Return the folder that a definition names, for the folder that is open. Raises `ValueError` without a home."""
    try:
        return workspace / Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError(f"there is no home folder for {text!r}") from error


def _folders(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    texts = texts_in(values, key)
    if any(not text.strip() or "\0" in text for text in texts):
        raise ValueError(f"{key} has a folder without a name")
    return tuple(dict.fromkeys(texts))


def _host(text: str) -> str:
    """Return a host as it is compared. Raises `ValueError` for what is none."""
    host = text.strip().rstrip(".").lower()
    match = _HOST.fullmatch(host)
    if match is None or not 0 < int(match["port"] or 443) < 65536:
        raise ValueError(
            f"hosts has {text!r}, which is no host: write example.org, *.example.org, example.org:8080 or *"
        )
    return host


def _listed(texts: Iterable[str], most: int | None) -> str:
    shown = [_WORDS.get(text) or named(text) for text in texts]
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    *first, last = shown or [""]
    return f"{', '.join(first)} and {last}" if first else last


_WORDS = {".": "the open folder", "*": "every public host"}
