"""Keys of the environment and headers appear in no file, output or child process of a session."""

import asyncio
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.attacks.credentials.echoes import echoes
from tests.attacks.credentials.world import KEYS, SPOKEN, World, spying
from tests.servers import fault
from tests.servers.dialects.clouds import PROJECT, REGION, WORKSPACE, AwsDialect, FoundryDialect, bedrock, vertex
from tests.servers.dialects.dialect import Dialect
from tests.servers.model_server import ModelServer
from tests.servers.script import reply, text
from tests.servers.threaded import in_thread, serve
from tests.servers.token_servers import EntraTokens, GoogleTokens


def test_what_a_model_makes_commands_tell_has_no_key(world: World) -> None:
    with serve(*spying("one.txt"), *spying("two.txt")) as server, asyncio.Runner() as runner:
        assert world.ask("anthropic", server.url).code == 0
        runner.run(world.ask_again_and_again(world.agent("anthropic", server.url), 1))
        assert len(server.messages) == 8
    assert all("PATH=" in (world.workspace / name).read_text() for name in ("one.txt", "two.txt"))


@pytest.mark.parametrize("provider", SPOKEN)
def test_a_run_whose_key_is_refused_does_not_say_it(provider: str, world: World) -> None:
    dialect, variable = SPOKEN[provider]
    with serve(fault.unauthorized(f"Incorrect API key provided: {KEYS[variable]}."), dialect=dialect) as server:
        assert world.ask(provider, server.url).code == 1
        assert KEYS[variable] in server.messages[0].headers["authorization"]


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-chat"])
async def test_what_a_server_repeats_of_what_it_was_sent_is_written_nowhere(provider: str, world: World) -> None:
    dialect, variable = SPOKEN[provider]
    sent = [variable, "header 0", "header 1"] if provider == "anthropic" else [variable]
    answers = [answer for name in sent for answer in echoes(world.secrets[name])]
    async with ModelServer(*answers, dialect=dialect) as server:
        await world.ask_again_and_again(world.agent(provider, server.url), len(answers))
        assert server.unused_answers == 0
        got = [str(exchange.headers) for exchange in server.messages]
    assert all(world.secrets[name] in headers for headers in got for name in sent)


@pytest.mark.parametrize(
    "cloud",
    [
        "bedrock",
        "vertex",
        "foundry",
        pytest.param("foundry key", marks=pytest.mark.nightly),
        pytest.param("aws", marks=pytest.mark.nightly),
    ],
)
def test_the_credentials_of_a_cloud_are_written_nowhere(
    cloud: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "cedar!Falcon-3390-quartz-lagoon-tide"
    signs, secret = "AKIATESTTESTTEST1234", "umber/Kestrel+7745/saffron+delta9"
    secrets = {"token": token}
    dialect: Dialect = FoundryDialect()
    with ExitStack() as stack:
        match cloud:
            case "vertex":
                google, _ = stack.enter_context(in_thread(GoogleTokens(token)))
                key_file = google.write_key(tmp_path / "google.json")
                given = {"GOOGLE_APPLICATION_CREDENTIALS": str(key_file), "CLOUD_ML_REGION": "global"}
                given |= {"ANTHROPIC_VERTEX_PROJECT_ID": PROJECT}
                dialect = vertex("m-test")
                secrets["private key"] = google.private_key.splitlines()[3]
            case "foundry":
                entra, _ = stack.enter_context(in_thread(EntraTokens(token, tmp_path)))
                given = entra.environment | {"AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential"}
                given |= {"REQUESTS_CA_BUNDLE": str(entra.authority.file)}
                secrets["secret"] = entra.client_secret
            case "foundry key":
                given = {"ANTHROPIC_FOUNDRY_API_KEY": token}
            case _:
                given = {"AWS_ACCESS_KEY_ID": signs, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token}
                given |= {"AWS_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}
                given |= {"ANTHROPIC_AWS_WORKSPACE_ID": WORKSPACE}
                known = {signs: secret}
                dialect = bedrock("m-test", **known) if cloud == "bedrock" else AwsDialect(secrets=known)
                secrets["secret"] = secret
        world.secrets |= secrets
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        repeated = fault.status(400, "invalid_request_error", f"Not valid: {token}")
        hidden = reply(text("Half of"), fault.error_after(events=3, message=f"Not valid: {token}"))
        with serve(*spying(), repeated, hidden, dialect=dialect) as server:
            for code in (0, 1, 1):
                assert world.ask(cloud.removesuffix(" key"), server.url).code == code
            assert all(any(token in value for value in exchange.headers.values()) for exchange in server.messages)
