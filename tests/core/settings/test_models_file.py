"""The user's facts about models, and a session's first model."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.known_model import KnownModel, Rates
from desktop_agent.core.models.vendors import VENDORS, Vendor, usual_model
from desktop_agent.core.protocol.model import ModelRef
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.core.settings.loading import LoadedSettings, SettingSource, load_settings
from desktop_agent.core.settings.model_choice import NamedModel, destination, model_meant
from desktop_agent.core.settings.models_file import ModelsFile, StatedModels
from desktop_agent.core.settings.sections import ModelSettings, Settings

HEAD = '[[model]]\nprovider = "ollama"\nname = "q"\n'


def read(folder: Path, text: str) -> StatedModels:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return ModelsFile(path).load()


def test_without_a_file_nothing_is_said(tmp_path: Path) -> None:
    assert ModelsFile(tmp_path / "models.toml").load() == StatedModels()


def test_everything_that_can_be_said_is_read(tmp_path: Path) -> None:
    text = """
[[model]]
provider = "ollama"
name = "qwen3:32b"
label = "Qwen 3"
context_tokens = 40960
output_tokens = 8192
takes_images = false
takes_tools = true
thinks = true
efforts = ["low", "high"]
input_price = 0.5
output_price = 1.5
cache_read_price = 0.05
cache_write_price = 0
"""
    assert read(tmp_path, text) == StatedModels(
        (
            KnownModel(
                provider="ollama", name="qwen3:32b", label="Qwen 3", context_tokens=40_960, output_tokens=8_192,
                takes_images=False, takes_tools=True, thinks=True, efforts=("low", "high"),
                price=Rates(input=0.5, output=1.5, cache_read=0.05, cache_write=0.0),
            ),
        )
    )  # fmt: skip


def test_what_is_left_out_is_not_known_and_an_empty_list_says_none(tmp_path: Path) -> None:
    assert read(tmp_path, HEAD).models == (KnownModel(provider="ollama", name="q"),)
    assert read(tmp_path, f"{HEAD}efforts = []\n").models[0].efforts == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("contex_tokens = 4", "'contex_tokens' is not known"),
        ("context_tokens = 0", "context_tokens must be a whole number greater than 0"),
        ("context_tokens = true", "context_tokens must be a whole number greater than 0"),
        ('output_tokens = "many"', "output_tokens must be a whole number greater than 0"),
        ("takes_images = 1", "takes_images must be true or false"),
        ('efforts = "high"', "efforts must be a list of texts"),
        ('efforts = ["High!"]', "efforts: 'High!' is no level"),
        ('efforts = [""]', "efforts: '' is no level"),
        ("input_price = 1", "a price needs both input_price and output_price"),
        ("cache_read_price = 1", "a price needs both"),
        ("input_price = -1\noutput_price = 1", "input_price must be a number, 0 or more"),
        ("input_price = nan\noutput_price = 1", "input_price must be a number, 0 or more"),
        ('label = "x"\n[[model]]\nprovider = "nobody"\nname = "q"', "provider must be one of anthropic"),
        ('label = "x"\n[[model]]\nprovider = "ollama"', "name must be a text"),
        ('label = "x"\n[[model]]\nprovider = "ollama"\nname = " q"', "name has blanks around it"),
        (f'label = "x"\n{HEAD}', "is in the file twice"),
    ],
)
def test_a_table_that_cannot_be_used_is_named_with_its_place(tmp_path: Path, line: str, reason: str) -> None:
    good = '[[model]]\nprovider = "xai"\nname = "good"\n'
    stated = read(tmp_path, f"{good}\n{HEAD}{line}\n")
    (problem,) = stated.problems
    assert reason in problem.message
    assert (problem.key, problem.line) in {("model 2", 5), ("model 3", 9)}
    assert not problem.is_fault
    assert stated.models[0] == KnownModel(provider="xai", name="good")


@pytest.mark.parametrize("text", ["model = 1", "[[models]]\nname='x'", "no toml"])
def test_a_file_that_says_something_else_is_named(tmp_path: Path, text: str) -> None:
    stated = read(tmp_path, text)
    assert stated.models == ()
    assert stated.problems
    assert not any(problem.is_fault for problem in stated.problems)


def test_a_change_of_the_file_is_seen(tmp_path: Path) -> None:
    file = ModelsFile(tmp_path / "models.toml")
    assert file.load().models == ()
    file.path.write_text(HEAD)
    assert [model.name for model in file.load().models] == ["q"]


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
