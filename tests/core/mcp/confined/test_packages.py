"""A confined server that `npx` runs: downloaded once into a cache of its own, by a run that does not see the folder."""

import base64
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import ServerError
from desktop_agent.core.mcp.confining import runner_of
from desktop_agent.core.mcp.connection import Connection
from desktop_agent.core.mcp.definition import Program, ServerSandbox
from tests.core.mcp.confined.conftest import ACTING, Ground, Servers, said_by
from tests.npm.programs import node, npx_in
from tests.servers.web_server import Canned, WebServer

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
