"""Requests through Anthropic's SDK, which runs in a process of its own: its life, and its failures in plain words."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError, ProviderFault
from desktop_agent.core.models.account import Account, AccountKind, usual_account
from desktop_agent.core.models.vendors import KeyHeader
from desktop_agent.core.protocol.model import ModelRequest, TextBlock, ToolUseBlock
from desktop_agent.core.providers.auth.credential import NoCredential
from desktop_agent.core.providers.faults import FailedCall
from desktop_agent.core.providers.http_provider import HttpProvider
from desktop_agent.core.providers.provider import whole_answer
from desktop_agent.core.providers.provider_catalog import account_provider, key_credential, sdk_connection
from desktop_agent.core.providers.sdk_connection import Ask, Begun, Identify, Refused, SdkConnection, SdkFailedError
from tests.core.providers.http.cloud_scenes import AWS, AWS_ID, AWS_SECRET, KEY, OFFLINE, Scene, scene
from tests.core.test_imports import loaded_after
from tests.harness import PATIENCE_S
from tests.servers import fault
from tests.servers.dialects.clouds import aws_error
from tests.servers.model_server import ModelServer
from tests.servers.rude_server import RudeServer
from tests.servers.script import Answer, Whole, reply, text, tool_use

NO_FILE = {"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/key.json"}


@pytest.fixture
async def bedrock(tmp_path: Path) -> AsyncGenerator[Scene]:
    async with scene("bedrock", tmp_path) as connected:
        yield connected


@pytest.fixture
async def provider(bedrock: Scene) -> AsyncGenerator[HttpProvider]:
    provider = bedrock.provider()
    yield provider
    await provider.aclose()


async def failure(provider: HttpProvider, request: ModelRequest) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await whole_answer(provider, request)
    return caught.value


async def test_answers_come_whole(provider: HttpProvider, bedrock: Scene, model_request: ModelRequest) -> None:
    bedrock.server.will(reply(text("Größe, 思考."), tool_use("read_file", path="a.py")))
    completion = await whole_answer(provider, model_request)
    assert [type(block) for block in completion.content] == [TextBlock, ToolUseBlock]
    assert completion.text == "Größe, 思考."


# --- the worker ---------------------------------------------------------------------------------------------------


async def test_a_worker_that_was_killed_is_a_connection_that_was_lost_and_the_next_request_starts_another(
    provider: HttpProvider, bedrock: Scene, model_request: ModelRequest
) -> None:
    bedrock.server.will(reply(text("And then"), fault.stall_after(events=3)), reply(text("Again.")))

    async def kill_in_the_middle() -> None:
        async for _ in provider.stream(model_request):
            bedrock.connection.kill()

    with pytest.raises(ProviderError) as caught:
        await kill_in_the_middle()
    assert caught.value.is_transient
    assert (await whole_answer(provider, model_request)).text == "Again."


async def test_two_requests_at_once_do_not_mix_or_wait_for_each_other(
    provider: HttpProvider, bedrock: Scene, model_request: ModelRequest
) -> None:
    bedrock.server.will(reply(text("Hangs"), fault.stall_after(events=3)), reply(text("Goes on.")))
    async with aclosing(provider.stream(model_request)) as hanging:
        await anext(hanging)
        assert (await whole_answer(provider, model_request)).text == "Goes on."
    await bedrock.server.messages[0].is_over.wait()
    assert bedrock.server.messages[0].outcome == "abandoned"


async def test_an_idle_worker_ends_and_the_next_request_starts_another(
    bedrock: Scene, model_request: ModelRequest
) -> None:
    made = sdk_connection(bedrock.account, bedrock.environ)
    connection = SdkConnection(made.client, "Bedrock", "", "bedrock", idle_s=0.0)
    provider = account_provider(bedrock.account, key_credential(bedrock.account, None), sdk=connection)
    bedrock.server.will(reply(text("One.")), reply(text("Two.")))
    for answer in ("One.", "Two."):
        worker = psutil.Process((await connection.start()).pid)
        assert (await whole_answer(provider, model_request)).text == answer
        await asyncio.to_thread(worker.wait, PATIENCE_S)
    await provider.aclose()


async def test_a_changed_key_is_sent_by_the_same_worker(tmp_path: Path, model_request: ModelRequest) -> None:
    async with scene("foundry key", tmp_path) as connected:
        connected.server.accept_any_key()
        connected.server.will(reply(text("One.")), reply(text("Two.")))
        await connected.connection.start()
        first = connected.connection.pid
        keys = [KEY, "another-key-0123456789"]
        for key in keys:
            provider = account_provider(
                connected.account, key_credential(connected.account, key), sdk=connected.connection
            )
            await whole_answer(provider, model_request)
            await provider.aclose()
        assert [exchange.headers["api-key"] for exchange in connected.server.messages] == [
            KEY,
            "another-key-0123456789",
        ]
        assert connected.connection.pid == first


def test_a_worker_ends_with_our_process_even_if_that_is_killed(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from desktop_agent.core.models.account import Account, AccountKind, usual_account
from desktop_agent.core.models.vendors import KeyHeader
from desktop_agent.core.providers.provider_catalog import sdk_connection

async def main():
    connection = sdk_connection(usual_account("bedrock"), {})
    await connection.start()
    print(connection.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
    ours = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert ours.stdout is not None
    worker = psutil.Process(int(ours.stdout.readline()))
    ours.send_signal(signal.SIGKILL)
    ours.wait()
    ours.stdout.close()
    worker.wait(timeout=PATIENCE_S)


# --- failures in plain words --------------------------------------------------------------------------------------


REFUSALS: list[tuple[Answer, ProviderFault, str, str]] = [
    (
        aws_error(403, "ExpiredTokenException", "The security token included in the request is expired"),
        "authentication",
        "The credentials were refused.",
        "Sign in with `aws sso login`",
    ),
    (
        aws_error(403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid."),
        "authentication",
        "The credentials were refused.",
        "",
    ),
    (
        aws_error(403, "AccessDeniedException", "You don't have access to the model with the specified model ID."),
        "permission",
        "These credentials may not use claude-test-large.",
        "Allow the model in the console of the cloud",
    ),
    (
        aws_error(400, "ValidationException", "The provided model identifier is invalid."),
        "not_found",
        "There is no model named “claude-test-large” here.",
        "a region that has it",
    ),
    (
        aws_error(404, "ResourceNotFoundException", "Could not resolve the foundation model from the model id."),
        "not_found",
        "There is no model named “claude-test-large” here.",
        "a region that has it",
    ),
    (
        aws_error(429, "ThrottlingException", "Too many requests", {"retry-after": "3"}),
        "rate_limited",
        "The account's rate limit is reached.",
        "Try again in 3 s",
    ),
    (
        reply(text("Half"), fault.error_after(events=3, type="rate_limit_error")),
        "rate_limited",
        "The account's rate limit is reached.",
        "Try again",
    ),
    (
        reply(text("Half"), fault.error_after(events=3, type="ModelStreamErrorException")),
        "server",
        "The model's service had an internal error.",
        "Try again",
    ),
    (
        fault.exactly(200, {"x": "y" * 5_000_000}),
        "unacceptable",
        "The answer was broken off: it is larger than any model's answer.",
        "",
    ),
]


async def test_what_a_cloud_refuses_is_said_in_plain_words(
    provider: HttpProvider, bedrock: Scene, model_request: ModelRequest
) -> None:
    for answer, expected, title, hint in REFUSALS:
        bedrock.server.will(answer)
        error = await failure(provider, model_request)
        assert (error.fault, error.title[: len(title)]) == (expected, title)
        assert hint in error.hint


NOT_AT_GOOGLE = {
    "code": 404,
    "message": "Publisher Model `projects/p-test/locations/global/publishers/anthropic/models/claude-test-large` was "
    "not found or your project does not have access to it. Please ensure you are using a valid model version.",
    "status": "NOT_FOUND",
}


@pytest.mark.parametrize(
    ("answer", "title", "hint"),
    [
        (
            Whole(404, {"error": NOT_AT_GOOGLE}),
            "There is no model named “claude-test-large” here.",
            "a region that has it",
        ),
        (
            Whole(404, "<title>Error 404 (Not Found)!!1</title>", {"content-type": "text/html"}),
            "",
            "Check the region",
        ),
    ],
)
async def test_a_region_of_google_without_the_model_is_named_as_a_possible_cause(
    answer: Answer, title: str, hint: str, tmp_path: Path, model_request: ModelRequest
) -> None:
    async with scene("vertex", tmp_path) as connected:
        provider = connected.provider()
        connected.server.will(answer)
        error = await failure(provider, model_request)
        await provider.aclose()
    assert error.fault == "not_found"
    assert title in error.title
    assert hint in error.hint


async def test_a_signature_with_another_secret_is_refused(tmp_path: Path, model_request: ModelRequest) -> None:
    wrong = {"AWS_SECRET_ACCESS_KEY": "another-secret-of-the-test-012345"}
    async with scene("bedrock", tmp_path, environ=wrong) as connected:
        provider = connected.provider()
        error = await failure(provider, model_request)
        await provider.aclose()
        assert (error.fault, error.title) == ("authentication", "The credentials were refused.")


async def test_a_server_that_is_silent_is_waited_for_no_longer_than_the_limit(
    tmp_path: Path, model_request: ModelRequest
) -> None:
    async with scene("bedrock", tmp_path, silence_s=0.2) as connected:
        provider = connected.provider()
        connected.server.will(reply(text("And then"), fault.stall_after(events=3)))
        error = await failure(provider, model_request)
        assert error.is_transient
        await connected.server.messages[0].is_over.wait()
        await provider.aclose()


async def test_a_program_for_credentials_that_hangs_is_given_up_with_its_process(
    bedrock: Scene, tmp_path: Path, model_request: ModelRequest
) -> None:
    running = tmp_path / "pid"
    (tmp_path / "config").write_text(f"[default]\ncredential_process = sh -c 'echo $$ > {running}; exec sleep 1000'\n")
    made = sdk_connection(bedrock.account, OFFLINE | {"AWS_CONFIG_FILE": str(tmp_path / "config")}, silence_s=0.0)
    connection = SdkConnection(made.client, "Bedrock", "", "bedrock", sign_in_s=PATIENCE_S / 3)
    provider = account_provider(bedrock.account, NoCredential(), sdk=connection)
    worker = psutil.Process((await connection.start()).pid)
    assert (await failure(provider, model_request)).title == "There are no usable credentials for Bedrock."
    await asyncio.to_thread(worker.wait, PATIENCE_S)
    with suppress(psutil.NoSuchProcess):
        await asyncio.to_thread(psutil.Process(int(running.read_text())).wait, PATIENCE_S)
    await provider.aclose()


@pytest.mark.parametrize(
    ("vendor", "cloud", "environ", "title", "hint"),
    [
        ("bedrock", {}, {}, "Amazon Bedrock cannot be asked with these settings.", "region"),
        ("bedrock", {"region": "x", "profile": "nobody"}, {}, "Amazon Bedrock cannot be asked", "profile"),
        ("bedrock", {"region": "x"}, {}, "There are no usable credentials for Amazon Bedrock.", "aws sso login"),
        (
            "aws",
            {"region": "x"},
            AWS,
            "Claude Platform on AWS cannot be asked with these settings.",
            "Set workspace in",
        ),
        ("vertex", {}, {}, "Google Vertex AI cannot be asked with these settings.", "Set region in"),
        ("vertex", {"region": "x", "project": "p"}, NO_FILE, "There are no usable credentials for Google", "gcloud"),
        ("foundry", {}, {"AZURE_CLIENT_SECRET": "x"}, "Microsoft Foundry cannot be asked", "resource"),
        ("foundry", {"resource": "x"}, {}, "There are no usable credentials for Microsoft Foundry.", "az login"),
    ],
)
async def test_what_is_not_set_up_is_said_in_plain_words(
    vendor: str, cloud: dict[str, str], environ: dict[str, str], title: str, hint: str, model_request: ModelRequest
) -> None:
    account = replace(usual_account(vendor), cloud=cloud)
    connection = sdk_connection(account, {**OFFLINE, **environ})
    provider = account_provider(account, NoCredential(), sdk=connection)
    error = await failure(provider, model_request)
    await provider.aclose()
    assert error.fault in ("configuration", "authentication")
    assert error.title.startswith(title)
    assert hint in error.hint


async def test_a_network_that_fails_is_explained_as_it_is_for_other_accounts(model_request: ModelRequest) -> None:
    """A server or a proxy that does not listen is named, and a proxy that refuses says so."""
    async with RudeServer() as stopped:
        gone = stopped.url
    async with RudeServer(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n") as refusing:
        for address, environ, title, hint in (
            (gone, {}, "The model's address could not be reached.", f"Nothing listens at {gone}"),
            ("", {"HTTPS_PROXY": gone}, f"The proxy {gone} could not be reached.", "HTTPS_PROXY"),
            ("", {"HTTPS_PROXY": refusing.url}, f"The proxy {refusing.url} refused the connection (403).", ""),
        ):
            account = replace(usual_account("bedrock"), address=address, cloud={"region": "eu-central-1"})
            connection = sdk_connection(account, {**OFFLINE, **AWS, **environ})
            provider = account_provider(account, NoCredential(), sdk=connection)
            error = await failure(provider, model_request)
            await provider.aclose()
            assert error.fault in ("network", "configuration")
            assert error.title.startswith(title)
            assert hint in error.hint


@pytest.mark.parametrize(("vendor", "library"), [("bedrock", "boto3"), ("vertex", "google"), ("foundry", "azure")])
async def test_a_library_that_is_not_installed_is_named_with_the_command_that_installs_it(
    vendor: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_request: ModelRequest
) -> None:
    package = tmp_path / "broken" / library
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"raise ModuleNotFoundError('No module named {library}')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "broken"))
    async with scene(vendor, tmp_path) as connected:
        provider = connected.provider()
        error = await failure(provider, model_request)
        await provider.aclose()
    assert error.fault == "configuration"
    assert error.title.endswith("needs packages that are not installed.")
    assert f"`pip install 'desktop-agent[{vendor}]'`" in error.hint


def test_a_frozen_program_says_that_the_package_from_pypi_has_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    connection = sdk_connection(usual_account("vertex"), {})
    error = connection.explain(SdkFailedError("missing", "No module named google"), FailedCall(address="x"))
    assert (
        error.hint
        == "This build cannot have them. Install the package from PyPI instead: `pip install 'desktop-agent[vertex]'`."
    )


async def test_a_service_for_machines_that_says_nothing_is_given_up_soon(
    monkeypatch: pytest.MonkeyPatch, model_request: ModelRequest
) -> None:
    asked: list[str] = []

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readline()).decode())
        await reader.read()
        writer.close()

    async with asyncio.timeout(PATIENCE_S), await asyncio.start_server(say_nothing, "127.0.0.1", 0) as silent:
        place = f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        for name in ("GCE_METADATA_HOST", "GCE_METADATA_IP"):
            monkeypatch.setenv(name, place)
        aws = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{place}", "AWS_EC2_METADATA_DISABLED": "false"}
        for vendor, environ in (("bedrock", aws), ("vertex", {})):
            account = replace(usual_account(vendor), cloud={"region": "x"})
            provider = account_provider(account, NoCredential(), sdk=sdk_connection(account, OFFLINE | environ))
            assert (await failure(provider, model_request)).title.startswith("There are no usable credentials for")
            await provider.aclose()
    assert len(asked) == 3, "once by Google's library, and by Amazon's for a token and without one"


async def test_credentials_that_were_refused_are_looked_for_again(tmp_path: Path, model_request: ModelRequest) -> None:
    shared = tmp_path / "aws"
    shared.write_text(f"[default]\naws_access_key_id = {AWS_ID}\naws_secret_access_key = wrong-secret-of-the-test\n")
    async with scene("bedrock", tmp_path) as connected:
        environ = OFFLINE | {"AWS_SHARED_CREDENTIALS_FILE": str(shared)}
        provider = account_provider(connected.account, NoCredential(), sdk=sdk_connection(connected.account, environ))
        connected.server.will(reply(text("Signed in.")))
        assert (await failure(provider, model_request)).fault == "authentication"
        shared.write_text(shared.read_text().replace("wrong-secret-of-the-test", AWS_SECRET))
        assert (await whole_answer(provider, model_request)).text == "Signed in."
        await provider.aclose()


# --- who asks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("bedrock", "AWS access key …1234 (env), region eu-central-1"),
        ("bedrock key", "an API key"),
        ("vertex", "agent@p-test.iam.gserviceaccount.com, project p-test, region global"),
        ("foundry", "your Entra sign-in"),
        ("foundry key", "an API key"),
        ("aws key", "an API key"),
    ],
)
async def test_a_check_says_who_asks_and_where_and_the_key_works(
    name: str, who: str, tmp_path: Path, model_request: ModelRequest
) -> None:
    async with scene(name, tmp_path) as connected:
        provider = connected.provider()
        assert await provider.identity() == (who, connected.server.url)
        assert connected.server.exchanges == []
        connected.server.will(reply(text("Hi.")))
        assert (await whole_answer(provider, model_request)).text == "Hi."
        assert await provider.count_tokens(model_request) is None or not name.startswith("bedrock")
        await provider.aclose()


async def test_a_sign_in_that_the_service_refuses_fails_before_the_model_is_asked(
    tmp_path: Path, model_request: ModelRequest
) -> None:
    for name in ("vertex", "foundry"):
        async with scene(name, tmp_path) as connected:
            assert connected.tokens is not None
            connected.tokens.refusal = {"error": "invalid_grant", "error_description": "Token has been expired."}
            provider = connected.provider()
            error = await failure(provider, model_request)
            assert (error.fault, connected.server.exchanges) == ("authentication", [])
            assert "expired" in error.detail
            await provider.aclose()


# --- what is imported, and what the worker gets -------------------------------------------------------------------


def test_a_connection_is_made_without_the_sdk_and_the_libraries_of_the_clouds() -> None:
    program = """
import asyncio
from desktop_agent.core.models.account import Account, AccountKind, usual_account
from desktop_agent.core.models.vendors import KeyHeader
from desktop_agent.core.providers.provider_catalog import sdk_connection

async def main():
    connection = sdk_connection(usual_account("bedrock"), {}).used()
    await connection.start()
    await connection.aclose()

asyncio.run(main())
"""
    assert loaded_after(program, "anthropic", "boto3", "botocore", "google.auth", "azure.identity", "httpx2") == []


def test_no_message_between_the_processes_shows_a_secret_when_it_is_logged() -> None:
    asks, knows = Ask(1, "POST", "/v1/messages", b"{}", {}, KEY), Identify(2, KEY)
    answers = Begun(1, {}, (KEY,)), Refused(1, 401, {}, f"Not valid: {KEY}", (KEY,))
    assert KEY not in repr((asks, knows, answers))


async def test_the_worker_gets_the_credentials_of_its_account_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {
        "ANTHROPIC_API_KEY": "sk-ant-other-0123456789",
        "GH_TOKEN": "ghp_0123456789abcdefghij",
        "OTHER_SECRET": "x",
        "GOOGLE_API_KEY": "a-key-for-gemini",
        "AWS_BEARER_TOKEN_BEDROCK": "a-key-for-bedrock",
    }
    proxy = {"HTTPS_PROXY": "http://me:a-password@proxy.example:3128"}  # commands do not get it
    for variable, value in (others | proxy | AWS).items():
        monkeypatch.setenv(variable, value)
    for name, has_secret in (("bedrock", True), ("bedrock key", False), ("vertex", False), ("aws", True)):
        async with scene(name, tmp_path, environ=others | proxy) as connected:
            provider = connected.provider()
            await provider.identity()  # the worker runs, so its environment can be read
            worker = await connected.connection.start()
            environment = psutil.Process(worker.pid).environ()
            assert not others.keys() & environment.keys()
            assert proxy.items() <= environment.items()
            assert (AWS_SECRET in environment.values()) == has_secret
            assert ("GOOGLE_APPLICATION_CREDENTIALS" in environment) == (name == "vertex")
            assert KEY not in environment.values()
            assert AWS_SECRET not in repr(connected.connection.client)


@pytest.mark.parametrize(
    ("kind", "header", "sent"),
    [
        ("key", "bearer", {"authorization": f"Bearer {KEY}"}),
        ("key", "x-api-key", {"x-api-key": KEY}),
        ("none", "bearer", {}),
    ],
)
async def test_a_gateway_gets_what_its_account_says_and_never_the_active_profile(
    isolated_home: Path, model_request: ModelRequest, kind: AccountKind, header: KeyHeader, sent: dict[str, str]
) -> None:
    tokens = {"access_token": "sk-ant-oat01-of-the-profile", "refresh_token": "r", "expires_at": 9_999_999_999}
    config = {"authentication": {"type": "user_oauth", "client_id": "c"}}
    for part, content in (("configs", config), ("credentials", tokens)):
        path = isolated_home / ".config" / "anthropic" / part / "default.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(content))
        path.chmod(0o600)
    async with ModelServer(reply(text("Hello.")), asks_for_key=False) as server:
        account = Account(provider="anthropic", name="gateway", kind=kind, header=header, address=server.url)
        credential = key_credential(account, KEY if kind == "key" else None)
        async with aclosing(account_provider(account, credential, sdk=sdk_connection(account, {}))) as provider:
            assert (await whole_answer(provider, model_request)).text == "Hello."
        headers = server.messages[0].headers
    assert {name: headers[name] for name in ("authorization", "x-api-key") if name in headers} == sent
