"""Server definitions in the settings file: errors are named, round trips are exact, secrets stay out."""

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.base.errors import CredentialsError, ServerError, UsageError
from desktop_agent.core.extensions.plugins import plain_name
from desktop_agent.core.mcp.connection import ServerPool
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition, ServerSandbox
from desktop_agent.core.mcp.definition_file import (
    LIST,
    Definitions,
    add_definitions,
    definition_in,
    read_definitions,
    read_secrets,
    remove_definition,
    replace_definition,
    switch_server,
    switch_tool,
    without_secrets,
)
from desktop_agent.core.mcp.new_servers import servers_in_json
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_sign_ins import KeyringCredentials, ServerKeyring
from desktop_agent.core.settings.loading import FoundTable, load_settings
from tests.core.mcp.conftest import PROGRAM
from tests.memory_keyring import MemoryKeyring
from tests.servers.mcp_http import Fault, McpHttpServer


def keyring() -> ServerKeyring:
    return ServerKeyring(SystemKeyStore(MemoryKeyring()))


def defined_in(path: Path) -> Definitions:
    return read_definitions(load_settings(path, {}).tables)


def test_everything_that_a_definition_may_say_is_read() -> None:
    definition = definition_in(
        {
            "name": "chrome-devtools",
            "command": "npx",
            "args": "-y 'chrome devtools'",
            "env": [{"name": "DEBUG", "value": "*"}, {"A": "b"}, "C=d=e"],
            "cwd": "tools",
            "encoding": "latin-1",
            "encoding_errors": "replace",
            "startup_timeout_ms": 5000,
            "call_timeout_seconds": 2.5,
            "ttl_seconds": 120,
            "enabled": False,
            "disabled_tools": ["click"],
            "sandbox": True,
            "folders": [".", "~/notes", "."],
            "read_folders": ["~/.config/tool"],
            "hosts": ["Example.ORG.", "*.example.net:8443", "[::1]:80", "*"],
        }
    )

    assert definition == ServerDefinition(
        name="chrome-devtools",
        reached_by=Program(
            command="npx",
            args=("-y", "chrome devtools"),
            env={"DEBUG": "*", "A": "b", "C": "d=e"},
            cwd="tools",
            encoding="latin-1",
            encoding_errors="replace",
            sandbox=ServerSandbox(
                folders=(".", "~/notes"),
                read_folders=("~/.config/tool",),
                hosts=("example.org", "*.example.net:8443", "[::1]:80", "*"),
            ),
        ),
        startup_timeout_ms=5000,
        call_timeout_s=2.5,
        ttl_seconds=120,
        is_enabled=False,
        disabled_tools=("click",),
    )


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (3, "mcp.definitions entries must be tables"),
        ({"command": "x"}, "mcp definition missing required 'name'"),
        ({"name": "  ", "command": "x"}, "mcp definition 'name' must contain text"),
        ({"name": "a__b", "command": "x"}, "a name may have at most 32 letters"),
        ({"name": "a_", "command": "x"}, "a name may have at most 32 letters"),
        ({"name": "a"}, "mcp definition missing required 'command'"),
        ({"name": "a", "command": "x", "args": 3}, "args must be a list or string"),
        ({"name": "a", "command": "x", "args": [3]}, "args must be a list or string"),
        ({"name": "a", "command": "x", "env": ["no sign"]}, "env entries provided as strings must be KEY=VALUE"),
        ({"name": "a", "command": "x", "env": {"A": 3}}, "the value of A must be a text"),
        ({"name": "a", "command": "x", "ttl_seconds": 0}, "ttl_seconds must be positive"),
        ({"name": "a", "command": "x", "ttl_seconds": True}, "ttl_seconds must be positive"),
        ({"name": "a", "command": "x", "comand": "y"}, "'comand' is not known"),
        ({"name": "a", "command": "x", "url": "https://x"}, "started or reached, not both"),
        ({"name": "a", "url": "https://me:hunter2@x"}, "a credential belongs in the keyring"),
        ({"name": "a", "command": "x", "hosts": []}, "'hosts' is for a server in the sandbox: add sandbox = true"),
        ({"name": "a", "command": "x", "sandbox": False, "folders": ["."]}, "'folders' is for a server in the sandbox"),
        ({"name": "a", "command": "x", "sandbox": "yes"}, "sandbox must be true or false"),
        ({"name": "a", "command": "x", "sandbox": True, "folders": [" "]}, "folders contains an empty folder name"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": "x.org"}, "hosts must be a list of texts"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": ["https://x.org"]}, "which is not a host"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": ["a.*.org"]}, "which is not a host"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": ["x.org:0"]}, "which is not a host"),
        ({"name": "a", "url": "https://x", "sandbox": True}, "a server at an address has no 'sandbox'"),
        ({"name": "a", "url": "ftp://x"}, "url must begin with https:// or http://"),
        ({"name": "a", "command": "x", "client_id": "x"}, "a server that is started has no 'client_id'"),
        *(
            ({"name": "a", "url": "https://x", **values}, says)
            for values, says in (
                ({"client_id": "two words"}, "printable ASCII"),
                ({"client_id": "https://team.example"}, "must have a path"),
                ({"issuer": "login.example"}, "must begin with https://"),
                ({"issuer": "http://login.example"}, "must begin with https://"),
                ({"issuer": "https://me:hunter2@login.example"}, "must begin with https://"),
                ({"grant": "password"}, "must be one of authorization_code, client_credentials"),
                ({"grant": "client_credentials", "client_id": "x"}, "needs client_id and issuer"),
                ({"grant": "client_credentials", "issuer": "https://x"}, "needs client_id and issuer"),
                ({"callback_port": 8123}, "needs the client_id"),
                ({"callback_port": 65536, "client_id": "x"}, "must be a port"),
                ({"callback_port": "8123", "client_id": "x"}, "whole number"),
            )
        ),
    ],
)
def test_every_mistake_is_named(entry: object, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        definition_in(entry)

    assert "hunter2" not in str(caught.value)


def test_a_mistake_has_its_place_and_the_other_servers_count(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[[mcp.definitions]]\nname = "a"\n[[mcp.definitions]]\nname = "b"\ncommand = "x"\ncwd = "sub"\n')

    found = defined_in(path)

    assert [str(problem) for problem in found.problems] == [
        f"{path}:1: mcp.definitions 1: mcp definition missing required 'command'"
    ]
    (server,) = found.servers
    assert isinstance(server.reached_by, Program)
    assert server.reached_by.cwd == str(tmp_path / "sub")


NAMES = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?\Z")
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(str.strip)
PROGRAMS = st.builds(
    Program,
    command=TEXTS,
    args=st.lists(TEXTS, max_size=3).map(tuple),
    env=st.dictionaries(TEXTS, TEXTS, max_size=3).filter(lambda env: set(env) != {"name", "value"}),
    sandbox=st.none()
    | st.builds(
        ServerSandbox,
        folders=st.lists(TEXTS, max_size=2, unique=True).map(tuple),
        read_folders=st.lists(TEXTS, max_size=2, unique=True).map(tuple),
        hosts=st.lists(NAMES, max_size=2, unique=True).map(tuple),
    ),
)
URL, ISSUER = "https://tickets.example/mcp", "https://login.example"
ADDRESSES = st.builds(Address, url=st.just(URL), headers=st.dictionaries(NAMES, TEXTS, max_size=2)) | st.sampled_from(
    [
        Address(url=URL, client_id="desktop-agent", callback_port=8123),
        Address(url=URL, client_id="https://team.example/desktop-agent.json"),
        Address(url=URL, client_id="nightly", issuer=ISSUER, grant="client_credentials"),
        Address(url=URL, issuer="http://127.0.0.1:9000"),
    ]
)
SERVERS = st.builds(
    ServerDefinition,
    name=NAMES,
    reached_by=PROGRAMS | ADDRESSES,
    ttl_seconds=st.integers(1, 1000),
    is_enabled=st.booleans(),
    disabled_tools=st.lists(TEXTS, max_size=2, unique=True).map(tuple),
)


@given(st.lists(SERVERS, max_size=4, unique_by=lambda server: server.name))
def test_what_is_written_is_read_back_the_same(servers: list[ServerDefinition]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        path.write_text("# mine\n[ui]\ntheme = 'dark'\n")
        for server in servers:
            add_definitions(path, (server,), keyring())

        found = defined_in(path)

        assert found.servers == tuple(servers)
        assert not found.problems
        assert path.read_text().startswith("# mine\n[ui]\ntheme = 'dark'\n")


def test_a_name_that_is_taken_or_unknown_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    server = ServerDefinition(name="git", reached_by=Program(command="x"))
    add_definitions(path, (server,), keyring())
    before = path.read_bytes()

    with pytest.raises(UsageError, match="already"):
        add_definitions(path, (ServerDefinition(name="new", reached_by=Program(command="y")), server), keyring())
    with pytest.raises(UsageError, match="Available: git"):
        remove_definition(path, "gti")

    assert path.read_bytes() == before


def test_servers_and_tools_are_switched_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("# mine\n")
    server = ServerDefinition(name="git", reached_by=Program(command="x"))
    add_definitions(path, (server,), keyring())

    switch_server(path, "git", is_enabled=False)
    switch_tool(path, "git", "push", is_enabled=False)
    (off,) = defined_in(path).servers
    switch_server(path, "git", is_enabled=True)
    switch_tool(path, "git", "push", is_enabled=True)
    on = defined_in(path).servers
    remove_definition(path, "git")

    assert (off.is_enabled, off.disabled_tools) == (False, ("push",))
    assert on == (server,)
    assert defined_in(path).servers == ()
    assert path.read_text().startswith("# mine\n")


def test_the_servers_of_other_tools_are_taken_over() -> None:
    entries = {
        "My Server": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
        "off": {"command": "x", "disabled": True},
        "far": {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "y"}},
        "old": {"type": "sse", "url": "https://example.org/sse"},
        "asks": {"command": "x", "env": {"KEY": "${input:key}"}},
        "empty": {},
    }
    for document in ({"mcpServers": entries}, {"servers": entries}, {"mcp": {"servers": entries}}):
        found = servers_in_json(json.dumps(document))

        assert [server.name for server in found.servers] == ["My-Server", "off", "far"]
        assert [server.is_enabled for server in found.servers] == [True, False, True]
        assert [name for name, _ in found.problems] == ["old", "asks", "empty"]


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("${TEAM}", "blue"),
        ("Bearer ${TEAM}-${TEAM}", "Bearer blue-blue"),
        ("${env:TEAM}", "blue"),
        ("${TEAM:-red}", "blue"),
        ("${NONE:-red}", "red"),
        ("${EMPTY:-red}", "red"),
        ("${NONE:-}", ""),
        ("${EMPTY}", ""),
        ("$TEAM", "$TEAM"),
        ("${NONE}", "needs the variable NONE"),
        ("${workspaceFolder}/x", "needs the variable workspaceFolder"),
        ("${input:key}", "asks for a value with ${input:key}"),
        ("${command:pick}", "asks for a value with ${command:pick}"),
    ],
)
@pytest.mark.parametrize("place", ["env", "args", "headers"])
def test_variables_of_another_tools_file_are_resolved_or_named(place: str, written: str, taken: str) -> None:
    entry: dict[str, object] = {"url": "https://example.org/mcp"} if place == "headers" else {"command": "x"}
    entry[place] = [written] if place == "args" else {"X": written}

    found = servers_in_json(json.dumps({"mcpServers": {"one": entry}}), {"TEAM": "blue", "EMPTY": ""})

    if found.problems:
        assert taken in found.problems[0][1]
    else:
        reached_by = found.servers[0].reached_by
        assert getattr(reached_by, place) == ((taken,) if place == "args" else {"X": taken})


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mcpServers": 3}'])
def test_a_file_without_servers_says_so(text: str) -> None:
    with pytest.raises(UsageError):
        servers_in_json(text)


@given(st.text())
def test_every_name_of_another_tool_becomes_one_of_ours(name: str) -> None:
    assert definition_in({"name": plain_name(name), "command": "x"}).name == plain_name(name)


def test_what_confines_a_server_is_part_of_what_it_is_and_is_said_in_words() -> None:
    free = ServerDefinition(name="a", reached_by=Program(command="x"))
    confined = [
        ServerDefinition(name="a", reached_by=Program(command="x", sandbox=sandbox))
        for sandbox in (
            ServerSandbox(),
            ServerSandbox(folders=(".", "~/a\u202eb")),
            ServerSandbox(read_folders=("~/c",), hosts=("one.org", "two.org")),
            ServerSandbox(hosts=("*",)),
        )
    ]

    assert len({server.fingerprint for server in (free, *confined)}) == 5
    assert free.confinement == "Not confined: it can do all that you can do."
    assert free.in_full == "x"
    nothing, folders, hosts, everybody = (server.confinement for server in confined)
    assert nothing == "Confined: it writes none of your files and reaches no network."
    assert "the open folder and ~/a" in folders
    assert "\u202e" not in folders
    assert hosts == "Confined: it writes none of your files, also reads ~/c and reaches one.org and two.org."
    assert everybody.endswith("reaches every public host.")
    assert ServerDefinition(name="a", reached_by=Address(url="https://x")).confinement == ""
    many = ServerSandbox(hosts=tuple(f"h{number}.org" for number in range(40)))
    assert many.words.endswith("h5.org and 34 more.")
    assert "h38.org and h39.org)" in ServerDefinition(name="a", reached_by=Program(command="x", sandbox=many)).in_full


def test_who_signs_in_where_is_shown_before_a_project_counts() -> None:
    machine = Address(url=URL, client_id="nightly", issuer=ISSUER, grant="client_credentials")
    shown = ServerDefinition(name="tickets", reached_by=machine).in_full

    assert shown == f"{URL} (signed in as nightly at {ISSUER}, without asking you)"
    assert ServerDefinition(name="t", reached_by=Address(url=URL)).in_full == URL


TOKEN = "team-token-which-has-no-known-shape"
SECRET_URL = "https://tickets.example/mcp?team=1"


def definition(url: str = SECRET_URL, **headers: str) -> ServerDefinition:
    headers = headers or {"Authorization": f"Bearer {TOKEN}", "Team": "blue"}
    return ServerDefinition(name="tickets", reached_by=Address(url=url, headers=headers))


def added(path: Path, backend: MemoryKeyring, url: str = SECRET_URL) -> ServerDefinition:
    add_definitions(path, (definition(url),), ServerKeyring(SystemKeyStore(backend)))
    (server,) = read_definitions(load_settings(path, {}).tables).servers
    return server


def test_the_file_has_the_name_of_a_secret_header_and_the_keyring_its_value(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()

    server = added(path, backend)

    assert TOKEN not in path.read_text()
    assert server.reached_by == Address(url=SECRET_URL, headers={"Team": "blue"}, secret_headers=("Authorization",))
    assert backend.entries == {
        ("desktop-agent", "mcp:tickets@https://tickets.example/header/authorization"): f"Bearer {TOKEN}"
    }


async def test_a_secret_variable_is_in_the_keyring_and_reaches_the_program_only(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()
    script = f'printf %s "$TEAM_TOKEN" > got; exec "{sys.executable}" -S "{PROGRAM}"'
    env = {"TEAM_TOKEN": TOKEN, "PLAIN": "1"}
    wanted = ServerDefinition(name="tickets", reached_by=Program(command="sh", args=("-c", script), env=env))

    add_definitions(path, (wanted,), ServerKeyring(SystemKeyStore(backend)))
    (server,) = read_definitions(load_settings(path, {}).tables).servers
    credentials = KeyringCredentials(ServerKeyring(SystemKeyStore(backend)), tmp_path, SystemClock())
    pool = ServerPool(SystemClock(), {}, tmp_path / "logs", credentials=credentials)
    connection = pool.lease(server, tmp_path).connection
    await connection.tools()
    connection.log.say(f"I was given {TOKEN}")
    await pool.aclose()

    assert TOKEN not in path.read_text() + connection.log.tail()
    assert backend.entries == {("desktop-agent", "mcp:tickets/env/TEAM_TOKEN"): TOKEN}
    assert isinstance(server.reached_by, Program)
    assert (server.reached_by.env, server.reached_by.secret_env) == ({"PLAIN": "1"}, ("TEAM_TOKEN",))
    assert server.in_full.startswith("PLAIN=1 TEAM_TOKEN=(from your keyring) sh")
    assert (tmp_path / "got").read_text() == TOKEN


def test_a_project_gets_no_secret_of_a_server_of_the_users(tmp_path: Path) -> None:
    entry = {"name": "tickets", "command": "evil", "secret_env": ["TEAM_TOKEN"]}
    table = FoundTable(key=LIST, number=1, value=entry, path=tmp_path / "x" / "config.toml", line=1, is_project=True)

    found = read_definitions([table])

    assert not found.servers
    assert "no secrets from your keyring" in str(found.problems[0])


def test_of_several_servers_only_the_one_whose_secret_is_refused_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"

    class Picky(ServerKeyring):
        def set(self, entry: str, secret: str) -> None:
            if "@https://s3." in entry:
                raise CredentialsError("It is too long.")

    address = "https://s{0}.example/mcp"
    eight = [
        ServerDefinition(name=f"s{n}", reached_by=Address(url=address.format(n), headers={"Authorization": TOKEN}))
        for n in range(8)
    ]

    refused = add_definitions(path, tuple(eight), Picky(SystemKeyStore(MemoryKeyring())))

    assert refused == (("s3", "It is too long."),)
    names = [server.name for server in read_definitions(load_settings(path, {}).tables).servers]
    assert names == [f"s{n}" for n in range(8) if n != 3]


@pytest.mark.parametrize(
    "url",
    [
        *("https://", "https://:443/mcp", "https://a b/mcp", "https://x:99999/mcp", "https://x:port/mcp"),
        *("https://[::1/mcp", "http://example.org/mcp", "https://exa_mple..org/"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_when_it_is_defined(url: str) -> None:
    with pytest.raises(ValueError, match="url"):
        definition_in({"name": "x", "url": url})


def test_a_changed_server_keeps_its_place_and_its_secrets_and_forgets_those_it_no_longer_has(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()
    keyring = ServerKeyring(SystemKeyStore(backend))
    first = definition(Authorization=TOKEN, **{"X-Api-Key": "old", "Team": "blue"})
    add_definitions(path, (first, ServerDefinition(name="other", reached_by=Program(command="y"))), keyring)
    path.write_text(f"# mine\n{path.read_text()}")

    address = Address(url=SECRET_URL, headers={"X-Api-Key": "new"}, secret_headers=())
    replace_definition(path, ServerDefinition(name="tickets", reached_by=address, is_enabled=False), keyring)

    server, other = defined_in(path).servers
    assert server.reached_by == Address(url=SECRET_URL, secret_headers=("X-Api-Key",))
    assert (server.is_enabled, other.name) == (False, "other")
    assert path.read_text().startswith("# mine\n")
    assert list(backend.entries.values()) == ["new"]
    with pytest.raises(UsageError):
        replace_definition(path, ServerDefinition(name="none", reached_by=address), keyring)


def test_another_address_does_not_get_the_secret_of_the_first(tmp_path: Path) -> None:
    path, backend = tmp_path / "config.toml", MemoryKeyring()
    added(path, backend)
    path.write_text(path.read_text().replace("tickets.example", "evil.example"))
    (server,) = read_definitions(load_settings(path, {}).tables).servers

    with pytest.raises(CredentialsError, match="no value for its header Authorization"):
        read_secrets(ServerKeyring(SystemKeyStore(backend)), server)


def test_a_secret_that_the_user_wrote_into_the_file_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'[[mcp.definitions]]\nname = "t"\nurl = "{SECRET_URL}"\nheaders = {{ X-Api-Key = "{TOKEN}" }}\n')

    found = read_definitions(load_settings(path, {}).tables)

    assert found.servers == ()
    assert "belongs in the keyring" in str(found.problems[0])
    assert TOKEN not in str(found.problems[0])


@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("authorization", "Basic eA==", True),
        ("Cookie", "a=b", True),
        ("X-API-Key", "short", True),
        ("X-Auth-Token", "x", True),
        ("X-Team", "sk-ant-api03-abcdefghijklmnop", True),
        ("X-Team", "ghp_abcdefghijklmnopqrstuvwx", True),
        ("X-Team", "blue", False),
        ("MCP-Protocol-Version", "2025-11-25", False),
    ],
)
def test_secrets_are_known_by_their_name_or_their_value(name: str, value: str, *, is_secret: bool) -> None:
    public, secrets = without_secrets(definition(**{name: value}))

    assert secrets == ({name: value} if is_secret else {})
    assert isinstance(public.reached_by, Address)
    assert public.reached_by.secret_headers == ((name,) if is_secret else ())


async def test_the_server_gets_the_secret_and_repeats_it_in_vain(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    said = f'{{"jsonrpc":"2.0","id":null,"error":{{"code":-32603,"message":"bad token {TOKEN}"}}}}'
    async with McpHttpServer() as reached:
        server = added(tmp_path / "config.toml", backend, reached.url)
        credentials = KeyringCredentials(ServerKeyring(SystemKeyStore(backend)), tmp_path, SystemClock())
        pool = ServerPool(SystemClock(), {}, tmp_path / "logs", credentials=credentials)
        connection = pool.lease(server, tmp_path).connection
        await connection.tools()
        reached.will("tools/call", Fault(400, said.encode(), "application/json"))
        with pytest.raises(ServerError, match=r"bad token \*\*\*"):
            await connection.call("echo", {"text": "x"})
        connection.log.say(f"I was given {TOKEN}")
        await pool.aclose()

    assert all(headers["authorization"] == f"Bearer {TOKEN}" for _, _, headers in reached.requests)
    shown = f"{connection.status} {connection.log.tail()} {(tmp_path / 'logs' / 'tickets.log').read_text()}"
    assert TOKEN not in shown


async def test_a_server_without_its_secret_is_not_asked(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    async with McpHttpServer() as reached:
        server = added(tmp_path / "config.toml", backend, reached.url)
        backend.entries.clear()
        credentials = KeyringCredentials(ServerKeyring(SystemKeyStore(backend)), tmp_path, SystemClock())
        pool = ServerPool(SystemClock(), {}, None, credentials=credentials)
        with pytest.raises(ServerError, match="no value for its header Authorization"):
            await pool.lease(server, tmp_path).connection.tools()
        await pool.aclose()

    assert reached.requests == []
