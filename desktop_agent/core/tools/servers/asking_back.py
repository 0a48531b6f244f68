"""What an MCP server may ask the session's model or the user while its call runs. Answers are recorded first."""

import asyncio
from typing import Protocol

from msgspec import Struct, field

from desktop_agent.core.approvals import Approvals
from desktop_agent.core.base.errors import AgentError, StorageError
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.mcp.client import (
    AskUser,
    SampledAnswer,
    SampledMessage,
    SampleModel,
    SamplingDeniedError,
    SamplingRefusedError,
    SamplingRequest,
)
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.events import EventLog
from desktop_agent.core.protocol.form_checking import mistake_in_answers
from desktop_agent.core.protocol.model import (
    Aborted,
    Allowed,
    ApprovalRequest,
    AssistantMessage,
    Decision,
    Denied,
    Message,
    ModelRequest,
    SampledText,
    SamplingQuestion,
    ServerQuestion,
    StopReason,
    TextBlock,
    ToolCall,
    UserMessage,
)
from desktop_agent.core.tools.judging import Policies, arguments_digest

MOST_IN_A_CALL = 10

SAMPLING = "server_sampling"


class AsideFacts(Struct, frozen=True, kw_only=True):
    model: str
    price: str = ""
    """Price of a million tokens, input and output; empty when it is not known."""


class AsideAnswer(Struct, frozen=True, kw_only=True):
    text: str
    stop: StopReason


class AsideModel(Protocol):
    async def facts(self) -> AsideFacts: ...

    async def answer(self, turn: int, request: ModelRequest) -> AsideAnswer:
        """Return the model's answer, with the retries and limits of a turn. Record the cost. Raises `AgentError`."""
        ...


class ServerSampling(Struct, frozen=True, eq=False):
    _model: AsideModel
    _log: EventLog
    _policies: Policies
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _allowed: set[str] = field(default_factory=set[str])
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
            facts = await self._model.facts()
            question = _question(request, facts)
            allowed = await self._let_through(ask, request, question)
            answer = await self._model.answer(
                turn,
                ModelRequest(
                    model=facts.model,
                    system=request.system,
                    messages=messages,
                    tools=(),
                    max_tokens=request.max_tokens,
                ),
            )
        except StorageError:
            raise
        except AgentError as error:
            raise SamplingRefusedError(f"The model could not be asked: {error.title}") from error
        if answer.stop == "refusal":
            raise SamplingRefusedError("The model declined to answer.")
        await self._log.record(_notice(turn, question, answer.text, allowed))
        stop = "maxTokens" if answer.stop == "max_tokens" else "endTurn"
        return SampledAnswer(text=answer.text, model=facts.model, stop=stop)

    async def _let_through(self, ask: AskUser, request: SamplingRequest, question: ServerQuestion) -> str:
        if self._policies.approval() == "never":
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


def _question(request: SamplingRequest, facts: AsideFacts) -> ServerQuestion:
    system = [SampledText(role="system", text=named(request.system))] if request.system else []
    texts = [SampledText(role=message.role, text=named(message.text)) for message in request.messages]
    sampling = SamplingQuestion(
        texts=(*system, *texts),
        max_tokens=request.max_tokens,
        model=facts.model,
        price=facts.price,
        notes=request.notes,
    )
    return ServerQuestion(server=request.server, message="", sampling=sampling)


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


def _notice(turn: int, question: ServerQuestion, answer: str, allowed: str) -> ev.Notice:
    assert question.sampling is not None
    asked = "\n\n".join(f"{text.role.capitalize()}: {text.text}" for text in question.sampling.texts)
    return ev.Notice(
        level="info",
        code=SAMPLING,
        title=f"{question.server} asked {question.sampling.model} something, and got the answer.",
        hint=f"{allowed} It is not part of the conversation.",
        detail=f"{asked}\n\nAnswer: {named(answer)}",
        turn=turn,
    )


class ServerQuestions(Struct, frozen=True, eq=False):
    _approvals: Approvals
    _policies: Policies
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, turn: int, call: ToolCall, question: ServerQuestion) -> Decision:
        if self._policies.approval() == "never":
            return Denied()
        verb = "asks you" if question.sampling is None else "wants to ask the model"
        request = ApprovalRequest(
            call_id=call.id,
            tool=call.name,
            title=f"{question.server} {verb} something",
            reason="",
            arguments_digest=arguments_digest(call),
            question=question,
        )

        async def confirmed(decision: Decision) -> Decision:
            answers = decision.answers if isinstance(decision, Allowed) else None
            mistake = "" if answers is None else mistake_in_answers(question, answers)
            return Aborted(reason=f"the answers do not fit the form. {mistake}") if mistake else decision

        async with self._one_at_a_time:
            return await self._approvals.ask(turn, request, confirmed)
