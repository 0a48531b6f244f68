"""Language servers, which find errors in files: known and installed, or defined by the user or the project.

A project's are in its `.lsp.json`, in Claude Code's form: https://code.claude.com/docs/en/plugins-reference#lsp-servers.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from desktop_agent.core.base.plain_text import named, shortened
from desktop_agent.core.base.regex import regex
from desktop_agent.core.extensions.script_marks import marks_from
from desktop_agent.core.extensions.untrusted import HoldsSecretsError, SecretAt, read_start, why_unread
from desktop_agent.core.protocol.model import JsonObject
from desktop_agent.core.settings.loading import FileProblem, FoundTable
from desktop_agent.core.settings.table_file import (
    amount_in,
    choice_in,
    optional_flag_in,
    pairs_in,
    size_in,
    table_of,
    text_in,
    texts_in,
    words_in,
)
from desktop_agent.core.settings.workspace_settings import ProjectItem, WorkspaceSettings
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.processes.shell import joined_words, program_meant

LIST: Final = "diagnostics.definitions"
FILE_NAME: Final = ".lsp.json"
MOST_SERVERS: Final = 20
"""How many servers of one file are used."""
_LONGEST_FILE = 64 * 1024
_LONGEST_NAME = 40
_NAME = regex(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{_LONGEST_NAME - 1}}}")
"""It is also the name of a log file."""
_START_S = 30.0
_LONGEST_START_S = 300.0
_RESTARTS = 3
_MOST_RESTARTS = 10

ServerScope = Literal["known", "own", "project", "plugin"]
"""Who defines a server: this application, if the server is installed; the user; the project; or a plugin."""


class LanguageServer(Struct, frozen=True, kw_only=True):
    name: str
    command: str
    args: tuple[str, ...] = ()
    languages: Mapping[str, str]
    """The protocol's name of the language, by the end of a file's name: `.py`."""
    env: Mapping[str, str] = {}
    initialization_options: JsonObject = {}
    settings: JsonObject = {}
    startup_timeout_s: float = _START_S
    max_restarts: int = _RESTARTS
    is_confined: bool = True
    read_folders: tuple[str, ...] = ()
    """Folders in the home folder that it needs, such as those of its language's packages."""
    scope: ServerScope = "known"
    path: Path | None = None
    """The file that defines it."""
    instead_of: str = ""
    """The known server that does the same: only one of them is used."""

    @property
    def line(self) -> str:
        return joined_words((self.command, *self.args))

    @property
    def shown(self) -> str:
        """What it starts, in full, for the question about trust."""
        return named(" ".join((*(f"{name}={joined_words([value])}" for name, value in self.env.items()), self.line)))

    def language_of(self, path: str) -> str | None:
        name = path.rpartition("/")[2]
        ends = (name[at:] for at in range(len(name)) if name[at] == ".")
        return next((self.languages[end] for end in ends if end in self.languages), None)

    def digest(self, root: Path) -> str:
        """Return a digest of a project's server and its scripts: an answer is valid while it is the same. Blocks."""
        scripts = [[mark.path.removeprefix(f"{root}/"), mark.mark] for mark in marks_from(self.line, root)]
        facts = [
            self.name, self.command, self.args, dict(self.languages), dict(self.env), self.initialization_options,
            self.settings, scripts,
        ]  # fmt: skip
        return digest_of(json.dumps(facts).encode(errors="surrogatepass"))


_PYTHON = {".py": "python", ".pyi": "python"}
_PYTHONS = ("~/.local/share/uv", "~/.pyenv")
_C = {".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp"}
_SCRIPTS = {
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
}  # fmt: skip

KNOWN_SERVERS: Final = (
    LanguageServer(
        name="basedpyright",
        command="basedpyright-langserver",
        args=("--stdio",),
        languages=_PYTHON,
        read_folders=_PYTHONS,
        settings={"basedpyright": {"analysis": {"diagnosticMode": "openFilesOnly"}}},
    ),
    LanguageServer(
        name="pyright",
        command="pyright-langserver",
        args=("--stdio",),
        languages=_PYTHON,
        read_folders=_PYTHONS,
        settings={"python": {"analysis": {"diagnosticMode": "openFilesOnly"}}},
        instead_of="basedpyright",
    ),
    LanguageServer(name="ruff", command="ruff", args=("server",), languages=_PYTHON),
    LanguageServer(
        name="typescript", command="typescript-language-server", args=("--stdio",), languages=_SCRIPTS,
        read_folders=("~/.nvm", "~/.local/share/fnm"),
    ),
    LanguageServer(name="gopls", command="gopls", languages={".go": "go"}, read_folders=("~/go", "~/.cache/go-build")),
    LanguageServer(
        name="rust-analyzer", command="rust-analyzer", languages={".rs": "rust"},
        read_folders=("~/.cargo", "~/.rustup"),
        # Its own analysis, with types and names: `cargo check` sees only the disk, so it cannot tell what is new.
        initialization_options={"checkOnSave": False, "diagnostics": {"experimental": {"enable": True}}},
    ),
    LanguageServer(name="clangd", command="clangd", args=("--background-index=false",), languages=_C),
    LanguageServer(name="zls", command="zls", languages={".zig": "zig"}),
    LanguageServer(name="lua", command="lua-language-server", languages={".lua": "lua"}),
)  # fmt: skip


class FoundServers(Struct, frozen=True):
    servers: tuple[LanguageServer, ...] = ()
    problems: tuple[FileProblem, ...] = ()


Standing = Literal["in force", "waiting", "off", "not installed"]
"""`waiting`: the project's, and the user has not said that they trust it as it is now."""


class StandingServer(Struct, frozen=True):
    server: LanguageServer
    standing: Standing
    program: str = ""
    """The absolute path of the program that starts it."""
    rival: str = ""
    """The server that is used instead."""

    @property
    def is_listed(self) -> bool:
        """Whether the user should see it: it is installed, or was defined by the user, a project or a plugin."""
        return self.standing != "not installed" or self.server.scope != "known"


class LanguageServerBook(Struct, frozen=True, kw_only=True, eq=False):
    """The servers that are installed or defined for a workspace, and which of them are in force."""

    workspace: WorkspaceSettings
    environ: Mapping[str, str]
    secret_at: SecretAt
    of_plugins: Callable[[], Iterable[tuple[str, LanguageServer]]] = tuple
    """Returns the servers of plugins, each with the state of its plugin. Blocks; never raises."""

    def read(self) -> tuple[tuple[StandingServer, ...], tuple[FileProblem, ...]]:
        """Return all servers, the user's first, and the problems of their files. Blocks; never raises.

        Of several with one name, the first trusted one is used: a mere proposal of a project replaces none.
        """
        root, settings = self.workspace.root, self.workspace.current.diagnostics
        own, theirs = own_servers(self.workspace.loaded.tables), project_servers(root, self.secret_at)
        made: dict[str, StandingServer] = {}
        unanswered: set[str] = set()
        for server, answered in self._judged((*own.servers, *theirs.servers)):
            program = program_meant(server.command, self.environ, root)
            is_trusted = answered == "in force"
            if server.name in made and not (server.name in unanswered and is_trusted and program):
                continue
            (unanswered.discard if is_trusted else unanswered.add)(server.name)
            standing: Standing = answered if program else "not installed"
            rivals = [name for name, one in made.items() if one.standing == "in force" and _is_same(one.server, server)]
            if standing == "in force" and (not settings.enabled or server.name in settings.off):
                standing, rivals = "off", []
            elif standing == "in force" and rivals:
                standing = "off"
            made[server.name] = StandingServer(server, standing, program or "", rivals[0] if rivals else "")
        return tuple(made.values()), own.problems + theirs.problems

    def _judged(self, defined: Iterable[LanguageServer]) -> Iterator[tuple[LanguageServer, Standing]]:
        for server in defined:
            yield server, self._standing(server)
        for state, server in self.of_plugins():
            yield server, _of_plugin(state)
        for server in KNOWN_SERVERS:
            yield server, "in force"

    def _standing(self, server: LanguageServer) -> Standing:
        if server.scope != "project":
            return "in force"
        answer = self.workspace.answer_about(item_of(server, self.workspace.root))
        return "in force" if answer == "trusted" else "off" if answer == "ignored" else "waiting"


def _of_plugin(state: str) -> Standing:
    """Return the standing of a server whose plugin is in this state."""
    return "in force" if state == "on" else "waiting" if state in ("waiting", "changed") else "off"


def _is_same(one: LanguageServer, known: LanguageServer) -> bool:
    """Whether a server does what a known one does."""
    return known.scope == "known" and (one.name == known.instead_of or Path(one.command).name == known.command)


# --- what a project defines ---------------------------------------------------------------------------------------


def item_of(server: LanguageServer, root: Path) -> ProjectItem:
    """Return a project's server as an item of the trust question. Blocks."""
    path, digest = server.path or root / FILE_NAME, server.digest(root)
    return ProjectItem(kind="language server", name=server.name, path=path, detail=server.shown, digest=digest)


def server_items(root: Path, secret_at: SecretAt) -> Iterator[ProjectItem]:
    return (item_of(server, root) for server in project_servers(root, secret_at).servers)


def project_servers(root: Path, secret_at: SecretAt) -> FoundServers:
    """Return the servers that the project in a folder defines. Blocks; never raises."""
    path = root / FILE_NAME
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(root.resolve()):
            return _refused(path, "is a link that leads out of the workspace, so it is not read")
        if not real.is_file():
            return _refused(path, "is not a file, so it is not read")
        content = read_start(real, _LONGEST_FILE + 1, secret_at)
    except (FileNotFoundError, NotADirectoryError):
        return FoundServers()
    except HoldsSecretsError as error:
        return _refused(path, f"is not read: {error}")
    except (OSError, RuntimeError) as error:  # the latter for circular links
        return _refused(path, f"cannot be read: {why_unread(error)}")
    if len(content) > _LONGEST_FILE:
        return _refused(path, f"is larger than {_LONGEST_FILE // 1024} KiB, so it is not read")
    return servers_in(content, path)


def servers_in(content: bytes, path: Path) -> FoundServers:
    """Return the servers of a file with this content. Pure; never raises."""
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        return _refused(path, f"is not valid JSON: {why_unread(error)}")
    if not isinstance(document, dict):
        return _refused(path, "has no object with servers by name")
    servers: list[LanguageServer] = []
    problems: list[FileProblem] = []
    for name, entry in cast("dict[str, object]", document).items():
        if len(servers) == MOST_SERVERS:
            problems.append(FileProblem(path, "", f"has more than {MOST_SERVERS} servers; the others are not used"))
            break
        try:
            if (server := _server(name, entry, path)) is not None:
                servers.append(server)
        except ValueError as error:
            problems.append(FileProblem(path, shortened(name, _LONGEST_NAME), str(error)))
    return FoundServers(tuple(servers), tuple(problems))


def own_servers(tables: Iterable[FoundTable]) -> FoundServers:
    """Return the servers of the user's settings, `[[diagnostics.definitions]]`."""
    servers: list[LanguageServer] = []
    problems: list[FileProblem] = []
    for table in tables:
        if table.key != LIST:
            continue
        if table.is_project:
            problems.append(table.problem(f"a project's language servers belong in {FILE_NAME}; this one does not run"))
            continue
        try:
            values = table_of(table.value, _OWN_KEYS)
            name = text_in(values, "name", is_needed=True)
            given = {_OWN_KEYS[key] or key: value for key, value in values.items()}
            if (server := _server(name, given, table.path)) is None:
                continue
            is_confined = optional_flag_in(values, "sandbox") is not False
            folders = texts_in(values, "read_folders")
            servers.append(replace(server, scope="own", is_confined=is_confined, read_folders=folders))
        except ValueError as error:
            problems.append(table.problem(str(error)))
    return FoundServers(tuple(servers), tuple(problems))


_OWN_KEYS = {
    "name": "", "command": "", "args": "", "env": "", "settings": "", "sandbox": "", "read_folders": "",
    "languages": "extensionToLanguage", "initialization_options": "initializationOptions",
    "startup_timeout_ms": "startupTimeout", "max_restarts": "maxRestarts",
}  # fmt: skip
"""The keys of a table, with their names in `.lsp.json` where those differ."""


def _server(name: str, entry: object, path: Path) -> LanguageServer | None:
    """Return a server as a file defines it; `None` if it is not for diagnostics. Raises `ValueError`."""
    if not isinstance(entry, dict):
        raise ValueError("a server is an object with a command")  # noqa: TRY004 - one kind of error for every mistake
    values = cast("dict[str, object]", entry)
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            "a name has at most 40 letters, digits, '-', '_' and '.', and begins with one of the first two"
        )
    choice_in(values, "transport", ("stdio",), "stdio")
    if optional_flag_in(values, "diagnostics") is False:
        return None
    languages = pairs_in(values, "extensionToLanguage")
    if not languages or any(not end.startswith(".") for end in languages):
        raise ValueError('extensionToLanguage must name languages by the ends of files: {".go": "go"}')
    start_ms = amount_in(values, "startupTimeout")
    may_restart = optional_flag_in(values, "restartOnCrash") is not False
    return LanguageServer(
        name=name,
        command=text_in(values, "command", is_needed=True),
        args=words_in(values, "args"),
        languages=languages,
        env=pairs_in(values, "env"),
        initialization_options=_object_in(values, "initializationOptions"),
        settings=_object_in(values, "settings"),
        startup_timeout_s=min(start_ms / 1000, _LONGEST_START_S) if start_ms else _START_S,
        max_restarts=min(size_in(values, "maxRestarts") or _RESTARTS, _MOST_RESTARTS) if may_restart else 0,
        scope="project",
        path=path,
    )


def _object_in(values: Mapping[str, object], key: str) -> JsonObject:
    value = values.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} must be an object")  # noqa: TRY004 - one kind of error for every mistake
    return cast("JsonObject", value)


def _refused(path: Path, message: str) -> FoundServers:
    return FoundServers((), (FileProblem(path, "", message),))
