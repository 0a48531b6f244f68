"""Where requests really go, and what sets that: for every provider, compared with where it is asked."""

from pathlib import Path

import pytest

from desktop_agent.core.models.account import Account, usual_account
from desktop_agent.core.models.vendors import VENDORS, Vendor
from desktop_agent.core.providers.auth.accounts import LoadedAccounts
from desktop_agent.core.settings.loading import load_settings
from desktop_agent.core.settings.model_choice import NamedModel, destination, model_meant

GATEWAY = "https://gateway.example/v1"


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
    address = [f'base_url = "{GATEWAY}"'] if named_by == "settings" else []
    file.write_text(chosen(vendor if is_chosen else other, *address))
    environ = {vendor.address_variable: GATEWAY} if named_by == "environment" else {}
    account = usual_account(vendor.id)
    if named_by == "account":
        account = Account(provider=vendor.id, name="work", address=GATEWAY)
    loaded = load_settings(file, environ)

    there = destination(account, loaded, environ)

    model = model_meant(NamedModel(provider=vendor.id, account=account.label), loaded, environ)
    asked = LoadedAccounts((account,) if account.name else ()).of_model(model)
    assert there.address == asked.where
    assert there.address == (GATEWAY if named_by else vendor.address)
    variable = vendor.address_variable if named_by == "environment" else ""
    assert there.named_by == (variable or named_by)


def test_a_proxy_on_the_way_is_said_and_its_password_is_not(file: Path) -> None:
    environ = {"https_proxy": "http://me:secret@proxy.example:3128", "no_proxy": "127.0.0.1"}
    there = destination(usual_account("anthropic"), load_settings(file, environ), environ)
    assert there.words == ("https://api.anthropic.com, through the proxy http://proxy.example:3128 (from https_proxy)")
    here = destination(usual_account("ollama"), load_settings(file, environ), environ)
    assert here.words == "http://127.0.0.1:11434/v1", "nothing for this machine goes through a proxy"
