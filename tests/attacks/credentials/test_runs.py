"""Keys of the environment and headers appear in no file, output or child process of a session."""

import asyncio

import pytest

from tests.attacks.credentials.echoes import echoes
from tests.attacks.credentials.world import KEYS, SPOKEN, World, spying
from tests.servers import fault
from tests.servers.model_server import ModelServer
from tests.servers.threaded import serve


def test_what_a_model_makes_commands_tell_has_no_key(world: World) -> None:
    with serve(*spying("one.txt"), *spying("two.txt")) as server, asyncio.Runner() as runner:
        assert world.ask("anthropic", server.url).code == 0
        runner.run(world.ask_again_and_again(world.agent("anthropic", server.url), 1))
        assert len(server.messages) == 8
    assert all("PATH=" in (world.workspace / name).read_text() for name in ("one.txt", "two.txt"))
    world.tell_all()
    assert world.leaks() == []


@pytest.mark.parametrize("provider", SPOKEN)
def test_a_run_whose_key_is_refused_does_not_say_it(provider: str, world: World) -> None:
    dialect, variable = SPOKEN[provider]
    with serve(fault.unauthorized(f"Incorrect API key provided: {KEYS[variable]}."), dialect=dialect) as server:
        assert world.ask(provider, server.url).code == 1
        assert KEYS[variable] in server.messages[0].headers["authorization"]
    assert world.leaks() == []


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-chat"])
def test_what_a_server_repeats_of_what_it_was_sent_is_written_nowhere(provider: str, world: World) -> None:
    dialect, variable = SPOKEN[provider]
    sent = [variable, "header 0", "header 1"] if provider == "anthropic" else [variable]
    answers = [answer for name in sent for answer in echoes(world.secrets[name])]

    async def ask() -> list[str]:
        async with ModelServer(*answers, dialect=dialect) as server:
            await world.ask_again_and_again(world.agent(provider, server.url), len(answers))
            assert server.unused_answers == 0
            return [str(exchange.headers) for exchange in server.messages]

    with asyncio.Runner() as runner:
        got = runner.run(ask())
    assert all(world.secrets[name] in headers for headers in got for name in sent)
    world.tell_all()
    assert world.leaks() == []
