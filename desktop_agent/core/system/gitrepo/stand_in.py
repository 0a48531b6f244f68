"""A stand-in for the folder where git reads a repository's configuration: its data, and none of its programs.

Git takes configuration, attributes and hooks from the repository's common folder, and about forty settings name a
program: filters, monitors, hooks, converters, helpers, transports. Switching each of them off by name holds until git
learns the next one, or until a running command writes one between the look and the start. Instead, git gets another
common folder (`GIT_COMMON_DIR`) in which objects, refs and logs are links to the real ones. Its configuration holds
only the settings of `_KEPT`, copied once, and its attributes give no file a filter. Hooks, included files and the
configuration of worktrees do not exist there.
"""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Final

from desktop_agent.core.system.gitrepo.finding import read_regular

LISTING: Final = ("config", "--no-includes", "--null", "--list", "--file")
"""The arguments by which git reads one file of configuration, before its path. It runs nothing for that."""

_KEPT: Final = re.compile(
    r"core\.(repositoryformatversion|filemode|ignorecase|precomposeunicode|symlinks|autocrlf|eol|quotepath|excludesfile"
    r"|checkstat|trustctime|bigfilethreshold|logallrefupdates|protecthfs|protectntfs|sparsecheckout|sparsecheckoutcone"
    r"|sharedrepository|abbrev|checkroundtripencoding)"
    r"|extensions\.(objectformat|refstorage|compatobjectformat|noop)"
    r"|status\.(renames|renamelimit)|diff\.(renames|renamelimit|algorithm)|index\.sparse|user\.(name|email)"
    r"|branch\..+\.(remote|merge)|remote\..+\.fetch",
    re.DOTALL,
)
"""Settings that change what git answers, and name no program."""
_NO_FILTERS: Final = b"\n* -filter\n"
"""The attributes of this folder go before all others, so that no file has a filter, whatever they say."""
_LARGEST_ATTRIBUTES_BYTES: Final = 1024 * 1024
_LINKED: Final = (
    "objects", "refs", "packed-refs", "reftable", "logs", "worktrees", "shallow", "info/exclude",
    "info/sparse-checkout",
)  # fmt: skip


def make_stand_in(folder: Path, common: Path, listing: bytes) -> None:
    """Fill the empty `folder` for a repository's common folder, with what `LISTING` printed of its `config`. Blocks."""
    (folder / "config").write_bytes(harmless_config(listing))
    info = folder / "info"
    info.mkdir()
    attributes = read_regular(common / "info" / "attributes", _LARGEST_ATTRIBUTES_BYTES)
    (info / "attributes").write_bytes(attributes + _NO_FILTERS)
    for name in _LINKED:
        _link(common / name, folder / name)


def harmless_config(listing: bytes) -> bytes:
    """Return a file of configuration with those of the settings in `listing` that name no program. Pure."""
    lines = [b"[core]", b"\tbare = false"]
    for record in listing.split(b"\0"):
        name, separator, value = record.partition(b"\n")
        text = os.fsdecode(name)
        if not _KEPT.fullmatch(text):
            continue
        section, _, rest = text.partition(".")
        subsection, _, key = rest.rpartition(".")
        head = f'[{section} "{_escaped(subsection)}"]' if subsection else f"[{section}]"
        lines += [
            os.fsencode(head),
            os.fsencode(f'\t{key} = "{_escaped(os.fsdecode(value))}"' if separator else f"\t{key}"),
        ]
    return b"\n".join([*lines, b""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _link(target: Path, link: Path) -> None:
    """Let `link` lead to `target`, if that is there. Where links need rights (Windows): a junction, or a copy."""
    if not os.path.lexists(target):
        return
    try:
        link.symlink_to(target)
    except OSError:
        if sys.platform != "win32":
            raise
        if target.is_dir():
            import _winapi

            _winapi.CreateJunction(str(target), str(link))
        else:
            shutil.copyfile(target, link)
