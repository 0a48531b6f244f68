"""A keyring without an answer blocks nothing: the user learns what is waited for, and all commands end."""

import json
import signal
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import secretstorage
from _pytest.mark import ParameterSet

from tests.attacks.corpus import cases
from tests.attacks.keyrings.conftest import Program
from tests.attacks.keyrings.service import MODES, Mode

Start = Callable[[Mode], None]

ENDING: tuple[Mode, ...] = ("silent", "erring", "vanishing", "nonsense", "silent_later")
"""Keyrings without an open prompt: programs end within seconds."""

ASKING: tuple[Mode, ...] = ("locked", "missing")
"""Keyrings that wait a minute for the user, and can be interrupted."""

KEY = "sk-ant-test-0000000000000000"
WORK_KEY = "sk-ant-work-0000000000000000"
RUN = ("run", "--prompt", "go", "--json")
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": RUN, "doctor": ("doctor", "--json"), "status": ("auth", "status", "--json"),
    "set": ("auth", "set", "anthropic"), "delete": ("auth", "delete", "anthropic"),
}  # fmt: skip


def spread(corpus: Sequence[tuple[object, ...]]) -> list[ParameterSet]:
    chosen = cases(corpus, lambda case: " ".join(map(str, case)))
    return [pytest.param(*case, id=chosen[n].id, marks=chosen[n].marks) for n, case in enumerate(corpus)]


ENDS = [(mode, name) for name in COMMANDS for mode in ENDING]
READING = ("run", "doctor", "status", "delete")
"""Those for which a missing keyring is not created, since there is no key in it."""
ASKS = [
    (mode, name, number)
    for mode in ASKING
    for name in COMMANDS
    if mode == "locked" or name not in READING
    for number in (signal.SIGINT, signal.SIGTERM)
]


def test_every_mode_is_driven() -> None:
    assert set(ENDING) | set(ASKING) == set(MODES)


@pytest.mark.parametrize(("mode", "name"), spread(ENDS))
def test_a_command_ends_and_says_that_the_keyring_is_of_no_use(
    program: Program, secret_service: Start, tmp_path: Path, mode: Mode, name: str
) -> None:
    secret_service(mode)
    more = ("--workspace", tmp_path) if name == "run" else ()
    ran = program(*COMMANDS[name], *more, text=f"{KEY}\n")
    told = ran.stdout + ran.stderr
    assert "keyring" in told
    assert "ANTHROPIC_API_KEY" in told
    assert KEY not in told
    match name:
        case "run":
            assert (ran.returncode, json.loads(ran.stdout)["stopped_reason"]) == (1, "provider_error")
        case "doctor":
            [check] = [check for check in json.loads(ran.stdout)["checks"] if check["name"] == "keyring"]
            assert check["state"] == "warning"
        case "status":
            assert ran.returncode == 0
        case _:
            assert ran.returncode == 1


@pytest.mark.parametrize(("mode", "name", "number"), spread(ASKS))
def test_a_signal_ends_what_waits_for_the_user(
    program: Program, secret_service: Start, tmp_path: Path, mode: Mode, name: str, number: signal.Signals
) -> None:
    secret_service(mode)
    more = ("--workspace", tmp_path) if name == "run" else ()
    code = program.interrupted(number, *COMMANDS[name], *more, text=f"{KEY}\n")
    ends = {130} if number == signal.SIGINT or name == "run" else {-signal.SIGTERM}
    assert code in ends


@pytest.mark.parametrize("name", READING)
def test_reading_asks_nobody_to_create_a_keyring(
    program: Program, secret_service: Start, tmp_path: Path, name: str
) -> None:
    secret_service("missing")
    more = ("--workspace", tmp_path) if name == "run" else ()
    ran = program(*COMMANDS[name], *more)
    assert "Waiting for the keyring" not in ran.stderr
    assert ran.returncode == (1 if name == "run" else 0)


def test_a_real_keyring_keeps_hands_out_replaces_and_forgets_the_keys_of_two_accounts(
    program: Program, gnome_keyring: None
) -> None:
    work = ("--account", "work")
    assert told(program) == {"": None}
    for key, options in ((KEY, ()), (WORK_KEY, (*work, "--base-url", "https://models.example"))):
        assert program("auth", "set", "anthropic", *options, text=f"{key}\n").returncode == 0
    assert told(program) == {"": "keyring", "work": "keyring"}
    assert kept() == {"anthropic": KEY, "anthropic:work@https://models.example": WORK_KEY}
    assert program("auth", "set", "anthropic", *work, text="sk-ant-new-000000000000\n").returncode == 0
    assert kept() == {"anthropic": KEY, "anthropic:work@https://models.example": "sk-ant-new-000000000000"}
    assert program("auth", "delete", "anthropic").returncode == 0
    assert told(program) == {"": None, "work": "keyring"}
    assert program("auth", "delete", "anthropic", *work).returncode == 0
    assert told(program) == {"": None}
    assert kept() == {}


def told(program: Program) -> dict[str, str | None]:
    accounts = json.loads(program("auth", "status", "--json").stdout)["providers"]
    assert not any(account["problem"] for account in accounts)
    return {account["account"]: account["source"] for account in accounts if account["provider"] == "anthropic"}


def kept() -> dict[str, str]:
    """What the keyring holds for the application, read with a library that the application does not use."""
    with closing(secretstorage.dbus_init()) as bus:
        items = secretstorage.search_items(bus, {"service": "desktop-agent"})
        return {item.get_attributes()["username"]: item.get_secret().decode() for item in items}
