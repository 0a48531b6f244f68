"""A user with a keyring, a server that requires a sign-in, and applications."""

from pathlib import Path

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.mcp.connection import Connection, ServerPool
from desktop_agent.core.mcp.definition import Address, ServerDefinition
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_sign_ins import KeyringCredentials, ServerKeyring, ServerSignIns
from tests.core.mcp.test_connection import text_of
from tests.memory_keyring import MemoryKeyring
from tests.servers.browser import UserInBrowser
from tests.servers.mcp_authorization import Authorization
from tests.servers.mcp_http import McpHttpServer


class User:
    def __init__(self, server: McpHttpServer, authorization: Authorization, data: Path) -> None:
        self.server = server
        self.authorization = authorization
        self.data = data
        self.backend = MemoryKeyring()
        self.definition = ServerDefinition(name="tickets", reached_by=Address(url=server.url))
        self.pool = self.another_application()

    def another_application(self) -> ServerPool:
        credentials = KeyringCredentials(self.keyring, self.data, SystemClock())
        return ServerPool(SystemClock(), {}, self.data / "logs", credentials=credentials)

    @property
    def keyring(self) -> ServerKeyring:
        return ServerKeyring(SystemKeyStore(self.backend))

    @property
    def sign_ins(self) -> ServerSignIns:
        return ServerSignIns(self.keyring, self.data, SystemClock())

    @property
    def connection(self) -> Connection:
        return self.pool.lease(self.definition, self.data).connection

    async def sign_in(self) -> UserInBrowser:
        async with UserInBrowser() as browser:
            await self.sign_ins.sign_in(self.definition, browser)
        return browser

    async def call(self) -> str:
        return text_of(await self.connection.call("echo", {"text": "hello"}))
