"""Lists of models and local servers: from the socket to the catalog, in each format."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.known_model import KnownModel, Rates
from desktop_agent.core.models.model_catalog import ModelCatalog
from desktop_agent.core.models.vendors import VENDORS, LocalServer, vendor_of
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.local import Place, host_address, is_here, local_places, look_at, look_for_servers
from desktop_agent.core.providers.provider_catalog import ProviderCatalog
from tests.memory_keyring import MemoryKeyring
from tests.servers import fault
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.local import LLAMA_CPP, LM_STUDIO, LOADING, OLLAMA, LocalDialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import Exchange, ModelServer
from tests.servers.ports import closed_port
from tests.servers.rude_server import RudeServer
from tests.servers.script import Whole

SUPPORTED: JsonObject = {"supported": True}
NEITHER: JsonObject = {"supported": False}


def models_kept(folder: Path, environ: dict[str, str]) -> ModelCatalog:
    keys, accounts = SystemKeyStore(MemoryKeyring()), AccountsFile(folder / "accounts.toml")
    sign_ins = SignIns(keys, accounts, folder, clock=SystemClock(), environ=environ)
    providers = ProviderCatalog(environ, keys, accounts, sign_ins=sign_ins)
    return ModelCatalog(folder / "models", providers.list_models, clock=SystemClock())


def at(server: ModelServer, provider: str) -> Account:
    return replace(usual_account(provider), address=server.url)


@pytest.mark.parametrize(
    ("dialect", "provider", "names"),
    [
        (ANTHROPIC, "anthropic", ["claude-test-large"]),
        (RESPONSES, "openai", ["gpt-test-large", "gpt-test-small"]),
        (CHAT, "openai-chat", ["gpt-test-large", "gpt-test-small"]),
    ],
)
async def test_the_list_of_an_address_stays_when_it_is_gone(
    tmp_path: Path, dialect: Dialect, provider: str, names: list[str]
) -> None:
    environ = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
    async with ModelServer(dialect=dialect, key="k") as server:
        account = at(server, provider)
        fetched = await models_kept(tmp_path, environ).refresh(account)
    assert [model.name for model in fetched] == names
    offline = models_kept(tmp_path, environ)
    with pytest.raises(ProviderError):
        await offline.refresh(account)
    assert offline.models(account) == fetched


async def test_openrouter_says_prices_and_abilities(tmp_path: Path) -> None:
    async with ModelServer(dialect=OPENROUTER) as server:
        large, small = await models_kept(tmp_path, {"OPENROUTER_API_KEY": "k"}).refresh(at(server, "openrouter"))
    assert large == KnownModel(
        provider="openrouter",
        name="vendor/large-test",
        label="Vendor: Large Test",
        context_tokens=200_000,
        output_tokens=64_000,
        takes_images=True,
        takes_tools=True,
        thinks=True,
        price=Rates(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75),
    )
    assert (small.takes_images, small.takes_tools, small.thinks, small.takes_effort) == (False, False, False, False)


async def test_models_that_cannot_answer_in_words_are_not_offered(tmp_path: Path) -> None:
    only_embed = ("nomic-embed-text:latest", "all-minilm:33m", "bge-m3", "BAAI/bge-large", "text-embedding-3-large")
    models: list[JsonObject] = [{"id": name} for name in (*only_embed, "qwen3:8b", "vendor/mini-lm")]
    models.append({"id": "vendor/painter", "architecture": {"output_modalities": ["image"]}})
    models.append({"id": "vendor/both", "architecture": {"output_modalities": ["image", "text"]}})
    async with ModelServer(dialect=OPENROUTER, models=models) as server:
        listed = await models_kept(tmp_path, {"OPENROUTER_API_KEY": "k"}).refresh(at(server, "openrouter"))
    assert [model.name for model in listed] == ["qwen3:8b", "vendor/mini-lm", "vendor/both"]


async def test_a_server_with_only_models_that_embed_has_none_to_talk_to(tmp_path: Path) -> None:
    async with ModelServer(dialect=OPENROUTER, models=[{"id": "bge-m3"}]) as server:
        assert list(await models_kept(tmp_path, {"OPENROUTER_API_KEY": "k"}).refresh(at(server, "openrouter"))) == []


async def test_what_no_model_can_have_is_not_known_and_the_list_is_kept(tmp_path: Path) -> None:
    models: list[JsonObject] = [
        {"id": "huge", "context_length": 10**30, "pricing": {"prompt": "1e305", "completion": "NaN"}},
        {"id": "odd", "name": "half \ud83d of a sign", "context_length": -1},
        {"id": "lines", "name": "first\nsecond \u202e turned"},
        {"id": "long", "name": "x" * 100_000},
        {"id": "plain", "name": "Plain", "context_length": 1_000},
    ]
    async with ModelServer(dialect=OPENROUTER, models=models) as server:
        account = at(server, "openrouter")
        listed = await models_kept(tmp_path, {"OPENROUTER_API_KEY": "k"}).refresh(account)
    assert [(model.name, model.label, model.context_tokens, model.price) for model in listed] == [
        *((name, "", None, None) for name in ("huge", "odd", "lines", "long")),
        ("plain", "Plain", 1_000, None),
    ]
    assert models_kept(tmp_path, {}).models(account) == listed


async def test_anthropic_says_which_levels_of_effort_a_model_takes(tmp_path: Path) -> None:
    efforts: JsonObject = {"supported": True, "low": SUPPORTED, "high": SUPPORTED, "medium": SUPPORTED, "max": NEITHER}
    able: JsonObject = {"image_input": SUPPORTED, "thinking": SUPPORTED, "effort": efforts}
    unable: JsonObject = {"image_input": SUPPORTED, "thinking": NEITHER, "effort": NEITHER}
    models: list[JsonObject] = [{"id": "able", "capabilities": able}, {"id": "unable", "capabilities": unable}]
    models.append({"id": "silent"})
    async with ModelServer(dialect=ANTHROPIC, models=models) as server:
        listed = await models_kept(tmp_path, {"ANTHROPIC_API_KEY": "k"}).refresh(at(server, "anthropic"))
    assert [model.efforts for model in listed] == [("low", "medium", "high"), (), None]
    assert [model.takes_effort for model in listed] == [True, False, None]


async def test_without_a_key_the_list_is_not_fetched_and_the_reason_is_plain(tmp_path: Path) -> None:
    async with ModelServer(dialect=RESPONSES) as server:
        with pytest.raises(CredentialsError, match="no API key"):
            await models_kept(tmp_path, {}).refresh(at(server, "openai"))
    assert server.exchanges == []


async def test_an_address_that_refuses_the_key_changes_nothing(tmp_path: Path) -> None:
    async with ModelServer(fault.unauthorized(), dialect=RESPONSES, key="right") as server:
        account = at(server, "openai")
        fetched = await models_kept(tmp_path, {"OPENAI_API_KEY": "right"}).refresh(account)
        wrong = models_kept(tmp_path, {"OPENAI_API_KEY": "wrong"})
        with pytest.raises(ProviderError):
            await wrong.refresh(account)
    assert wrong.models(account) == fetched


async def test_two_thousand_models_come_through(tmp_path: Path) -> None:
    models: list[JsonObject] = [
        {"id": f"vendor/model-{number}", "context_length": 1_000 + number} for number in range(2_000)
    ]
    async with ModelServer(dialect=OPENROUTER, models=models) as server:
        listed = await models_kept(tmp_path, {"OPENROUTER_API_KEY": "k"}).refresh(at(server, "openrouter"))
    assert (len(listed), listed[-1].context_tokens) == (2_000, 2_999)


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
async def test_what_does_not_run_is_said_with_how_to_start_it(provider: str, hint: str) -> None:
    with closed_port() as port:
        found = await seen(provider, f"http://127.0.0.1:{port}/v1")
    label = next(vendor.label for vendor in VENDORS if vendor.id == provider)
    assert found.words == f"{label} is not running on 127.0.0.1:{port}. {hint}"
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
    """An address that never answers delays no other: it answers only after the others were listed."""
    has_listed = asyncio.Event()

    def note(exchange: Exchange) -> None:
        if exchange.path == "/v1/models":
            has_listed.set()

    server = ModelServer(dialect=OLLAMA, asks_for_key=False, is_checking=False, on_request=note)
    async with RudeServer(None) as silent, server:
        places = [Place(provider="llamacpp", address=f"{silent.url}/v1"), Place(provider="ollama", address=server.url)]
        looking = asyncio.ensure_future(look_for_servers(places, limit_s=600.0))
        await has_listed.wait()
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking


async def test_places_are_answered_in_their_order() -> None:
    with closed_port() as port:
        async with local(OLLAMA) as server:
            absent = Place(provider="lmstudio", address=f"http://127.0.0.1:{port}/v1")
            found = await look_for_servers([absent, Place(provider="ollama", address=server.url)])
    assert [each.provider for each in found] == ["lmstudio", "ollama"]
    assert [each.state for each in found] == ["not_running", "running"]
