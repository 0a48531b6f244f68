"""Mentions of files, folders and symbols: they add what `read_file` would read, or are refused with an explanation.

Files outside the workspace and secrets are refused, unless the user names them on the command line.
"""

import asyncio
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from io import BufferedReader

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError, UsageError
from desktop_agent.core.base.file_names import legible_name, real_name
from desktop_agent.core.base.file_types import (
    HEAD_BYTES,
    PictureError,
    PictureInfo,
    byte_order_mark,
    file_type,
    inspect_picture,
)
from desktop_agent.core.base.regex import regex
from desktop_agent.core.mentions.mention_grammar import Mention, PathMention
from desktop_agent.core.mentions.symbol_search import search_symbols, written_symbol
from desktop_agent.core.policy.boundary import Boundary, ResolvedPath
from desktop_agent.core.policy.call import CallFacts
from desktop_agent.core.policy.engine import Allow, decide
from desktop_agent.core.protocol.model import Attachment
from desktop_agent.core.search.symbols import FoundSymbol, can_be_a_name, extent_of, symbol_in
from desktop_agent.core.tools.execution.runtime import Toolbox
from desktop_agent.core.tools.files.file_tool import LARGEST_EDITED_BYTES, file_digest
from desktop_agent.core.tools.files.listing import FileListing, list_paths, within_limits
from desktop_agent.core.tools.files.ripgrep import SearchGround
from desktop_agent.core.tools.files.suggest import closest_paths, paths_named
from desktop_agent.core.tools.files.text_files import (
    MOST_RETURNED_BYTES,
    FilePart,
    PastEndError,
    TextReader,
    looks_binary,
    recognised_encoding,
)
from desktop_agent.core.tools.gate import Policies
from desktop_agent.core.tools.output import LARGEST_PICTURE_BYTES, LONGEST_SIDE

MOST_LISTED = 1_000

_MOST_LISTED_BYTES = 40_000
_TEXT = "text/plain"
_ASK_INSTEAD = "Ask the agent to read it: then you are asked, and can allow it."


class FileMentions(Struct, eq=False):
    _box: Toolbox
    _policies: Policies

    async def attach(self, mention: PathMention) -> Attachment | None:
        """Return the attachment, or `None` if the mention is only text. Raises `UsageError` and `StorageError`."""
        boundary = self._box.boundary()
        place = await asyncio.to_thread(_find, mention, boundary)
        if place is None:
            return None
        await self._require_allowed(place, _ASK_INSTEAD)
        if await asyncio.to_thread(place.absolute.is_dir):
            return await self._listed(mention, place, boundary)
        return await asyncio.to_thread(self._read, mention, place, boundary)

    async def text(self, mention: PathMention) -> str:
        boundary = self._box.boundary()
        place = await asyncio.to_thread(_find, mention, boundary)
        assert place is not None  # only what is not certain may be text
        await self._require_allowed(place, _ASK_INSTEAD)
        return await asyncio.to_thread(self._whole_text, mention, place, boundary)

    async def include(self, path: str) -> Attachment:
        """Return a file, also outside the workspace, that the user named. Raises `UsageError` and `StorageError`."""
        boundary = self._box.boundary()
        place = await asyncio.to_thread(_named, path, boundary)
        await self._require_allowed(
            place, "Copy the part that the model may read into another file, and include that file."
        )
        is_outside = os.path.isabs(place.relative)  # noqa: PTH117 - as `ResolvedPath` says it
        mention = PathMention(path, path, 0)
        read = await asyncio.to_thread(self._read, mention, place, None if is_outside else boundary)
        return replace(read, digest=None) if is_outside else read

    async def _require_allowed(self, place: ResolvedPath, instead: str) -> None:
        """Raise `UsageError` if `read_file` would be refused or would need approval by a rule."""
        disguised = await asyncio.to_thread(self._box.secrets().behind, [place.relative])
        facts = CallFacts(
            tool="read_file", capabilities=("read_fs",), paths=(place.relative,), disguised=tuple(disguised.items())
        )
        context = await self._policies.context_for(facts)
        verdict = decide(facts, replace(context, policy="on_write"))
        if not isinstance(verdict, Allow):
            raise UsageError(verdict.reason, hint=instead)

    async def _listed(self, mention: PathMention, place: ResolvedPath, boundary: Boundary) -> Attachment:
        if mention.first:
            raise UsageError("It is a folder, which has no lines.", hint="Mention it without line numbers.")
        ground = SearchGround(boundary, self._box.processes, self._box.environ)
        try:
            listing = await list_paths(place.absolute, mention.path, ground)
        except ToolError as error:
            raise UsageError(str(error)) from error
        text = _listing_text(listing)
        return Attachment(
            mention=mention.written,
            uri=place.relative,
            name=legible_name(place.relative),
            kind="folder",
            media_type=_TEXT,
            size=len(text.encode()),
            text=text,
        )

    def _read(self, mention: PathMention, place: ResolvedPath, boundary: Boundary | None) -> Attachment:
        with self._opened(mention, place, boundary) as file:
            before = os.fstat(file.fileno())
            read = self._content(mention, place, file, before.st_size)
            digest = file_digest(file) if read.kind == "file" and before.st_size <= LARGEST_EDITED_BYTES else None
            after = os.fstat(file.fileno())
        is_same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        return replace(read, digest=digest if is_same else None)

    def _content(self, mention: PathMention, place: ResolvedPath, file: BufferedReader, size: int) -> Attachment:
        beginning = file.read(HEAD_BYTES)
        read = Attachment(
            mention=mention.written, uri=place.relative, name=legible_name(place.relative), kind="file", size=size
        )
        if looks_binary(beginning):
            return self._picture(read, file, beginning)
        part = _text_of(mention, file, beginning, size)
        shown = len(part.text.encode()) if mention.first else size
        return replace(read, media_type=_TEXT, lines=mention.lines, size=shown, text=part.text)

    def _picture(self, read: Attachment, file: BufferedReader, beginning: bytes) -> Attachment:
        """Return a binary file as a picture. Raises `UsageError` if no model accepts it."""
        file.seek(0)
        content = file.read(LARGEST_PICTURE_BYTES + 1)
        try:
            picture = inspect_picture(content)
        except PictureError as error:
            if not beginning.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")):
                raise UsageError(f"It is not text: {file_type(beginning).name}, {read.size:,} bytes.") from error
            if read.size <= LARGEST_PICTURE_BYTES:
                raise UsageError(f"It cannot be shown to a model: {error}.") from error
            raise _too_large(read.size, None) from error
        if len(content) > LARGEST_PICTURE_BYTES or max(picture.width, picture.height) > LONGEST_SIDE:
            raise _too_large(read.size, picture)
        text = f"[{picture.format}, {picture.width}×{picture.height} pixels, {len(content):,} bytes.]"
        image = self._box.blobs.put_ref(content, picture.media_type)
        return replace(read, kind="picture", media_type=picture.media_type, text=text, images=(image,))

    @contextmanager
    def _opened(
        self, mention: PathMention, place: ResolvedPath, boundary: Boundary | None
    ) -> Generator[BufferedReader]:
        """Open a file, which must be within the boundary, if there is one. Blocks. Raises `UsageError`."""
        try:
            if not stat.S_ISREG(place.absolute.stat().st_mode):
                raise UsageError("It is a device, pipe or socket, which cannot be read as a file.")
            with place.absolute.open("rb") as file:
                if boundary is not None:
                    boundary.require_opened(file.fileno(), mention.path)
                with self._box.texts.opened(place.absolute, file) as shown:
                    yield shown
        except ToolError as error:
            raise UsageError(str(error)) from error
        except OSError as error:
            raise UsageError(f"It could not be read: {error.strerror or error}.") from error

    def _whole_text(self, mention: PathMention, place: ResolvedPath, boundary: Boundary) -> str:
        if place.absolute.is_dir():
            raise UsageError("It is a folder, which defines nothing.")
        with self._opened(mention, place, boundary) as file:
            content = file.read(LARGEST_EDITED_BYTES + 1)
        if len(content) > LARGEST_EDITED_BYTES or looks_binary(content):
            raise UsageError("It is not a code file: it is not text, or too large.")
        mark, encoding = byte_order_mark(content)
        return content[len(mark) :].decode((not mark and recognised_encoding(content)) or encoding, "replace")


def _find(mention: PathMention, boundary: Boundary) -> ResolvedPath | None:
    """Return the path that a mention means; `None` if it is only text. Blocks."""
    path = os.path.expanduser(mention.path) if mention.path.startswith("~/") else mention.path  # noqa: PTH111  # text
    try:
        place = boundary.follow(boundary.for_reading(path))
    except ToolError as error:
        if not mention.is_certain and not os.path.lexists(boundary.root / path if "\0" not in path else ""):
            return None
        if error.error_type != "permission":
            raise UsageError(str(error)) from error
        raise UsageError(
            "It is outside the folder of this session.", hint="Copy it into the folder, or open its own folder."
        ) from error
    if place.absolute.exists():
        return place
    if not mention.is_certain:
        return None
    similar = paths_named(place.absolute.name, boundary.root) or closest_paths(place.absolute, boundary.root)
    hint = f"Did you mean {' or '.join(f'`{each}`' for each in similar)}?" if similar else ""
    raise UsageError("There is no such file in the folder of this session.", hint=hint)


def _named(path: str, boundary: Boundary) -> ResolvedPath:
    """Resolve a path that the user named, which may be outside the workspace. Blocks. Raises `UsageError`."""
    path = real_name(path, is_there=lambda name: os.path.lexists(boundary.root / name))
    try:
        place = boundary.follow(boundary.for_reading(path))
    except ToolError as error:
        if error.error_type != "permission":
            raise UsageError(str(error)) from error
        outside = (boundary.root / path).resolve()
        place = ResolvedPath(outside, str(outside))
    if place.absolute.is_dir():
        raise UsageError("It is a folder.", hint="Include its files by name.")
    if not place.absolute.exists():
        raise UsageError("There is no such file.")
    return place


def _text_of(mention: PathMention, file: BufferedReader, beginning: bytes, size: int) -> FilePart:
    mark, encoding = byte_order_mark(beginning)
    if not mark and size <= LARGEST_EDITED_BYTES:
        file.seek(0)
        encoding = recognised_encoding(file.read()) or encoding
    reader = TextReader(
        file=file,
        size_bytes=size,
        start=len(mark),
        encoding=encoding,
        errors="replace",
        is_stopped=lambda: False,
        most_bytes=MOST_RETURNED_BYTES,
        most_lines=MOST_RETURNED_BYTES,
    )
    if size == 0 and not mention.first:
        return FilePart("", 0)
    try:
        return (
            reader.line_range(mention.first, mention.last - mention.first + 1) if mention.first else reader.everything()
        )
    except PastEndError as error:
        raise UsageError(f"It has no line {mention.first}: it ends with line {error.lines}.") from error


def _listing_text(listing: FileListing) -> str:
    shown = within_limits(listing.paths, MOST_LISTED, _MOST_LISTED_BYTES)
    more = len(listing.paths) - len(shown)
    if not listing.paths:
        return "[No files, or only ignored ones.]"
    plus = "+" if listing.is_partial else ""
    end = [f"[{more:,}{plus} more files. list_files shows any part of them.]"] if more else []
    return "\n".join([*map(legible_name, shown), *end])


def _too_large(size: int, picture: PictureInfo | None) -> UsageError:
    sides = f" of {picture.width}×{picture.height} pixels" if picture is not None else ""
    return UsageError(
        f"It is a picture{sides} with {size:,} bytes, which is more than a model accepts.",
        hint=f"Make a smaller copy: at most {LARGEST_PICTURE_BYTES:,} bytes, and {LONGEST_SIDE:,} pixels a side.",
    )


_TARGET = regex(r"(?:(?P<path>.+?):(?:(?P<line>[0-9]{1,7}):)?)?(?P<name>[^\s:/]+)")
_MOST_NAMED = 3


class SymbolTarget(Struct, frozen=True):
    name: str
    path: str = ""
    """The file that defines the symbol; empty for the whole workspace."""
    line: int = 0
    """The line near which the definition is; 0 for any."""

    @classmethod
    def read(cls, target: str) -> "SymbolTarget | None":
        match = _TARGET.fullmatch(target)
        if match is None or not can_be_a_name(match["name"]):
            return None
        return cls(match["name"], match["path"] or "", int(match["line"] or 0))


class SymbolMentions(Struct, eq=False):
    _files: FileMentions
    _box: Toolbox

    async def attach(self, mention: Mention) -> Attachment:
        """Return the present definition. Raises `UsageError` and `StorageError`."""
        target = SymbolTarget.read(mention.target)
        if target is None:
            raise UsageError("It names no function, class or constant.")
        if not target.path:
            only = await self._only(target.name)
            target = SymbolTarget(only.name, only.path, only.line)
        text = await self._files.text(PathMention(target.path, mention.written, mention.start))
        extent = await asyncio.to_thread(_extent, target, text)
        if extent is None:
            named = await self._named(target.name)
            hint = f"It is defined elsewhere: {_ways(named)}." if named else ""
            raise UsageError(f"{target.path} defines nothing with that name.", hint=hint)
        first, last = extent
        attached = await self._files.attach(PathMention(target.path, mention.written, mention.start, first, last))
        assert attached is not None  # only what is not certain may be text
        return attached

    async def _only(self, name: str) -> FoundSymbol:
        named = await self._named(name)
        if not named:
            raise UsageError("The folder has no function, class or constant of that name.")
        if len(named) > 1:
            raise UsageError(f"{len(named)} definitions have that name.", hint=f"Mention one: {_ways(named)}.")
        return named[0]

    async def _named(self, name: str) -> list[FoundSymbol]:
        found: list[FoundSymbol] = []

        async def keep(symbols: Sequence[FoundSymbol]) -> None:
            found.extend(symbol for symbol in symbols if symbol.name == name)

        ground = SearchGround(self._box.boundary(), self._box.processes, self._box.environ)
        try:
            await search_symbols(name, ground, keep)
        except ToolError as error:
            raise UsageError(str(error)) from error
        return sorted(found, key=lambda symbol: (symbol.path, symbol.line))


def _extent(target: SymbolTarget, text: str) -> tuple[int, int] | None:
    """Return the first and last line (from 1) of the definition nearest to the target line. Use a thread."""
    lines = text.replace("\r\n", "\n").split("\n")
    places = [
        at
        for at, line in enumerate(lines)
        if target.name in line
        and (found := symbol_in(real_name(target.path), line)) is not None
        and found.name == target.name
    ]
    if not places:
        return None
    first, last = extent_of(lines, min(places, key=lambda at: abs(at + 1 - target.line) if target.line else 0))
    return first + 1, last + 1


def _ways(symbols: Sequence[FoundSymbol]) -> str:
    places = [(symbol.path, symbol.name) for symbol in symbols]
    ways = [
        written_symbol(each.name, each.path, each.line if places.count((each.path, each.name)) > 1 else 0)
        for each in symbols[:_MOST_NAMED]
    ]
    return " or ".join(f"`{way}`" for way in ways)
