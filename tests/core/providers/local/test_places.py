"""Servers are looked for on this machine only: at the usual addresses, and at those that the user named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.models.account import Account
from desktop_agent.core.models.vendors import vendor_of
from desktop_agent.core.providers.local import Place, host_address, is_here, local_places

OLLAMA = vendor_of("ollama")
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
    assert host_address(OLLAMA, {"OLLAMA_HOST": said}) == meant


@given(st.text(max_size=40))
def test_whatever_the_variable_says_only_this_machine_is_looked_at(said: str) -> None:
    environ = {"OLLAMA_HOST": said}
    assert all(is_here(place.address) for place in local_places((), environ))


@pytest.mark.parametrize("address", ["http://me:secret@127.0.0.1:1234/v1", "ftp://127.0.0.1/", "http://[::1", "", "x"])
def test_what_cannot_be_asked_is_no_place(address: str) -> None:
    assert not is_here(address)
