"""`read_file`: every parameter, every error, and its notes for the edit tools."""

import asyncio
import codecs
import errno
import os
import threading
import tracemalloc
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.read_file import ReadFile
from desktop_agent.core.tools.files.text_files import MOST_RETURNED_BYTES, FilePart, TextReader
from desktop_agent.core.tools.output import ContextLimits
from tests.core.tools.conftest import Workspace

TOOL = ReadFile()


def lift_limits(work: Workspace) -> None:
    limits = ContextLimits(max_tool_tokens=1_000_000, max_stdout_bytes=10_000_000, max_lines=1_000_000)
    work.context = replace(work.context, limits=limits)


async def read(work: Workspace, **arguments: object) -> str:
    return (await work.call(TOOL, **arguments)).content


async def test_a_file_comes_as_plain_text_with_its_size(work: Workspace) -> None:  # T-13
    work.write("src/a.txt", "one\nsecond\nthird\n")
    result = await work.call(TOOL, path="src/a.txt")
    assert result.content == "one\nsecond\nthird\n"
    assert not result.is_error
    digest = digest_of(b"one\nsecond\nthird\n")
    assert result.metadata == {"path": "src/a.txt", "bytes": 17, "lines": 3, "truncated": False, "digest": digest}


THREE = b"one\nsecond\nthird\n"
OPEN = b"one\ntwo"
MARKED = codecs.BOM_UTF8 + b"one\r\ntwo\r\n"
WIDE, WIDEST = "größe\nzwei\n".encode("utf-16"), "größe\nzwei\n".encode("utf-32")
PARTS: list[tuple[bytes, dict[str, object], str]] = [
    # T-10, T-11, T-12: bytes go before the last lines, and those before a range
    (THREE, {"byte_offset": 4, "byte_limit": 2}, "se"),
    (THREE, {"byte_limit": 3}, "one"),
    (THREE, {"byte_offset": 11}, "third\n"),
    (THREE, {"offset": 2, "limit": 1}, "second"),
    (THREE, {"limit": 2}, "one\nsecond"),
    (THREE, {"offset": 2}, "second\nthird"),
    (THREE, {"offset": 3, "limit": 99}, "third"),
    (THREE, {"tail_lines": 2}, "second\nthird"),
    (THREE, {"tail_lines": 99}, "one\nsecond\nthird"),
    (THREE, {"byte_offset": 4, "byte_limit": 2, "tail_lines": 1, "offset": 1}, "se"),
    (THREE, {"tail_lines": 1, "offset": 1, "limit": 1}, "third"),
    # a line without a final newline counts
    (OPEN, {}, "one\ntwo"),
    (OPEN, {"tail_lines": 1}, "two"),
    (OPEN, {"offset": 2, "limit": 1}, "two"),
    # line endings and byte-order marks are not shown; a mark decides the encoding
    (MARKED, {}, "one\ntwo\n"),
    (MARKED, {"tail_lines": 1}, "two"),
    (MARKED, {"offset": 1, "limit": 1}, "one"),
    *((content, {}, "größe\nzwei\n") for content in (WIDE, WIDEST)),
    *((content, {"tail_lines": 1}, "zwei") for content in (WIDE, WIDEST)),
    *((content, {"offset": 2}, "zwei") for content in (WIDE, WIDEST)),
    ("größe\n".encode("latin-1"), {"encoding": "latin-1"}, "größe\n"),
    ("größe\n".encode("utf-16-le"), {"encoding": "utf-16-le"}, "größe\n"),
]


@pytest.mark.parametrize(("content", "arguments", "expected"), PARTS)
async def test_a_file_or_a_part_of_it_is_read(
    work: Workspace, content: bytes, arguments: dict[str, object], expected: str
) -> None:
    work.write("a.txt", content)
    assert await read(work, path="a.txt", **arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "error_type", "message"),
    [
        # T-14, E-08, Z-68
        ({"path": "src/setings.py"}, "not_found", r"src/setings\.py does not exist.*src/settings\.py"),
        ({"path": "elsewhere/settings.py"}, "not_found", r"Did you mean src/settings\.py"),
        ({"path": "nowhere/0.txt"}, "not_found", "Use list_files"),
        ({"path": "pipe"}, "recoverable", "pipe"),
        ({"path": "link"}, "permission", "outside the workspace"),  # Z-90
        ({"path": "a.txt", "offset": 4}, "recoverable", "past the end: the file has 3 lines"),
        ({"path": "a.txt", "offset": 99}, "recoverable", "past the end: the file has 3 lines"),
        ({"path": "open.txt", "offset": 4, "limit": 2}, "recoverable", "past the end: the file has 3 lines"),
        ({"path": "open.txt", "offset": 99, "limit": 2}, "recoverable", "past the end: the file has 3 lines"),
        ({"path": "open.txt", "byte_offset": 5}, "recoverable", "past the end: the file has 5 bytes"),
    ],
)
async def test_what_cannot_be_read_is_named_and_never_waited_for(
    work: Workspace, arguments: dict[str, object], error_type: str, message: str
) -> None:
    for path, content in (("src/settings.py", ""), ("a.txt", "1\n2\n3\n"), ("open.txt", "1\n2\n3")):
        work.write(path, content)
    os.mkfifo(work.root / "pipe")
    (work.root.parent / "outside.txt").write_text("secret")
    (work.root / "link").symlink_to(work.root.parent / "outside.txt")
    with pytest.raises(ToolError, match=message) as caught:
        await read(work, **arguments)
    assert caught.value.error_type == error_type


async def test_a_file_that_may_not_be_read_is_a_permission_error(
    work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.write("a.txt")

    def refuse(reader: Path, *_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ToolError, match="could not be read: Permission denied") as caught:
        await read(work, path="a.txt")
    assert caught.value.error_type == "permission"


async def test_an_empty_file_says_so(work: Workspace) -> None:
    work.write("a.txt")
    result = await work.call(TOOL, path="a.txt")
    assert result.content == "[a.txt is empty.]"
    assert result.metadata["lines"] == 0


# --- encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG image"), (b"\x7fELF\2\1\1\0", "ELF"), (b"who knows\0", "binary data")],
)
async def test_a_binary_file_is_answered_with_kind_and_size(work: Workspace, content: bytes, kind: str) -> None:
    work.write("data.bin", content)
    result = await work.call(TOOL, path="data.bin")
    assert kind in result.content
    assert f"{len(content)} bytes" in result.content
    assert not result.is_error


# --- large files ------------------------------------------------------------------------------------------------------


async def test_a_long_file_is_cut_and_says_how_to_read_on(work: Workspace) -> None:
    """SC-12: a large file is no error."""
    lift_limits(work)
    work.write("long.txt", "".join(f"line {number}\n" for number in range(1, 50_001)))
    result = await work.call(TOOL, path="long.txt")
    shown, note = result.content.rsplit("\n", 1)
    last = int(shown.rsplit(" ", 1)[1])
    assert f"lines 1-{last} of" in note
    assert f"offset={last + 1}" in note
    assert MOST_RETURNED_BYTES - 20 < len(shown) <= MOST_RETURNED_BYTES
    assert len(result.content.encode()) <= 102_400
    assert result.metadata["truncated"] is True
    assert result.metadata["lines"] == last
    further = await read(work, path="long.txt", offset=last + 1, limit=2)
    assert further == f"line {last + 1}\nline {last + 2}"


@pytest.mark.parametrize(
    ("limits", "most_lines", "most_bytes"),
    [(ContextLimits(max_lines=50), 50, 10_000), (ContextLimits(max_tool_tokens=500), 10_000, 2_000)],
    ids=["lines", "tokens"],
)
async def test_the_limits_of_the_settings_cut_so_that_reading_goes_on(
    work: Workspace, limits: ContextLimits, most_lines: int, most_bytes: int
) -> None:  # O-08
    work.context = replace(work.context, limits=limits)
    lines = [f"line {number}" for number in range(1, 1_001)]
    work.write("long.txt", "\n".join(lines))
    seen: list[str] = []
    while len(seen) < len(lines):
        part = await work.call(TOOL, path="long.txt", offset=len(seen) + 1)
        assert len(part.content.encode()) <= most_bytes
        assert part.content.count("\n") + 1 <= most_lines
        shown = part.content.rsplit("\n[Cut:", 1)[0].split("\n")
        seen += shown
    assert seen == lines
    tail = await work.call(TOOL, path="long.txt", tail_lines=900)
    assert tail.content.endswith("line 1000")
    assert tail.content.count("\n") + 1 <= most_lines
    assert len(tail.content.encode()) <= most_bytes


async def test_reading_in_parts_gives_the_whole_file(work: Workspace) -> None:
    lines = [f"{number} " + "ü" * (number % 200) for number in range(1, 5_001)]
    work.write("long.txt", "\r\n".join(lines))
    seen: list[str] = []
    while len(seen) < len(lines):
        part = await work.call(TOOL, path="long.txt", offset=len(seen) + 1)
        count = part.metadata["lines"]
        assert isinstance(count, int)
        seen += part.content.split("\n")[:count]
    assert seen == lines


@pytest.mark.parametrize("arguments", [{}, {"offset": 1, "limit": 1}, {"tail_lines": 1}])
async def test_an_endless_line_is_cut(work: Workspace, arguments: dict[str, int]) -> None:
    work.write("min.js", "ä" * 300_000)
    result = await work.call(TOOL, path="min.js", **arguments)
    assert "[Cut:" in result.content
    assert len(result.content.encode()) <= 102_400
    assert "\ufffd" not in result.content


async def test_a_long_byte_range_is_cut_and_says_where_to_read_on(work: Workspace) -> None:
    lift_limits(work)
    work.write("a.txt", b"\xff" * 200_000)
    result = await work.call(TOOL, path="a.txt", byte_offset=10, byte_limit=150_000)
    assert "Read on with byte_offset=33343" in result.content
    assert len(result.content.encode()) <= 102_400


async def test_too_many_last_lines_keep_the_last(work: Workspace) -> None:
    work.write("long.txt", "".join(f"line {number}\n" for number in range(1, 50_001)))
    result = await work.call(TOOL, path="long.txt", tail_lines=40_000)
    assert result.content.startswith("[Cut: the last lines")
    assert result.content.endswith("\nline 50000")
    assert all(line.startswith("line ") for line in result.content.split("\n")[1:])


async def test_a_file_of_gigabytes_costs_only_what_is_read(work: Workspace) -> None:
    """The file is sparse: reading it whole would take five gigabytes of memory."""
    huge = work.write("huge.log", "first\nsecond\n" * 1000)
    with huge.open("r+b") as file:
        file.seek(5 * 1024**3)
        file.write(b"\nlast but one\nlast\n")
    tracemalloc.start()
    try:
        assert await read(work, path="huge.log", tail_lines=2) == "last but one\nlast"
        assert await read(work, path="huge.log", byte_offset=5 * 1024**3 + 1, byte_limit=4) == "last"
        assert await read(work, path="huge.log", offset=2, limit=1) == "second"
        assert "[Cut:" in await read(work, path="huge.log")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 32 * 1024**2
    work.context.reads.require_fresh("huge.log", "anything")  # nothing was noted, so nothing is refused


async def test_cancelling_stops_the_thread_that_reads(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = work.write("huge.log", "x")
    with huge.open("r+b") as file:
        file.truncate(200 * 1024**3)
    begun, ended = threading.Event(), threading.Event()
    line_range = TextReader.line_range

    def observed(reader: TextReader, first: int, count: int | None) -> FilePart:
        begun.set()
        try:
            return line_range(reader, first, count)
        finally:
            ended.set()

    monkeypatch.setattr(TextReader, "line_range", observed)
    task = asyncio.create_task(read(work, path="huge.log", offset=10**9, encoding="latin-1"))
    await asyncio.to_thread(begun.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(ended.wait)


# --- what is noted ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [{}, {"offset": 1, "limit": 1}, {"tail_lines": 1}, {"byte_limit": 1}])
async def test_every_read_notes_the_whole_file(work: Workspace, arguments: dict[str, int]) -> None:
    work.write("a.txt", "one\ntwo\n")
    await read(work, path="a.txt", **arguments)
    work.context.reads.require_fresh("a.txt", digest_of(b"one\ntwo\n"))
    with pytest.raises(ToolError, match="changed on disk"):
        work.context.reads.require_fresh("a.txt", digest_of(b"other"))


async def test_a_file_read_through_a_link_is_noted_by_its_own_name(work: Workspace) -> None:
    work.write("a.txt", "one\n")
    (work.root / "link").symlink_to("a.txt")
    result = await work.call(TOOL, path="link")
    assert (result.content, result.metadata["path"]) == ("one\n", "a.txt")
    with pytest.raises(ToolError, match="changed on disk"):
        work.context.reads.require_fresh("a.txt", digest_of(b"other"))


async def test_a_file_that_changes_while_it_is_read_is_not_noted(
    work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = work.write("a.txt", "one\n")
    everything = TextReader.everything

    def everything_before_a_change(reader: TextReader) -> FilePart:
        part = everything(reader)
        file.write_text("somebody else's\n")
        return part

    monkeypatch.setattr(TextReader, "everything", everything_before_a_change)
    assert await read(work, path="a.txt") == "one\n"
    work.context.reads.require_fresh("a.txt", "anything")
