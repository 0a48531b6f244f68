"""The displayable content of a file: its text, a picture, or an obstacle. Read in a thread."""

import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication

from desktop_agent.core.base.file_types import HEAD_BYTES, file_type
from desktop_agent.core.diff.edited_text import EditedText
from desktop_agent.core.diff.text import Endings, Text, as_utf8, endings_of, line_count, read_texts
from desktop_agent.core.system.files import digest_of
from desktop_agent.ui.translation import core_words
from desktop_agent.ui.widgets.picture_decoding import DecodedPicture, decode, is_drawn, problem_words, size_words
from desktop_agent.ui.wording.visible_text import encoding_name

_tr = partial(QCoreApplication.translate, "Viewer")

MAX_SHOWN_BYTES = 10_000_000
MAX_EDITED_BYTES = 2_000_000
"""The largest file that can be edited: the text of a larger one cannot be taken from the field within a frame."""
MAX_LINE_BYTES = 20_000
"""The longest line of a shown file: laying out a longer one, as in generated files, would freeze the window."""

Obstacle = Literal["", "gone", "outside", "no file", "unreadable", "too large", "binary", "long lines"]


class FileContent(Struct, frozen=True):
    path: str
    """The real path, relative to the workspace. It differs from the requested one if that goes through a symlink."""
    obstacle: Obstacle = ""
    detail: str = ""
    digest: str | None = None
    size_bytes: int = 0
    type_name: str = ""
    text: EditedText | str | None = None
    """The text, if it can be shown. One of type `str` is too long to edit and can only be read."""
    picture: DecodedPicture | None = None
    encoding: str = ""
    endings: Endings = ""
    line_count: int = 0


def read_content(root: Path, path: str) -> FileContent:
    """Read a file to show. Blocks, but releases the GIL often."""
    base = root.resolve()
    file = (base / path).resolve()
    if not file.is_relative_to(base) or path.startswith(("//", "\\\\")):
        return FileContent(path, "outside")
    real = file.relative_to(base).as_posix()
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            return FileContent(real, "no file")
        if status.st_size > MAX_SHOWN_BYTES:
            with file.open("rb") as opened:
                kind = file_type(opened.read(HEAD_BYTES))
            if kind.picture is None:
                return FileContent(real, "too large", size_bytes=status.st_size, type_name=kind.name)
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return FileContent(real, "gone")
    except OSError as error:
        return FileContent(real, "unreadable", error.strerror or str(error))
    return content_of(real, content)


def content_of(path: str, content: bytes) -> FileContent:
    kind = file_type(content[:HEAD_BYTES])
    known = FileContent(path, digest=digest_of(content), size_bytes=len(content), type_name=kind.name)
    if is_drawn(path, kind):
        picture = decode(content)
        if picture.is_shown or kind.picture != "svg":
            return replace(known, picture=picture)
    plain = as_utf8(content)
    if plain is None:
        return replace(known, obstacle="binary")
    if _has_long_line(plain):
        return replace(known, obstacle="long lines")
    (text,) = read_texts(content)
    assert text is not None
    return replace(
        known,
        text=EditedText(text) if len(content) <= MAX_EDITED_BYTES else _shown(text),
        encoding=_encoding_words(text),
        endings=endings_of(plain),
        line_count=line_count(plain),
    )


def _has_long_line(content: bytes) -> bool:
    at, end = 0, len(content)
    while end - at > MAX_LINE_BYTES:
        found = content.rfind(b"\n", at, at + MAX_LINE_BYTES)
        if found < 0:
            return True
        at = found + 1
    return False


def _shown(text: Text) -> str:
    """Return the text with line feeds as line endings, made in pieces so that the GIL is released between them."""
    pieces = (text.content[start:end] for start, end in pieces_of_lines(text.content, 200_000))
    return "".join(piece.replace("\r\n", "\n").replace("\0", "\N{SYMBOL FOR NULL}") for piece in pieces)


def pieces_of_lines(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces of about this size. Each piece ends with a line, so no line is split."""
    at = 0
    while at < len(text):
        end = text.rfind("\n", at, at + size) + 1 or text.find("\n", at) + 1 or len(text)
        yield at, end
        at = end


def _encoding_words(text: Text) -> str:
    name = encoding_name(text.encoding)
    if not text.is_valid:
        return f"{name}?"
    return f"{name} BOM" if text.has_bom and text.encoding == "utf-8" else name


def obstacle_words(content: FileContent) -> str:
    if content.picture is not None:
        return problem_words(content.picture.problem)
    words: dict[Obstacle, str] = {
        "": "",
        "gone": _tr("This file is no longer there. It was moved or deleted."),
        "outside": _tr("This file is outside the open folder, so it is not shown."),
        "no file": _tr("This is not a regular file: it is a folder, a device or a pipe."),
        "unreadable": _tr("This file cannot be read: {detail}."),
        "too large": _tr(
            "Too large to be shown here: {size}, where {most} is the limit. Open it with its application."
        ),
        "binary": _tr("This file is not text: {kind}, {size}. Open it with its application."),
        "long lines": _tr("Its lines are too long to be shown here: {size}. Open it with its application."),
    }
    size, most = size_words(content.size_bytes), size_words(MAX_SHOWN_BYTES)
    return words[content.obstacle].format(
        detail=content.detail, size=size, most=most, kind=core_words(content.type_name)
    )
