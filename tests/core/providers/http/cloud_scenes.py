"""Claude's connections, each with the servers that verify it: the SDK with a key, Bedrock, Vertex, Foundry, AWS."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.providers.auth.credential import NoCredential
from desktop_agent.core.providers.http_provider import SILENCE_S, HttpProvider
from desktop_agent.core.providers.provider_catalog import account_provider, key_credential, sdk_connection
from desktop_agent.core.providers.sdk_connection import SdkConnection
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.clouds import PROJECT, REGION, WORKSPACE, AwsDialect, FoundryDialect, bedrock, vertex
from tests.servers.model_server import ModelServer
from tests.servers.token_servers import EntraTokens, GoogleTokens, TokenServer

MODEL = "claude-test-large"
CONNECTIONS = ("sdk", "bedrock", "bedrock key", "vertex", "foundry", "foundry key", "aws", "aws key")
KEY = "sk-test-0123456789abcdef"
AWS_ID, AWS_SECRET = "AKIATESTTESTTEST1234", "a-secret-of-the-test-0123456789"
ACCESS_TOKEN = "access-token-of-the-test-0123456789"
AWS = {"AWS_ACCESS_KEY_ID": AWS_ID, "AWS_SECRET_ACCESS_KEY": AWS_SECRET}


@dataclass(frozen=True)
class Scene:
    server: ModelServer
    account: Account
    environ: Mapping[str, str]
    key: str | None
    tokens: TokenServer | None
    connection: SdkConnection

    def provider(self) -> HttpProvider:
        credential = key_credential(self.account, self.key) if self.key else NoCredential()
        return account_provider(self.account, credential, sdk=self.connection)


@asynccontextmanager
async def scene(
    name: str,
    folder: Path,
    *,
    model: str = MODEL,
    environ: Mapping[str, str] | None = None,
    silence_s: float = SILENCE_S,
) -> AsyncGenerator[Scene]:
    """Start the servers of a connection. The worker starts with the first request, and ends with the scene."""
    vendor = name.removesuffix(" key") if name != "sdk" else "anthropic"
    key = KEY if name == "sdk" or name.endswith(" key") else None
    given: dict[str, str] = {}
    tokens: TokenServer | None = None
    async with AsyncExitStack() as stack:
        match vendor:
            case "bedrock":
                dialect, cloud = bedrock(model, **{AWS_ID: AWS_SECRET}), {"region": REGION}
                given = AWS
            case "vertex":
                tokens = await stack.enter_async_context(GoogleTokens(ACCESS_TOKEN))
                dialect, cloud = vertex(model), {"region": "global", "project": PROJECT}
                given = {"GOOGLE_APPLICATION_CREDENTIALS": str(tokens.write_key(folder / "google.json"))}
            case "foundry":
                tokens = await stack.enter_async_context(EntraTokens(ACCESS_TOKEN, folder))
                dialect, cloud = FoundryDialect(), {}
                given = tokens.environment
                stack.enter_context(pytest.MonkeyPatch.context()).setenv(
                    "REQUESTS_CA_BUNDLE", str(tokens.authority.file)
                )
            case "aws":
                dialect, cloud = AwsDialect(secrets={AWS_ID: AWS_SECRET}), {"region": REGION, "workspace_id": WORKSPACE}
                given = AWS
            case _:
                dialect, cloud = ANTHROPIC, {}
        wanted = key or (ACCESS_TOKEN if tokens is not None else None)
        server = await stack.enter_async_context(ModelServer(dialect=dialect, key=wanted))
        account = replace(usual_account(vendor), address=server.url, cloud=cloud)
        if key:
            account = replace(account, kind="key")
        environ = {**OFFLINE, **({} if key else given), **(environ or {})}
        connection = sdk_connection(account, environ, silence_s).used()
        try:
            yield Scene(server, account, environ, key, tokens, connection)
        finally:
            connection.kill()
        assert server.violations == []


OFFLINE = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nowhere/config",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere/credentials",
    "AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential",
}
"""No test asks the machine that it runs on for credentials."""
