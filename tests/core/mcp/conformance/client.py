"""The client for the public conformance suite: `python -m tests.core.mcp.conformance.client URL`.

It uses our connection and sign-in, with a keyring in memory. The suite names its scenario in `MCP_CONFORMANCE_SCENARIO`
and the user's knowledge in `MCP_CONFORMANCE_CONTEXT`. It exits with 1 on a failure, as some scenarios require.
"""

import asyncio
import json
import logging
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit
from urllib.request import urlopen

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import AgentError, ServerError
from desktop_agent.core.mcp.connection import Connection, ServerPool
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.mcp.server_status import OfferedTool
from desktop_agent.core.protocol.model import Allowed, Answer, Decision, FormField, ServerQuestion
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_sign_ins import (
    KeyringCredentials,
    ServerKeyring,
    ServerSignIns,
    keep_client_secret,
)
from tests.memory_keyring import MemoryKeyring
from tests.servers.browser import UserInBrowser

T = TypeVar("T")

MOST_SIGN_INS = 5
"""After so many sign-ins the user gives up; the suite rejects more than three too many."""

VALUES: dict[str, object] = {"string": "x", "integer": 5, "number": 3, "boolean": True, "object": {}, "array": []}

DESCRIBED_AT = "https://conformance-test.local/client-metadata.json"
"""The application's description by the suite's convention, used as client_id."""

WITHOUT_USER = ("auth/client-credentials-jwt", "auth/client-credentials-basic")

COUNTS_STREAMS = "sse-retry"

ONLY_LISTED = "json-schema-ref-no-deref"

Call = tuple[str, Mapping[str, object]]


class User:
    def __init__(self, url: str, known: Mapping[str, Any], folder: Path) -> None:
        self._definition = ServerDefinition(name="suite", reached_by=_address(url, known))
        self._keyring = ServerKeyring(SystemKeyStore(MemoryKeyring()))
        if secret := known.get("client_secret") or known.get("private_key_pem"):
            keep_client_secret(self._keyring, self._definition, secret)
        self._folder = folder
        credentials = KeyringCredentials(self._keyring, folder, SystemClock())
        self.pool = ServerPool(SystemClock(), dict(os.environ), None, credentials=credentials)
        self._sign_ins = 0

    @property
    def connection(self) -> Connection:
        return self.pool.lease(self._definition, self._folder).connection

    async def tools(self) -> Sequence[OfferedTool]:
        return await self._signed_in(lambda connection: connection.tools())

    async def call(self, call: Call) -> None:
        tool, arguments = call
        await self._signed_in(lambda connection: connection.call(tool, arguments, ask=accept_defaults))

    async def _signed_in(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        while True:
            try:
                if self.connection.status.state == "failed":  # which is tried again at once when the user says so
                    await self.connection.restart()
                return await work(self.connection)
            except ServerError as error:
                if "mcp sign-in" not in error.hint or self._sign_ins == MOST_SIGN_INS:
                    raise
            self._sign_ins += 1
            async with UserInBrowser() as browser:
                await ServerSignIns(self._keyring, self._folder, SystemClock()).sign_in(self._definition, browser)


def _address(url: str, known: Mapping[str, Any]) -> Address:
    if "client_id" not in known:
        return Address(url=url, client_id=DESCRIBED_AT)
    if known["name"] in WITHOUT_USER:
        issuer = _issuer(url)
        return Address(url=url, client_id=known["client_id"], grant="client_credentials", issuer=issuer)
    return Address(url=url, client_id=known["client_id"])


def _issuer(url: str) -> str:
    described = urlsplit(url)._replace(path=f"/.well-known/oauth-protected-resource{urlsplit(url).path}").geturl()
    with urlopen(described) as answer:
        return json.load(answer)["authorization_servers"][0]


async def accept_defaults(question: ServerQuestion) -> Decision:
    return Allowed(answers={field.name: answer for field in question.fields if (answer := _answer(field)) is not None})


def _answer(field: FormField) -> Answer | None:
    if field.default is None and field.is_required and field.kind == "boolean":
        return True
    return field.default


def calls_for(tools: Sequence[OfferedTool], known: Mapping[str, Any]) -> Sequence[Call]:
    said = cast("Sequence[Mapping[str, Any]]", known.get("toolCalls", ()))
    names = {tool.name for tool in tools}
    calls: list[Call] = [(each["name"], each.get("arguments") or {}) for each in said if each["name"] in names]
    return calls or [(tool.name, _arguments(tool, tools)) for tool in tools]


def _arguments(tool: OfferedTool, tools: Sequence[OfferedTool]) -> dict[str, object]:
    schema = cast("Mapping[str, Any]", tool.input_schema)
    if tool.name == "json_schema_echo":  # which wants to see how the schema of another one arrived
        return {"schema": next(each.input_schema for each in tools if each.name == "json_schema_2020_12_tool")}
    properties = schema.get("properties", {})
    return {name: VALUES.get(properties.get(name, {}).get("type"), "x") for name in schema.get("required", ())}


class StreamOpened(logging.Handler):
    """Sets `seen` once the SDK logs that the server's own stream is open."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = asyncio.Event()
        logger = logging.getLogger("mcp.client.streamable_http")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == "GET SSE connection established":
            self.seen.set()


@asynccontextmanager
async def using(url: str, known: Mapping[str, Any]) -> AsyncGenerator[User]:
    with tempfile.TemporaryDirectory() as folder:
        user = User(url, known, Path(folder))
        try:
            yield user
        finally:
            await user.pool.aclose()


async def main(url: str, scenario: str, known: Mapping[str, Any]) -> int:
    problems: list[AgentError] = []
    opened = StreamOpened()
    async with using(url, known) as user:
        try:
            tools = await user.tools()
            if scenario == COUNTS_STREAMS:
                await opened.seen.wait()
            for call in calls_for(tools, known) if scenario != ONLY_LISTED else ():
                try:
                    await user.call(call)
                except ServerError as error:
                    problems.append(error)
        except AgentError as error:
            problems.append(error)
    for problem in problems:
        print(problem, problem.hint, problem.detail)
    return 1 if problems else 0


if __name__ == "__main__":
    _scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    _known = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    sys.exit(asyncio.run(main(sys.argv[1], _scenario, _known)))  # noqa: TID251 - entry point
