"""Servers of models on this machine: where they are looked for, and what is found there."""

import asyncio
import socket
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import VENDORS, LocalServer, vendor_of
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.local import Place, host_address, is_here, local_places, look_at, look_for_servers
from tests.servers.dialects.local import LLAMA_CPP, LM_STUDIO, LOADING, OLLAMA, LocalDialect
from tests.servers.model_server import ModelServer
from tests.servers.rude_server import RudeServer
from tests.servers.script import Whole

OLLAMA_ADDRESS = vendor_of("ollama")
USUAL = {
    "ollama": "http://127.0.0.1:11434/v1",
    "lmstudio": "http://127.0.0.1:1234/v1",
    "llamacpp": "http://127.0.0.1:8080/v1",
}


def found(*accounts: Account, named: dict[str, str] | None = None, **environ: str) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for place in local_places(accounts, environ, named):
        places.setdefault(place.provider, []).append(place.address)
    return places


def test_without_a_word_of_the_user_the_usual_ports_are_looked_at() -> None:
    assert found() == {provider: [address] for provider, address in USUAL.items()}


def test_accounts_on_this_machine_are_looked_at_besides() -> None:
    own = Account(provider="llamacpp", name="big", address="http://localhost:9090/v1/", kind="none")
    assert found(own)["llamacpp"] == [USUAL["llamacpp"], "http://localhost:9090/v1"]


def test_no_other_machine_is_asked() -> None:
    away = Account(provider="ollama", name="rack", address="http://10.0.0.7:11434/v1", kind="none")
    assert found(away, named={"lmstudio": "https://studio.example/v1"}) == {
        "ollama": [USUAL["ollama"]],
        "llamacpp": [USUAL["llamacpp"]],
    }
    assert "ollama" not in found(OLLAMA_HOST="models.example:11434")


def test_an_address_in_the_settings_comes_before_the_variable_of_the_server() -> None:
    named = {"ollama": "http://127.0.0.1:5000/v1"}
    assert found(named=named, OLLAMA_HOST=":6000")["ollama"] == ["http://127.0.0.1:5000/v1"]
    assert found(OLLAMA_HOST=":6000")["ollama"] == ["http://127.0.0.1:6000/v1"]


def test_one_address_is_looked_at_once() -> None:
    twin = Account(provider="ollama", name="again", address=USUAL["ollama"], kind="none")
    assert local_places([twin], {}).count(Place(provider="ollama", address=USUAL["ollama"])) == 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:7000", "http://127.0.0.1:7000/v1"),
        (":7000", "http://127.0.0.1:7000/v1"),
        ("[::1]:7000", "http://[::1]:7000/v1"),
        ("http://localhost", "http://localhost:80/v1"),
        ("https://localhost", "https://localhost:443/v1"),
        ('"localhost:7000"', "http://localhost:7000/v1"),
        ("http://localhost:7000/proxied/", "http://localhost:7000/proxied/v1"),
        ("", ""),
        ("localhost:no-port", ""),
    ],
)
def test_the_variable_is_read_by_the_rules_of_the_server(said: str, meant: str) -> None:
    assert host_address(OLLAMA_ADDRESS, {"OLLAMA_HOST": said}) == meant


@given(st.text(max_size=40))
def test_whatever_the_variable_says_only_this_machine_is_looked_at(said: str) -> None:
    environ = {"OLLAMA_HOST": said}
    assert all(is_here(place.address) for place in local_places((), environ))


@pytest.mark.parametrize("address", ["http://me:secret@127.0.0.1:1234/v1", "ftp://127.0.0.1/", "http://[::1", "", "x"])
def test_what_cannot_be_asked_is_no_place(address: str) -> None:
    assert not is_here(address)


DIALECTS = {"ollama": OLLAMA, "lmstudio": LM_STUDIO, "llamacpp": LLAMA_CPP}


def local(dialect: LocalDialect) -> ModelServer:
    return ModelServer(dialect=dialect, asks_for_key=False, is_checking=False)


async def seen(provider: str, address: str, limit_s: float = 5.0) -> LocalServer:
    return await look_at(Place(provider=provider, address=address), limit_s=limit_s)


@pytest.fixture
def closed_port() -> Generator[int]:
    """A port that nothing listens on, and nothing else can take meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize("provider", DIALECTS)
async def test_a_server_is_recognised_and_its_models_are_listed(provider: str) -> None:
    dialect = DIALECTS[provider]
    async with local(dialect) as server:
        found = await seen(provider, server.url)
    assert found.state == "running"
    assert list(found.models) == [name for model in dialect.models if "embed" not in (name := str(model["id"]))]
    assert found.is_usable
    assert all("authorization" not in exchange.headers for exchange in server.exchanges)


async def test_what_runs_is_said_with_how_many_models_it_has() -> None:
    async with local(OLLAMA) as server:
        found = await seen("ollama", server.url)
    assert found.words == f"Ollama runs on 127.0.0.1:{server.port}, with one model."
    assert found.usual_model == "qwen3:8b", "a model that only embeds cannot answer"


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("ollama", "Start it with `ollama serve`."),
        ("lmstudio", "Start its server with `lms server start`, or in its Developer tab."),
        ("llamacpp", "Start it with `llama-server -m MODEL.gguf`."),
    ],
)
async def test_what_does_not_run_is_said_with_how_to_start_it(provider: str, hint: str, closed_port: int) -> None:
    found = await seen(provider, f"http://127.0.0.1:{closed_port}/v1")
    label = next(vendor.label for vendor in VENDORS if vendor.id == provider)
    assert found.words == f"{label} is not running on 127.0.0.1:{closed_port}. {hint}"
    assert not found.is_usable


@pytest.mark.parametrize("wanted", DIALECTS)
@pytest.mark.parametrize("runs", DIALECTS)
async def test_each_is_told_from_the_others(wanted: str, runs: str) -> None:
    async with local(DIALECTS[runs]) as server:
        found = await seen(wanted, server.url)
    if wanted == runs:
        assert found.state == "running"
    else:
        assert (found.state, found.instead, found.models) == ("other", runs, ())


async def test_a_web_page_on_the_port_is_no_model() -> None:
    async with local(LocalDialect(unknown=Whole(200, "<html>It works!</html>"))) as server:
        found = await seen("llamacpp", server.url)
    assert found.state == "other"
    assert found.title == f"Something else answers on 127.0.0.1:{server.port}, not llama.cpp."


async def test_a_server_that_speaks_of_models_without_being_known_is_no_llama_cpp() -> None:
    async with local(LocalDialect(unknown=Whole(404, {"detail": "Not Found"}))) as server:
        assert (await seen("llamacpp", server.url)).state == "other"


async def test_a_server_that_loads_its_model_is_waited_for_by_the_user() -> None:
    async with local(LOADING) as server:
        found = await seen("llamacpp", server.url)
    assert found.words == f"llama.cpp on 127.0.0.1:{server.port} is still loading its model. Look again in a moment."


async def test_a_server_without_models_says_how_to_get_one() -> None:
    async with ModelServer(dialect=OLLAMA, asks_for_key=False, is_checking=False, models=[]) as server:
        found = await seen("ollama", server.url)
    assert not found.is_usable
    assert found.words.endswith("without a model. Get one with `ollama pull NAME`.")


async def test_a_server_that_wants_a_key_says_so_and_gets_none() -> None:
    async with local(LocalDialect(unknown=Whole(401, {"error": {"message": "Invalid API Key"}}))) as server:
        found = await seen("llamacpp", server.url)
    assert found.state == "locked"
    assert "Settings" in found.hint
    assert all("authorization" not in exchange.headers for exchange in server.exchanges)


@pytest.mark.parametrize("answer", [(None,), (b"SSH-2.0-OpenSSH_9.2\r\n",), (b"HTTP/1.1 200 OK\r\n", None), ()])
async def test_what_speaks_no_http_is_given_up(answer: tuple[bytes | None, ...]) -> None:
    async with RudeServer(*answer) as server:
        found = await seen("ollama", f"{server.url}/v1", limit_s=0.2)
    assert found.state == "silent"
    assert "does not answer" in found.title


async def test_all_places_are_asked_at_once() -> None:
    """One that never answers keeps no other waiting: its answer comes only after the others were found."""
    has_listed = asyncio.Event()

    def note(event: JsonObject) -> None:
        if event.get("path") == "/v1/models":
            has_listed.set()

    server = ModelServer(dialect=OLLAMA, asks_for_key=False, is_checking=False, on_event=note)
    async with RudeServer(None) as silent, server:
        places = [Place(provider="llamacpp", address=f"{silent.url}/v1"), Place(provider="ollama", address=server.url)]
        looking = asyncio.ensure_future(look_for_servers(places, limit_s=600.0))
        await has_listed.wait()
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking


async def test_places_are_answered_in_their_order(closed_port: int) -> None:
    async with local(OLLAMA) as server:
        absent = Place(provider="lmstudio", address=f"http://127.0.0.1:{closed_port}/v1")
        found = await look_for_servers([absent, Place(provider="ollama", address=server.url)])
    assert [each.provider for each in found] == ["lmstudio", "ollama"]
    assert [each.state for each in found] == ["not_running", "running"]
