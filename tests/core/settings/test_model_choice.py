"""What the user leaves open of a model comes from the one that answers now, or from settings of the same provider."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.vendors import VENDORS, Vendor, usual_model
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.core.settings.loading import LoadedSettings, SettingSource, load_settings
from desktop_agent.core.settings.model_choice import NamedModel, destination, model_meant
from desktop_agent.core.settings.sections import ModelSettings, Settings

GATEWAY = "https://models.example"
NOW = ModelRef(provider="anthropic", model="m", base_url=GATEWAY)


def meant(
    *,
    now: ModelRef | None = None,
    settings: ModelSettings | None = None,
    env: dict[str, str] | None = None,
    **named: str,
) -> ModelRef:
    loaded = LoadedSettings(Settings(model=settings or ModelSettings()), ())
    return model_meant(NamedModel(**named), loaded, env or {}, now)


def test_who_names_nothing_means_the_settings() -> None:
    settings = ModelSettings(name="own", base_url=GATEWAY)
    assert meant(settings=settings) == ModelRef(provider="anthropic", model="own", base_url=GATEWAY)


def test_an_account_of_the_settings_has_its_own_address() -> None:
    settings = ModelSettings(account="work", base_url=GATEWAY)
    assert meant(settings=settings) == ModelRef(provider="anthropic", model="claude-sonnet-5-5", account="work")
    assert meant(settings=settings, account="usual").base_url == GATEWAY


@pytest.mark.parametrize("provider", ["openai", "openrouter", "demo"])
def test_what_the_settings_say_of_one_provider_holds_for_no_other(provider: str) -> None:
    model = meant(settings=ModelSettings(name="own", account="work", base_url=GATEWAY), provider=provider)
    assert (model.provider, model.base_url, model.account) == (provider, None, "")
    assert model.model not in ("own", "")


def test_another_provider_has_what_its_own_variables_say() -> None:
    env = {"ANTHROPIC_BASE_URL": GATEWAY, "ANTHROPIC_MODEL": "own"}
    assert meant(settings=ModelSettings(provider="demo"), provider="anthropic", env=env) == ModelRef(
        provider="anthropic", model="own", base_url=GATEWAY
    )
    assert meant(settings=ModelSettings(provider="demo"), provider="openai", env=env).base_url is None


@pytest.mark.parametrize("provider", ["openai", "openai-chat"])
@pytest.mark.parametrize("usual", ["anthropic", "openai-chat"])
def test_the_address_of_openai_is_for_its_two_formats(provider: str, usual: str) -> None:
    env = {"OPENAI_BASE_URL": GATEWAY}
    settings = ModelSettings(provider=usual, base_url=GATEWAY if usual == provider else "")
    assert meant(settings=settings, provider=provider, env=env).base_url == GATEWAY
    assert meant(settings=settings, provider="openrouter", env=env).base_url is None


def test_the_default_name_is_of_one_vendor_only_unless_it_was_written() -> None:
    settings = Settings(model=ModelSettings(provider="openai"))
    source = {"model.name": SettingSource("file", "config.toml")}
    assert model_meant(NamedModel(), LoadedSettings(settings, ()), {}).model == usual_model("openai")
    assert model_meant(NamedModel(), LoadedSettings(settings, (), source), {}).model == settings.model.name
    assert meant(settings=ModelSettings(provider="ollama")).model == ""


def test_a_conversation_that_goes_on_keeps_what_is_not_named() -> None:
    settings = ModelSettings(name="other", base_url="https://other.example")
    assert meant(now=NOW, settings=settings) == NOW
    assert meant(now=NOW, settings=settings, model="n") == ModelRef(provider="anthropic", model="n", base_url=GATEWAY)
    changed = meant(now=NOW, settings=settings, account="work")
    assert changed == ModelRef(provider="anthropic", model="m", account="work")
    assert meant(now=changed, settings=settings, account="usual").base_url == "https://other.example"


def test_the_effort_of_the_settings_is_for_their_provider() -> None:
    settings = ModelSettings(effort="High")
    assert meant(settings=settings).effort == "high"
    assert meant(settings=settings, provider="openai").effort == ""
    assert meant(settings=settings, effort="low").effort == "low"


def test_the_effort_of_a_conversation_stays_with_its_model() -> None:
    now = replace(NOW, effort="max")
    assert meant(now=now) == now
    assert meant(now=now, account="usual").effort == "max"
    assert meant(now=now, model="n").effort == ""
    assert meant(now=now, model="n", settings=ModelSettings(effort="low")).effort == "low"
    assert meant(now=now, effort="").effort == ""


def test_a_conversation_that_changes_its_provider_takes_nothing_along() -> None:
    now = ModelRef(provider="openai", model="m", base_url=GATEWAY, account="work")
    assert meant(now=now, provider="anthropic") == ModelRef(provider="anthropic", model="claude-sonnet-5-5")


OTHER_ADDRESS = "https://gateway.example/v1"


def chosen(vendor: Vendor, *lines: str) -> str:
    return "\n".join(("[model]", f'provider = "{vendor.id}"', 'name = "m"', *lines, ""))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.id)
@pytest.mark.parametrize("is_chosen", [True, False])
@pytest.mark.parametrize("named_by", ["", "environment", "settings", "account"])
def test_what_is_said_is_where_the_model_is_asked(file: Path, vendor: Vendor, is_chosen: bool, named_by: str) -> None:
    other = next(each for each in VENDORS if each.address_variable != vendor.address_variable or each.id != vendor.id)
    if named_by == "environment" and not vendor.address_variable:
        pytest.skip("no variable says where it is")
    if named_by == "settings" and not is_chosen:
        pytest.skip("the settings say it of the chosen provider only")
    address = [f'base_url = "{OTHER_ADDRESS}"'] if named_by == "settings" else []
    file.write_text(chosen(vendor if is_chosen else other, *address))
    environ = {vendor.address_variable: OTHER_ADDRESS} if named_by == "environment" else {}
    account = usual_account(vendor.id)
    if named_by == "account":
        account = Account(provider=vendor.id, name="work", address=OTHER_ADDRESS)
    loaded = load_settings(file, environ)

    there = destination(account, loaded, environ)

    model = model_meant(NamedModel(provider=vendor.id, account=account.label), loaded, environ)
    asked = LoadedAccounts((account,) if account.name else ()).of_model(model)
    assert there.address == asked.where
    assert there.address == (OTHER_ADDRESS if named_by else vendor.address)
    variable = vendor.address_variable if named_by == "environment" else ""
    assert there.named_by == (variable or named_by)


def test_a_proxy_on_the_way_is_said_and_its_password_is_not(file: Path) -> None:
    environ = {"https_proxy": "http://me:secret@proxy.example:3128", "no_proxy": "127.0.0.1"}
    there = destination(usual_account("anthropic"), load_settings(file, environ), environ)
    assert there.words == ("https://api.anthropic.com, through the proxy http://proxy.example:3128 (from https_proxy)")
    here = destination(usual_account("ollama"), load_settings(file, environ), environ)
    assert here.words == "http://127.0.0.1:11434/v1", "nothing for this machine goes through a proxy"
