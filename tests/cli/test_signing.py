"""`auth sign-in` and `auth sign-out` with a real browser program, and their messages."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.cli.console import Console
from desktop_agent.cli.signing import Signing, TerminalBrowser
from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.models.account import Account
from desktop_agent.core.providers.auth.accounts import AccountsFile
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.sign_ins import SignIns, SignInServices
from tests.command_line import CommandLine
from tests.core.providers.auth.file_keyring import FileKeyring
from tests.servers.authorization_server import EMAIL, KEY, AuthorizationServer

BROWSER = f"{sys.executable} -m tests.servers.browser %s"


class Watched(io.StringIO):
    def __init__(self) -> None:
        super().__init__()
        self.was_written = asyncio.Event()

    def write(self, text: str, /) -> int:
        self.was_written.set()
        return super().write(text)


class Terminal:
    def __init__(
        self, folder: Path, server: AuthorizationServer, *, browser: str = BROWSER, is_json: bool = True
    ) -> None:
        self.keyring = FileKeyring(folder / "keyring.json")
        self.accounts = AccountsFile(folder / "config" / "accounts.toml")
        self.environ = {"BROWSER": browser} if browser else {}
        self._out, self.errors = io.BytesIO(), Watched()
        self._console = Console(is_json=is_json, out=io.TextIOWrapper(self._out, "utf-8"), err=self.errors)
        sign_ins = SignIns(
            SystemKeyStore(self.keyring),
            self.accounts,
            folder / "data",
            clock=SystemClock(),
            environ=self.environ,
            services=SignInServices(server.chatgpt(), server.openrouter()),
        )
        self.command = Signing(sign_ins, self.accounts, self._console, self.environ)

    @property
    def out(self) -> str:
        return self._out.getvalue().decode()

    @property
    def printed(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def told(self) -> str:
        return self.errors.getvalue()


@pytest.fixture(autouse=True)
def browsers_are_looked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser._tryorder", None)
    monkeypatch.setenv("BROWSER", BROWSER)


async def test_chatgpt_is_signed_in_with_by_a_browser_program_and_out_of(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        terminal, out = Terminal(tmp_path, server), Terminal(tmp_path, server)
        await terminal.command.sign_in("openai", None)
        kept = set(terminal.keyring.entries)
        assert len(terminal.accounts.load().added) == 1
        await out.command.sign_out("openai", None)
    assert terminal.printed == {"provider": "openai", "account": "chatgpt", "kind": "oauth", "signed_in": True}
    assert f"{server.url}/authorize?" in terminal.told
    assert kept == {f"openai:chatgpt/{part}" for part in ("access", "refresh", "registration")}
    assert (out.keyring.entries, out.accounts.load().added) == ({}, ())


async def test_what_is_printed_says_who_and_how_to_use_it(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server, is_json=False)
        await terminal.command.sign_in("openai", "work")
    out = terminal.out
    assert EMAIL in out
    assert "--provider openai --account work" in out
    assert [secret for secret in server.secrets if secret in out] == []


async def test_openrouter_is_signed_in_with_and_out_of(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server)
        await terminal.command.sign_in("openrouter", None)
        assert terminal.keyring.entries == {"openrouter": KEY}
        out = Terminal(tmp_path, server)
        await out.command.sign_out("openrouter", None)
    assert out.printed == {"provider": "openrouter", "account": "", "signed_in": False}
    assert out.keyring.entries == {}


async def test_of_several_sign_ins_one_must_be_named(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server)
        for name in ("home", "work"):
            terminal.accounts.put(Account(provider="openai", name=name, kind="oauth"))
        with pytest.raises(UsageError, match="Several accounts") as caught:
            await terminal.command.sign_out("openai", None)
        assert "home, work" in caught.value.hint
        await terminal.command.sign_out("openai", "Work")
        assert [account.name for account in terminal.accounts.load().added] == ["home"]


async def test_who_has_not_signed_in_cannot_sign_out(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server)
        terminal.accounts.put(Account(provider="openai", name="work"))
        for name in (None, "", "work", "gone"):
            with pytest.raises(UsageError, match="No account of openai"):
                await terminal.command.sign_out("openai", name)


async def test_without_a_browser_the_address_is_shown(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server, browser="")
        running = asyncio.ensure_future(terminal.command.sign_in("openai", None))
        await terminal.errors.was_written.wait()
        assert terminal.told.startswith("Open this address in a browser on this machine:\n")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.parametrize(
    ("platform", "environ", "opens"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"BROWSER": "firefox"}, True),
        ("darwin", {}, True),
        ("win32", {}, True),
    ],
)
async def test_a_browser_in_the_terminal_is_none(
    monkeypatch: pytest.MonkeyPatch, platform: str, environ: dict[str, str], opens: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("webbrowser.open", lambda address: bool(opened.append(address)) or True)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert await TerminalBrowser(Console(), environ).open("http://127.0.0.1:1/") == opens
    assert bool(opened) == opens


async def test_codex_is_explained_and_signed_in_beside(tmp_path: Path, isolated_home: Path) -> None:
    (isolated_home / ".codex").mkdir()
    (isolated_home / ".codex" / "auth.json").write_text("{}")
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server)
        await terminal.command.sign_in("openai", None)
    assert "Codex stays signed in" in terminal.told


async def test_claude_code_is_explained_when_there_is_no_profile(tmp_path: Path, isolated_home: Path) -> None:
    (isolated_home / ".claude").mkdir()
    (isolated_home / ".claude" / ".credentials.json").write_text("{}")
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server)
        with pytest.raises(UsageError, match="no profile 'default'") as caught:
            await terminal.command.sign_in("anthropic", None)
    assert "does not permit other applications" in terminal.told
    assert "auth set anthropic" in caught.value.hint


async def test_a_profile_becomes_an_account(tmp_path: Path, isolated_home: Path) -> None:
    configs = isolated_home / ".config" / "anthropic" / "configs"
    configs.mkdir(parents=True)
    (configs / "work.json").write_text('{"authentication": {"type": "user_oauth", "client_id": "c"}}')
    async with AuthorizationServer() as server:
        terminal = Terminal(tmp_path, server)
        await terminal.command.sign_in("anthropic", "work")
        assert terminal.printed["kind"] == "profile"
        out = Terminal(tmp_path, server)
        await out.command.sign_out("anthropic", None)
    assert out.accounts.load().added == ()


async def test_a_workload_in_the_environment_is_the_usual_account(tmp_path: Path) -> None:
    async with AuthorizationServer() as server:
        terminal, out = Terminal(tmp_path, server), Terminal(tmp_path, server)
        terminal.environ["ANTHROPIC_FEDERATION_RULE_ID"] = "fdrl_1"
        await terminal.command.sign_in("anthropic", None)
        assert terminal.accounts.load().added == (Account(provider="anthropic", kind="profile"),)
        await out.command.sign_out("anthropic", None)
    assert out.accounts.load().added == ()


@pytest.mark.parametrize("action", ["sign-in", "sign-out"])
def test_a_provider_without_a_sign_in_is_named(capsys: pytest.CaptureFixture[str], action: str) -> None:
    ran = CommandLine(capsys)("auth", action, "xai")
    assert ran.code == 2
    assert "xai" in ran.err


def test_without_a_keyring_it_says_so_and_opens_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    ran = CommandLine(capsys)("auth", "sign-in", "openai")
    assert ran.code == 1
    assert "keyring" in ran.err


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from tests.core.providers.auth.file_keyring import FileKeyring\n"
        "from pathlib import Path\n"
        "import keyring\n"
        f"keyring.set_keyring(FileKeyring(Path({str(tmp_path / 'keyring.json')!r})))\n"
        "from desktop_agent.cli import main\n"
        "sys.exit(main(['auth', 'sign-in', 'openai']))\n"
    )
    environ = {name: value for name, value in os.environ.items() if name not in ("BROWSER", "DISPLAY")}
    with subprocess.Popen(
        [sys.executable, "-c", program], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environ, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "Open this address in a browser on this machine:\n"
        assert process.stderr.readline().startswith("https://auth.openai.com/api/accounts/authorize?")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
