"""What a server asks while its calls run, of the user or of the model, in both eras: brought to the call it is for.

A server of the stateless era asks within the answer to a call, so the SDK asks in the task of that call. One of the
handshake era sends a request of its own. Over HTTP it comes on the stream of its call, whose context the SDK keeps. To
a process there is one stream for all, and nothing in a request says which call it is for (its progress token is for
its own progress): with one call running it can only be that one; with several, of sessions that share the server, one
session must not answer for another.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar

import mcp_types
from mcp import MCPError
from mcp.client.session import ClientRequestContext
from pydantic import ValidationError

from desktop_agent.core.mcp.client import AskUser
from desktop_agent.core.mcp.sampling import SampledAnswer, SampleModel, SamplingRefusedError, SamplingRequest
from desktop_agent.core.mcp.sdk.forms import UnaskableError, question_of
from desktop_agent.core.mcp.sdk.sampled import refusal_of, request_of, result_of
from desktop_agent.core.mcp.server_log import ServerLog
from desktop_agent.core.protocol.form_checking import mistake_in_answers
from desktop_agent.core.protocol.model import Allowed, Decision, Denied, ServerQuestion

_MOST_PAGES = 5
_MOST_QUESTIONS = 20
"""How often one call may ask the user; a server that asks on and on is declined from then on."""

_DECLINED = mcp_types.ElicitResult(action="decline")
_CANCELLED = mcp_types.ElicitResult(action="cancel")


class _AskingCall:
    """A call that runs, and what is asked for it."""

    def __init__(self, ask: AskUser, sample: SampleModel) -> None:
        self.ask = ask
        self.sample = sample
        self.asking: set[asyncio.Task[Decision] | asyncio.Task[SampledAnswer]] = set()
        self.questions = 0
        """How often the user was asked for it."""
        self.refusal = ""
        """Why it was refused last to ask the model."""


_current: ContextVar[_AskingCall | None] = ContextVar("asking call", default=None)


class AskedBack:
    """Answers what one server asks."""

    def __init__(self, server: str, fingerprint: str, log: ServerLog) -> None:
        """`fingerprint` is that of the server's definition."""
        self._server = server
        self._fingerprint = fingerprint
        self._log = log
        self._calls: set[_AskingCall] = set()

    @asynccontextmanager
    async def during(self, ask: AskUser, sample: SampleModel) -> AsyncGenerator[None]:
        """Let the server ask as long as a call runs; what is still asked at its end is asked no longer."""
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
        """Answer a question by asking the user."""
        return await self._answered(params)

    async def sampled(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        """Answer what it asks of the model, if the user lets it."""
        call = self._call_that_asks()
        if call is None:
            why = self._why_none()
            self._log.say(f"It wanted to ask the model when {why}, and was refused.")
            return refusal_of(SamplingRefusedError(f"The model is asked for one running call only: {why}."))
        try:
            return result_of(await self._sample(call, request_of(self._server, self._fingerprint, params)))
        except SamplingRefusedError as error:
            self._log.say(f"It wanted to ask the model, and was refused: {error}")
            call.refusal = str(error)
            return refusal_of(error)

    def why_refused(self, error: MCPError) -> str:
        """Return why the current call may not ask the model, if `error` is that it may not; otherwise nothing."""
        call = _current.get()
        return call.refusal if call is not None and call.refusal == error.message else ""

    async def have_visited(self, pages: Sequence[mcp_types.ElicitRequestURLParams]) -> bool:
        """Whether the user visits all of these pages, which are asked about one by one; not if there are none."""
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
        asking = asyncio.create_task(_asked(call.ask, question), name=f"question of {self._server}")
        call.asking.add(asking)
        asking.add_done_callback(call.asking.discard)
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()
        return _CANCELLED if asking.cancelled() else self._result(question, asking.result())

    def _call_that_asks(self) -> _AskingCall | None:
        current = _current.get()
        if current is not None:
            return current if current in self._calls else None
        return next(iter(self._calls)) if len(self._calls) == 1 else None

    def _why_none(self) -> str:
        if _current.get() is not None:
            return "its call was over"
        return "several calls ran" if self._calls else "no call ran"

    async def _sample(self, call: _AskingCall, request: SamplingRequest) -> SampledAnswer:
        sampling = asyncio.create_task(_sampled(call.sample, request), name=f"sampling of {self._server}")
        call.asking.add(sampling)
        sampling.add_done_callback(call.asking.discard)
        try:
            await asyncio.wait({sampling})
        finally:
            sampling.cancel()
        if sampling.cancelled():
            raise SamplingRefusedError("The call is over.")
        return sampling.result()

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
    """Return the pages that a server wants visited before it does what was asked; none for any other error."""
    if error.code != mcp_types.URL_ELICITATION_REQUIRED:
        return ()
    try:
        pages = mcp_types.ElicitationRequiredErrorData.model_validate(error.data).elicitations
    except ValidationError:
        return ()
    return tuple(pages[:_MOST_PAGES])


async def _asked(ask: AskUser, question: ServerQuestion) -> Decision:
    return await ask(question)


async def _sampled(sample: SampleModel, request: SamplingRequest) -> SampledAnswer:
    return await sample(request)
