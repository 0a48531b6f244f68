"""Reading a repository's configuration without starting git, as long as it is written as git itself writes it.

Starting git for this would double what a question about the status takes. A file that uses more of git's syntax
(quotes, escapes, comments behind values, lines that go on) is not read here: git reads that one. What comes out is
filtered by name afterwards, so a mistake here cannot name a program.
"""

import re
from pathlib import Path
from typing import Final

from desktop_agent.core.system.gitrepo.finding import read_regular

_LARGEST_BYTES: Final = 256 * 1024
_HEAD: Final = re.compile(rb'\[([A-Za-z0-9-]+)(?:[ \t]+"([^"\\\0\r]+)")?\]')
_KEY: Final = re.compile(rb"[A-Za-z][A-Za-z0-9-]*")
_VALUE: Final = re.compile(rb'[^\x00-\x1f\x7f"\\#;]*')


def plain_settings(content: bytes) -> bytes | None:
    """Return what `git config --null --list` prints of a file; None where git has to be asked. Pure."""
    listed: list[bytes] = []
    section = b""
    for line in (raw.strip(b" \t") for raw in content.split(b"\n")):
        if not line or line.startswith((b"#", b";")):
            continue
        if head := _HEAD.fullmatch(line):
            section = head[1].lower() + (b"." + head[2] if head[2] else b"")
            continue
        name, separator, value = line.partition(b"=")
        key, text = name.rstrip(b" \t"), value.lstrip(b" \t")
        if not (section and _KEY.fullmatch(key) and _VALUE.fullmatch(text)):
            return None
        listed.append(section + b"." + key.lower() + (b"\n" + text if separator else b"") + b"\0")
    return b"".join(listed)


def read_plain_settings(path: Path) -> bytes | None:
    """Return what `plain_settings` says of a file; None, too, where it is missing, long, or no file. Blocks."""
    content = read_regular(path, _LARGEST_BYTES)
    return plain_settings(content) if 0 < len(content) < _LARGEST_BYTES else None
