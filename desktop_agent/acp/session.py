"""One session that an editor shows: prompts and answers in, updates and questions out.

Approvals, model, effort and sandbox are what the editor can set: as modes and as options. Tools, which ask from
threads, see the files as the editor has them open.
"""

import asyncio
import base64
import binascii
import concurrent.futures
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from typing import Final, TypeVar, cast, get_args
from urllib.parse import unquote, urlsplit

from msgspec import Struct, ValidationError, convert, field

from desktop_agent.acp.updates import Update, Updates, form_schema
from desktop_agent.composition.workbench import Workbench
from desktop_agent.core.agents.peer import (
    AUTH_REQUIRED,
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    Peer,
    RpcError,
)
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.base.ids import CallId, SessionId
from desktop_agent.core.base.learned import learned
from desktop_agent.core.mentions.prompts import PASTED_SOURCE, PastedContents
from desktop_agent.core.models.known_model import KnownModel, effort_meant, levels_of
from desktop_agent.core.models.vendors import DEMO
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.codec import object_in, text_in
from desktop_agent.core.protocol.model import (
    Allowed,
    Answer,
    ApprovalPolicy,
    ApprovalRequest,
    Decision,
    Denied,
    JsonObject,
    ModelRef,
    SandboxMode,
    ScopeOffer,
)
from desktop_agent.core.session.session import Session
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.slash.declarations import is_command
from desktop_agent.core.store.journal.journal_reader import Readable, read_each_line
from desktop_agent.core.transcript import SessionInfo
from desktop_agent.library.turns import ServedSession

_READ: Final = "fs/read_text_file"
_WRITE: Final = "fs/write_text_file"

T = TypeVar("T")


class Editor(Struct):
    peer: Peer
    flushed: Callable[[], Awaitable[None]]
    """Returns once the editor has received everything sent to it."""
    patience_s: float
    """How long an answer about a file may take. An editor that takes longer is not asked again."""
    shows_notices: bool = False
    fills_forms: bool = False
    file_methods: set[str] = field(default_factory=set[str])

    def note_abilities(self, able: JsonObject) -> None:
        files = object_in(able, "fs")
        self.shows_notices = "notices" in object_in(able, "session")
        self.fills_forms = "form" in object_in(able, "elicitation")
        offered = {_READ: files.get("readTextFile"), _WRITE: files.get("writeTextFile")}
        self.file_methods = {method for method, is_offered in offered.items() if is_offered is True}


class EditorFiles:
    def __init__(self, editor: Editor, session_id: Callable[[], SessionId], hear: Callable[[ev.Notice], None]) -> None:
        """`hear` gets a notice once the editor is no longer asked."""
        self._editor = editor
        self._session_id = session_id
        self._hear = hear
        self._loop = asyncio.get_running_loop()

    @property
    def can_write(self) -> bool:
        return _WRITE in self._editor.file_methods

    def read(self, path: Path) -> str | None:
        if _READ not in self._editor.file_methods:
            return None
        try:
            return self._ask(self._read(path))
        except RpcError:  # the editor does not know the file, or is gone
            return None

    def write(self, path: Path, text: str) -> str:
        try:
            self._ask(self._answer(_WRITE, path, content=text))
        except RpcError as error:
            return error.message or "It does not say why."
        return ""

    async def _read(self, path: Path) -> str | None:
        content = (await self._answer(_READ, path)).get("content")
        if isinstance(content, str):
            return content
        self._give_up(_READ, f"The editor's answer has no text of {path.name}.")
        return None

    async def _answer(self, method: str, path: Path, **more: object) -> JsonObject:
        params: JsonObject = {"sessionId": self._session_id(), "path": str(path), **more}
        try:
            async with asyncio.timeout(self._editor.patience_s):
                return await self._editor.peer.ask(method, params)
        except TimeoutError as error:
            words = f"The editor did not answer when asked to {'read' if method == _READ else 'save'} {path.name}."
            self._give_up(method, words)
            raise RpcError(INTERNAL_ERROR, words) from error

    def _give_up(self, method: str, title: str) -> None:
        self._editor.file_methods.discard(method)
        way = "read from disk: save them before the agent reads them" if method == _READ else "written to disk"
        self._hear(ev.Notice(level="warning", code="editor", title=title, hint=f"From now on, files are {way}."))

    def _ask(self, answer: Coroutine[object, object, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(answer, self._loop).result()
        except concurrent.futures.CancelledError as error:
            raise RpcError(INTERNAL_ERROR, "The editor has gone.") from error


PLAN: Final = "plan"
OWN_EFFORT: Final = "default"

_MODES: Final[dict[str, tuple[str, str]]] = {
    PLAN: ("Plans first", "Reads, asks and writes a plan. Changes nothing before the plan is accepted."),
    "always": ("Asks before every call", "Reads also ask."),
    "on_write": ("Asks before writing", "Reads run freely; edits, commands and network access ask first."),
    "on_request": ("Asks to leave the sandbox", "Edits in this folder and sandboxed commands run freely."),
    "never": ("Never asks", "Nothing is asked: anything that needs approval is refused."),
}
_SANDBOXES: Final[dict[SandboxMode, tuple[str, str]]] = {
    "restricted": ("This folder", "Commands can write only this folder and a temporary one. No network."),
    "strict": ("Read-only", "Commands cannot write anything. No network."),
    "none": ("No sandbox", "Commands can do anything your account can."),
}


class SessionModes:
    def __init__(self, bench: Workbench, session: Session) -> None:
        self._bench = bench
        self._session = session

    @property
    def _info(self) -> SessionInfo:
        return self._session.transcript.session

    @property
    def mode(self) -> str:
        return PLAN if self._info.is_planning else self._info.approval

    async def document(self) -> JsonObject:
        modes = [{"id": mode, "name": name, "description": words} for mode, (name, words) in _MODES.items()]
        return {"modes": {"currentModeId": self.mode, "availableModes": modes}, "configOptions": await self.options()}

    async def updates(self) -> Sequence[JsonObject]:
        return (
            {"sessionUpdate": "current_mode_update", "currentModeId": self.mode},
            {"sessionUpdate": "config_option_update", "configOptions": await self.options()},
        )

    async def options(self) -> list[JsonObject]:
        model = self._info.model
        assert model is not None, "it is in the first record"
        modes = [_choice(mode, *words) for mode, words in _MODES.items()]
        sandboxes = [_choice(mode, *words) for mode, words in _SANDBOXES.items()]
        models = [_choice(_name_of(model), model.model)]
        models += [_choice(f"{one.provider}/{one.name}", one.shown) for one in await self._models(model)]
        options = [
            _select("mode", "Approvals", "mode", self.mode, modes),
            _select("model", "Model", "model", _name_of(model), list({one["value"]: one for one in models}.values())),
            _select("sandbox", "Sandbox", "other", self._info.sandbox, sandboxes),
        ]
        known = await self._known(model)
        if known is not None and (levels := levels_of(known)):
            efforts = [_choice(level, level) for level in (OWN_EFFORT, *levels)]
            options.insert(2, _select("effort", "Effort", "thought_level", model.effort or OWN_EFFORT, efforts))
        return options

    async def set(self, option: str, value: object) -> ops.SetMode:
        """Return the op that sets an option. Raises `RpcError` for an unknown one, and `UsageError`."""
        model = self._info.model
        match option, value:
            case "mode", "plan":
                return ops.SetMode(is_planning=True)
            case "mode", str() if value in get_args(ApprovalPolicy):
                return ops.SetMode(approval=cast("ApprovalPolicy", value), is_planning=False)
            case "sandbox", str() if value in get_args(SandboxMode):
                return ops.SetMode(sandbox=cast("SandboxMode", value))
            case "model", str() if "/" in value:
                provider, _, name = value.partition("/")
                return ops.SetMode(model=self._bench.model_meant(NamedModel(provider=provider, model=name), model))
            case "effort", str() if model is not None and (known := await self._known(model)) is not None:
                return ops.SetMode(model=self._bench.model_meant(NamedModel(effort=effort_meant(value, known)), model))
            case _:
                raise RpcError(INVALID_PARAMS, f"The option {option!r} has no value {value!r}.")

    def is_set(self, op: ops.SetMode) -> bool:
        info = self._info
        now = (info.model, info.approval, info.sandbox, info.is_planning)
        wanted = (op.model, op.approval, op.sandbox, op.is_planning)
        return all(new in (None, old) for new, old in zip(wanted, now, strict=True))

    async def _models(self, model: ModelRef) -> Sequence[KnownModel]:
        if model.provider == DEMO:
            return ()
        try:
            account = await asyncio.to_thread(lambda: self._bench.accounts.load().of_model(model))
        except AgentError:
            return ()
        return await self._bench.models.read(account)

    async def _known(self, model: ModelRef) -> KnownModel | None:
        return next((one for one in await self._models(model) if one.name == model.model), None)


def _name_of(model: ModelRef) -> str:
    return f"{model.provider}/{model.model}"


def _choice(value: str, name: str, description: str = "") -> JsonObject:
    choice: JsonObject = {"value": value, "name": name}
    return choice | ({"description": description} if description else {})


def _select(option: str, name: str, category: str, value: str, choices: list[JsonObject]) -> JsonObject:
    kind: JsonObject = {"category": category} if category != "other" else {}
    return {"id": option, "name": name, "type": "select", "currentValue": value, "options": choices, **kind}


_REASONS: Final = {
    "completed": "end_turn", "interrupted": "cancelled", "max_turns": "max_turn_requests",
    "limit": "max_turn_requests", "refused": "refusal", "approval_required": "end_turn", "tool_error": "end_turn",
    "hook": "end_turn",
}  # fmt: skip
_NOT_SIGNED_IN: Final = frozenset({"authentication", "no_key", "no_account", "signed_out", "not_signed_in"})
_MARKS: Final = {"image/png": "png", "image/jpeg": "jpg"}
_NO: Final = "deny"
_AT_ONCE: Final = 100
"""How many events of a long session are in memory while it is replayed."""


class EditorSession(ServedSession):
    def __init__(self, bench: Workbench, editor: Editor) -> None:
        super().__init__(bench.blobs, self._on_session_end)
        self._bench = bench
        self._editor = editor
        self._events: asyncio.Queue[ev.Event] = asyncio.Queue()
        self.files = EditorFiles(editor, lambda: self.session.id, self._events.put_nowait)
        self._telling: asyncio.Task[None] | None = None
        self._asking: dict[CallId, asyncio.Task[None]] = {}
        self._ended: asyncio.Future[ev.TurnEnded | ev.CommandRun] | None = None
        self._setting = asyncio.Lock()
        self._mode_set: asyncio.Future[None] | None = None
        self._turn_before = 0
        self._failure: ev.Notice | None = None
        self._is_rejected = False
        self._is_cancelled = False

    def hear(self, event: ev.Event) -> None:
        super().hear(event)
        self._events.put_nowait(event)

    @cached_property
    def modes(self) -> SessionModes:
        return SessionModes(self._bench, self.session)

    @cached_property
    def updates(self) -> Updates:
        shows_notices = self._editor.shows_notices
        return Updates(self._workspace, self._bench.blobs, self.session.transcript, shows_notices=shows_notices)

    @property
    def _workspace(self) -> Path:
        return Path(self.session.transcript.session.workspace)

    async def open(self, session: Session, before: Path | None = None) -> None:
        """Serve the session, and tell the editor of events in the journal `before`, then of new ones.

        Raises like `begin`, and `StorageError`.
        """
        last_seq = session.transcript.session.last_seq
        waiting = session.transcript.pending_approvals  # of an earlier process
        await self.begin(session)
        if before is not None:
            await self._replay(before, last_seq)
        self._telling = asyncio.create_task(self._tell_all(waiting), name=f"updates {session.id}")

    async def _replay(self, journal: Path, last_seq: int) -> None:
        read = (found.event for _, found in read_each_line(journal, self._bench.blobs) if isinstance(found, Readable))
        earlier = takewhile(lambda event: event.seq <= last_seq, read)
        while events := await asyncio.to_thread(list, islice(earlier, _AT_ONCE)):
            for event in events:
                await self._tell(event)
            await self._editor.flushed()

    async def aclose(self, *, keeps_questions: bool = True) -> None:
        try:
            await super().aclose(keeps_questions=keeps_questions)
        finally:
            for task in (*self._asking.values(), *filter(None, (self._telling,))):
                task.cancel()

    def _update(self, update: Update) -> None:
        self._editor.peer.tell("session/update", {"sessionId": self.session.id, "update": update})

    async def _tell_commands(self) -> None:
        declared = await asyncio.to_thread(self._bench.slash_commands, self._workspace)
        commands = [
            {"name": one.name, "description": one.summary}
            | ({"input": {"hint": one.arguments}} if one.arguments else {})
            for one in declared
            if not one.problem
        ]
        self._update({"sessionUpdate": "available_commands_update", "availableCommands": commands})

    async def _tell_all(self, waiting: Sequence[ApprovalRequest]) -> None:
        await self._tell_commands()
        for request in waiting:
            self._begin_asking(request)
        while True:
            event = await self._events.get()
            await self._tell(event)
            await self._follow(event)

    async def _tell(self, event: ev.Event) -> None:
        for update in await self.updates.of(event):
            # The editor has shown its own prompt already.
            if update["sessionUpdate"] != "user_message_chunk" or self._ended is None:
                self._update(update)

    async def _follow(self, event: ev.Event) -> None:
        match event:
            case ev.ApprovalRequested(request=request):
                self._begin_asking(request)
            case ev.ApprovalResolved(call_id=call_id) if call_id in self._asking:
                self._asking.pop(call_id).cancel()
            case ev.ModeSet():
                for update in await self.modes.updates():
                    self._update(update)
                self._settle_mode(None)
            case ev.TurnEnded(turn=turn) if turn > self._turn_before:
                self._conclude(event)
            case ev.CommandRun():
                self._conclude(event)
            case ev.Notice(level="error"):
                self._failure = event
                if event.code == "storage":
                    self._settle_mode(_error_of(event))
                if self._is_rejected or event.code == "storage":  # then the end of the turn cannot be recorded
                    self._conclude(_error_of(event))
            case ev.PromptRejected():
                self._is_rejected = True  # the notice that says why may come later
                if self._failure is not None or self._is_cancelled:
                    self._conclude(_error_of(self._failure) if self._failure else RpcError(CANCELLED, "Cancelled."))
            case _:
                pass

    def _conclude(self, end: ev.TurnEnded | ev.CommandRun | Exception) -> None:
        if self._ended is None or self._ended.done():
            return
        if isinstance(end, Exception):
            self._ended.set_exception(end)
        else:
            self._ended.set_result(end)

    def _settle_mode(self, failure: Exception | None) -> None:
        if self._mode_set is None or self._mode_set.done():
            return
        if failure is None:
            self._mode_set.set_result(None)
        else:
            self._mode_set.set_exception(failure)

    def _on_session_end(self, reason: Exception) -> None:
        self._conclude(reason)
        self._settle_mode(reason)

    # -- prompts --

    async def prompt(self, blocks: Sequence[JsonObject]) -> JsonObject:
        """Run one turn, or one slash command, and return why it stopped. Raises `RpcError` when it failed."""
        if self._ended is not None:
            raise RpcError(INVALID_REQUEST, "A prompt is running in this session. Cancel it, or wait for its end.")
        self._ended = asyncio.get_running_loop().create_future()
        try:
            text, include = await asyncio.to_thread(self._read, blocks)
            self._turn_before, self._failure = self.session.transcript.turn, None
            self._is_rejected = self._is_cancelled = False
            if is_command(text):
                self.session.submit(ops.RunCommand(text=text))
            else:
                self.session.submit(ops.SubmitPrompt(text=text, include=include))
            end = await self._ended
        except RpcError as error:
            if error.code == CANCELLED:
                return {"stopReason": "cancelled"}
            raise
        except asyncio.CancelledError:
            self.session.submit(ops.Interrupt())
            raise
        finally:
            self._ended = None
        if isinstance(end, ev.CommandRun):
            return {"stopReason": "end_turn"}
        if end.reason not in _REASONS:
            raise _error_of(self._failure)
        return {"stopReason": _REASONS[end.reason]}

    def cancel(self) -> None:
        self._is_cancelled = True
        self.session.submit(ops.Interrupt())

    def _read(self, blocks: Sequence[JsonObject]) -> tuple[str, tuple[str, ...]]:
        """Return the text of a prompt, and the files to include. Blocks. Raises `RpcError` and `AgentError`."""
        parts: list[str] = []
        include: list[str] = []
        for block in blocks:
            match block.get("type"):
                case "text":
                    parts.append(text_in(block, "text"))
                case "image":
                    parts.append(self._kept_picture(block))
                case "resource_link":
                    path = _path_of(text_in(block, "uri"))
                    name = text_in(block, "name") or path
                    parts.append(f"[{name}]({path or text_in(block, 'uri')})")
                    include += [path] if path else []
                case "resource":
                    parts.append(_embedded(object_in(block, "resource")))
                case kind:
                    raise RpcError(INVALID_PARAMS, f"A prompt cannot have content of the type {kind!r}.")
        text = "".join(parts)
        if not text.strip():
            raise RpcError(INVALID_PARAMS, "The prompt is empty.")
        return text, tuple(dict.fromkeys(include))

    def _kept_picture(self, block: JsonObject) -> str:
        suffix = _MARKS.get(text_in(block, "mimeType"))
        try:
            content = base64.b64decode(text_in(block, "data"), validate=True)
        except binascii.Error as error:
            raise RpcError(INVALID_PARAMS, "The picture is not in base64.") from error
        if suffix is None:
            raise RpcError(INVALID_PARAMS, "A picture must be a PNG or JPEG file.")
        name = PastedContents.of(self._bench.paths).keep(content, "picture", suffix, SystemClock().now())
        return f" @{PASTED_SOURCE}:{name} "

    async def set_option(self, option: str, value: object) -> None:
        """Set a mode, and return when the session has it. Raises `RpcError` for an unknown option or value."""
        async with self._setting:
            op = await self.modes.set(option, value)
            if not self.modes.is_set(op):
                self._mode_set = asyncio.get_running_loop().create_future()
                self.session.submit(op)
                await self._mode_set

    # -- questions --

    def _begin_asking(self, request: ApprovalRequest) -> None:
        self._asking[request.call_id] = asyncio.create_task(self._ask(request), name=f"ask {request.call_id}")

    async def _ask(self, request: ApprovalRequest) -> None:
        try:
            decision = await self._decision(request)
        except RpcError as error:
            decision = Denied(message=f"The editor could not ask the user: {error.message}")
        self.submit(ops.AnswerApproval(call_id=request.call_id, decision=decision))

    async def _decision(self, request: ApprovalRequest) -> Decision:
        question = request.question
        if question is not None and question.fields:
            return await self._filled(request)
        offers = request.scopes or (ScopeOffer(scope="once", label="Allow once"),)
        options = [
            {"optionId": one.scope, "name": one.label, "kind": f"allow_{'once' if one.scope == 'once' else 'always'}"}
            for one in offers
        ]
        options.append({"optionId": _NO, "name": "Deny", "kind": "reject_once"})
        call = await asyncio.to_thread(self.updates.question, request)
        asked: JsonObject = {"sessionId": self.session.id, "toolCall": call, "options": options}
        answer = object_in(await self._editor.peer.ask("session/request_permission", asked), "outcome")
        chosen = answer.get("optionId") if answer.get("outcome") == "selected" else _NO
        return next((Allowed(scope=one.scope) for one in offers if one.scope == chosen), Denied())

    async def _filled(self, request: ApprovalRequest) -> Decision:
        question = request.question
        assert question is not None
        if not self._editor.fills_forms:
            return Denied(message="The editor cannot show forms.")
        asked: JsonObject = {
            "sessionId": self.session.id,
            "mode": "form",
            "message": f"{question.server}: {question.message}",
            "requestedSchema": form_schema(question.fields),
        }
        answer = await self._editor.peer.ask("elicitation/create", asked)
        if answer.get("action") != "accept":
            return Denied()
        try:
            return Allowed(answers=convert(answer.get("content"), learned(dict[str, Answer])))
        except ValidationError as error:
            return Denied(message=f"The form was not filled in as asked: {error}.")


def _error_of(notice: ev.Notice | None) -> RpcError:
    if notice is None:
        return RpcError(INTERNAL_ERROR, "The turn failed.")
    code = AUTH_REQUIRED if notice.code in _NOT_SIGNED_IN else INTERNAL_ERROR
    return RpcError(code, f"{notice.title} {notice.hint}".strip(), {"code": notice.code, "details": notice.detail})


def _path_of(uri: str) -> str:
    """Return the path of a `file:` address; empty for others."""
    parts = urlsplit(uri)
    path = unquote(parts.path) if parts.scheme == "file" else ""
    return path.removeprefix("/") if sys.platform == "win32" else path  # a drive's letter stands behind the slash


def _embedded(resource: JsonObject) -> str:
    uri, text = text_in(resource, "uri"), resource.get("text")
    if not isinstance(text, str):
        raise RpcError(INVALID_PARAMS, "A resource must be text, or a link.")
    return f'\n\n<content of="{_path_of(uri) or uri}">\n{text}\n</content>\n\n'
