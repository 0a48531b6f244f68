"""One language server: its process, and its diagnostics of files, by the Language Server Protocol (3.17).

Nothing that it sends is trusted: the size and number of messages, and what is kept of them, are limited.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from pathlib import Path
from typing import Final, Literal, cast
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from desktop_agent.core.agents.peer import Handler, Peer, RpcError
from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.base.package import __version__
from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.extensions.language_servers import LanguageServer, StandingServer
from desktop_agent.core.mcp.confining import ServerConfiner
from desktop_agent.core.mcp.definition import Program, ServerSandbox
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.codec import as_object
from desktop_agent.core.protocol.model import SEVERITIES, Diagnostic, DiagnosticSeverity, JsonObject
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.system.processes.child import unhurried
from desktop_agent.core.system.processes.line_process import Headers, LineProcess
from desktop_agent.core.system.processes.runner import Command, ProcessRunner

IDLE_S: Final = 600.0
"""A server is ended after this long without a change. The next change starts it again."""
MOST_KEPT: Final = 50
"""How many diagnostics of a file are kept, the worst ones."""
_MOST_READ = 1_000
_LONGEST_MESSAGE = 400
_LONGEST_CODE = 80
_LONGEST_LOGGED = 2_000
_MOST_OPEN = 8
"""How many files stay open in a server, so that it need not analyse them again."""
_QUIET_S = 0.3
"""A server that does not name versions is done once it has been silent for this long."""
_SLOW_S = 0.5
_PATIENCE = 4
"""If its first report took longer than `_SLOW_S`, type errors may follow the syntax errors much later."""
_SILENT_S = 10.0
"""A server that has said nothing about a text for this long found nothing wrong: some do not say so."""
_MOST_BUSY = 50
_MOST_BUSY_S = 120.0
"""How long a server may say that it is loading a project. After that, it is no longer believed."""
_MOST_TRIES = 3
_CACHES: Final = ("XDG_CACHE_HOME", "GOCACHE", "CARGO_TARGET_DIR")
"""Variables that name the folders into which tools must write to find anything."""
_OFFLINE: Final = {"CARGO_NET_OFFLINE": "true", "GOPROXY": "off", "npm_config_offline": "true"}
"""Keeps tools from waiting long for a network that they cannot reach."""
_PULL: Final = "textDocument/diagnostic"
_TRY_AGAIN: Final = (-32801, -32802)  # ContentModified, ServerCancelled

_FLOOD_S = 10.0
_MOST_MESSAGES = 5_000
_MOST_FLOOD_BYTES = 64 * 2**20
_MOST_UNSENT = 200
_MESSAGES_AT_ONCE = 20
_LARGE_BYTES = 16 * 1024

Phase = Literal["idle", "starting", "running", "failed"]
_MEANT: Mapping[object, DiagnosticSeverity] = {1: "error", 2: "warning", 3: "info"}


class ServerState(Struct, frozen=True, kw_only=True):
    name: str
    phase: Phase = "idle"
    problem: str = ""
    """Why it failed."""
    pid: int | None = None


class LspHost(Struct, frozen=True, kw_only=True, eq=False):
    """What language servers need to run."""

    root: Path
    environ: Mapping[str, str]
    confiner: ServerConfiner
    runner: ProcessRunner
    clock: Clock
    logs: Path | None = None
    on_state: Callable[[], object] = lambda: None
    """Called when the state of one has changed."""

    def confined(
        self, server: LanguageServer, command: Command, log: ServerLog
    ) -> AbstractAsyncContextManager[Command]:
        if not server.is_confined:
            return nullcontext(command)
        limits = ServerSandbox(read_folders=server.read_folders)
        program = Program(command=server.command, args=server.args, env=server.env, sandbox=limits)
        caches = tuple(name for name in _CACHES if name not in server.env)
        return self.confiner.confining(program, self.root, command, log, self.runner, may_download=False, caches=caches)


class _Document(Struct):
    text: str
    version: int = 1
    said: tuple[Diagnostic, ...] = ()
    said_of: int | None = None
    """The version that `said` is about; `None` if the server does not report it."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    shown_at: float = 0.0
    took_s: float = 0.0
    """How long the server's first report about the text took."""
    is_answered: bool = False


class _Work:
    """What a server says that it is doing, such as to load the project."""

    def __init__(self, clock: Clock) -> None:
        self.is_over = asyncio.Event()
        self.is_over.set()
        self.has_led_to_answers = False
        self._clock = clock
        self._going_on: set[str] = set()
        self._until = 0.0
        """When it is no longer believed."""

    @property
    def left_s(self) -> float:
        return max(0.0, self._until - self._clock.monotonic())

    def progressed(self, params: JsonObject) -> None:
        """Note that it loads a project. Later it does this and that, such as to install types, perhaps without end."""
        kind, token = as_object(params.get("value")).get("kind"), str(params.get("token"))[:_LONGEST_CODE]
        if kind == "end" or (kind == "begin" and not self.has_led_to_answers):
            self._note(token, is_done=kind == "end")

    def rested(self, params: JsonObject) -> None:
        self._note("status", is_done=params.get("quiescent") is not False)

    def _note(self, what: str, *, is_done: bool) -> None:
        if is_done:
            self._going_on.discard(what)
        elif len(self._going_on) < _MOST_BUSY:
            self._until = self._until or self._clock.monotonic() + _MOST_BUSY_S
            self._going_on.add(what)
        if not self._going_on:
            self._until = 0.0
            self.is_over.set()
        elif self.left_s:
            self.is_over.clear()


class LspConnection:
    def __init__(self, standing: StandingServer, host: LspHost, on_more: Callable[[Path], None]) -> None:
        """`on_more` is called when the server may have more diagnostics of a text than `problems_of` returned."""
        self.standing = standing
        self.server = standing.server
        self.state = ServerState(name=self.server.name)
        self._host = host
        self._on_more = on_more
        self._life: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._starts = 0
        self._peer: Peer | None = None
        self._pulls = False
        self._log = ServerLog(None)
        self._work = _Work(host.clock)
        self._refreshes = 0
        self._documents: dict[str, _Document] = {}
        self._last_used = 0.0

    # -- its life --

    def start(self) -> bool:
        """Start the server unless it runs. False if it has ended too often."""
        self._last_used = self._host.clock.monotonic()
        if self._life is not None and not self._life.done():
            return True
        if self._starts > self.server.max_restarts:
            return False
        self._starts += 1
        self._settled.clear()
        self._life = asyncio.create_task(self._live(), name=f"language server {self.server.name}")
        return True

    async def aclose(self) -> None:
        """End the server. It holds nothing that is worth waiting for."""
        if self._life is not None:
            self._life.cancel()
            await unhurried(asyncio.wait({self._life}))

    async def _live(self) -> None:
        self._become("starting")
        self._work = _Work(self._host.clock)
        logs, secrets = self._host.logs, tuple(self.server.env.values())
        log = self._log = ServerLog(logs / f"{self.server.name}.log" if logs is not None else None, secrets)
        try:
            offline = _OFFLINE if self.server.is_confined else {}
            environ = {**child_environment(self._host.environ), **offline, **self.server.env}
            argv = (self.standing.program, *self.server.args)
            command = Command(argv=argv, cwd=self._host.root, environ=environ, takes_input=True)
            async with self._host.confined(self.server, command, log) as confined:
                process = LineProcess(log.say, Headers())
                await process.start(self._host.runner, confined, log.feed, is_limited=True)
                try:
                    await self._serve(process)
                finally:
                    await unhurried(process.end(0))
        except ServerError as error:
            last = log.tail(1)
            self._become("failed", shortened(" ".join(filter(None, (error.title, named(last)))), _LONGEST_MESSAGE))
        except asyncio.CancelledError:
            self._become("idle")
            raise
        else:
            self._starts -= 1
            self._become("idle")
        finally:
            self._peer = None
            self._documents.clear()

    def _become(self, phase: Phase, problem: str = "", pid: int | None = None) -> None:
        self.state = ServerState(name=self.server.name, phase=phase, problem=problem, pid=pid)
        if phase != "starting":
            self._settled.set()
        self._host.on_state()

    async def _serve(self, process: LineProcess) -> None:
        """Serve a started process until it has been idle for `IDLE_S`. Raises `ServerError` if it ends."""
        unsent: asyncio.Queue[bytes] = asyncio.Queue()

        def send(message: str) -> None:
            unsent.put_nowait(message.encode("utf-8", "replace"))
            if unsent.qsize() > _MOST_UNSENT:
                process.break_off("It does not read what it is sent.")

        answers: dict[str, Handler] = {
            "workspace/configuration": self._configuration,
            "workspace/workspaceFolders": self._folders,
            "client/registerCapability": self._registered,
            "client/unregisterCapability": _nothing,
            "window/workDoneProgress/create": _nothing,
            "workspace/diagnostic/refresh": self._refreshed,
            "window/showMessageRequest": _nothing,
        }
        heard: dict[str, Callable[[JsonObject], None]] = {
            "textDocument/publishDiagnostics": self._published,
            "$/progress": self._work.progressed,
            "experimental/serverStatus": self._work.rested,
            "window/logMessage": self._complained,
            "window/showMessage": self._complained,
        }
        peer = Peer(send, answers, heard, cancel=("$/cancelRequest", "id"))
        tasks = {
            asyncio.create_task(peer.serve(self._messages(process)), name=f"reader of {self.server.name}"),
            asyncio.create_task(_write(process, unsent), name=f"writer to {self.server.name}"),
        }
        try:
            await self._initialize(peer)
            self._peer = peer
            self._become("running", pid=process.child.pid)
            while not any(task.done() for task in tasks):
                await asyncio.wait(tasks, timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
                if self._host.clock.monotonic() - self._last_used >= IDLE_S:
                    return
            process.child.ask_to_end()
            raise ServerError(await process.ended())
        except _LostError as error:
            process.child.ask_to_end()
            raise ServerError(await process.ended()) from error
        finally:
            for task in tasks:
                task.cancel()
            await unhurried(asyncio.wait(tasks))

    async def _messages(self, process: LineProcess) -> AsyncGenerator[bytes]:
        clock = self._host.clock
        begun, count, size = clock.monotonic(), 0, 0
        async with aclosing(process.lines()) as messages:
            async for message in messages:
                count, size = count + 1, size + len(message)
                if clock.monotonic() - begun > _FLOOD_S:
                    begun, count, size = clock.monotonic(), 0, 0
                if count > _MOST_MESSAGES or size > _MOST_FLOOD_BYTES:
                    process.break_off("It sends more messages than can be read.")
                    return
                if count % _MESSAGES_AT_ONCE == 0 or len(message) > _LARGE_BYTES:
                    await asyncio.sleep(0)  # so that the window draws in between
                yield message

    async def _initialize(self, peer: Peer) -> None:
        server, root = self.server, self._host.root.as_uri()
        synchronisation: JsonObject = {"didSave": True}
        params: JsonObject = {
            "processId": None,  # in its sandbox, our process id means nothing
            "clientInfo": {"name": "Desktop Agent", "version": __version__},
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": self._host.root.name}],
            "initializationOptions": server.initialization_options,
            "capabilities": {
                "workspace": {
                    "configuration": True,
                    "workspaceFolders": True,
                    "diagnostics": {"refreshSupport": True},
                },
                "window": {"workDoneProgress": True},
                "experimental": {"serverStatusNotification": True},  # rust-analyzer's
                "textDocument": {
                    "synchronization": synchronisation,
                    "publishDiagnostics": {"versionSupport": True},
                    "diagnostic": {"dynamicRegistration": True},
                },
            },
        }
        try:
            answer = await _asked(peer, "initialize", params, server.startup_timeout_s)
        except TimeoutError as error:
            title = f"It did not answer within {server.startup_timeout_s:g} s of its start."
            raise ServerError(title) from error
        provider = as_object(answer.get("capabilities")).get("diagnosticProvider")
        self._pulls = isinstance(provider, dict)
        peer.tell("initialized", {})
        if server.settings:
            peer.tell("workspace/didChangeConfiguration", {"settings": server.settings})

    # -- what the server sends --

    async def _configuration(self, params: JsonObject) -> object:
        items = params.get("items")
        asked = cast("list[object]", items)[:100] if isinstance(items, list) else []
        return [_section(self.server.settings, str(as_object(item).get("section") or "")) for item in asked]

    async def _folders(self, _: JsonObject) -> object:
        return [{"uri": self._host.root.as_uri(), "name": self._host.root.name}]

    async def _registered(self, params: JsonObject) -> object:
        """Note whether the server now waits for requests instead of publishing diagnostics."""
        found = params.get("registrations")
        given = cast("list[object]", found) if isinstance(found, list) else []
        if _PULL in (as_object(each).get("method") for each in given):
            self._pulls = True
            for document in self._documents.values():
                document.news.set()
        return None

    async def _refreshed(self, _: JsonObject) -> object:
        self._refreshes += 1
        for path, document in self._documents.items():
            if document.is_answered:
                self._on_more(Path(path))
        return None

    def _complained(self, params: JsonObject) -> None:
        if params.get("type") == 1:
            self._log.say(named(str(params.get("message"))[:_LONGEST_LOGGED]))

    def _published(self, params: JsonObject) -> None:
        path, version = _path_of(params.get("uri")), params.get("version")
        document = self._documents.get(path)
        version = version if isinstance(version, int) else None
        if document is None or version not in (None, document.version):
            return  # about a file that it was not shown, or an earlier text
        found = diagnostics_in(params.get("diagnostics"))
        is_more = document.is_answered and found != document.said
        if not document.took_s:
            document.took_s = self._host.clock.monotonic() - document.shown_at
        document.said, document.said_of = found, version
        document.news.set()
        if is_more:
            self._on_more(Path(path))

    # -- what it is sent --

    async def ready(self) -> None:
        """Wait until the server has started. Raises `ServerError` if it does not run."""
        await self._settled.wait()
        self._running()

    def _running(self) -> Peer:
        if self._peer is None:
            raise ServerError(self.state.problem or "It does not run.")
        return self._peer

    async def follow(self, changed: Mapping[Path, int]) -> None:
        """Notify the server of files that were created (1), changed (2) or deleted (3).

        Closes deleted files, files that differ from what was shown, and the oldest beyond `_MOST_OPEN`.
        """
        peer = self._running()
        events = [{"uri": path.as_uri(), "type": kind} for path, kind in changed.items()]
        peer.tell("workspace/didChangeWatchedFiles", {"changes": events})
        texts = {path: document.text for path, document in self._documents.items() if Path(path) not in changed}
        stale = await asyncio.to_thread(lambda: [path for path, text in texts.items() if not _is_on_disk(path, text)])
        excess = [path for path in texts if path not in stale][: max(0, len(texts) - len(stale) - _MOST_OPEN)]
        for path in (*stale, *excess, *(str(path) for path, kind in changed.items() if kind == 3)):
            if self._documents.pop(path, None) is not None:
                peer.tell("textDocument/didClose", {"textDocument": {"uri": Path(path).as_uri()}})

    def show(self, path: Path, language: str, text: str) -> None:
        """Show the server a file with this text, which need not be on disk. Raises `ServerError`."""
        peer, uri = self._running(), path.as_uri()
        document = self._documents.pop(str(path), None)
        if document is None:
            document = _Document(text)
            opened = {"uri": uri, "languageId": language, "version": document.version, "text": text}
            peer.tell("textDocument/didOpen", {"textDocument": opened})
        elif document.text != text:
            document = _Document(text, document.version + 1)
            versioned = {"uri": uri, "version": document.version}
            peer.tell("textDocument/didChange", {"textDocument": versioned, "contentChanges": [{"text": text}]})
            peer.tell("textDocument/didSave", {"textDocument": {"uri": uri}})
        document.shown_at = document.shown_at or self._host.clock.monotonic()
        self._documents[str(path)] = document  # the last ones used stay open

    @property
    def is_busy(self) -> bool:
        """Whether it says that it is loading something."""
        return not self._work.is_over.is_set()

    def is_shown(self, path: Path) -> bool:
        return str(path) in self._documents

    async def problems_of(self, path: Path, *, is_patient: bool = False) -> tuple[Diagnostic, ...]:
        """Return the server's diagnostics of the shown text. Has no time limit. Raises `ServerError`.

        Unless `is_patient`, some may be missing; `on_more` is called for the rest.
        """
        document = self._documents.get(str(path))
        if document is None:
            raise ServerError("It was restarted in the meantime.")
        found = None if self._pulls else await self._pushed(document, is_patient=is_patient)
        found = await self._pulled(path) if found is None else found
        document.is_answered = self._work.has_led_to_answers = True
        return found

    async def _pulled(self, path: Path) -> tuple[Diagnostic, ...]:
        params: JsonObject = {"textDocument": {"uri": path.as_uri()}}
        found: tuple[Diagnostic, ...] | None = None
        for _ in range(_MOST_TRIES):
            was_busy, refreshes = self.is_busy, self._refreshes
            try:
                found = diagnostics_in((await _asked(self._running(), _PULL, params)).get("items"))
            except _RefusedError as error:
                if error.code not in _TRY_AGAIN:
                    self._log.say(error.title)
                    return ()
                continue
            if not was_busy and not self.is_busy and refreshes == self._refreshes:
                break
            await self._rest()
        if found is None:
            raise ServerError("It gave no answer.")
        return found

    async def _pushed(self, document: _Document, *, is_patient: bool) -> tuple[Diagnostic, ...] | None:
        """Return what the server publishes about the last version; `None` if it waits for requests.

        Afterwards `news` stays set until the text changes, so that the next call returns at once.
        """
        while True:
            await self._rest()
            if not await self._comes(document.news, _SILENT_S):
                document.said, document.said_of = (), document.version
                document.news.set()
            if self._pulls:
                return None
            if document.said_of == document.version and not self.is_busy:
                return document.said
            await self._rest()
            document.news.clear()
            is_slow = is_patient and document.took_s > _SLOW_S
            if not await self._comes(
                document.news, min(_PATIENCE * document.took_s, _SILENT_S) if is_slow else _QUIET_S
            ):
                document.news.set()
                return document.said

    async def _rest(self) -> None:
        """Wait until the server is at rest, but not for ever: some never say that they are done."""
        if not await self._comes(self._work.is_over, self._work.left_s):
            self._work.is_over.set()

    async def _comes(self, event: asyncio.Event, timeout_s: float) -> bool:
        """Wait for an event, and return whether it came in time. Raises `ServerError` if the server ends."""
        assert self._life is not None, "it was started"
        if not event.is_set():
            coming = asyncio.create_task(event.wait(), name=f"news of {self.server.name}")
            try:
                await asyncio.wait({coming, self._life}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            finally:
                coming.cancel()
        if self._life.done():
            raise ServerError(self.state.problem or "It ended.")
        return event.is_set()


class _LostError(ServerError):
    """The server ended, or closed its output."""


class _RefusedError(ServerError):
    def __init__(self, error: RpcError) -> None:
        super().__init__(f"It refused: {shortened(named(error.message), _LONGEST_MESSAGE)}")
        self.code = error.code


async def _asked(peer: Peer, method: str, params: JsonObject, timeout_s: float | None = None) -> JsonObject:
    """Raises `TimeoutError`, and `ServerError` if the server ends or refuses."""
    asked = asyncio.create_task(peer.ask(method, params), name=method)
    try:
        await asyncio.wait({asked}, timeout=timeout_s)
    finally:
        is_late = not asked.done()
        if is_late:
            asked.cancel()
            await asyncio.wait({asked})
    if is_late:
        raise TimeoutError
    if asked.cancelled():
        raise _LostError("It ended.")
    try:
        return asked.result()
    except RpcError as error:
        raise _RefusedError(error) from error


async def _nothing(_: JsonObject) -> object:
    return None


def _section(settings: JsonObject, name: str) -> object:
    value: object = settings
    for part in filter(None, name.split(".")):
        value = as_object(value).get(part)
    return value


async def _write(process: LineProcess, unsent: "asyncio.Queue[bytes]") -> None:
    while await process.send(await unsent.get()):
        pass


def _path_of(uri: object) -> str:
    """Return the path of a file's address; servers differ in what they escape."""
    if not isinstance(uri, str):
        return ""
    with suppress(ValueError):
        parts = urlsplit(uri)
        return unquote(parts.path, errors="surrogateescape") if parts.scheme == "file" else ""
    return ""


def _is_on_disk(path: str, text: str) -> bool:
    content, file = text.encode(), Path(path)
    try:
        return file.is_file() and file.stat().st_size == len(content) and file.read_bytes() == content
    except OSError:
        return False


def diagnostics_in(items: object) -> tuple[Diagnostic, ...]:
    """Return the diagnostics among what a server sent, the worst first. Never raises."""
    given = cast("list[object]", items)[:_MOST_READ] if isinstance(items, list) else []
    found = (_diagnostic(as_object(item)) for item in given)
    return tuple(sorted(filter(None, found), key=lambda each: (SEVERITIES.index(each.severity), each.line)))


def _diagnostic(fields: JsonObject) -> Diagnostic | None:
    spread = as_object(fields.get("range"))
    line, last = (as_object(spread.get(end)).get("line") for end in ("start", "end"))
    severity = _MEANT.get(fields.get("severity", 1))
    message, code = fields.get("message"), fields.get("code", "")
    if severity is None or not isinstance(line, int) or not isinstance(message, str) or not 0 <= line < 2**31:
        return None
    last = last if isinstance(last, int) and line <= last < 2**31 else line
    return Diagnostic(
        line=line + 1,
        last_line=last + 1,
        severity=severity,
        message=shortened(named(" ".join(message[: 4 * _LONGEST_MESSAGE].split())), _LONGEST_MESSAGE),
        code=shortened(named(str(code)[: 4 * _LONGEST_CODE]), _LONGEST_CODE) if isinstance(code, str | int) else "",
    )
