"""What an agent of another program may have us do during its turn: read and write files, run commands, ask the user.

Files are written by our own tool, so that the policy judges, and the ledger records, what is written.
"""

import asyncio
import stat
from collections.abc import Awaitable, Callable

from desktop_agent.core.agents import wire
from desktop_agent.core.agents.connection import ELICIT, TERMINALS
from desktop_agent.core.agents.peer import INVALID_PARAMS, NOT_FOUND, UNKNOWN_METHOD, RpcError
from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.protocol.form_reading import UnaskableError, form_asked, visit_asked
from desktop_agent.core.protocol.model import Allowed, Decision, Denied, JsonObject, ServerQuestion, ToolResult
from desktop_agent.core.session.agent_terminals import AgentTerminals
from desktop_agent.core.system.files import FileState, read_state
from desktop_agent.core.tools.execution.runtime import Toolbox
from desktop_agent.core.tools.files.text_files import NotTextError, TextFile

_LARGEST = 16 * 2**20

WriteFile = Callable[[str, FileState | None, str], Awaitable[ToolResult | None]]
"""Writes a file, of which the present state is given, and returns how that went if a tool of ours did it."""
AskUser = Callable[[ServerQuestion], Awaitable[Decision]]


class AgentServices:
    def __init__(self, agent: str, box: Toolbox, write: WriteFile, ask: AskUser, terminals: AgentTerminals) -> None:
        self._agent = agent
        self._box = box
        self._write_file = write
        self._ask = ask
        self._terminals = terminals

    async def serve(self, method: str, params: JsonObject) -> JsonObject:
        """Raises `RpcError`."""
        try:
            match method:
                case "fs/read_text_file":
                    return {"content": await asyncio.to_thread(self._read, wire.read(params, wire.ReadAsked))}
                case "fs/write_text_file":
                    await self._write(wire.read(params, wire.WriteAsked))
                    return {}
                case _ if method in TERMINALS:
                    return await self._terminals.serve(method, params)
                case _ if method == ELICIT:
                    return await self._elicit(wire.read(params, wire.ElicitationAsked))
                case _:
                    raise RpcError(UNKNOWN_METHOD, "There is no such method.")
        except ToolError as error:
            raise RpcError(NOT_FOUND if error.error_type == "not_found" else INVALID_PARAMS, str(error)) from error

    def _read(self, asked: wire.ReadAsked) -> str:
        path, text = self._text_of(asked.path)
        if text is None:
            raise ToolError(f"There is no file {asked.path!r}.", error_type="not_found")
        self._box.reads.note(path, text.digest)
        try:
            lines = TextFile(text.content).lines
        except NotTextError as error:
            raise ToolError(f"{asked.path!r} is not text: {error}.") from error
        first = (asked.line or 1) - 1
        told = "".join(lines[first : None if asked.limit is None else first + asked.limit])
        return told.encode(errors="replace").decode()  # bytes that are not text cannot be sent

    async def _write(self, asked: wire.WriteAsked) -> None:
        path, before = await asyncio.to_thread(self._text_of, asked.path)
        if before is not None and before.content == asked.content.encode():
            return  # some agents write by themselves, and then here
        result = await self._write_file(path, before, asked.content)
        if result is not None and result.is_error:
            raise ToolError(result.content)

    def _text_of(self, path: str) -> tuple[str, FileState | None]:
        """Return the path in the folder, and the file as an editor shows it. Raises `ToolError`. Blocks."""
        boundary = self._box.boundary()
        place = boundary.follow(boundary.for_reading(path))
        try:
            status = place.absolute.stat()
        except (FileNotFoundError, NotADirectoryError):
            return place.relative, None
        except OSError as error:
            raise ToolError(f"{path!r} cannot be read: {error.strerror or error}.") from error
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise ToolError(f"{path!r} is not a file that can be read, or is larger than {_LARGEST // 2**20} MiB.")
        if place.absolute.is_relative_to(boundary.root) and self._box.secrets().secret_at(place.absolute, status):
            raise ToolError(f"{path!r} has secrets, and is not given to agents.", error_type="permission")
        state = read_state(place.absolute)
        if state is None or state.kind != "file":
            raise ToolError(f"{path!r} is not a file.")
        return place.relative, state.with_content(self._box.texts.shown(place.absolute, state.content))

    async def _elicit(self, asked: wire.ElicitationAsked) -> JsonObject:
        try:
            if asked.mode == "url":
                question = visit_asked(self._agent, asked.message, asked.url)
            else:
                question = form_asked(self._agent, asked.message, asked.requested_schema)
        except UnaskableError as error:
            raise RpcError(INVALID_PARAMS, f"The user cannot be asked this: {error}.") from error
        decision = await self._ask(question)
        if isinstance(decision, Allowed):
            accepted: JsonObject = {"action": "accept"}
            return accepted if asked.mode == "url" else accepted | {"content": dict(decision.answers)}
        return {"action": "decline" if isinstance(decision, Denied) else "cancel"}
