"""The process that imports Anthropic's SDK: `python -m desktop_agent.core.providers.sdk_worker`.

It sends the bodies that it gets, and passes the answers on as they come: our own code reads them.
"""

import gc

if __name__ == "__main__":
    gc.disable()  # while the SDK is imported, the collector would go over its modules again and again

import asyncio
import json
import os
import socket
import threading
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import IO, Any, cast

import httpx2
from anthropic import (
    APIConnectionError,
    APIStatusError,
    AsyncAnthropic,
    AsyncAnthropicAWS,
    AsyncAnthropicFoundry,
    AsyncAPIResponse,
    AsyncStream,
    CredentialsError,
    Omit,
)
from anthropic.lib.bedrock import AsyncAnthropicBedrock
from anthropic.lib.bedrock._stream_decoder import AWSEventStreamDecoder
from anthropic.lib.credentials import WorkloadIdentityError
from anthropic.lib.vertex import AsyncAnthropicVertex

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.base.web_address import address_of
from desktop_agent.core.protocol.codec import as_object, text_in
from desktop_agent.core.providers.faults import FailedCall
from desktop_agent.core.providers.http_connection import CONNECT_S, FAILURES, explain
from desktop_agent.core.providers.sdk_connection import (
    Answer,
    Ask,
    Begun,
    Cancel,
    Failed,
    FailureKind,
    Identify,
    Identity,
    Over,
    Piece,
    Question,
    Refused,
    SdkClient,
    Told,
)
from desktop_agent.core.system.network.connections import causes_of, names_of, proxy_for
from desktop_agent.core.system.network.http_client import model_client
from desktop_agent.core.system.processes.worker_process import read_message, serve, write_message

_Client = AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex
_CLIENTS: Mapping[str, type[Any]] = {
    "anthropic": AsyncAnthropic,
    "bedrock": AsyncAnthropicBedrock,
    "vertex": AsyncAnthropicVertex,
    "foundry": AsyncAnthropicFoundry,
    "aws": AsyncAnthropicAWS,
}
_ENTRA_SCOPE = "https://ai.azure.com/.default"
_RAW = {"X-Stainless-Raw-Response": "stream"}
_SECRET_HEADERS = ("authorization", "x-api-key", "api-key", "x-amz-security-token")
_EVENT_STREAM = "application/vnd.amazon.eventstream"
_METADATA_S = 0.5
_QUICK = {"GCE_METADATA_TIMEOUT": "1", "GCE_METADATA_DETECT_RETRIES": "1"}
"""Outside of a cloud, its metadata service does not answer, and the libraries would wait for long."""
_METADATA = ("169.254.169.254", 80)
_AZURE_SAYS = ("AZURE_TENANT_ID", "AZURE_TOKEN_CREDENTIALS", "IDENTITY_ENDPOINT", "MSI_ENDPOINT")
"""Variables that say how to sign in to Azure, or where its service for machines is."""


def main() -> None:
    gc.freeze()
    gc.enable()
    serve(_run)


def _run(questions: IO[bytes], answers: IO[bytes]) -> None:
    client = cast("SdkClient", read_message(questions))
    _keep_only(dict(client.environment))
    asyncio.run(_Worker(client, questions, answers).work())  # noqa: TID251 - a process of its own
    raise EOFError


def _keep_only(given: Mapping[str, str]) -> None:
    """Drop the variables that would lead the SDK's clients elsewhere than the account says."""
    for name in list(os.environ):
        if name.startswith("ANTHROPIC_") and name not in given:
            del os.environ[name]
    for name, value in _QUICK.items():
        os.environ.setdefault(name, value)


class _Worker:
    def __init__(self, client: SdkClient, questions: IO[bytes], answers: IO[bytes]) -> None:
        self._wanted = client
        self._questions = questions
        self._answers = answers
        self._built: dict[str, _Client] = {}
        self._left: list[_Client] = []
        """Clients with a key that was changed or refused, to be closed."""
        self._closing: asyncio.Future[list[BaseException | None]] | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def work(self) -> None:
        """Answer requests until the other end has closed."""
        loop, is_over = asyncio.get_running_loop(), asyncio.Event()

        def listen() -> None:
            with suppress(EOFError, OSError):
                while True:
                    question = cast("Question", read_message(self._questions))
                    loop.call_soon_threadsafe(self._take, question)
            loop.call_soon_threadsafe(is_over.set)

        threading.Thread(target=listen, name="questions", daemon=True).start()
        await is_over.wait()

    def _take(self, question: Question) -> None:
        if isinstance(question, Cancel):
            if (task := self._tasks.get(question.id)) is not None:
                task.cancel()
            return
        task = asyncio.get_running_loop().create_task(self._answer(question))
        self._tasks[question.id] = task
        task.add_done_callback(lambda _: self._done(question.id))

    def _done(self, number: int) -> None:
        del self._tasks[number]
        if not self._tasks and self._left:  # no request uses them any more
            left, self._left = self._left, []
            self._closing = asyncio.gather(*(client.close() for client in left), return_exceptions=True)

    async def _answer(self, question: Ask | Identify) -> None:
        address, has_begun = self._wanted.address, False
        try:
            if (client := self._built.get(question.key)) is None:
                client = await asyncio.to_thread(self._build, question.key)
                self._forget_clients()  # the key was changed
                self._built[question.key] = client
            address = str(client.base_url)
            await _find_project(client)
            if isinstance(question, Ask):
                answer, has_begun = await _answered(client, question), True
                await self._pass_on(question.id, answer)
            else:
                who = await asyncio.to_thread(_identity, self._wanted, client, question.key)
                self._say(Identity(question.id, who, str(client.base_url)))
        except APIStatusError as error:
            if error.status_code in (401, 403):
                self._forget_credentials()
            text = error.response.text.strip()
            told = Refused(question.id, error.status_code, dict(error.response.headers), text, _sent(error.response))
            self._say(told)
        except Exception as error:  # noqa: BLE001 - the libraries of three clouds: told to the user
            match _failure(error, address, has_begun=has_begun):
                case ProviderError() as known:
                    self._say(Told(question.id, known.title, known.fault, known.hint, known.detail))
                case kind, detail:
                    if kind != "broken":
                        self._forget_credentials()
                    self._say(Failed(question.id, kind, detail))

    async def _pass_on(self, number: int, answer: httpx2.Response) -> None:
        try:
            headers = dict(answer.headers)
            is_framed = headers.get("content-type", "").startswith(_EVENT_STREAM)
            if is_framed:
                headers["content-type"] = "text/event-stream"
            self._say(Begun(number, headers, _sent(answer)))
            async for data in _unframed(answer.aiter_bytes()) if is_framed else answer.aiter_bytes():
                self._say(Piece(number, data))
            self._say(Over(number))
        finally:
            await answer.aclose()

    def _build(self, key: str) -> _Client:
        wanted = self._wanted
        options: dict[str, Any] = dict(wanted.options)
        if key:
            options["api_key"] = key
            options.pop("aws_profile", None)
        elif not wanted.finds_credentials:
            options["api_key"] = ""  # or the SDK would send the active profile's token
        elif wanted.name == "foundry":
            options["azure_ad_token_provider"] = partial(asyncio.to_thread, _entra_tokens())
        elif wanted.name in ("bedrock", "aws"):
            _limit_metadata_of_aws()
        elif wanted.name == "vertex":
            _limit_metadata_of_google()
        has_profile = "profile" in options
        if wanted.address and not has_profile:
            options["base_url"] = wanted.address
        timeout = httpx2.Timeout(wanted.silence_s, connect=CONNECT_S)
        client = cast("_Client", _CLIENTS[wanted.name](**options, max_retries=0, timeout=timeout, open_telemetry=False))
        if has_profile and str(client.base_url).rstrip("/") != wanted.address.rstrip("/"):
            raise CredentialsError(f"The profile is for {client.base_url} now. Sign out of the account and in again.")
        # The client that limits answers needs the address, to know the proxy.
        address = str(client.base_url)
        ours = model_client(address, proxy=proxy_for(address), timeout=timeout)
        ours.event_hooks = {"response": [_read_as_utf8]}
        return client.copy(http_client=ours)

    def _forget_credentials(self) -> None:
        """Look for credentials again with the next request: the user may sign in, and the libraries keep theirs."""
        self._forget_clients()
        if self._wanted.name in ("bedrock", "aws"):
            _library("anthropic.lib.aws._auth")._get_session.cache_clear()

    def _forget_clients(self) -> None:
        self._left += self._built.values()
        self._built.clear()

    def _say(self, answer: Answer) -> None:
        write_message(self._answers, answer)


async def _find_project(client: Any) -> None:
    if isinstance(client, AsyncAnthropicVertex) and not client.project_id:
        await cast("Any", client)._ensure_access_token()  # the credentials say the project


async def _read_as_utf8(response: httpx2.Response) -> None:
    response.encoding = "utf-8"  # some of the charsets that a server can name, such as zlib, are none


def _sent(answer: httpx2.Response) -> tuple[str, ...]:
    headers = answer.request.headers
    values = (headers.get(name, "").removeprefix("Bearer ") for name in _SECRET_HEADERS)
    return tuple(value for value in values if value)


async def _answered(client: _Client, ask: Ask) -> httpx2.Response:
    try:
        return await _response(client, ask)
    except APIStatusError as error:
        tokens = getattr(client, "_token_cache", None)
        if error.status_code != 401 or tokens is None:
            raise
        tokens.invalidate()  # without retries, the SDK does not renew a refused token
        return await _response(client, ask)


async def _response(client: _Client, ask: Ask) -> httpx2.Response:
    headers: dict[str, str | Omit] = {**ask.headers, **_RAW}
    if "x-api-key" in headers or getattr(client, "api_key", None) == "":
        headers["Authorization"] = Omit()
    options: Any = {"headers": headers}
    if ask.method == "GET":
        response = await client.get(ask.path, cast_to=AsyncAPIResponse[object], options=options)
    else:
        body = json.loads(ask.body)
        response = await client.post(
            ask.path,
            cast_to=AsyncAPIResponse[object],
            body=body,
            options=options,
            stream=bool(body.get("stream")),
            stream_cls=AsyncStream[object],
        )
    return cast("AsyncAPIResponse[object]", response).http_response


async def _unframed(data: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for event in AWSEventStreamDecoder().aiter_bytes(data):
        yield "".join([*(f"data: {line}\n" for line in event.data.splitlines()), "\n"]).encode()


def _entra_tokens() -> Callable[[], str]:
    with ThreadPoolExecutor(1) as beside:
        says = any(name in os.environ for name in _AZURE_SAYS)
        looking = None if says else beside.submit(_is_machine_of_azure)
        identity = _library("azure.identity")  # takes about as long as looking
        is_machine = looking is None or looking.result()
    chain = identity.DefaultAzureCredential(process_timeout=2, exclude_managed_identity_credential=not is_machine)
    return identity.get_bearer_token_provider(chain, _ENTRA_SCOPE)


def _is_machine_of_azure() -> bool:
    """Whether the service for Azure's machines answers. The library would wait minutes for one that says nothing."""
    with suppress(OSError), socket.create_connection(_METADATA, _METADATA_S) as service:
        service.sendall(b"GET /metadata/versions HTTP/1.0\r\nHost: 169.254.169.254\r\nMetadata: true\r\n\r\n")
        return service.recv(5) == b"HTTP/"
    return False


def _limit_metadata_of_aws() -> None:
    """Limit both requests together. The variable for each takes only whole seconds."""
    with suppress(ImportError):  # a key needs no library
        variables = _library("botocore.configprovider").BOTOCORE_DEFAUT_SESSION_VARIABLES
        name, variable, *_ = variables["metadata_service_timeout"]
        variables["metadata_service_timeout"] = (name, variable, _METADATA_S / 2, float)


def _limit_metadata_of_google() -> None:
    """Limit the request that looks for the service, unless the user did. The variable takes only whole seconds."""
    if os.environ["GCE_METADATA_TIMEOUT"] == _QUICK["GCE_METADATA_TIMEOUT"]:
        with suppress(ImportError):  # the client says that it is missing
            metadata = _library("google.auth.compute_engine._metadata")
            metadata.ping = partial(metadata.ping, timeout=_METADATA_S)


def _identity(wanted: SdkClient, client: Any, key: str) -> str:
    if key:
        return "an API key"
    match wanted.name:
        case "bedrock" | "aws":
            session = _library("boto3").Session(profile_name=client.aws_profile, region_name=client.aws_region)
            found = session.get_credentials()
            if found is None:
                raise RuntimeError("Could not resolve AWS credentials from session")
            name = found.get_frozen_credentials().access_key
            return f"AWS access key …{name[-4:]} ({found.method}), region {client.aws_region}"
        case "vertex":
            found, project = _library("google.auth").default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
            found.refresh(_library("google.auth.transport.requests").Request())
            who = getattr(found, "service_account_email", "") or getattr(found, "account", "") or "your Google sign-in"
            return f"{who}, project {client.project_id or project}, region {client.region}"
        case "foundry":
            return _who_has(_entra_tokens()())
        case "anthropic":
            return f"the profile {dict(wanted.options).get('profile', 'that is active')}"


def _who_has(entra_token: str) -> str:
    with suppress(ValueError, IndexError):
        claims = as_object(json.loads(urlsafe_b64decode(entra_token.split(".")[1] + "==")))
        names = (text_in(claims, name) for name in ("upn", "unique_name", "app_displayname", "appid"))
        return next(filter(None, names), "your Entra sign-in")
    return "your Entra sign-in"


def _library(name: str) -> Any:
    return import_module(name)  # without types


_NO_CREDENTIALS = ("Could not resolve AWS credentials", "Could not resolve API token", "Missing credentials")
_LIBRARIES = frozenset({"boto3", "botocore", "google", "azure", "msal"})


def _failure(error: Exception, address: str, *, has_begun: bool) -> ProviderError | tuple[FailureKind, str]:
    causes = list(causes_of(error))
    words = str(error) or names_of(causes)
    if known := next((cause for cause in causes if isinstance(cause, ProviderError)), None):
        return known
    if any(isinstance(cause, ImportError) for cause in causes) or "MissingDependency" in type(error).__name__:
        return "missing", words
    if isinstance(error, CredentialsError | WorkloadIdentityError):
        status: int = getattr(error, "status_code", None) or 0
        # The body of a refusal may quote the token that was sent.
        told = f"the request for a token was answered with HTTP {status}" if status else words
        if status >= 500 or any(isinstance(cause, httpx2.HTTPError) for cause in causes):
            return ProviderError(
                "The sign-in service could not be reached.",
                fault="network",
                hint="Check the network connection and try again.",
                detail=told,
            )
        return "credentials", told
    if any(type(cause).__name__ in ("ProfileNotFound", "ConfigParseError") for cause in causes):
        return "configuration", words
    if any(type(cause).__module__.startswith("botocore.eventstream") for cause in causes):
        return "broken", words
    if any(type(cause).__module__.partition(".")[0] in _LIBRARIES for cause in causes) or words.startswith(
        _NO_CREDENTIALS
    ):
        return "credentials", words
    if isinstance(error, APIConnectionError | httpx2.HTTPError | httpx2.StreamError):
        call = FailedCall(address=address_of(address) or address, proxy=proxy_for(address))
        return explain(next((c for c in causes if isinstance(c, FAILURES)), error), call, has_started=has_begun)
    return "configuration", words


if __name__ == "__main__":
    main()
