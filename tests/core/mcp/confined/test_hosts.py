"""A server in the sandbox reaches only the hosts of its definition, through the proxy."""

import asyncio
import base64
import hashlib
import io
import json
import os
import shutil
import socket
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.confining import runner_of
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import Program, ServerSandbox
from desktop_agent.core.sandbox.find import Sandbox
from tests.core.mcp.confined.conftest import ACTING, Ground, OpenPool, Servers, confiner_for, said_by
from tests.npm.programs import node, npx_in
from tests.servers.web_server import Canned, WebServer

FETCH = """
import urllib.request
said = urllib.request.urlopen({url!r}, timeout=20).read().decode()
"""
TUNNEL = """
import socket
with socket.create_connection(("127.0.0.1", 3128), 20) as way:
    way.sendall(b"CONNECT {where} HTTP/1.1\\r\\nHost: {where}\\r\\n\\r\\n")
    said = way.recv(1000).decode()
    if " 200 " in said:
        way.sendall(b"GET /page HTTP/1.1\\r\\nHost: {where}\\r\\n\\r\\n")
        while piece := way.recv(1000):
            said += piece.decode()
"""


async def test_a_host_that_it_may_reach_answers_and_gets_the_request_as_if_asked_directly(servers: Servers) -> None:
    async with WebServer({"/page": Canned("hello")}) as web:
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{web.port}",)))

        assert await said_by(connection, FETCH.format(url=f"{web.url}/page?a=b")) == "hello"
        assert (await said_by(connection, TUNNEL.format(where=f"127.0.0.1:{web.port}"))).endswith("hello")

    first = web.requests[0]
    assert first.path == "/page?a=b"
    assert first.headers["host"] == f"127.0.0.1:{web.port}"
    assert not [name for name in first.headers if name.startswith("proxy")]


async def test_every_other_host_and_port_is_refused_and_the_log_says_so(servers: Servers) -> None:
    async with WebServer({"/page": Canned("hello")}) as web, WebServer({"/page": Canned("other")}) as other:
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{web.port}", "example.test")))
        refused = [f"127.0.0.1:{other.port}", f"localhost:{web.port}", "example.org:443", "example.test:8080"]

        said = [await said_by(connection, TUNNEL.format(where=where)) for where in refused]

    assert all(text.startswith("HTTP/1.1 403") for text in said), said
    assert not web.requests
    assert not other.requests
    log = connection.log.tail()
    assert all(f"{where} is not among the hosts that this server may reach." in log for where in refused)


async def test_a_name_does_not_lead_to_this_machine_nor_to_a_clouds_own_service(servers: Servers) -> None:
    async with WebServer({"/page": Canned("hello")}) as web:
        port = web.port
        connection = servers.connect(ServerSandbox(hosts=(f"here.test:{port}", "cloud.test:80", f"*:{port}")))

        said = [
            await said_by(connection, TUNNEL.format(where=where))
            for where in (f"here.test:{port}", "cloud.test:80", f"127.0.0.1:{port}", f"[::ffff:127.0.0.1]:{port}")
        ]

    assert all(text.startswith("HTTP/1.1 403") for text in said), said
    assert not web.requests


async def test_past_the_proxy_there_is_no_way(servers: Servers) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{port}",)))

        direct = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        datagram = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))"
        door = "import socket; socket.socket(socket.AF_UNIX).connect('/tmp/way-out')"
        said = [await said_by(connection, code) for code in (direct, datagram, door)]

    assert said[0].startswith("ConnectionRefusedError")
    assert "unreachable" in said[1]
    assert said[2].startswith("PermissionError")


@pytest.mark.parametrize(
    "request_head",
    [
        b"",
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"CONNECT / HTTP/1.1\r\n\r\n",
        b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET ftp://example.test/ HTTP/1.1\r\n\r\n",
        b"CONNECT example.test:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT \xff:1 HTTP/1.1\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\n\r\n",
        b"x" * 200_000,
    ],
)
async def test_what_is_no_request_is_answered_or_ended_and_the_proxy_goes_on(
    servers: Servers, request_head: bytes
) -> None:
    async with WebServer({"/page": Canned("hello")}) as web:
        connection = servers.connect(ServerSandbox(hosts=(f"127.0.0.1:{web.port}",)))
        code = f"""
import socket
with socket.create_connection(("127.0.0.1", 3128), 20) as way:
    try:
        way.sendall({request_head!r})
        way.shutdown(socket.SHUT_WR)
        said = way.recv(1000).decode()
    except OSError:
        said = ""
"""
        said = await said_by(connection, code)
        assert said.startswith("HTTP/1.1 400") or said == ""
        assert await said_by(connection, FETCH.format(url=f"{web.url}/page")) == "hello"


async def test_where_the_application_goes_through_a_proxy_the_server_does_too_and_only_to_its_hosts(
    open_pool: OpenPool, sandbox: Sandbox, ground: Ground
) -> None:
    heads: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfrom afar")
        writer.close()

    async with await asyncio.start_server(upstream, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        confiner = confiner_for(sandbox, ground.cache / "mcp", http_proxy=f"http://me:pass%20word@127.0.0.1:{port}")
        connection = Servers(open_pool(confiner), ground).connect(ServerSandbox(hosts=("far.test",)))

        assert await said_by(connection, FETCH.format(url="http://far.test/page")) == "from afar"
        assert "403" in await said_by(connection, FETCH.format(url="http://other.test/page"))

    assert heads[0].startswith(b"CONNECT far.test:80 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk\r\n" in heads[0]
    assert heads[1].startswith(b"GET /page HTTP/1.1\r\nHost: far.test\r\nConnection: close\r\n")
    assert len(heads) == 2
    environ = await said_by(connection, "import os; said = ''.join(os.environ.values())")
    assert not any(text in environ for text in ("pass%20word", "pass word", "bWU6cGFzcyB3b3Jk"))


SERVER = """#!/usr/bin/env node
const fs = require("fs");
const seen = fs.existsSync(process.env.OPENED + "/src/a.txt") ? "folder" : "nothing";
const tools = [{name: "act", description: "Looks.", inputSchema: {type: "object"}}];
const answers = {
  "initialize": {protocolVersion: "2025-11-25", capabilities: {tools: {}}, serverInfo: {name: "a", version: "1"}},
  "tools/list": {tools},
};
fs.appendFileSync(process.env.npm_config_cache + "/seen", seen + "\\n");
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const {id, method} = JSON.parse(line);
  if (id === undefined) return;
  const text = fs.readFileSync(process.env.npm_config_cache + "/seen", "utf8");
  const result = method === "tools/call" ? {content: [{type: "text", text}]} : answers[method];
  const reply = result ? {result} : {error: {code: -32601, message: "no such method"}};
  console.log(JSON.stringify({jsonrpc: "2.0", id, ...reply}));
});
"""


def packed() -> bytes:
    manifest = {"name": "acting-server", "version": "1.0.0", "bin": {"acting-server": "index.js"}}
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(manifest)), ("index.js", SERVER)):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text.encode()), 0o755
            archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def published(web: WebServer) -> None:
    tarball = packed()
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(tarball).digest()).decode()}"
    version = {
        "name": "acting-server",
        "version": "1.0.0",
        "bin": {"acting-server": "index.js"},
        "dist": {"tarball": f"{web.url}/acting-server/-/acting-server-1.0.0.tgz", "integrity": integrity},
    }
    document = {"name": "acting-server", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    web.pages["/acting-server"] = Canned(json.dumps(document), "application/json")
    web.pages["/acting-server/-/acting-server-1.0.0.tgz"] = Canned(tarball, "application/octet-stream")


def connect(servers: Servers, registry: str, opened: Path, npx: str = "") -> Connection:
    tools = servers.ground.outside / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("sh", "env"):
        (tools / name).symlink_to(shutil.which(name) or name)
    return servers.connect(
        ServerSandbox(),
        command=(npx or npx_in(servers.ground.outside), "-y", "acting-server"),
        npm_config_registry=registry,
        OPENED=str(opened),
        PATH=str(tools),
    )


def installed_node(prefix: Path) -> str:
    theirs = node().parent.parent / "lib" / "node_modules"
    (prefix / "bin").mkdir(parents=True)
    os.link(node(), prefix / "bin" / "node")
    shutil.copytree(theirs / "npm", prefix / "lib" / "node_modules" / "npm")
    (prefix / "bin" / "npx").symlink_to("../lib/node_modules/npm/bin/npx-cli.js")
    return str(prefix / "bin" / "npx")


async def test_it_is_downloaded_without_the_folder_and_runs_with_it_and_without_the_registry(
    servers: Servers, ground: Ground
) -> None:
    async with WebServer() as web:
        published(web)
        connection = connect(servers, web.url, ground.workspace)

        assert (await said_by(connection, "")).split() == ["nothing", "folder"]
        asked = list(web.paths)
        await connection.restart()
        assert (await said_by(connection, "")).split() == ["nothing", "folder", "folder"]

    assert "/acting-server/-/acting-server-1.0.0.tgz" in asked
    assert web.paths == asked, "the registry is asked once"
    assert not (ground.home / ".npm").exists()


@pytest.mark.parametrize("prefix", ["home/.nvm/versions/node/v1", "home/apps/node", "outside/node"])
@pytest.mark.parametrize("is_wrapped", [False, True], ids=["itself", "by a link to a script that names it"])
@pytest.mark.sampled(2, "prefix", "is_wrapped")
async def test_what_it_runs_finds_the_node_that_was_installed_with_it(
    servers: Servers, ground: Ground, prefix: str, is_wrapped: bool
) -> None:
    npx = installed_node(ground.home.parent / prefix)
    if is_wrapped:
        script = ground.outside / "npx.sh"
        script.write_text(f'#!/usr/bin/env -S sh\nexec "{npx}" "$@"\n')
        script.chmod(0o755)
        (ground.outside / "npx").symlink_to(script.name)
        npx = str(ground.outside / "npx")
    async with WebServer() as web:
        published(web)
        connection = connect(servers, web.url, ground.workspace, npx)

        assert (await said_by(connection, "")).split() == ["nothing", "folder"]


async def test_a_launcher_in_the_folder_that_is_open_shows_nothing_of_the_home(
    servers: Servers, ground: Ground
) -> None:
    (ground.home / "apps" / "bin").mkdir(parents=True)
    (ground.home / "apps" / "bin" / "tool").write_text("#!/bin/sh\n")
    (ground.home / "apps" / "bin" / "tool").chmod(0o755)
    launcher = ground.workspace / "serve"
    acting = ground.outside.with_name(ACTING.name)
    launcher.write_text(f'#!/bin/sh\n: "{ground.home}/apps/bin/tool"\nexec {sys.executable} -S {acting}\n')
    launcher.chmod(0o755)
    connection = servers.connect(ServerSandbox(), command=(str(launcher),), APPS=str(ground.home / "apps"))

    seen = await said_by(connection, "import os; said = str([os.path.exists(os.environ['APPS']), os.environ['PATH']])")
    assert seen.startswith("[False")
    assert "apps" not in seen


async def test_the_next_download_sees_nothing_of_a_run_that_saw_the_folder(servers: Servers, ground: Ground) -> None:
    npx = ground.outside / "npx"
    folder = ground.workspace / "src"
    npx.write_text(
        f'#!/bin/sh\nif [ -e "{folder}" ]; then cp "{folder}/a.txt" "$npm_config_cache.taken"; echo took >&2\n'
        'elif [ -e "$npm_config_cache.taken" ]; then echo SENT >&2; fi\nexit 1\n'
    )
    npx.chmod(0o755)
    connection = servers.connect(ServerSandbox(), command=(str(npx), "-y", "hostile"))
    for _ in range(3):
        with pytest.raises(ServerError):
            await connection.restart()
    log = connection.log.tail(100)
    assert log.count("took") == 3
    assert "SENT" not in log


async def test_a_server_with_other_rights_writes_nothing_that_this_one_runs(servers: Servers, ground: Ground) -> None:
    found = f"pathlib.Path({str(ground.cache)!r}).glob('mcp/packages/*/packages')"
    places = f"import os, pathlib; places = [place for place in {found} if os.access(place, os.W_OK)]"
    plant = f"{places}\nfor place in places: place.joinpath('planted').touch()\nsaid = len(places)"
    look = f"{places}\nsaid = [place.joinpath('planted').exists() for place in places]"
    other = servers.connect(ServerSandbox(), NODE_OPTIONS="--require ./evil.js")
    assert await said_by(other, plant) == "1"
    assert await said_by(servers.connect(ServerSandbox(hosts=("example.test",))), look) == "[False]"
    assert await said_by(servers.connect(ServerSandbox()), look) == "[False]"
    assert await said_by(other, look) == "[True]"


async def test_without_a_registry_it_fails_in_words_and_is_downloaded_when_there_is_one(
    servers: Servers, ground: Ground
) -> None:
    async with WebServer() as web:
        connection = connect(servers, web.url, ground.workspace)
        with pytest.raises(ServerError, match="could not be downloaded") as caught:
            await connection.tools()
        assert "npx" in caught.value.title

        published(web)
        await connection.restart()
        assert (await said_by(connection, "")).split() == ["nothing", "folder"]


@pytest.mark.parametrize(
    ("command", "environ", "hosts"),
    [
        ("uvx", {}, ("pypi.org", "files.pythonhosted.org")),
        ("/opt/bin/uvx", {"UV_INDEX": "mine=https://x.test/simple https://y.test:8443"}, ("x.test", "y.test:8443")),
        ("npx", {"npm_config_registry": "http://[::1]:4873/"}, ("[::1]:4873",)),
        ("npx", {"npm_config_registry": "nonsense"}, ("registry.npmjs.org",)),
    ],
)
def test_whom_a_download_reaches_is_the_registry_and_what_the_environment_names(
    command: str, environ: dict[str, str], hosts: tuple[str, ...]
) -> None:
    runner = runner_of(Program(command=command))

    assert runner is not None
    assert runner.hosts(environ)[-len(hosts) :] == hosts
    assert runner_of(Program(command="node")) is None
