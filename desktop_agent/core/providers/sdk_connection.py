"""Asks Claude through Anthropic's SDK, which signs requests for clouds and finds and renews credentials.

Importing the SDK takes a second and 44 MB, so it runs in a process of its own, `sdk_worker.py`, one for each account.
"""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from typing import Final, Literal, NamedTuple, Self, assert_never, cast

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.base.secrets import Discreet, mask
from desktop_agent.core.providers.faults import FailedCall, RefusedError, broken_off
from desktop_agent.core.system.processes.worker_process import WorkerDiedError, WorkerProcess

_MODULE: Final = "desktop_agent.core.providers.sdk_worker"
_IDLE_S: Final = 600.0
_SIGN_IN_S: Final = 90.0
"""How many seconds finding credentials may take: a program of the user's may find them, and ask the user."""
_REMEMBERED: Final = 20

SdkName = Literal["anthropic", "bedrock", "vertex", "foundry", "aws"]

FailureKind = Literal["broken", "credentials", "configuration", "missing"]


class SdkClient(Discreet, frozen=True, kw_only=True):
    """What the worker builds its client from. Equal ones share a worker."""

    SHOWN = ("name", "options", "address", "silence_s", "finds_credentials")

    name: SdkName
    options: tuple[tuple[str, str], ...] = ()
    address: str = ""
    """The address of a gateway; empty for the one that the SDK derives."""
    environment: tuple[tuple[str, str], ...] = ()
    """The variables that the account's credentials come from. Nothing else of the environment is a secret."""
    silence_s: float
    finds_credentials: bool = True
    """Whether the SDK looks for credentials if there is no key. Otherwise a request without a key has none."""

    @property
    def secrets(self) -> dict[str, str]:
        """The variables without those that name only a file or a kind of credentials."""
        return {name: value for name, value in self.environment if not name.endswith(("CREDENTIALS", "_FILE"))}


class Ask(Discreet, frozen=True):
    """Send a request. Answers: `Begun`, `Piece`s and `Over`; `Refused` or `Failed` at any time instead."""

    SHOWN = ("id", "method", "path")

    id: int
    method: Literal["GET", "POST"]
    path: str
    body: bytes
    headers: Mapping[str, str]
    key: str
    """The account's key; empty if the client finds its own credentials."""


class Identify(Discreet, frozen=True):
    """Find the credentials without sending anything. The answer is `Identity` or `Failed`."""

    SHOWN = ("id",)

    id: int
    key: str


class Cancel(NamedTuple):
    id: int


class Begun(Discreet, frozen=True):
    SHOWN = ("id", "headers")

    id: int
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    """What was sent to authenticate, which no message may show."""


class Piece(NamedTuple):
    id: int
    data: bytes


class Over(NamedTuple):
    id: int


class Refused(Discreet, frozen=True):
    SHOWN = ("id", "status", "headers")

    id: int
    status: int
    headers: Mapping[str, str]
    text: str
    secrets: tuple[str, ...]


class Failed(NamedTuple):
    id: int
    kind: FailureKind
    detail: str


class Identity(NamedTuple):
    """Who would ask: an identity in words, and the address."""

    id: int
    who: str
    address: str


class Told(NamedTuple):
    """A `ProviderError`, in its parts."""

    id: int
    title: str
    fault: ProviderFault
    hint: str
    detail: str


Question = Ask | Identify | Cancel
Answer = Begun | Piece | Over | Refused | Failed | Told | Identity


class SdkFailedError(Exception):
    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind: FailureKind = kind
        self.detail = detail


class SdkResponse:
    def __init__(self, begun: Begun, rest: AsyncIterator[Answer]) -> None:
        self.headers = begun.headers
        self._rest = rest

    async def aiter_raw(self) -> AsyncGenerator[bytes]:
        """Yield the answer as server-sent events or JSON. Raises `SdkFailedError`."""
        async for piece in self._rest:
            if isinstance(piece, Piece):
                yield piece.data


class _Waiting(NamedTuple):
    worker: WorkerProcess
    answers: asyncio.Queue[Answer | None]
    """`None`: the worker ended."""


class SdkConnection:
    """One account's requests, in a worker that all its providers share. Belongs to one event loop.

    The worker starts with the first request, or earlier with `start`. It ends with its last user, and after some
    minutes without a request. The next request starts another worker.
    """

    failures = (SdkFailedError,)

    def __init__(
        self,
        client: SdkClient,
        label: str,
        how_to_sign_in: str,
        extra: str,
        settings: Sequence[str] = (),
        *,
        idle_s: float = _IDLE_S,
        sign_in_s: float = _SIGN_IN_S,
    ) -> None:
        """`extra` is the extra of our package that brings what the client needs; `label` names the service.

        `settings` are what an account can say, in words.
        """
        self.client = client
        self._label = label
        self._how_to_sign_in = how_to_sign_in
        self._extra = extra
        self._settings = settings
        self._idle_s = idle_s
        self._sign_in_s = sign_in_s
        self._worker: WorkerProcess | None = None
        self._heard: WorkerProcess | None = None
        """The last worker whose answers a thread reads."""
        self._users = 0
        self._waiting: dict[int, _Waiting] = {}
        self._ids = count(1)
        self._starting = asyncio.Lock()
        self._sending = threading.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._sent: deque[str] = deque(maxlen=_REMEMBERED)

    @property
    def pid(self) -> int | None:
        return self._worker.pid if self._worker is not None else None

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(self._sent)

    def used(self) -> Self:
        """Return this connection, counting one more user, who must call `aclose`."""
        self._users += 1
        return self

    def launch(self) -> None:
        """Start the worker, whose answers wait for `start`. Blocks. Raises `OSError`."""
        self._worker = worker = WorkerProcess(_MODULE, dict(self.client.environment), starts_others=True)
        with suppress(WorkerDiedError):  # the reading thread notices, too
            worker.send(self.client)

    async def start(self) -> WorkerProcess:
        async with self._starting:
            if self._worker is None:
                starting = asyncio.ensure_future(asyncio.to_thread(self.launch))
                try:
                    await asyncio.shield(starting)
                finally:  # a process that was started while this was cancelled is ended by `aclose`
                    await starting
            worker = self._worker
            assert worker is not None
            if worker is not self._heard:
                self._heard = worker
                listening = (worker, asyncio.get_running_loop())
                threading.Thread(target=self._listen, args=listening, name="sdk answers", daemon=True).start()
            if not self._waiting:
                self._end_when_idle()
            return worker

    async def get(self, path: str, headers: Mapping[str, str]) -> bytes:
        async with self._response(Ask(next(self._ids), "GET", path, b"", *self._split(headers))) as response:
            return b"".join([piece async for piece in response.aiter_raw()])

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
        async with self.stream(path, body, headers) as response:
            return b"".join([piece async for piece in response.aiter_raw()])

    def stream(self, path: str, body: bytes, headers: Mapping[str, str]) -> AbstractAsyncContextManager[SdkResponse]:
        return self._response(Ask(next(self._ids), "POST", path, body, *self._split(headers)))

    async def identity(self, headers: Mapping[str, str]) -> Identity:
        """Find the credentials without asking the model. Raises `SdkFailedError`."""
        async with self._answers(Identify(next(self._ids), self._split(headers)[1])) as answers:
            async for answer in answers:
                if isinstance(answer, Identity):
                    return answer
        raise SdkFailedError("broken", "no identity came")

    async def aclose(self) -> None:
        self._users -= 1
        if self._users <= 0:
            await asyncio.to_thread(self.kill)

    def explain(self, error: Exception, call: FailedCall, *, has_started: bool = False) -> ProviderError:
        """Return what the user reads for one of the `failures`. `has_started`: the answer had begun."""
        assert isinstance(error, SdkFailedError)
        detail = mask(error.detail, (*call.secrets, *self.secrets))
        match error.kind:
            case "broken":
                return broken_off(detail)
            case "credentials":
                return ProviderError(
                    f"There are no usable credentials for {self._label}.",
                    fault="authentication",
                    hint=self._how_to_sign_in,
                    detail=detail,
                )
            case "configuration":
                title, names = f"{self._label} cannot be asked with these settings.", " or ".join(self._settings)
                hint = f"Set {names} in the account or in the environment." if names else self._how_to_sign_in
                return ProviderError(title, fault="configuration", hint=hint, detail=detail)
            case "missing":
                command = f"`pip install 'desktop-agent[{self._extra}]'`"
                hint = f"Install them with {command}."
                if getattr(sys, "frozen", False):
                    hint = f"This build cannot have them. Install the package from PyPI instead: {command}."
                title = f"{self._label} needs packages that are not installed."
                return ProviderError(title, fault="configuration", hint=hint, detail=detail)
            case _:
                assert_never(error.kind)

    @asynccontextmanager
    async def _response(self, question: Ask) -> AsyncGenerator[SdkResponse]:
        async with self._answers(question) as answers:
            async for first in answers:
                if isinstance(first, Begun):
                    yield SdkResponse(first, answers)
                    return
            raise SdkFailedError("broken", "no answer came")

    @asynccontextmanager
    async def _answers(self, question: Ask | Identify) -> AsyncGenerator[AsyncIterator[Answer]]:
        """Ask, and yield the answers. A request that is not over at the end of the block is cancelled."""
        loop, worker = asyncio.get_running_loop(), await self.start()
        if self._idle is not None:
            self._idle.cancel()
        waiting = self._waiting[question.id] = _Waiting(worker, asyncio.Queue())
        asking = loop.run_in_executor(None, self._send, worker, question)
        try:
            await asyncio.shield(asking)
            yield self._read(waiting.answers)
        finally:
            del self._waiting[question.id]
            # Never before the question, which may still be on its way when this is cancelled.
            asking.add_done_callback(lambda _: loop.run_in_executor(None, self._send, worker, Cancel(question.id)))
            if not self._waiting:
                self._end_when_idle()

    def _end_when_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._idle_s, self.kill)

    def _send(self, worker: WorkerProcess, question: Question) -> None:
        with self._sending, suppress(WorkerDiedError):  # the reading thread notices, too
            worker.send(question)

    async def _read(self, queue: asyncio.Queue[Answer | None]) -> AsyncIterator[Answer]:
        limit: float | None = self.client.silence_s + self._sign_in_s
        while True:
            try:
                answer = await asyncio.wait_for(queue.get(), limit)
            except TimeoutError:
                self.kill()  # nothing else would end a program that the SDK waits for
                raise SdkFailedError("credentials", "finding them takes too long") from None
            limit = None  # from here on, the SDK keeps its own time limits
            match answer:
                case None:
                    raise SdkFailedError("broken", "the process of the SDK ended")
                case Failed(_, kind, detail):
                    raise SdkFailedError(kind, detail)
                case Told(_, title, fault, hint, detail):
                    raise ProviderError(title, fault=fault, hint=hint, detail=detail)
                case Refused(_, status, headers, text, secrets):
                    self._remember(secrets)
                    raise RefusedError(status, headers, text)
                case Over():
                    return
                case Begun() as begun:
                    self._remember(begun.secrets)
                    yield begun
                case _:
                    yield answer

    def _remember(self, secrets: tuple[str, ...]) -> None:
        self._sent.extend(secret for secret in secrets if secret not in self._sent)

    def _listen(self, worker: WorkerProcess, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while True:
                loop.call_soon_threadsafe(self._deliver, cast("Answer", worker.receive()))
        except WorkerDiedError:
            worker.end()
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._died, worker)
        except RuntimeError:
            worker.end()

    def _deliver(self, answer: Answer) -> None:
        if (waiting := self._waiting.get(answer.id)) is not None:
            waiting.answers.put_nowait(answer)

    def _died(self, worker: WorkerProcess) -> None:
        if self._worker is worker:
            self._worker = None
        for waiting in self._waiting.values():
            if waiting.worker is worker:
                waiting.answers.put_nowait(None)

    def kill(self) -> None:
        """End the worker at once. What it was asked fails as if the connection had been lost."""
        if (worker := self._worker) is not None:
            self._worker = None
            if worker is self._heard:
                worker.kill()  # the reading thread ends it
            else:
                worker.end()

    def _split(self, headers: Mapping[str, str]) -> tuple[dict[str, str], str]:
        """Take the key out of headers: the SDK's client gets it as an argument, because it may send it another way.

        Anthropic's client knows one header for it. The other one stays.
        """
        rest = dict(headers)
        key = rest.pop("Authorization", "").removeprefix("Bearer ") or rest.get("x-api-key", "")
        if self.client.name != "anthropic":
            rest.pop("x-api-key", None)
        return rest, key
