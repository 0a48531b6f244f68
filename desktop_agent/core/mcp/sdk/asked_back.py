"""Questions that a server asks the user or the model during its calls, in both versions of the protocol.

A process's request does not name its call. If several calls run, the request is refused, because one session must not
answer for another.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import mcp_types
from mcp import MCPError
from mcp.client.session import ClientRequestContext
from pydantic import ValidationError

from desktop_agent.core.mcp.client import (
    AskUser,
    SampledMessage,
    SampleModel,
    SamplingDeniedError,
    SamplingRefusedError,
    SamplingRequest,
)
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.forms import UnaskableError, form_asked, mistake_in_answers, visit_asked
from desktop_agent.core.protocol.model import (
    Allowed,
    Decision,
    Denied,
    ServerQuestion,
)

T = TypeVar("T")


def question_of(server: str, params: mcp_types.ElicitRequestParams) -> ServerQuestion:
    if isinstance(params, mcp_types.ElicitRequestURLParams):
        return visit_asked(server, params.message, params.url)
    return form_asked(server, params.message, params.requested_schema)


MOST_MESSAGES = 50
LONGEST_TEXT = 40_000
"""How many characters all messages and the system prompt may have together, because the user reads them."""
MOST_TOKENS = 4_096
"""How many tokens an answer may have, even if the server asks for more."""

USER_REJECTED = -1


def request_of(server: str, fingerprint: str, params: mcp_types.CreateMessageRequestParams) -> SamplingRequest:
    if params.tools or params.tool_choice is not None:
        raise SamplingRefusedError("This client gives the model no tools when a server asks it.")
    if not params.messages:
        raise SamplingRefusedError("There is no message to ask the model with.")
    if len(params.messages) > MOST_MESSAGES:
        raise SamplingRefusedError(f"This client asks the model with at most {MOST_MESSAGES} messages.")
    if params.max_tokens < 1:
        raise SamplingRefusedError("The answer may have no token.")
    messages = tuple(_sampled_message(message) for message in params.messages)
    system = params.system_prompt or ""
    if sum(len(message.text) for message in messages) + len(system) > LONGEST_TEXT:
        raise SamplingRefusedError(f"This client asks the model with at most {LONGEST_TEXT:,} characters.")
    return SamplingRequest(
        server=server,
        fingerprint=fingerprint,
        messages=messages,
        system=system,
        max_tokens=min(params.max_tokens, MOST_TOKENS),
        notes=_notes(params),
    )


def refusal_of(error: SamplingRefusedError) -> mcp_types.ErrorData:
    code = USER_REJECTED if isinstance(error, SamplingDeniedError) else mcp_types.INVALID_REQUEST
    return mcp_types.ErrorData(code=code, message=str(error))


def _sampled_message(message: mcp_types.SamplingMessage) -> SampledMessage:
    texts: list[str] = []
    for block in message.content_as_list:
        if not isinstance(block, mcp_types.TextContent):
            raise SamplingRefusedError(f"This client asks the model with text only, not with {block.type!r}.")
        texts.append(block.text.encode(errors="replace").decode())  # a lone surrogate can be neither kept nor sent
    return SampledMessage(role=message.role, text="\n".join(texts))


def _notes(params: mcp_types.CreateMessageRequestParams) -> tuple[str, ...]:
    notes: list[str] = []
    if params.include_context not in (None, "none"):
        notes.append("It asks for the conversation as well, and does not get it.")
    if params.max_tokens > MOST_TOKENS:
        notes.append(f"It wants up to {params.max_tokens:,} tokens of answer, and gets {MOST_TOKENS:,}.")
    if params.model_preferences is not None:
        notes.append("It prefers a certain kind of model, which is ignored.")
    if params.temperature is not None or params.stop_sequences:
        notes.append("It sets a temperature or stop sequences, which are ignored.")
    return tuple(notes)


_MOST_PAGES = 5
_MOST_QUESTIONS = 20
"""How many questions one call may ask the user. Further ones are declined."""

_DECLINED = mcp_types.ElicitResult(action="decline")
_CANCELLED = mcp_types.ElicitResult(action="cancel")


class _AskingCall:
    def __init__(self, ask: AskUser, sample: SampleModel) -> None:
        self.ask = ask
        self.sample = sample
        self.asking: set[asyncio.Future[Any]] = set()
        self.questions = 0
        self.refusal = ""


_current: ContextVar[_AskingCall | None] = ContextVar("asking call", default=None)


class AskedBack:
    def __init__(self, server: str, fingerprint: str, log: ServerLog) -> None:
        self._server = server
        self._fingerprint = fingerprint
        self._log = log
        self._calls: set[_AskingCall] = set()

    @asynccontextmanager
    async def during(self, ask: AskUser, sample: SampleModel) -> AsyncGenerator[None]:
        """Let the server ask while a call runs. Questions that are open at the end of the call are withdrawn."""
        call = _AskingCall(ask, sample)
        self._calls.add(call)
        token = _current.set(call)
        try:
            yield
        finally:
            _current.reset(token)
            self._calls.discard(call)
            for asking in call.asking:
                asking.cancel()
            if call.asking:
                await asyncio.wait(call.asking)

    async def elicited(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        return await self._answered(params)

    async def sampled(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        call = self._call_that_asks()
        if call is None:
            why = self._why_none()
            self._log.say(f"It wanted to ask the model when {why}, and was refused.")
            return refusal_of(SamplingRefusedError(f"The model is asked for one running call only: {why}."))
        try:
            answer = await _while_it_runs(call, call.sample(request_of(self._server, self._fingerprint, params)))
        except SamplingRefusedError as error:
            refusal = error
        else:
            if answer is not None:
                content = mcp_types.TextContent(text=answer.text)
                return mcp_types.CreateMessageResult(
                    role="assistant", content=content, model=answer.model, stop_reason=answer.stop
                )
            refusal = SamplingRefusedError("The call is over.")
        self._log.say(f"It wanted to ask the model, and was refused: {refusal}")
        call.refusal = str(refusal)
        return refusal_of(refusal)

    def why_refused(self, error: MCPError) -> str:
        """Return why the present call may not ask the model, if `error` says that; otherwise an empty text."""
        call = _current.get()
        return call.refusal if call is not None and call.refusal == error.message else ""

    async def have_visited(self, pages: Sequence[mcp_types.ElicitRequestURLParams]) -> bool:
        for page in pages:
            if (await self._answered(page)).action != "accept":
                return False
        return bool(pages)

    async def _answered(self, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        call = self._call_that_asks()
        if call is None:
            said = params.message[:200]
            self._log.say(f"It asked the user something when {self._why_none()}, and was declined: {said!r}")
            return _DECLINED
        try:
            question = question_of(self._server, params)
        except UnaskableError as error:
            self._log.say(f"It asked the user something and was declined: {error}.")
            return _DECLINED
        call.questions += 1
        if call.questions > _MOST_QUESTIONS:
            if call.questions == _MOST_QUESTIONS + 1:
                self._log.say(f"It asked the user more than {_MOST_QUESTIONS} times in one call: declined from now on.")
            return _DECLINED
        decision = await _while_it_runs(call, call.ask(question))
        return _CANCELLED if decision is None else self._result(question, decision)

    def _call_that_asks(self) -> _AskingCall | None:
        current = _current.get()
        if current is not None:
            return current if current in self._calls else None
        return next(iter(self._calls)) if len(self._calls) == 1 else None

    def _why_none(self) -> str:
        if _current.get() is not None:
            return "its call was over"
        return "several calls ran" if self._calls else "no call ran"

    def _result(self, question: ServerQuestion, decision: Decision) -> mcp_types.ElicitResult:
        match decision:
            case Allowed() if question.address:
                return mcp_types.ElicitResult(action="accept")
            case Allowed(answers=answers):
                if mistake := mistake_in_answers(question, answers):
                    self._log.say(f"The answer to its question did not fit and was not sent. {mistake}")
                    return _CANCELLED
                content = {name: list(value) if isinstance(value, tuple) else value for name, value in answers.items()}
                return mcp_types.ElicitResult(action="accept", content={**content})
            case Denied():
                return _DECLINED
            case _:
                return _CANCELLED


def pages_wanted(error: MCPError) -> tuple[mcp_types.ElicitRequestURLParams, ...]:
    """Return the pages that the user must visit before the server serves the request; none for other errors."""
    if error.code != mcp_types.URL_ELICITATION_REQUIRED:
        return ()
    try:
        pages = mcp_types.ElicitationRequiredErrorData.model_validate(error.data).elicitations
    except ValidationError:
        return ()
    return tuple(pages[:_MOST_PAGES])


async def _while_it_runs(call: _AskingCall, answer: Awaitable[T]) -> T | None:
    asking = asyncio.ensure_future(answer)
    call.asking.add(asking)
    asking.add_done_callback(call.asking.discard)
    try:
        await asyncio.wait({asking})
    finally:
        asking.cancel()
    return None if asking.cancelled() else asking.result()
