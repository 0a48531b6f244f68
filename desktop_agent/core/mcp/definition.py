"""Server definitions as the user or a project wrote them: how to start or reach a server, and what confines it."""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict

from desktop_agent.core.base.paths import real_path
from desktop_agent.core.base.plain_text import named
from desktop_agent.core.base.regex import regex
from desktop_agent.core.settings.table_file import flag_in, texts_in
from desktop_agent.core.system.processes.shell import joined_words, program_meant

SANDBOX_KEYS = ("sandbox", "folders", "read_folders", "hosts")

TRUST_AGAIN = "Look at them, and trust the project again: Settings, Project, or `desktop-agent config trust`."

NOT_CONFINED = "Not confined: it can do all that you can do."

_HOST = regex(
    r"(?P<name>\*|(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*"
    r"|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
)
_MOST_SHOWN = 6


class ServerSandbox(Struct, frozen=True, kw_only=True):
    """What a confined server may do. Folders are absolute, begin with `~/`, or are relative to the open folder."""

    folders: tuple[str, ...] = ()
    read_folders: tuple[str, ...] = ()
    """The folders in the home folder that the server may read. The rest of the home folder appears empty."""
    hosts: tuple[str, ...] = ()
    """The hosts that the server may reach: `name`, `*.name`, `[address]`, `*`, with a `:port` or else 80 and 443."""

    @property
    def words(self) -> str:
        return f"Confined: {self._may(_MOST_SHOWN)}."

    @property
    def in_full(self) -> str:
        return f"confined: {self._may(None)}"

    def _may(self, most: int | None) -> str:
        writes = f"it writes {_listed(self.folders, most) or 'none of your files'}"
        reads = f", also reads {_listed(self.read_folders, most)}" if self.read_folders else ""
        return f"{writes}{reads} and reaches {_listed(self.hosts, most) or 'no network'}"


def sandbox_in(values: Mapping[str, object]) -> ServerSandbox | None:
    if not flag_in(values, "sandbox"):
        if wrong := next((key for key in SANDBOX_KEYS[1:] if key in values), None):
            raise ValueError(f"{wrong!r} is for a server in the sandbox: add sandbox = true")
        return None
    return ServerSandbox(
        folders=_folders(values, "folders"),
        read_folders=_folders(values, "read_folders"),
        hosts=hosts_in(values),
    )


def hosts_in(values: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_host, texts_in(values, "hosts"))))


def sandbox_table(sandbox: ServerSandbox | None) -> dict[str, object]:
    if sandbox is None:
        return {}
    return {"sandbox": True, **{key: list(texts) for key, texts in asdict(sandbox).items() if texts}}


def folder_meant(text: str, workspace: Path) -> Path:
    """Return the absolute folder. Raises `ValueError` without a home folder."""
    try:
        return workspace / Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError(f"there is no home folder for {text!r}") from error


def _folders(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    texts = texts_in(values, key)
    if any(not text.strip() or "\0" in text for text in texts):
        raise ValueError(f"{key} contains an empty folder name")
    return tuple(dict.fromkeys(texts))


def _host(text: str) -> str:
    host = text.strip().rstrip(".").lower()
    match = _HOST.fullmatch(host)
    if match is None or not 0 < int(match["port"] or 443) < 65536:
        raise ValueError(
            f"hosts contains {text!r}, which is not a host: write example.org, *.example.org, example.org:8080 or *"
        )
    return host


def _listed(texts: Iterable[str], most: int | None) -> str:
    shown = [_WORDS.get(text) or named(text) for text in texts]
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"{len(shown) - most} more"]
    *first, last = shown or [""]
    return f"{', '.join(first)} and {last}" if first else last


_WORDS = {".": "the open folder", "*": "every public host"}

DefinedBy = Literal["user", "project", "plugin"]
"""Who wrote a definition. Those of a project and of a plugin are not started before the user trusts it."""

Grant = Literal["authorization_code", "client_credentials"]
"""How tokens are obtained: by consent in the browser, or by the application's own credentials (RFC 6749 4.4)."""

STARTUP_TIMEOUT_MS = 30_000

CALL_TIMEOUT_S = 600.0
"""How many seconds a call may take without progress."""

IDLE_S = 300.0


class Program(Struct, frozen=True, kw_only=True, tag="stdio"):
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that are added to the environment, from which credentials were removed."""
    secret_env: tuple[str, ...] = ()
    cwd: str = ""
    """The folder to start the server in, absolute or relative to the definition's file; empty for the workspace."""
    encoding: str = "utf-8"
    encoding_errors: Literal["strict", "ignore", "replace"] = "strict"
    sandbox: ServerSandbox | None = None
    """`None`: the server is not confined, and can do everything that the user can do."""


class Address(Struct, frozen=True, kw_only=True, tag="http"):
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    secret_headers: tuple[str, ...] = ()
    allow_unencrypted: bool = False
    """Whether to use `http://`, although others on the network can then read and change requests."""
    client_id: str = ""
    """The client ID at the authorisation server, or the URL of its metadata. Empty: registered dynamically."""
    issuer: str = ""
    """The only authorisation server allowed; empty for the one that the server names."""
    grant: Grant = "authorization_code"
    callback_port: int = 0
    """The port of the redirect address, if the `client_id` was registered with one; 0 for any port."""

    @property
    def names_itself_by_url(self) -> bool:
        return self.client_id.startswith("https://")


class ServerDefinition(Struct, frozen=True, kw_only=True):
    name: str
    reached_by: Program | Address
    startup_timeout_ms: int = STARTUP_TIMEOUT_MS
    call_timeout_s: float = CALL_TIMEOUT_S
    ttl_seconds: float = IDLE_S
    disabled_tools: tuple[str, ...] = ()
    is_enabled: bool = True
    defined_by: DefinedBy = "user"
    may_start: Callable[[], bool] | None = None
    """Asked before each start. Blocks; never raises."""

    @property
    def fingerprint(self) -> str:
        """Return a digest that is equal for definitions of the same server. Switches and limits are not included."""
        content = msgspec.json.encode(self.reached_by, order="deterministic")
        return blake2b(content, digest_size=16).hexdigest()

    @property
    def startup_timeout_s(self) -> float:
        return self.startup_timeout_ms / 1000

    @property
    def where(self) -> str:
        match self.reached_by:
            case Program() as program:
                return joined_words((program.command, *program.args))
            case Address() as address:
                return address.url.partition("?")[0]

    @property
    def in_full(self) -> str:
        """Return everything that decides what runs, with values of variables and headers, for the question of trust."""
        match self.reached_by:
            case Program() as program:
                argv = (program.command, *program.args)
                folder = f"(in {program.cwd})" if program.cwd else ""
                confined = f"({program.sandbox.in_full})" if program.sandbox is not None else ""
                words = [start_in_full(argv, program.env, program.secret_env), folder, confined]
            case Address() as address:
                headers = [f"{name}: {value}" for name, value in address.headers.items()]
                headers += [f"{name}: from your keyring" for name in address.secret_headers]
                words = [address.url, f"({', '.join(headers)})" if headers else "", _client_in_full(address)]
        return named(" ".join(filter(None, words)))

    @property
    def confinement(self) -> str:
        if not isinstance(self.reached_by, Program):
            return ""
        return NOT_CONFINED if self.reached_by.sandbox is None else self.reached_by.sandbox.words

    def may_write(self, path: Path, workspace: Path) -> bool:
        """Whether the server's local process can write to this file of the workspace. Blocks."""
        if not isinstance(self.reached_by, Program):
            return False
        if self.reached_by.sandbox is None:
            return True
        folders = self.reached_by.sandbox.folders
        return any(real_path(path).is_relative_to(folder_meant(folder, workspace).resolve()) for folder in folders)

    def missing_program(self, environ: Mapping[str, str], workspace: Path) -> str | None:
        """Return the program that starts the server if it is not found, else `None`. Blocks."""
        program = self.reached_by
        if not isinstance(program, Program) or program_meant(program.command, environ, workspace, program.cwd):
            return None
        return program.command

    @property
    def secrets(self) -> Collection[str]:
        """Return values that must not be shown or written: any variable of the server may be a credential."""
        return tuple(self.reached_by.env.values()) if isinstance(self.reached_by, Program) else ()


def start_in_full(argv: Iterable[str], env: Mapping[str, str], secrets: Iterable[str]) -> str:
    variables = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    variables += [f"{name}=(from your keyring)" for name in secrets]
    return " ".join((*variables, joined_words(argv)))


def _client_in_full(address: Address) -> str:
    if not address.client_id and not address.issuer:
        return ""
    who = f"as {address.client_id}" if address.client_id else "registered by itself"
    where = address.issuer or "the one that it names"
    return f"(signed in {who} at {where}{', without asking you' if address.grant == 'client_credentials' else ''})"
