"""A command's environment has no credential, under any name, and no way out."""

import os
import sys
from pathlib import Path

import pytest

from desktop_agent.core.base.secrets import mask
from desktop_agent.core.sandbox.find import find_sandbox
from desktop_agent.core.system.environment import child_environment, confined_environment, kept_back_from
from desktop_agent.core.system.processes.runner import Command
from desktop_agent.core.tools.execution.confiner import Confiner, SandboxProbe
from desktop_agent.core.tools.secret_files import SecretNames
from tests.core.sandbox.conftest import Place, Shell

KEY = "sk-ant-" + "api03-AbCdEf0123456789xyz"
JWT = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXBhcnQ"
PEM = "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"

GO = (
    "postgres://u:p@h/db", "postgresql+asyncpg://u:p%40x@h:5432/db?sslmode=require",
    "mysql://root:hunter2@127.0.0.1:3306/a",
    "mongodb+srv://u:p@cluster0.example.net/?retryWrites=true", "redis://:p4ss@cache:6379/0",
    "rediss://default:x@c:6380",
    "amqp://guest:guest@rabbit:5672//", "amqps://u:p@h/vhost", "smtp://mail:secret@smtp.example.org:587",
    "http://me:hunter22@proxy:3128", "https://u:p@registry.example.org/simple", "ftp://u:p@h/", "sftp://u:p@h:22/x",
    "socks5://u:p@127.0.0.1:1080", "ldap://cn=admin:pw@h", "mssql+pyodbc://sa:P4ss@h/db?driver=x",
    "clickhouse://u:p@h:9000",
    "https://0123456789abcdef0123@sentry.example.org/1", "https://x-access-token:abc@github.com/a/b",
    "postgres://u:p@ss/w@h/db", "postgres://u:12345678@h/db", "'postgres://u:p@h/db'", '"postgres://u:p@h/db"',
    "primary=postgres://u:p@h/db replica=postgres://h/db", "postgres://h/db,postgres://u:p@h/db",
    "[redis://h, redis://:p@h]",
    '{"url": "postgres://u:p@h/db"}', '["a", "amqp://u:p@h"]', "jdbc:postgresql://h/db?user=u&password=hunter2",
    "jdbc:oracle:thin:scott/tiger@h:1521/x", "jdbc:sqlserver://h;user=sa;password=hunter2;", "u:p4ss@tcp(h:3306)/db",
    "user:password@host.example.org:5432/db", "Server=h;Database=d;User Id=u;Password=hunter2;",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abcd1234==;",
    "Endpoint=sb://x/;SharedAccessKey=abc123def=",
    "host=h user=u password=hunter2 dbname=d",
    '{"password": "hunter2"}', '{"client_secret":"abcdef"}', "token=abcdef0123",
    "--user me --password=hunter2", "//registry.npmjs.org/:_authToken=abcdef123",
    "Authorization: Bearer abcdefghijklmnop12",
    "Bearer abcdefghijklmnopqrst", "Basic dXNlcjpwYXNzd29yZDEyMw==", KEY, f"a,{KEY}", f"key={KEY}",
    f'"{KEY}"', JWT, PEM,
    f'{{"private_key": "{PEM}"}}', "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz", "glpat-" + "0123456789abcdefghij",
    "AKIA" + "IOSFODNN7EXAMPLE", "https://h/x?sig=abcdef0123456789", "https://h/x?access_token=abcdef0123",
    "xoxb-" + "123456789012-abcdefghijkl", "https://hooks.example.org/?api_key=0123456789ab",
)  # fmt: skip

STAY = (
    "/usr/local/bin:/usr/bin:/bin", "/home/me/sk-learn-environment/bin:/usr/bin", "postgres://host/db",
    "postgres://u@host/db",
    "redis://localhost:6379/0", "http://proxy:3128", "http://127.0.0.1:8080/path@2", "https://example.org/a:b@c",
    "ssh://git@github.com/a/b.git", "git@github.com:a/b.git", "https://github.com/a/b", "file:///home/me/a:b",
    "localhost,127.0.0.1,.example.org", "en_US.UTF-8", "xterm-256color", "truecolor", "-O2 -g -Wall",
    "--max-old-space-size=4096",
    "-Xmx2g -Dfile.encoding=UTF-8", "ignore::DeprecationWarning:a.b", "debug,hyper=info", "a=1,b=2", "1", "true", "",
    '{"level": "info", "count": 3}', "image:1.2@sha256:0123456789abcdef", "user@example.org", "Me <me@example.org>",
    "2026-11-23T06:04:13Z", "sk", "pk_test", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "max_tokens=4096",
    "*.rs=01;32:*.toml=33", "%h:%p", "[::1]:8080", "http://[::1]:8080/", "tcp://0.0.0.0:2375", "C.UTF-8", "10:20:30",
    "password=$(pass show x)", "--token-file=/run/t", "author=me", "bearer", "use_auth=false", "no-secrets",
)  # fmt: skip

WAYS_OUT = (
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "GPG_AGENT_INFO",
    "XAUTHORITY",
    "WAYLAND_DISPLAY", "DISPLAY", "KRB5CCNAME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "TMUX", "NVIM", "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE", "GIT_ASKPASS", "SSH_ASKPASS", "I3SOCK", "SWAYSOCK", "KITTY_LISTEN_ON", "ALACRITTY_SOCKET",
    "GNOME_KEYRING_CONTROL", "SESSION_MANAGER", "NOTIFY_SOCKET", "ICEAUTHORITY", "PULSE_SERVER", "STY",
)  # fmt: skip


@pytest.mark.parametrize("value", GO)
def test_a_value_with_credentials_reaches_no_program(value: str) -> None:
    assert child_environment({"SOMETHING": value, "LANG": "C"}) == {"LANG": "C"}


@pytest.mark.parametrize("value", STAY)
def test_a_value_without_credentials_stays(value: str) -> None:
    assert child_environment({"SOMETHING": value}) == {"SOMETHING": value}


def test_a_name_like_a_credential_keeps_its_value_back() -> None:
    environ = {"PATH": "/bin", "ANTHROPIC_API_KEY": "k", "GH_TOKEN": "t", "LANG": "C"}
    assert child_environment(environ) == {"PATH": "/bin", "LANG": "C"}


def test_what_programs_cannot_do_without_stays_whatever_it_looks_like() -> None:
    environ = {"PATH": "/opt/a:b@c", "HOME": "/home/u:p@h"}
    assert child_environment(environ) == environ


def test_the_user_passes_names_on_and_reads_why_others_are_kept_back() -> None:
    environ = {"DATABASE_URL": "postgres://u:p@h/db", "GH_TOKEN": "t", "DISPLAY": ":0"}
    assert child_environment(environ, ["DATABASE_URL"]) == {"DATABASE_URL": "postgres://u:p@h/db", "DISPLAY": ":0"}
    assert kept_back_from(environ) == {
        "DATABASE_URL": "an address with a password",
        "GH_TOKEN": "named like a credential",
    }
    assert confined_environment(environ, environ, ["DISPLAY"])["DISPLAY"] == ":0"


def test_reasons_hold_no_part_of_a_value() -> None:
    for value in GO:
        assert all(part not in value for part in kept_back_from({"X": value}).values())
        assert mask(str(kept_back_from({"X": value}))) == str(kept_back_from({"X": value}))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="these sandboxes are Linux's")
async def test_a_confined_command_knows_nothing_that_listens_outside(
    shell: Shell, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in WAYS_OUT:
        monkeypatch.setenv(name, f"outside-{name}")
    own = dict(os.environ)
    confiner = Confiner(
        probe=SandboxProbe(own, find_sandbox),
        workspace=place.workspace,
        temp=place.temp,
        allowed=tuple,
        visible=tuple,
        passed=lambda: ("TMUX",),
        logs=Path("/nonexistent"),
        secrets=lambda: SecretNames(place.workspace),
    )
    if not await confiner.is_available():
        pytest.skip("no sandbox works on this machine")
    confinement = await confiner.confinement("restricted")
    confinement.protect([place.workspace / ".git"])  # as before every command that may write
    environ = {**child_environment(own), "DISPLAY": ":99 of its own"}
    outcome = await shell.runner.run(
        confinement.confine(Command(argv=("/usr/bin/env",), cwd=place.workspace, environ=environ)), timeout_s=30
    )
    assert [line for line in outcome.output.head.splitlines() if "outside-" in line] == ["TMUX=outside-TMUX"]
    assert "DISPLAY=:99 of its own" in outcome.output.head
