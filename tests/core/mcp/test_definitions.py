"""Definitions of servers: read with every mistake named, written so that they read the same, taken from other tools."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.mcp.definition import Address, Program, ServerDefinition, ServerSandbox
from desktop_agent.core.mcp.definition_file import (
    Definitions,
    add_definitions,
    definition_in,
    read_definitions,
    remove_definition,
    switch_server,
    switch_tool,
)
from desktop_agent.core.mcp.new_servers import plain_name, servers_in_json
from desktop_agent.core.providers.auth.keys import SystemKeyStore
from desktop_agent.core.providers.auth.server_credentials import ServerKeyring
from desktop_agent.core.settings.loading import load_settings
from tests.memory_keyring import MemoryKeyring


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
        ({"name": "a__b", "command": "x"}, "a name has letters, digits"),
        ({"name": "a_", "command": "x"}, "a name has letters, digits"),
        ({"name": "a"}, "mcp definition missing required 'command'"),
        ({"name": "a", "command": "x", "args": 3}, "args must be a list or string"),
        ({"name": "a", "command": "x", "args": [3]}, "args must be a list or string"),
        ({"name": "a", "command": "x", "env": ["no sign"]}, "env entries provided as strings must be KEY=VALUE"),
        ({"name": "a", "command": "x", "env": {"A": 3}}, "the value of A must be a text"),
        ({"name": "a", "command": "x", "ttl_seconds": 0}, "ttl_seconds must be positive"),
        ({"name": "a", "command": "x", "ttl_seconds": True}, "ttl_seconds must be positive"),
        ({"name": "a", "command": "x", "comand": "y"}, "'comand' is not known"),
        ({"name": "a", "command": "x", "url": "https://x"}, "started or reached, not both"),
        ({"name": "a", "url": "https://me:secret@x"}, "a credential belongs in the keyring"),
        ({"name": "a", "command": "x", "hosts": []}, "'hosts' is for a server in the sandbox: add sandbox = true"),
        ({"name": "a", "command": "x", "sandbox": False, "folders": ["."]}, "'folders' is for a server in the sandbox"),
        ({"name": "a", "command": "x", "sandbox": "yes"}, "sandbox must be true or false"),
        ({"name": "a", "command": "x", "sandbox": True, "folders": [" "]}, "folders has a folder without a name"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": "x.org"}, "hosts must be a list of texts"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": ["https://x.org"]}, "which is no host"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": ["a.*.org"]}, "which is no host"),
        ({"name": "a", "command": "x", "sandbox": True, "hosts": ["x.org:0"]}, "which is no host"),
        ({"name": "a", "url": "https://x", "sandbox": True}, "a server at an address has no 'sandbox'"),
        ({"name": "a", "url": "ftp://x"}, "url must begin with https:// or http://"),
    ],
)
def test_every_mistake_is_named(entry: object, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        definition_in(entry)

    assert "secret" not in str(caught.value)


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
ADDRESSES = st.builds(
    Address, url=st.just("https://example.org/mcp"), headers=st.dictionaries(NAMES, TEXTS, max_size=2)
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


def test_a_name_that_is_taken_or_unknown_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    server = ServerDefinition(name="git", reached_by=Program(command="x"))
    add_definitions(path, (server,), keyring())
    before = path.read_bytes()

    with pytest.raises(UsageError, match="already"):
        add_definitions(path, (ServerDefinition(name="new", reached_by=Program(command="y")), server), keyring())
    with pytest.raises(UsageError, match="There are: git"):
        remove_definition(path, "gti")

    assert path.read_bytes() == before


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
    assert nothing == "Confined: it writes nothing of yours and reaches no network."
    assert "the open folder and ~/a" in folders
    assert "\u202e" not in folders
    assert hosts == "Confined: it writes nothing of yours, also reads ~/c and reaches one.org and two.org."
    assert everybody.endswith("reaches every public host.")
    assert ServerDefinition(name="a", reached_by=Address(url="https://x")).confinement == ""
    many = ServerSandbox(hosts=tuple(f"h{number}.org" for number in range(40)))
    assert many.words.endswith("h5.org and 34 more.")
    assert "h38.org and h39.org)" in ServerDefinition(name="a", reached_by=Program(command="x", sandbox=many)).in_full
