"""An editor that drives the agent: in this process over pipes, or as a program."""

import asyncio
import json
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from desktop_agent.acp.agent import AcpAgent, Output
from desktop_agent.composition.session_context import SessionOptions
from desktop_agent.core.base.paths import resource_path
from desktop_agent.core.providers.scripted import Reply, Script, ScriptedProvider, in_order
from tests.command_line import PROGRAM
from tests.harness import MODEL, PATIENCE_S, Ground
from tests.npm.programs import npm_folder

CAPABILITIES: dict[str, Any] = {
    "auth": {"terminal": True},
    "elicitation": {"form": {}},
    "session": {"notices": {}},
}
_LARGEST = 2**26

Answering = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


@cache
def _validators() -> dict[tuple[str, str], Draft202012Validator]:
    path = npm_folder("@agentclientprotocol/sdk") / "schema" / "v1" / "schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    kinds = ("Request", "Response", "Notification")
    return {
        (kind["x-method"], next(one for one in kinds if name.endswith(one))): Draft202012Validator(
            {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
        )
        for name, kind in schema["$defs"].items()
        if "x-method" in kind
    }


def judge(method: str, kind: str, content: object) -> None:
    """Fail if a message is not what the published schema says. Extensions are not in it."""
    if not method.startswith("_"):
        _validators()[method, kind].validate(content)  # pyright: ignore[reportUnknownMemberType]


def judge_conversation(messages: Iterable[dict[str, Any]]) -> Counter[str]:
    """Judge every message of both sides, in order, and return how often each method was used."""
    asked: defaultdict[object, list[str]] = defaultdict(list)
    used: Counter[str] = Counter()
    for message in messages:
        if "method" not in message:
            method = asked[message["id"]].pop()  # the side that asked last is answered first
            if "result" in message:
                judge(method, "Response", message["result"])
            continue
        method = message["method"]
        used[method] += 1
        judge(method, "Request" if "id" in message else "Notification", message["params"])
        if "id" in message:
            asked[message["id"]].append(method)
    assert not any(asked.values()), "every request is answered"
    return used


class RefusedError(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error.get("code", -32603)


async def first_option(params: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}


@dataclass
class Editor:
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader
    buffers: dict[Path, str] = field(default_factory=dict[Path, str])
    """The texts that are open and not saved."""
    saves: list[Path] = field(default_factory=list[Path])
    answers: dict[str, Answering] = field(default_factory=dict[str, Answering])
    updates: list[dict[str, Any]] = field(default_factory=list)
    told: defaultdict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """The updates of each session."""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    refusals: set[str] = field(default_factory=set)
    is_judged: bool = True
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _waiting: dict[int, tuple[str, asyncio.Future[Any]]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.answers = {
            "session/request_permission": first_option,
            "fs/read_text_file": self.read_file,
            "fs/write_text_file": self.save_file,
        }

    async def read_file(self, params: dict[str, Any]) -> dict[str, Any]:
        path = Path(params["path"])
        if path in self.buffers:
            return {"content": self.buffers[path]}
        return {"content": (await asyncio.to_thread(path.read_bytes)).decode()}

    async def save_file(self, params: dict[str, Any]) -> dict[str, Any]:
        path = Path(params["path"])
        await asyncio.to_thread(path.write_bytes, params["content"].encode())
        self.buffers.pop(path, None)
        self.saves.append(path)
        return {}

    def write(self, message: dict[str, Any]) -> None:
        self.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send(self, method: str, params: dict[str, Any]) -> tuple[int, "asyncio.Future[Any]"]:
        if self.is_judged:
            judge(method, "Request", params)
        number, future = next(self.numbers), asyncio.get_running_loop().create_future()
        self._waiting[number] = method, future
        self.write({"id": number, "method": method, "params": params})
        return number, future

    async def ask(self, method: str, **params: Any) -> Any:
        _, answer = self.send(method, params)
        async with asyncio.timeout(PATIENCE_S):
            return await answer

    def tell(self, method: str, **params: Any) -> None:
        judge(method, "Notification", params)
        self.write({"method": method, "params": params})

    async def start(self, cwd: Path, able: dict[str, Any] = CAPABILITIES, **more: Any) -> str:
        await self.ask("initialize", protocolVersion=1, clientCapabilities=able)
        return (await self.ask("session/new", cwd=str(cwd), mcpServers=[], **more))["sessionId"]

    async def prompt(self, session: str, *blocks: dict[str, Any] | str) -> str:
        content = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
        return (await self.ask("session/prompt", sessionId=session, prompt=content))["stopReason"]

    def seen(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.updates if one["sessionUpdate"] == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(one["content"].get("text", "") for one in self.seen(kind))

    def drop(self) -> None:
        """Stop answering what the agent asked."""
        for task in self._tasks:
            task.cancel()

    async def until(self, is_there: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S), self._came:
            await self._came.wait_for(is_there)

    async def listen(self) -> None:
        while line := await self.reader.readline():
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if "method" not in message:
                self._settle(message)
            elif "id" in message:
                task = asyncio.create_task(self._answer(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                self._hear(message)
            async with self._came:
                self._came.notify_all()

    def _settle(self, message: dict[str, Any]) -> None:
        if "error" in message:
            self.refusals.add(message["error"]["message"])
        method, future = self._waiting.get(message["id"]) or ("", None)
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(RefusedError(message["error"]))
            return
        judge(method, "Response", message["result"])
        future.set_result(message["result"])

    def _hear(self, message: dict[str, Any]) -> None:
        judge(message["method"], "Notification", message["params"])
        if message["method"] == "session/update":
            self.updates.append(message["params"]["update"])
            self.told[message["params"]["sessionId"]].append(message["params"]["update"])
        else:
            self.cancelled.append(message["params"]["requestId"])

    async def _answer(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message["params"]
        judge(method, "Request", params)
        self.asked.append((method, params))
        async with self._came:
            self._came.notify_all()
        try:
            result = await self.answers[method](params)
        except RefusedError as error:
            self.write({"id": message["id"], "error": {"code": error.code, "message": str(error)}})
            return
        judge(method, "Response", result)
        self.write({"id": message["id"], "result": result})


Pipes = tuple[asyncio.StreamWriter, asyncio.StreamReader]


@asynccontextmanager
async def pipes_of(writing: int, reading: int) -> AsyncGenerator[Pipes]:
    """Talk by these descriptors, which are closed at the end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LARGEST)
    incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb"))
    outgoing, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(writing, "wb"))
    try:
        yield asyncio.StreamWriter(outgoing, protocol, None, loop), reader
    finally:
        outgoing.close()
        incoming.close()


@asynccontextmanager
async def editor_on(pipes: Pipes) -> AsyncGenerator[Editor]:
    editor = Editor(*pipes)
    listening = asyncio.create_task(editor.listen())
    try:
        yield editor
    finally:
        editor.writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await listening  # the agent closes its output when it has ended


@asynccontextmanager
async def editing(
    folder: Path | Ground, script: Script | Iterable[Reply] = (), **options: Any
) -> AsyncGenerator[tuple[Editor, Ground]]:
    """Serve an editor whose model follows `script`."""
    ground = folder if isinstance(folder, Ground) else Ground(folder)
    async with served(ground, script, **options) as pipes, editor_on(pipes) as editor:
        yield editor, ground


@asynccontextmanager
async def served(ground: Ground, script: Script | Iterable[Reply] = (), **options: Any) -> AsyncGenerator[Pipes]:
    provider = ScriptedProvider(script if callable(script) else in_order(script), clock=ground.clock)
    to_agent, from_agent = os.pipe(), os.pipe()
    output = Output(os.fdopen(from_agent[1], "wb"))
    patience_s = options.pop("patience_s", PATIENCE_S)
    agent = AcpAgent(ground.bench(provider), SessionOptions(model=MODEL, **options), output, patience_s=patience_s)
    serving = asyncio.create_task(agent.run(to_agent[0]))
    try:
        async with pipes_of(to_agent[1], from_agent[0]) as pipes:
            yield pipes
    finally:
        async with asyncio.timeout(PATIENCE_S):
            await serving
        os.close(to_agent[0])


def demo_in(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return a copy of the demo's project, and the environment of a program that keeps everything in `folder`."""
    workspace = folder / "demo"
    shutil.copytree(resource_path("demo", "pagination"), workspace)
    home = {"HOME": str(folder), "DESKTOP_AGENT_HOME": str(folder / "home")}
    return workspace, os.environ | home


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files but what running the project's tests compiles."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {str(path): path.read_bytes() for path in files}


@asynccontextmanager
async def program_with_demo(environ: dict[str, str]) -> AsyncGenerator[tuple[asyncio.subprocess.Process, Editor]]:
    """Serve an editor as a program, with the demo model."""
    to_agent, from_agent = os.pipe(), os.pipe()
    program = await asyncio.create_subprocess_exec(
        *PROGRAM, "acp", "--provider", "demo", stdin=to_agent[0], stdout=from_agent[1], env=environ
    )
    os.close(to_agent[0])
    os.close(from_agent[1])
    async with pipes_of(to_agent[1], from_agent[0]) as pipes, editor_on(pipes) as editor:
        yield program, editor
    await program.wait()
