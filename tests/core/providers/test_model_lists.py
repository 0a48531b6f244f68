"""The lists of models that addresses give, from the socket to the catalogue, in each of the three formats."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.catalogue import ModelCatalogue
from desktop_agent.core.models.known_model import KnownModel
from desktop_agent.core.models.prices import Rates
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns
from desktop_agent.core.providers.catalog import ProviderCatalog
from tests.memory_keyring import MemoryKeyring
from tests.servers import fault
from tests.servers.dialects.anthropic import ANTHROPIC
from tests.servers.dialects.chat import CHAT, OPENROUTER
from tests.servers.dialects.dialect import Dialect
from tests.servers.dialects.responses import RESPONSES
from tests.servers.model_server import ModelServer

SUPPORTED: JsonObject = {"supported": True}
NEITHER: JsonObject = {"supported": False}


def models_kept(folder: Path, environ: dict[str, str]) -> ModelCatalogue:
    keys, accounts = SystemKeyStore(MemoryKeyring()), AccountsFile(folder / "accounts.toml")
    sign_ins = SignIns(keys, accounts, folder, clock=SystemClock(), environ=environ)
    providers = ProviderCatalog(environ, keys, accounts, sign_ins=sign_ins)
    return ModelCatalogue(folder / "models", providers.list_models, clock=SystemClock())


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
