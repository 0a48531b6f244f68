"""The Python reference servers of time, git and fetch, in whole turns."""

from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ChangeSelection
from desktop_agent.core.providers.scripted import Call, Say
from tests.core.tools.servers.conftest import with_servers
from tests.e2e.servers.conftest import defined, pypi_server
from tests.git import git
from tests.harness import Ground
from tests.servers.web_server import Canned, WebServer


@pytest.fixture
def repository(ground: Ground) -> Path:
    folder = ground.workspace
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "A")
    git(folder, "config", "user.email", "a@example.org")
    ground.write("a.txt", "one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    ground.write("a.txt", "two\n")
    return folder


async def test_the_time_is_asked_and_told_and_a_zone_that_there_is_not_is_an_error_for_the_model(
    ground: Ground,
) -> None:
    with_servers(ground, defined("time", [pypi_server("mcp-server-time"), "--local-timezone", "UTC"]))
    asked: dict[str, object] = {"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "UTC"}
    script = [
        [Call("time__convert_time", asked)],
        [Call("time__get_current_time", {"timezone": "Nowhere"})],
        [Say("ok")],
    ]

    async with ground.session(script) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        question = (await s.answer()).request
        told = (await s.rx.expect(ev.ToolCallFinished)).result
        await s.answer()
        refused = (await s.rx.expect(ev.ToolCallFinished)).result
        ended = await s.rx.expect(ev.TurnEnded)

    assert "The server says that it only reads." in question.details
    assert "T07:30:00+00:00" in told.content
    assert (told.is_error, refused.is_error, ended.reason) == (False, True, "completed")
    assert "Nowhere" in refused.content


async def test_a_branch_that_is_changed_to_and_a_commit_are_in_the_ledger_and_taken_back(
    ground: Ground, repository: Path
) -> None:
    git(repository, "commit", "-qam", "second")
    git(repository, "branch", "old", "HEAD~1")
    second = git(repository, "rev-parse", "HEAD")
    with_servers(ground, defined("git", [pypi_server("mcp-server-git"), "--repository", str(repository)]))
    here: dict[str, object] = {"repo_path": str(repository)}
    script = [
        [Call("git__git_status", here)],
        [Call("git__git_checkout", here | {"branch_name": "old"})],
        [Say("ok")],
    ]

    async with ground.session(script) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        finished = await s.rx.expect(ev.ToolCallFinished)
        await s.answer()
        recorded = await s.rx.expect(ev.ChangesRecorded)
        await s.rx.expect(ev.TurnEnded)
        assert ground.read("a.txt") == "one\n"
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=1)), ev.ChangesUndone)

    assert "On branch main" in finished.result.content
    assert [(change.path, change.author) for change in recorded.changes] == [("a.txt", "mcp")]
    assert ground.read("a.txt") == "two\n"
    assert git(repository, "rev-parse", "main") == second


async def test_a_commit_of_a_server_moves_a_branch_on_record_and_the_branch_is_put_back(
    ground: Ground, repository: Path
) -> None:
    first = git(repository, "rev-parse", "HEAD")
    with_servers(ground, defined("git", [pypi_server("mcp-server-git")]))
    here: dict[str, object] = {"repo_path": str(repository)}
    script = [
        [Call("git__git_add", here | {"files": ["a.txt"]})],
        [Call("git__git_commit", here | {"message": "second"})],
        [Say("ok")],
    ]

    async with ground.session(script) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        await s.answer()
        recorded = await s.rx.expect(ev.ChangesRecorded, lambda event: bool(event.refs))
        await s.rx.expect(ev.TurnEnded)
        second = git(repository, "rev-parse", "main")
        s.submit(ops.UndoChanges(selection=ChangeSelection(call_id=recorded.call_id), is_recovery=True))
        undone = await s.rx.expect(ev.ChangesUndone)

    (moved,) = recorded.refs
    assert (moved.name, moved.before, moved.after) == ("refs/heads/main", first, second)
    assert second != first
    assert [ref.name for ref in undone.refs] == ["refs/heads/main"]
    assert git(repository, "rev-parse", "main") == first
    assert ground.read("a.txt") == "two\n"


async def test_a_page_is_fetched(ground: Ground) -> None:
    options = ["--allow-private-ips"]
    # Without a PATH the server finds no Node.js, and installs no packages from the network.
    definition = defined("fetch", [pypi_server("mcp-server-fetch"), *options], 'env = { PATH = "" }')
    with_servers(ground, definition)
    page = Canned("<html><head><title>T</title></head><body><article><p>All is well here.</p></article></body></html>")

    async with WebServer({"/page": page}) as web:
        script = [[Call("fetch__fetch", {"url": f"{web.url}/page"})], [Say("ok")]]
        async with ground.session(script) as s:
            await s.prompt("go", answers=1)
            (result,) = s.results()

    assert web.paths == ["/robots.txt", "/page"]
    assert "All is well here." in result.content
    assert "none of it is from the user" in result.content
