"""Published servers in the sandbox do their work, and nothing else, in whole turns."""

import os
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.sandbox.find import SandboxReport, SandboxSearch
from desktop_agent.core.tools.execution.confiner import SandboxProbe
from tests.core.tools.servers.conftest import with_servers
from tests.e2e.servers.conftest import defined, pypi_server
from tests.e2e.servers.test_npm_servers import results_of
from tests.git import git
from tests.harness import Ground
from tests.npm.programs import npm_program
from tests.sandboxes import sandbox_named
from tests.servers.web_server import Canned, WebServer


@pytest.fixture(autouse=True)
def _bubblewrap() -> None:
    sandbox_named("bubblewrap", os.environ)


def is_written(path: str) -> bool:
    return Path(path).exists()


async def test_the_time_is_told_from_inside(ground: Ground) -> None:
    command = [pypi_server("mcp-server-time"), "--local-timezone", "UTC"]
    with_servers(ground, defined("time", command, "sandbox = true"))
    asked: dict[str, object] = {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "UTC"}

    async with ground.session([[Call("time__convert_time", asked)], [Say("ok")]]) as s:
        (result,) = await results_of(s)
        looked = s.rx.all(ev.ChangesPrepared)

    assert "T07:30:00+00:00" in result.content
    assert not looked, "it may write nowhere, so there is nothing to look for"


async def test_git_reads_a_repository_and_cannot_change_it(ground: Ground) -> None:
    folder = ground.workspace
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "A")
    git(folder, "config", "user.email", "a@example.org")
    ground.write("a.txt", "one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    ground.write("a.txt", "two\n")
    first = git(folder, "rev-parse", "HEAD")
    with_servers(ground, defined("git", [pypi_server("mcp-server-git")], "sandbox = true\nfolders = ['.']"))
    here: dict[str, object] = {"repo_path": str(folder)}
    calls = [Call("git__git_diff_unstaged", here), Call("git__git_add", here | {"files": ["a.txt"]})]

    async with ground.session([calls, [Say("ok")]]) as s:
        diff, added = await results_of(s)

    assert "+two" in diff.content
    assert added.is_error
    assert "Read-only file system" in added.content
    assert git(folder, "rev-parse", "HEAD") == first
    assert git(folder, "diff", "--cached") == ""


async def test_files_are_written_where_they_may_and_land_in_the_ledger(ground: Ground) -> None:
    where = str(ground.workspace)
    command = [*npm_program("mcp-server-filesystem"), where, "/var/tmp"]
    with_servers(ground, defined("files", command, "sandbox = true\nfolders = ['.']"))
    calls = [
        Call("files__write_file", {"path": f"{where}/new.txt", "content": "new\n"}),
        Call("files__write_file", {"path": "/var/tmp/desktop-agent-test.txt", "content": "theirs\n"}),
    ]

    async with ground.session([calls, [Say("ok")]]) as s:
        inside, refused = await results_of(s)
        recorded = s.rx.all(ev.ChangesRecorded)

    assert not inside.is_error
    assert ground.read("new.txt") == "new\n"
    assert [(change.path, change.author) for each in recorded for change in each.changes] == [("new.txt", "mcp")]
    assert refused.is_error, "the server itself would let it, and the sandbox does not"
    assert not is_written("/var/tmp/desktop-agent-test.txt")


async def test_pages_are_fetched_from_the_host_that_is_named_and_from_no_other(ground: Ground) -> None:
    page = Canned("<html><head><title>T</title></head><body><article><p>All is well here.</p></article></body></html>")
    async with WebServer({"/page": page}) as web, WebServer({"/page": page}) as other:
        command = [pypi_server("mcp-server-fetch"), "--allow-private-ips", "--ignore-robots-txt"]
        limits = f"env = {{ PATH = '' }}\nsandbox = true\nhosts = ['127.0.0.1:{web.port}']"
        with_servers(ground, defined("fetch", command, limits))
        calls = [Call("fetch__fetch", {"url": f"{each.url}/page"}) for each in (web, other)]

        async with ground.session([calls, [Say("ok")]]) as s:
            fetched, refused = await results_of(s)

    assert "All is well here." in fetched.content
    assert refused.is_error
    assert not other.requests


async def test_where_nothing_can_confine_it_the_turn_goes_on_without_the_server(ground: Ground) -> None:
    report = SandboxReport(name="bubblewrap", is_available=False, reason="The program bwrap is not installed.")
    ground.probe = SandboxProbe(os.environ, lambda _: SandboxSearch(sandbox=None, reports=(report,)))
    with_servers(ground, defined("time", [pypi_server("mcp-server-time")], "sandbox = true"))

    async with ground.session([[Say("ok")]]) as s:
        ended = await s.carry_out(ops.SubmitPrompt(text="go"), ev.TurnEnded)
        notices = [str(event) for event in s.rx.events if "must run in the sandbox" in str(event)]

    assert ended.reason == "completed"
    assert len(notices) == 1
    assert "The program bwrap is not installed." in notices[0]
