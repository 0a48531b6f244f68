"""One turn: the model answers, its calls run, their results go back, until it is done, stopped or at a limit.

A tool runs only if the model stopped for it, with strictly parsed arguments. Every call gets an answer. If the model
is overloaded, its fallback answers; when the model is switched, the user reads what the new one does not get.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.errors import AgentError, ProviderError, ProviderFault
from desktop_agent.core.base.ids import CallId, claim_id
from desktop_agent.core.base.plain_text import HIDDEN, number_of
from desktop_agent.core.base.regex import regex
from desktop_agent.core.context.history import is_readable_by, portable
from desktop_agent.core.context.packing import image_digests
from desktop_agent.core.context_window.context_manager import NoRoomError, TurnRequests
from desktop_agent.core.models.known_model import levels_of
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    AssistantMessage,
    Flaw,
    Message,
    ModelRef,
    ModelRequest,
    StopReason,
    TextBlock,
    ToolUseBlock,
)
from desktop_agent.core.providers.provider import Completion, Provider, reported
from desktop_agent.core.providers.text_calls import CAN_WRITE_CALLS, with_text_calls
from desktop_agent.core.session.prompt_queue import PromptQueue
from desktop_agent.core.session.session_parts import SessionParts
from desktop_agent.core.settings.model_choice import NamedModel
from desktop_agent.core.tools.execution.runtime import CallOutcome
from desktop_agent.core.transcript import FALLBACK

CUT_OFF = (
    "The reply reached its length limit before this call was complete, so it was not run. Send it again in smaller "
    "parts: several edits instead of one large file."
)
NOT_MEANT = "The reply did not stop for this call, so it was not run. Send it again if it is still wanted."
MAX_CUT_OFF = 3
"""The turn gives up after this many cut-off replies in a row."""

_TOO_LONG: frozenset[ProviderFault] = frozenset({"too_large", "invalid_request"})
"""The faults that an address may report for a conversation that is too long, or for other reasons."""

_SAYS_NOTHING_MORE: frozenset[StopReason] = frozenset({"end_turn", "stop_sequence", "tool_use", "other", "pause_turn"})

_LONGEST_AT_ONCE_S = 0.004
"""How long the pieces of an answer are read without letting anything else run, such as the window."""

_NOTHING = regex(rf"(?:[\s\u200c\u200d{HIDDEN}]|<\|[a-z_]+\|>|</?s>)*")
"""Matches text without a visible character, apart from marks of a model's template."""

_logger = logging.getLogger(__name__)


def _has_something(completion: Completion) -> bool:
    if completion.stop_reason == "pause_turn":
        return bool(completion.content)
    return not _NOTHING.fullmatch(completion.text) or any(
        isinstance(block, ToolUseBlock) for block in completion.content
    )


class OpenCalls(Struct, frozen=True, kw_only=True):
    calls: tuple[ToolUseBlock, ...]
    """The calls without a result, in order. None of them has acted."""
    started: frozenset[CallId]
    """The ids of the calls whose start is on record."""
    requests: int
    """How many answers the turn had received by then."""


class _MayNotSpendError(Exception):
    def __init__(self, reason: ev.TurnEndReason) -> None:
        super().__init__(reason)
        self.reason: ev.TurnEndReason = reason


@dataclass(slots=True, kw_only=True)
class Turn:
    number: int
    parts: SessionParts
    usual: TurnRequests
    queue: PromptQueue
    provider_of: Callable[[ModelRef], Awaitable[Provider]]
    answers: int = 0
    failure: ProviderError | None = field(default=None, init=False)
    """Why the last request failed. Kept while the request is retried."""
    _cut_off: int = field(default=0, init=False)
    _is_paused: bool = field(default=False, init=False)
    """Whether the provider paused and will continue its last answer, so that nothing may be added after that answer."""
    _is_overloaded: bool = field(default=False, init=False)
    """Whether the fallback had to answer the last request. If so, the next one is not retried for long."""

    async def run(self, left: OpenCalls | None = None) -> ev.TurnEndReason:
        """Work until the end and return why the turn ended. Begin with the calls that an earlier process `left` open.

        Raises `ProviderError` after all retries, and `StorageError`. On cancellation every started call is answered,
        and streamed text is kept.
        """
        if left is not None:
            self.answers = left.requests
            await self.parts.runtime.servers.refresh(self.number)
            await self.parts.hooks.refresh(self.number)
            outcomes = await self.parts.runtime.run(self.number, left.calls, started=left.started)
            if (reason := self._end_after(outcomes)) is not None:
                return reason
        elif not await self._may_begin():
            return "hook"
        limit = self.parts.limits.max_requests
        while limit is None or self.answers < limit:
            if await self.parts.subagents.report():
                return "approval_required"
            if (reason := await self.parts.spending.why_stop(self.number)) is not None:
                return reason
            try:
                completion = await self._ask()
            except NoRoomError as error:
                await self._notify("context_window", error.title, error.hint)
                return "limit"
            except _MayNotSpendError as error:
                return error.reason
            self.answers += 1
            reason = await self._act_on(completion)
            if reason == "completed" and (
                await self._goes_on() or await self.parts.hooks.before_end(self.number, completion.text)
            ):
                continue
            if reason is not None:
                return "hook" if self.parts.hooks.why_stopped(self.number) is not None else reason
        return "max_turns"

    async def _may_begin(self) -> bool:
        """Ask the hooks about the prompt. A session that has had turns in another process is resumed."""
        prompt = self.parts.state.transcript.turns.prompts.get(self.number, "")
        return await self.parts.hooks.before_turn(self.number, prompt, is_resumed=self.number > 1)

    async def _goes_on(self) -> bool:
        """Wait while sub-agents work in the background, until one reports or the user sends a message."""
        subagents = self.parts.subagents
        while subagents.are_in_background and not subagents.have_reports:
            if not self.queue.waiting:
                await subagents.wait()
            elif await self.queue.take_all(self.number, self.parts.hooks.may_say):
                return True
        return subagents.are_in_background

    async def _act_on(self, completion: Completion) -> ev.TurnEndReason | None:
        """Run the calls of the message; return how the turn ends, or `None` if it continues."""
        calls = [block for block in completion.content if isinstance(block, ToolUseBlock)]
        outcomes = await self.parts.runtime.run(self.number, calls) if calls else []
        if (reason := self._end_after(outcomes)) is not None:
            return reason
        self._is_paused = completion.stop_reason == "pause_turn"
        self._cut_off = self._cut_off + 1 if completion.stop_reason == "max_tokens" else 0
        match completion.stop_reason:
            case "tool_use" | "pause_turn":
                return None if calls or completion.stop_reason == "pause_turn" else "completed"
            case "max_tokens" if calls and self._cut_off < MAX_CUT_OFF:
                return None
            case "max_tokens":
                await self._notify("max_tokens", "The reply was cut at its length limit.", "Send “go on” to continue.")
                return "limit"
            case "model_context_window_exceeded" if self.usual.make_room():
                return None
            case "model_context_window_exceeded":
                title = "The conversation no longer fits the model's context window."
                hint = "Summarise older turns, go back to before the last message, or start a new session."
                await self._notify("context_window", title, hint)
                return "limit"
            case "refusal":
                title = "The model declined to answer this."
                hint = "Rephrase the request, or leave out what it declined."
                await self._notify("refusal", title, hint, completion.explanation)
                return "refused"
            case "other":
                title = "The provider ended the reply for an unknown reason."
                await self._notify("unknown_stop", title, "If something is missing, send “go on”.")
                return "completed"
            case _:
                return "completed"

    def _end_after(self, outcomes: Sequence[CallOutcome]) -> ev.TurnEndReason | None:
        if self.parts.hooks.why_stopped(self.number) is not None:
            return "hook"
        if any(outcome.result.error_type == "fatal" for outcome in outcomes):
            return "fatal_tool_error"
        if any(outcome.is_unanswered for outcome in outcomes):
            return "approval_required"
        if self.parts.limits.exits_on_tool_error and any(outcome.result.is_error for outcome in outcomes):
            return "tool_error"
        return None

    async def _ask(self) -> Completion:
        await self.parts.settings.refresh()
        await self.parts.runtime.servers.refresh(self.number)
        request = await self._next_request()
        attempt = 1
        while True:
            try:
                completion = await self._answer(request, self.usual)
            except ProviderError as error:
                self.failure = error
                if error.fault in _TOO_LONG and self.usual.make_room(is_certain=False):
                    request = await self._next_request()
                    continue
                is_last = self._is_overloaded and error.fault in OVERLOAD
                try:
                    await self.parts.retries.wait(
                        self.number, self.parts.retries.policy.max_tries if is_last else attempt, error
                    )
                except ProviderError:
                    return await self._ask_fallback(error)
                attempt += 1
                if self.queue.steering:
                    request = await self._next_request()
            else:
                self._is_overloaded = False
                return await self._record(completion, self.usual)

    async def _next_request(self) -> ModelRequest:
        """Return the next request, with the prompts that steer the turn. Raises if a summary used up the limit."""
        if not self._is_paused:
            await self.queue.take_steering(self.number, self.parts.hooks.may_say)
        before = self.parts.spending.spent
        request = await self.usual.next()
        reason = await self.parts.spending.why_stop(self.number) if self.parts.spending.spent != before else None
        if reason is not None:
            raise _MayNotSpendError(reason)
        return request

    async def _ask_fallback(self, error: ProviderError) -> Completion:
        instead, request = await take_over(self.parts, self.provider_of, self.number, self.usual, error)
        try:
            completion = await self._answer(request, instead)
        except ProviderError as obstacle:
            raise with_failed_fallback(error, instead.model.model, obstacle) from obstacle
        self._is_overloaded = True
        return await self._record(completion, instead)

    async def _answer(self, request: ModelRequest, by: TurnRequests) -> Completion:
        for _ in range(2):
            completion = await self._stream(request, by)
            if self.parts.settings.current.model.text_calls and by.model.provider in CAN_WRITE_CALLS:
                completion = with_text_calls(completion, request.tools)
            if completion.stop_reason not in _SAYS_NOTHING_MORE or _has_something(completion):
                return completion
            _logger.info("%s answered with nothing", by.model.model)
            await self._record_usage(completion, by)
        raise ProviderError(
            "The model answered with nothing, twice.",
            fault="no_answer",
            hint="Send the message again in other words, or choose another model.",
        )

    async def _stream(self, request: ModelRequest, by: TurnRequests) -> Completion:
        turn, loop = self.number, asyncio.get_running_loop()
        written: list[str] = []
        began = loop.time()
        try:
            with reported(self.parts.recorder, by.model, turn) as answered:
                async with aclosing(by.provider.stream(request)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Completion):
                            answered(piece)
                            return piece
                        if isinstance(piece, ev.TextDelta):
                            written.append(piece.text)
                        is_timed = isinstance(piece, ev.HostedCallReported)
                        stamp = {"turn": turn, "at": self.parts.clock.now()} if is_timed else {"turn": turn}
                        self.parts.recorder.emit(replace(piece, **stamp))
                        if loop.time() - began > _LONGEST_AT_ONCE_S:  # many pieces may have come together
                            await asyncio.sleep(0)
                            began = loop.time()
                raise ProviderError("The answer ended before it was complete.", fault="stream")
        except asyncio.CancelledError:
            # Keep what the user has already read.
            if (text := "".join(written)).strip():
                await self._record_message((TextBlock(text=text),), "interrupted", "", by.model)
            raise

    async def _record(self, completion: Completion, by: TurnRequests) -> Completion:
        self.failure = None
        used = self.parts.state.transcript.paged.call_ids  # with those that are claimed for this answer
        content = tuple(self._trusted(block, completion, used) for block in completion.content)
        known = self.parts.state.transcript.turns.mended
        mended: tuple[Flaw, ...] = tuple(flaw for flaw in completion.mended if flaw not in known)
        if mended:
            _logger.info("mended in an answer of %s: %s", by.model.model, "; ".join(mended))
        await self._record_message(content, completion.stop_reason, completion.message_id, by.model, mended)
        await self._record_usage(completion, by)
        if completion.refused_effort:
            await self.parts.recorder.record(refused_effort_notice(self.number, by.model, completion.refused_effort))
        return replace(completion, content=content)

    async def _record_usage(self, completion: Completion, by: TurnRequests) -> None:
        missed = by.answered(completion.usage, completion.cache_miss)
        await self.parts.recorder.record(
            ev.UsageReported(turn=self.number, usage=completion.usage, model=by.model, cache_miss=missed)
        )
        await self.parts.spending.warn_of_unknown_price(self.number, completion.usage, by.model)

    def _trusted(self, block: AssistantBlock, completion: Completion, used: set[CallId]) -> AssistantBlock:
        """Return the block, marked if the call must not run, and with a new id if another call has the same."""
        if not isinstance(block, ToolUseBlock):
            return block
        if completion.stop_reason != "tool_use" and not block.rejected:
            is_cut = completion.stop_reason in ("max_tokens", "model_context_window_exceeded")
            block = replace(block, arguments={}, rejected=CUT_OFF if is_cut else NOT_MEANT)
        return replace(block, id=claim_id(block.id, used))

    async def _record_message(
        self,
        content: tuple[AssistantBlock, ...],
        stop: StopReason,
        message_id: str,
        model: ModelRef,
        mended: tuple[Flaw, ...] = (),
    ) -> None:
        await self.parts.recorder.record(
            ev.MessageDone(
                turn=self.number, message_id=message_id, model=model, content=content, stop_reason=stop, mended=mended
            )
        )

    async def _notify(self, code: str, title: str, hint: str, detail: str = "") -> None:
        notice = ev.Notice(level="warning", code=code, title=title, hint=hint, detail=detail, turn=self.number)
        await self.parts.recorder.record(notice)


OVERLOAD: Final[frozenset[ProviderFault]] = frozenset({"rate_limited", "overloaded", "server"})


async def take_over(
    parts: SessionParts,
    provider_of: Callable[[ModelRef], Awaitable[Provider]],
    turn: int,
    usual: TurnRequests,
    error: ProviderError,
) -> tuple[TurnRequests, ModelRequest]:
    """Return the fallback's requests and its next request, and record a notice. Raises `error` if there is none."""
    named = parts.settings.current.model.fallback
    if not named or error.fault not in OVERLOAD:
        raise error
    provider_id, _, name = named.partition("/")
    model = parts.model_meant(NamedModel(provider=provider_id, model=name), None)
    if model == usual.model:
        raise error
    try:
        provider = await provider_of(model)
        instead = TurnRequests(context_manager=usual.context_manager, model=model, provider=provider)
        request = await instead.as_it_is()
    except (AgentError, NoRoomError) as obstacle:
        raise with_failed_fallback(error, name, obstacle) from obstacle
    title = f"{usual.model.model} is overloaded, so {name} answers this request."
    hint = f"The next request goes to {usual.model.model} again. The setting model.fallback names the substitute."
    notice = ev.Notice(
        level="warning", code=FALLBACK, title=title, hint=hint, detail=error.detail or error.title, turn=turn
    )
    await parts.recorder.record(notice)
    return instead, request


def with_failed_fallback(error: ProviderError, name: str, obstacle: AgentError) -> ProviderError:
    return ProviderError(
        error.title,
        fault=error.fault,
        hint=f"{error.hint} {name} could not answer in its place: {obstacle.title}".strip(),
        detail="\n".join(filter(None, (error.detail, obstacle.detail))),
        retry_after_s=error.retry_after_s,
    )


SWITCHED: Final = "switched"
UNKNOWN_EFFORT: Final = "unknown_effort"


async def tell_of_switch(parts: SessionParts, turn: int, before: ModelRef | None) -> None:
    """Report which parts of the conversation the model does not get, if the model `before` got more."""
    now = parts.state.transcript.session.model
    if before is None or now is None or before == now or before.is_agent or now.is_agent:
        return
    messages = parts.state.history.messages()
    has_pictures = bool(image_digests(messages))
    is_blind = has_pictures and await _takes_no_images(parts, now) and not await _takes_no_images(parts, before)
    losses = _thinking_lost(messages, before, now)
    if is_blind:
        losses.append(f"{number_of(len(image_digests(messages)), 'picture')}, because it takes none")
    if losses:
        title = f"{now.model} answers from here on. It does not get all of the conversation."
        hint = f"Left out for this model: {' and '.join(losses)}. The conversation itself keeps everything."
        await parts.recorder.record(ev.Notice(level="info", code=SWITCHED, title=title, hint=hint, turn=turn))


async def _takes_no_images(parts: SessionParts, model: ModelRef) -> bool:
    known = await parts.known(model)
    return known is not None and known.takes_images is False


async def tell_of_effort(parts: SessionParts, turn: int, before: ModelRef | None) -> None:
    """Report that the effort is omitted if the model does not know it, unless the model is the same as before."""
    now = parts.state.transcript.session.model
    if now is None or now == before or not now.effort:
        return
    model = await parts.known(now)
    if model is None or now.effort in (levels := levels_of(model)):
        return
    known = f"supports {', '.join(levels)}" if levels else "has no effort levels"
    title = f"{now.model} does not support the effort {now.effort!r}, so it uses its default."
    hint = f"It {known}. Choose another with /effort, or in the setting model.effort."
    await parts.recorder.record(ev.Notice(level="warning", code=UNKNOWN_EFFORT, title=title, hint=hint, turn=turn))


def refused_effort_notice(turn: int, model: ModelRef, effort: str) -> ev.Notice:
    return ev.Notice(
        level="warning",
        code=UNKNOWN_EFFORT,
        title=f"{model.model} refused the effort {effort!r}, so it uses its default.",
        hint="Its next requests are sent without an effort. Choose another model, or reset the effort with /effort "
        "default.",
        turn=turn,
    )


def _thinking_lost(messages: Sequence[Message], before: ModelRef, now: ModelRef) -> list[str]:
    lost = [
        message.made_by.model
        for message in messages
        if isinstance(message, AssistantMessage)
        and message.made_by is not None
        and portable(message.content) != message.content
        and is_readable_by(message, before)
        and not is_readable_by(message, now)
    ]
    if not lost:
        return []
    return [f"the earlier thinking of {', '.join(dict.fromkeys(lost))}, which only its own account can read"]
