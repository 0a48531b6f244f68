"""`read_file`: the text of a file or part of a file. Reads no more than the answer needs."""

import asyncio
import codecs
import os
import threading
from io import BufferedReader
from typing import Literal

from pydantic import Field

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.base.file_types import HEAD_BYTES, byte_order_mark, file_type
from desktop_agent.core.protocol.model import JsonObject, ToolResult
from desktop_agent.core.tools.files.file_tool import (
    LARGEST_EDITED_BYTES,
    FileArguments,
    FileReadTool,
    TextEncoding,
    file_digest,
    opened_file,
)
from desktop_agent.core.tools.files.text_files import (
    MOST_RETURNED_BYTES,
    FilePart,
    TextReader,
    looks_binary,
    recognised_encoding,
)
from desktop_agent.core.tools.tool import DIGEST_KEY, ToolContext


class ReadFileArguments(FileArguments):
    """The arguments. A range of bytes goes before `tail_lines`, and `tail_lines` before a range of lines."""

    offset: int | None = Field(default=None, ge=1, description="First line to read, counted from 1.")
    limit: int | None = Field(default=None, gt=0, description="How many lines to read. Default: to the end.")
    tail_lines: int | None = Field(default=None, gt=0, description="Read the last lines instead of a range.")
    byte_offset: int | None = Field(default=None, ge=0, description="First byte to read, instead of lines.")
    byte_limit: int | None = Field(default=None, gt=0, description="How many bytes to read. Default: to the end.")
    encoding: TextEncoding = Field(
        default="utf-8",
        description="A byte-order mark in the file takes precedence, and for utf-8 what the text itself tells.",
    )
    errors: Literal["replace", "strict", "ignore", "backslashreplace"] = Field(
        default="replace", description="What to do with bytes that are not valid in the encoding."
    )


class ReadFile(FileReadTool[ReadFileArguments]):
    name = "read_file"
    description = (
        "Read a text file of the workspace. Returns the text as it is, without line numbers, with \\n line endings. "
        "Long files come back in parts: the end of an answer says how to read on with offset and limit (lines), "
        "tail_lines, or byte_offset and byte_limit. Of a binary file it returns kind and size only."
    )
    capabilities = ("read_fs",)
    arguments_type = ReadFileArguments

    async def run(self, arguments: ReadFileArguments, context: ToolContext) -> ToolResult:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(_read, arguments, context, stop)
        finally:
            stop.set()


def _read(arguments: ReadFileArguments, context: ToolContext, stop: threading.Event) -> ToolResult:
    try:
        with opened_file(arguments.path, context) as (file, place):
            before = os.fstat(file.fileno())
            content, metadata = _answer(file, before.st_size, arguments, context, stop)
            digest = file_digest(file) if before.st_size <= LARGEST_EDITED_BYTES else None
            after = os.fstat(file.fileno())
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{arguments.path} is not valid {error.encoding}: {error.reason}. Use errors='replace', or the encoding "
            "that the file really has."
        ) from error
    if digest is not None and (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
        metadata |= {DIGEST_KEY: digest}
    return ToolResult(content=content, metadata={"path": place.relative, "bytes": before.st_size} | metadata)


def _answer(
    file: BufferedReader, size: int, arguments: ReadFileArguments, context: ToolContext, stop: threading.Event
) -> tuple[str, JsonObject]:
    beginning = file.read(HEAD_BYTES)
    if size == 0:
        return f"[{arguments.path} is empty.]", {"lines": 0, "truncated": False}
    if looks_binary(beginning) and codecs.lookup(arguments.encoding).name == "utf-8":
        kind = file_type(beginning).name
        text = f"[{arguments.path} is not text: {kind}, {size:,} bytes. Use run_terminal_cmd to look into it.]"
        return text, {"kind": kind, "truncated": False}
    mark, encoding = byte_order_mark(beginning)
    if not mark:
        encoding = arguments.encoding
        is_asked = "errors" in arguments.model_fields_set  # the model chose how to treat bytes that are not UTF-8
        if not is_asked and codecs.lookup(encoding).name == "utf-8" and size <= LARGEST_EDITED_BYTES:
            file.seek(0)
            encoding = recognised_encoding(file.read()) or encoding
    reader = TextReader(
        file=file,
        size_bytes=size,
        start=len(mark),
        encoding=encoding,
        errors=arguments.errors,
        is_stopped=stop.is_set,
        most_bytes=context.room(MOST_RETURNED_BYTES),
        most_lines=context.limits.max_lines - 1,
    )
    part = _part(reader, arguments)
    facts: JsonObject = {"lines": part.lines, "truncated": part.is_cut}
    return part.text, facts if encoding == arguments.encoding else facts | {"encoding": encoding}


def _part(reader: TextReader, arguments: ReadFileArguments) -> FilePart:
    if arguments.byte_offset is not None or arguments.byte_limit is not None:
        return reader.byte_range(arguments.byte_offset or 0, arguments.byte_limit)
    if arguments.tail_lines is not None:
        return reader.last_lines(arguments.tail_lines)
    if arguments.offset is not None or arguments.limit is not None:
        return reader.line_range(arguments.offset or 1, arguments.limit)
    return reader.everything()
