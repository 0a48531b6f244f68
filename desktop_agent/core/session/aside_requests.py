"""Model requests outside the turns: for titles, messages of commits and MCP servers. Also the wait before any retry."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Final

from msgspec import Struct
from msgspec import field as struct_field

from desktop_agent.core.base.clock import Clock
from desktop_agent.core.base.errors import AgentError, ProviderError, StorageError
from desktop_agent.core.base.file_names import name_on_a_line
from desktop_agent.core.base.paths import prompt_text
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.secrets import mask
from desktop_agent.core.changes.ledger import Ledger
from desktop_agent.core.changes.patch import PatchFile, make_patch
from desktop_agent.core.commits.git_commit import prepare
from desktop_agent.core.commits.selected_lines import Fitted
from desktop_agent.core.mcp.client import (
    AskUser,
    SampledAnswer,
    SampledMessage,
    SampleModel,
    SamplingDeniedError,
    SamplingRefusedError,
    SamplingRequest,
)
from desktop_agent.core.models.known_model import KnownModel, price_words
from desktop_agent.core.policy.paths import sensitivity
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalPolicy,
    AssistantMessage,
    ChangeSelection,
    FileChange,
    Message,
    ModelRef,
    ModelRequest,
    SampledText,
    SamplingQuestion,
    ServerQuestion,
    TextBlock,
    UserMessage,
)
from desktop_agent.core.providers.provider import Completion, ProviderPool, ProviderSource, RetryPolicy, answer_aside
from desktop_agent.core.session.recorder import SessionState
from desktop_agent.core.session.spending import SpendingGuard
from desktop_agent.core.system.files import FileState
from desktop_agent.core.transcript import RETRYING, TextEntry, Transcript


@dataclass(slots=True)
class Retries:
    policy: RetryPolicy
    log: EventLog
    clock: Clock
    random: Random = field(default_factory=Random)
    _waits: set[asyncio.Timeout] = field(default_factory=set[asyncio.Timeout], init=False)

    async def wait(self, turn: int, attempt: int, error: ProviderError) -> None:
        """Report that try `attempt` (from 1) failed; return when the next is due or the user skips the wait.

        Raises `error` when a retry makes no sense.
        """
        if not self.policy.should_retry(error, attempt):
            raise error
        delay_s = self.policy.delay_s(attempt, error, self.random.random)
        again = f"Trying again in {delay_s:.0f} s (try {attempt + 1} of {self.policy.max_tries})."
        hint = f"{error.hint} {again}".strip()
        await self.log.record(
            ev.Notice(level="warning", code=RETRYING, title=error.title, hint=hint, detail=error.detail, turn=turn)
        )
        self.log.emit(ev.RetryWaitReported(turn=turn, is_waiting=True, delay_s=delay_s))
        limit = asyncio.timeout(None)
        try:
            with suppress(TimeoutError):
                async with limit:
                    self._waits.add(limit)
                    await self.clock.sleep(delay_s)
        finally:
            self._waits.discard(limit)
            self.log.emit(ev.RetryWaitReported(turn=turn, is_waiting=False))

    def skip(self) -> None:
        # Forgotten before they have ended, because a second call would find timeouts that can no longer be changed.
        waits, self._waits = self._waits, set()
        for wait in waits:
            wait.reschedule(asyncio.get_running_loop().time())


logger = logging.getLogger(__name__)

UNTITLED_PROVIDERS = frozenset({"demo", "scripted"})
"""Providers that answer from a script, so that a request for a title would use up a reply."""

_MAX_TITLE_TOKENS = 200
MAX_TITLE_CHARS = 80
_MAX_QUOTED_CHARS = 2_000
_PATIENCE_S = 30.0
_CANCEL_AGAIN_S = 1.0
_LAST_TURN = 3
"""After this turn no title is made: by then, the user knows the conversation by its first words."""


@dataclass(slots=True)
class Titling:
    transcript: Transcript
    log: EventLog
    provider_source: ProviderSource
    clock: Clock
    is_wanted: Callable[[], bool]
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def after_turn(self, reason: ev.TurnEndReason) -> None:
        if self._task is None and reason == "completed" and self._is_due():
            self._task = asyncio.create_task(self._run(), name="title")

    @property
    def is_busy(self) -> bool:
        return self._task is not None and not self._task.done()

    async def aclose(self) -> None:
        await _cancelled(self._task)

    def _is_due(self) -> bool:
        model = self.transcript.session.model
        if not self.is_wanted() or model is None or model.provider in UNTITLED_PROVIDERS or model.is_agent:
            return False
        prompt = self._first_prompt()
        session = self.transcript.session
        is_first_line = prompt.strip().startswith(session.title.removesuffix("…"))
        return bool(prompt) and not session.is_title_given and is_first_line and self.transcript.turn <= _LAST_TURN

    async def _run(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._make()
        except (AgentError, TimeoutError) as error:
            logger.warning("No title was made: %s", error)
        except Exception:
            logger.exception("No title was made")

    async def _make(self) -> None:
        model = self.transcript.session.model
        assert model is not None
        turn = self.transcript.turn
        async with aclosing(await self.provider_source(model)) as provider:
            request = await asyncio.to_thread(self._request, model.model)
            completion = await answer_aside(self.log, provider, model, request, turn, "title")
        if (title := clean_title(completion.text)) and not self.transcript.session.is_title_given:
            await self.log.record(ev.SessionRenamed(title=title, is_generated=True))

    def _request(self, model: str) -> ModelRequest:
        reply = next((e.text for e in self.transcript.entries if isinstance(e, TextEntry) and e.kind == "text"), "")
        said = (
            f"<user>\n{self._first_prompt()[:_MAX_QUOTED_CHARS]}\n</user>\n"
            f"<assistant>\n{reply[:_MAX_QUOTED_CHARS]}\n</assistant>\n\nThe title:"
        )
        return ModelRequest(
            model=model,
            system=prompt_text("title.md"),
            messages=(UserMessage(content=(TextBlock(text=said),)),),
            tools=(),
            max_tokens=_MAX_TITLE_TOKENS,
        )

    def _first_prompt(self) -> str:
        return next((entry.text for entry in self.transcript.entries if isinstance(entry, ev.PromptSubmitted)), "")


async def _cancelled(task: asyncio.Task[None] | None) -> None:
    """Return when the task has ended. The cancellation is repeated, because a library can lose one."""
    while task is not None and not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_AGAIN_S)


def clean_title(text: str) -> str:
    line = next((line for line in text.splitlines() if line.strip()), "")
    printable = "".join(char if char.isprintable() else " " for char in line)
    title = " ".join(printable.split()).strip("\"'`*#“”„«» ").removeprefix("Title:").strip().rstrip(".")
    if len(title) <= MAX_TITLE_CHARS:
        return title
    return f"{title[: MAX_TITLE_CHARS - 1].rsplit(' ', 1)[0]}…"


MOST_IN_A_CALL = 10
SAMPLING = "server_sampling"


class ServerSampling(Struct, frozen=True, kw_only=True, eq=False):
    """Lets MCP servers ask the session's model while their calls run, if the user allows it. Answers are recorded."""

    state: SessionState
    provider_source: ProviderSource
    known: Callable[[ModelRef], Awaitable[KnownModel | None]]
    retries: Retries
    spending: SpendingGuard
    log: EventLog
    approval: Callable[[], ApprovalPolicy]
    _one_at_a_time: asyncio.Lock = struct_field(default_factory=asyncio.Lock)
    _allowed: set[str] = struct_field(default_factory=set[str])
    """Servers that may ask the model without a question to the user, by fingerprints of their definitions."""

    def during(self, turn: int, ask: AskUser) -> SampleModel:
        """Return the function through which a server asks the model during one call. `ask` asks the user."""
        asked = 0

        async def sample(request: SamplingRequest) -> SampledAnswer:
            nonlocal asked
            asked += 1
            if asked > MOST_IN_A_CALL:
                raise SamplingRefusedError(f"The model was asked {MOST_IN_A_CALL} times in this call, and no more.")
            async with self._one_at_a_time:
                return await self._sample(turn, ask, request)

        return sample

    async def _sample(self, turn: int, ask: AskUser, request: SamplingRequest) -> SampledAnswer:
        messages = _messages(request.messages)
        try:
            model = self._model()
            known = await self.known(model)
            price = price_words(known.price) if known is not None and known.price is not None else ""
            system = [SampledText(role="system", text=named(request.system))] if request.system else []
            texts = (*system, *(SampledText(role=each.role, text=named(each.text)) for each in request.messages))
            sampling = SamplingQuestion(
                texts=texts, max_tokens=request.max_tokens, model=model.model, price=price, notes=request.notes
            )
            question = ServerQuestion(server=request.server, message="", sampling=sampling)
            allowed = await self._let_through(ask, request, question)
            answer = await self._answer(turn, request, messages)
        except StorageError:
            raise
        except AgentError as error:
            raise SamplingRefusedError(f"The model could not be asked: {error.title}") from error
        if answer.stop_reason == "refusal":
            raise SamplingRefusedError("The model declined to answer.")
        await self.log.record(_notice(turn, question.server, sampling, answer.text, allowed))
        stop = "maxTokens" if answer.stop_reason == "max_tokens" else "endTurn"
        return SampledAnswer(text=answer.text, model=model.model, stop=stop)

    async def _answer(self, turn: int, request: SamplingRequest, messages: tuple[Message, ...]) -> Completion:
        if await self.spending.why_stop(turn) is not None:
            raise AgentError("The session has reached its spending limit.")
        model = self._model()
        async with aclosing(await self.provider_source(model)) as provider:
            asked = ModelRequest(
                model=model.model, system=request.system, messages=messages, tools=(), max_tokens=request.max_tokens
            )
            completion = await answer_aside(self.log, provider, model, asked, turn, "server", self.retries.wait)
        await self.spending.warn_of_unknown_price(turn, completion.usage, model)
        return completion

    def _model(self) -> ModelRef:
        model = self.state.transcript.session.model
        if model is None:
            raise AgentError("No model is chosen.")
        if model.provider == "demo":
            raise AgentError("The demo follows its script.")
        if model.is_agent:
            raise AgentError("An agent of another program takes the turns.")
        return model

    async def _let_through(self, ask: AskUser, request: SamplingRequest, question: ServerQuestion) -> str:
        if self.approval() == "never":
            raise SamplingDeniedError("The user's settings let no server ask the model.")
        if request.fingerprint in self._allowed:
            return "Allowed for this server in this session."
        match await ask(question):
            case Allowed(scope="once"):
                return "Allowed once."
            case Allowed():
                self._allowed.add(request.fingerprint)
                return "Allowed for this server in this session."
            case Aborted():
                raise SamplingDeniedError("No user was there to allow it.")
            case _:
                raise SamplingDeniedError("The user did not allow it.")


def _messages(asked: tuple[SampledMessage, ...]) -> tuple[Message, ...]:
    """Return the messages, with neighbours of the same role merged. Raises `SamplingRefusedError`."""
    if asked[0].role != "user" or asked[-1].role != "user":
        raise SamplingRefusedError("The messages must begin and end with one of the user.")
    merged: list[SampledMessage] = []
    for message in asked:
        if merged and merged[-1].role == message.role:
            merged[-1] = SampledMessage(role=message.role, text=f"{merged[-1].text}\n\n{message.text}")
        else:
            merged.append(message)
    return tuple(
        UserMessage(content=(TextBlock(text=message.text),))
        if message.role == "user"
        else AssistantMessage(content=(TextBlock(text=message.text),))
        for message in merged
    )


def _notice(turn: int, server: str, question: SamplingQuestion, answer: str, allowed: str) -> ev.Notice:
    asked = "\n\n".join(f"{text.role.capitalize()}: {text.text}" for text in question.texts)
    return ev.Notice(
        level="info",
        code=SAMPLING,
        title=f"{server} asked {question.model} something, and got the answer.",
        hint=f"{allowed} It is not part of the conversation.",
        detail=f"{asked}\n\nAnswer: {named(answer)}",
        turn=turn,
    )


_MAX_MESSAGE_TOKENS: Final = 1_000
_MAX_CHARS: Final = 40_000
_MAX_FILE_CHARS: Final = 8_000
_MAX_PROMPT_CHARS: Final = 4_000


@dataclass(slots=True)
class CommitDrafting:
    """Lets the session's model write the message of a commit, in the style of the repository's last subjects.

    The request has the committed lines up to a limit, without the contents of files that hold secrets.
    """

    state: SessionState
    log: EventLog
    ledger: Ledger
    spending: SpendingGuard
    providers: ProviderPool
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def begin(self, selections: Sequence[ChangeSelection]) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(selections), name="commit message")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def aclose(self) -> None:
        await _cancelled(self._task)

    async def _run(self, selections: Sequence[ChangeSelection]) -> None:
        drafted = ev.CommitDrafted()
        try:
            drafted = ev.CommitDrafted(text=await self._text(selections))
        except AgentError as error:
            drafted = ev.CommitDrafted(obstacle=error.title, hint=error.hint)
        except Exception:
            logger.exception("No message was drafted")
            drafted = ev.CommitDrafted(obstacle="The message could not be written.")
        finally:
            self.log.emit(drafted)

    async def _text(self, selections: Sequence[ChangeSelection]) -> str:
        transcript = self.state.transcript
        turn, model = transcript.turn, transcript.session.model
        if model is None or model.provider == "demo" or model.is_agent:
            raise AgentError("No model can write the message.", hint="Write it yourself, or choose another model.")
        if await self.spending.is_limit_reached(turn):
            raise AgentError("The spending limit is reached.", hint="Write the message yourself, or raise the limit.")
        _, fitted, subjects = await prepare(transcript, self.ledger, selections)
        if not fitted.committed:
            raise AgentError("There is nothing to commit.")
        asked = "\n\n".join(transcript.turns.prompts.values())[-_MAX_PROMPT_CHARS:]
        lines = await asyncio.to_thread(lines_of, fitted)
        said = (
            f"<subjects>\n{subjects}</subjects>\n<asked>\n{asked}\n</asked>\n<lines>\n{lines}\n</lines>\n\nThe message:"
        )
        request = ModelRequest(
            model=model.model,
            system=prompt_text("commit.md"),
            messages=(UserMessage(content=(TextBlock(text=mask(said)),)),),
            tools=(),
            max_tokens=_MAX_MESSAGE_TOKENS,
        )
        provider = await self.providers.get(model)
        completion = await answer_aside(self.log, provider, model, request, turn, "commit")
        await self.spending.warn_of_unknown_price(turn, completion.usage, model)
        if completion.stop_reason == "refusal" or not (text := clean_message(completion.text)):
            raise AgentError("The model wrote no message.", hint="Try again, or write it yourself.")
        return text


def lines_of(fitted: Fitted) -> str:
    """Return the committed lines as a patch, of each file and altogether up to a limit. Blocks."""
    found, room = list[str](), _MAX_CHARS
    for path, state in fitted.committed.items():
        text = f"{name_on_a_line(path)}: what changed is not shown.\n"
        if sensitivity(path) is None and room > 0:
            text = _patch(path, fitted.before[path], state)
            most = min(_MAX_FILE_CHARS, room)
            text = text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} more characters\n"
        found.append(text)
        room -= len(text)
    return "".join(found)[: 2 * _MAX_CHARS]


def _patch(path: str, before: FileState | None, after: FileState | None) -> str:
    images = [state and state.image() for state in (before, after)]
    change = FileChange(id="", path=path, kind="modified", author="agent", before=images[0], after=images[1])
    contents = [state.content if state is not None else None for state in (before, after)]
    if any(content is not None and b"\0" in content for content in contents):
        return f"{name_on_a_line(path)}: a binary file changed.\n"
    return make_patch([PatchFile(change, contents[0], contents[1])], is_for_reading=True).decode("utf-8", "replace")


def clean_message(text: str) -> str:
    """Return the message without a code fence around it, and with an empty line below its subject."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1] == "```":
        lines = lines[1:-1]
    subject, *body = "\n".join(lines).strip().split("\n")
    rest = "\n".join(body).strip("\n")
    return f"{subject.strip()}\n\n{rest}" if rest else subject.strip()
