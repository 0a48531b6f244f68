"""The catalog of models, offline and with the user's facts first; names and contents of accounts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from desktop_agent.core.base.errors import ProviderError, StorageError, UsageError
from desktop_agent.core.models.account import (
    Account,
    AccountKind,
    account_problem,
    header_problem,
    name_problem,
    named,
    usual_account,
)
from desktop_agent.core.models.known_model import (
    LEVELS,
    KnownModel,
    ListedModel,
    Rates,
    ability_words,
    effort_meant,
    effort_words,
    levels_of,
    price_words,
    size_words,
)
from desktop_agent.core.models.model_catalog import FREE, FetchedList, ListCache, ModelCatalog
from desktop_agent.core.models.vendors import VENDORS, vendor_of
from tests.core.providers.auth.hand_clock import HandClock
from tests.harness import FrozenClock

ROUTER = Account(provider="openrouter")
OWN = Rates(input=1.0, output=2.0)


class Address:
    def __init__(self, *models: ListedModel) -> None:
        self.models: Sequence[ListedModel] = models
        self.refusal: ProviderError | None = None

    async def list(self, account: Account) -> Sequence[ListedModel]:
        del account
        if self.refusal is not None:
            raise self.refusal
        return self.models


def catalog(folder: Path, address: Address, *stated: KnownModel) -> ModelCatalog:
    return ModelCatalog(folder, address.list, clock=FrozenClock(), stated=lambda: stated)


def only_file_in(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


async def test_a_list_is_there_at_once_and_offline_the_next_time(tmp_path: Path) -> None:
    address = Address(ListedModel(name="vendor/new", label="New", context_tokens=1_000, takes_images=False))
    fetched = await catalog(tmp_path, address).refresh(ROUTER)
    address.refusal = ProviderError("No network.", fault="network")
    later = catalog(tmp_path, address)
    assert later.models(ROUTER) == fetched
    assert fetched == (
        KnownModel(provider="openrouter", name="vendor/new", label="New", context_tokens=1_000, takes_images=False),
    )
    assert later.fetched_at(ROUTER) == FrozenClock().now()


async def test_a_list_that_cannot_be_kept_is_refused_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.write_text("not a folder")
    with pytest.raises(StorageError, match="could not be kept"):
        await catalog(folder, Address(ListedModel(name="vendor/new"))).refresh(ROUTER)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"v":99,"fetched_at":"x","models":[]}'])
async def test_a_file_that_cannot_be_read_counts_as_no_list(tmp_path: Path, content: bytes) -> None:
    address = Address(ListedModel(name="vendor/new"))
    await catalog(tmp_path, address).refresh(ROUTER)
    only_file_in(tmp_path).write_bytes(content)
    known = catalog(tmp_path, address)
    assert [model.name for model in known.models(ROUTER)] == list(vendor_of("openrouter").models)
    assert known.fetched_at(ROUTER) is None
    assert len(await known.refresh(ROUTER)) == 1


def test_before_a_list_the_few_that_the_vendor_is_known_for_are_offered(tmp_path: Path) -> None:
    models = catalog(tmp_path, Address()).models(Account(provider="anthropic"))
    assert [model.name for model in models] == list(vendor_of("anthropic").models)
    assert all(model.price is not None and model.context_tokens for model in models)
    assert all(model.takes_images is model.thinks is model.efforts is None for model in models)


async def test_the_users_word_goes_before_the_list_and_that_before_the_table(tmp_path: Path) -> None:
    name = "anthropic/claude-sonnet-5.5"
    table = catalog(tmp_path, Address()).model(ROUTER, name)
    stated = KnownModel(provider="openrouter", name=name, takes_images=False)
    listed = ListedModel(name=name, label="Sonnet", takes_images=True, takes_tools=True, price=OWN)
    known = catalog(tmp_path, Address(listed), stated)
    await known.refresh(ROUTER)
    model = known.model(ROUTER, name)
    assert (model.takes_images, model.takes_tools, model.label, model.price) == (False, True, "Sonnet", OWN)
    assert model.context_tokens == table.context_tokens is not None


def test_a_model_that_only_the_user_names_is_offered(tmp_path: Path) -> None:
    stated = KnownModel(provider="ollama", name="mine:7b", context_tokens=32_000)
    known = catalog(tmp_path, Address(), stated)
    local = Account(provider="ollama", kind="none")
    assert [(one.name, one.context_tokens, one.price) for one in known.models(local)] == [("mine:7b", 32_000, FREE)]
    assert [one.name for one in known.models(ROUTER)] == list(vendor_of("openrouter").models)


def test_nothing_is_guessed(tmp_path: Path) -> None:
    known = catalog(tmp_path, Address())
    assert known.model(ROUTER, "vendor/of-tomorrow") == KnownModel(provider="openrouter", name="vendor/of-tomorrow")
    gateway = Account(provider="anthropic", name="gateway", address="https://models.example")
    assert known.model(gateway, "claude-sonnet-5-5") == KnownModel(provider="anthropic", name="claude-sonnet-5-5")


async def test_a_name_without_a_date_means_the_newest_of_that_name(tmp_path: Path) -> None:
    account = Account(provider="anthropic")
    address = Address(
        ListedModel(name="claude-x-20261001", label="X of October", context_tokens=2_000),
        ListedModel(name="claude-x-20260101", context_tokens=1_000),
        ListedModel(name="claude-x-mini", context_tokens=500),
    )
    known = catalog(tmp_path, address)
    await known.refresh(account)
    assert known.model(account, "claude-x") == KnownModel(provider="anthropic", name="claude-x", context_tokens=2_000)
    stated = catalog(tmp_path, address, KnownModel(provider="anthropic", name="claude-x", takes_tools=False))
    model = stated.model(account, "claude-x")
    assert (model.takes_tools, model.context_tokens) == (False, 2_000)


async def test_each_account_and_address_has_its_own_list(tmp_path: Path) -> None:
    address = Address(ListedModel(name="one"))
    known = catalog(tmp_path, address)
    await known.refresh(Account(provider="openai"))
    address.models = (ListedModel(name="two"),)
    other = Account(provider="openai", name="work", address="https://models.example/v1")
    await known.refresh(other)
    plan = Account(provider="openai", kind="oauth", name="ChatGPT")
    assert [one.name for one in known.models(Account(provider="openai"))] == ["one"]
    assert [one.name for one in known.models(other)] == ["two"]
    assert known.fetched_at(plan) is None


@pytest.mark.parametrize(("hours", "is_old"), [(0, False), (23, False), (25, True)])
async def test_a_list_is_old_after_a_day(tmp_path: Path, hours: int, *, is_old: bool) -> None:
    clock = HandClock()
    known = ModelCatalog(tmp_path, Address(ListedModel(name="one")).list, clock=clock)
    assert not known.is_old(ROUTER)
    await known.refresh(ROUTER)
    clock.move(hours * 3_600)
    assert known.is_old(ROUTER) == is_old


async def test_what_another_process_fetched_is_read(tmp_path: Path) -> None:
    address = Address(ListedModel(name="one"))
    mine, other = catalog(tmp_path, address), catalog(tmp_path, address)
    await mine.refresh(ROUTER)
    address.models = (ListedModel(name="one"), ListedModel(name="two"))
    await other.refresh(ROUTER)
    assert [one.name for one in await mine.read(ROUTER)] == ["one", "two"]


async def test_refreshes_at_once_leave_one_whole_list(tmp_path: Path) -> None:
    lists = [tuple(ListedModel(name=f"{letter}{number}") for number in range(500)) for letter in "abcdef"]
    await asyncio.gather(*(catalog(tmp_path, Address(*models)).refresh(ROUTER) for models in lists))
    kept = [one.name for one in catalog(tmp_path, Address()).models(ROUTER)]
    assert kept in [[model.name for model in models] for models in lists]
    assert only_file_in(tmp_path).suffix == ".json"


async def test_what_an_address_lists_twice_or_hides_is_left_out(tmp_path: Path) -> None:
    names = ("good", "good", "", "with\nline", "turned\u202egpj", "x" * 400)
    models = await catalog(tmp_path, Address(*(ListedModel(name=name) for name in names))).refresh(ROUTER)
    assert [model.name for model in models] == ["good"]


async def test_models_that_only_embed_are_not_offered_from_a_list_that_an_earlier_version_kept(tmp_path: Path) -> None:
    names = ("qwen3:8b", "nomic-embed-text:latest", "all-minilm:22m", "text-embedding-3-large")
    kept = FetchedList(fetched_at=FrozenClock().now(), models=tuple(ListedModel(name=name) for name in names))
    ListCache(tmp_path).write(ROUTER, kept)
    assert [model.name for model in catalog(tmp_path, Address()).models(ROUTER)] == ["qwen3:8b"]


async def test_what_the_user_states_later_holds_at_the_next_look(tmp_path: Path) -> None:
    stated: list[KnownModel] = []
    known = ModelCatalog(tmp_path, Address().list, clock=FrozenClock(), stated=lambda: tuple(stated))
    assert known.model(ROUTER, "mine").takes_images is None
    stated.append(KnownModel(provider="openrouter", name="mine", takes_images=True))
    await known.read(ROUTER)
    assert known.model(ROUTER, "mine").takes_images is True


def model(
    provider: str = "openai", *, efforts: tuple[str, ...] | None = None, thinks: bool | None = None
) -> KnownModel:
    return KnownModel(provider=provider, name="m", efforts=efforts, thinks=thinks)


@pytest.mark.parametrize("provider", [vendor.id for vendor in VENDORS])
def test_where_nobody_says_every_level_of_the_format_may_be_asked_for(provider: str) -> None:
    assert levels_of(model(provider)) == LEVELS[vendor_of(provider).wire]


def test_what_is_known_of_a_model_goes_before_its_format() -> None:
    assert levels_of(model(efforts=("low",))) == ("low",)
    assert levels_of(model(efforts=())) == levels_of(model(thinks=False)) == ()
    assert levels_of(model(thinks=False, efforts=("low",))) == ("low",)


def test_a_level_is_read_as_people_write_it() -> None:
    assert effort_meant(" High ", model()) == "high"
    assert effort_meant("default", model()) == effort_meant("", model()) == ""
    assert effort_meant("default", model(efforts=())) == ""


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (model(efforts=("low",)), "Available: default, low."),
        (model("anthropic"), "Available: default, low, medium, high, xhigh, max."),
        (model(efforts=()), "Only default is possible."),
    ],
)
def test_a_level_that_is_not_known_is_refused_with_those_that_are(known: KnownModel, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        effort_meant("none-such", known)
    assert refused.value.hint == reason


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (None, "unknown"), (1, "1"), (999, "999"), (1_000, "1k"), (40_960, "41k"), (200_000, "200k"),
        (999_949, "1M"), (1_048_576, "1.05M"), (2_000_000, "2M"),
    ],
)  # fmt: skip
def test_sizes_are_rounded_to_three_digits(tokens: int | None, words: str) -> None:
    assert size_words(tokens) == words


def test_a_price_is_what_is_read_and_what_is_written() -> None:
    assert price_words(Rates(input=3.0, output=15.0)) == "$3 / $15"
    assert price_words(Rates(input=0.25, output=2.5)) == "$0.25 / $2.50"
    assert price_words(Rates(input=0.075, output=0.3)) == "$0.075 / $0.30"
    assert price_words(Rates(input=0.0, output=1.0)) == "$0 / $1"
    assert price_words(Rates(input=0.0, output=0.0)) == "free"
    assert price_words(None) == "unknown"


def test_abilities_are_named_as_far_as_they_are_known() -> None:
    silent = KnownModel(provider="openai", name="m")
    assert (ability_words(silent), effort_words(silent)) == ("unknown", "unknown")
    full = KnownModel(provider="openai", name="m", takes_images=True, takes_tools=True, thinks=False)
    assert (ability_words(full), effort_words(full)) == ("images, tools, no thinking", "none")
    partly = KnownModel(provider="openai", name="m", takes_images=False, efforts=("low", "high"))
    assert (ability_words(partly), effort_words(partly)) == ("no images; tools, thinking: unknown", "low, high")


KEY = "sk-ant-test-0123456789abcdef"


@pytest.mark.parametrize("name", ["work", "Work-2", "me@work.example", "größe", "a", "x" * 40])
def test_plain_names_are_taken(name: str) -> None:
    assert name_problem(name) == ""


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("", "1 to 40"),
        ("x" * 41, "1 to 40"),
        ("two words", "1 to 40"),
        ("a:b", "1 to 40"),
        ("-a", "1 to 40"),
        ("a-", "1 to 40"),
        ("line\n", "1 to 40"),
        ("u\u0308ber", "1 to 40"),
        ("Usual", "without a name"),
        (KEY, "looks like a key"),
    ],
)
def test_other_names_are_refused_in_words(name: str, word: str) -> None:
    assert word in name_problem(name)


@given(st.text(max_size=60))
def test_no_name_that_is_taken_can_break_out_of_a_line_or_an_entry(name: str) -> None:
    if name_problem(name) == "":
        assert name.isprintable()
        assert not set(name) & set(":/\\\"' ")
        assert named(name) == name


def test_the_usual_account_is_called_so_and_has_no_name() -> None:
    account = usual_account("anthropic")
    assert (account.name, account.label, account.full_label) == ("", "usual", "Anthropic")
    assert replace(account, name="work").full_label == "Anthropic (work)"
    elsewhere = replace(account, name="work", address="https://models.example:8443/v1")
    assert elsewhere.full_label == "work (models.example:8443)"
    assert named("Usual") == ""


def test_a_local_server_needs_no_key() -> None:
    assert usual_account("ollama").kind == "none"
    assert usual_account("anthropic").kind == "key"


def test_an_account_goes_to_its_own_address_else_to_the_vendors() -> None:
    assert Account(provider="xai", name="a", address="https://x.example/v1").where == "https://x.example/v1"
    assert usual_account("xai").where == "https://api.x.ai/v1"


def test_an_unknown_provider_is_named_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="openrouter"):
        usual_account("antropic")


def test_an_account_has_no_address_that_nothing_can_be_sent_to() -> None:
    account = Account(provider="xai", name="work", address="https://models.example/v1?key=x")
    assert "contain ? or #" in account_problem(account)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("Authorization", f"Bearer {KEY}", "secret"),
        ("cf-aig-authorization", "x", "secret"),
        ("api-key", "x", "secret"),
        ("X-Auth-Token", "x", "secret"),
        ("X-Team", KEY, "secret"),
        ("x-api-key", "x", "itself"),
        ("Content-Length", "3", "itself"),
        ("X Team", "a", "not a valid header name"),
        ("X-Team", "a\r\nHost: evil.example", "plain text"),
        ("X-Team", "größe", "plain text"),
    ],
)
def test_a_header_that_holds_a_secret_or_breaks_a_request_is_refused(name: str, value: str, word: str) -> None:
    assert word in header_problem(name, value)


def test_other_headers_are_taken() -> None:
    for name, value in (("X-Team", "search"), ("HTTP-Referer", "https://a.example"), ("OpenAI-Organization", "org-1")):
        assert header_problem(name, value) == ""


@pytest.mark.parametrize(
    ("provider", "kind", "others"),
    [
        ("bedrock", "none", "key, profile"),
        ("foundry", "oauth", "key, profile"),
        ("vertex", "key", "profile"),
        ("xai", "profile", "key, none"),
        ("anthropic", "oauth", "key, profile, none"),
    ],
)
def test_a_kind_of_account_that_the_vendor_does_not_have_is_refused(
    provider: str, kind: AccountKind, others: str
) -> None:
    reason = account_problem(replace(usual_account(provider), kind=kind))
    assert reason == f"{provider} accounts cannot be of the kind {kind!r}; possible: {others}"


def test_what_is_wrong_with_an_account_is_said_without_what_may_be_a_key() -> None:
    wrong = (
        Account(provider="anthropic", name=KEY),
        Account(provider="anthropic", name="a", headers={"X-Team": KEY}),
        Account(provider="anthropic", name="a", headers={f"X-{KEY}": "b"}),
    )
    for account in wrong:
        reason = account_problem(account)
        assert reason
        assert KEY not in reason
    assert "only an account with a name" in account_problem(Account(provider="anthropic", address="https://a.example"))
    assert "not known" in account_problem(Account(provider="demo"))
