"""The TypeScript reference servers of files and of everything, in whole turns."""

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ChangeSelection, ToolResultBlock
from desktop_agent.core.providers.scripted import Call, Say
from tests.core.tools.servers.conftest import with_servers
from tests.e2e.servers.conftest import defined
from tests.harness import Ground, Open
from tests.npm.programs import npm_program


def with_everything(ground: Ground) -> None:
    with_servers(ground, defined("everything", npm_program("mcp-server-everything")))


async def results_of(s: Open) -> list[ToolResultBlock]:
    s.submit(ops.SubmitPrompt(text="go"))
    while not isinstance(event := await s.rx.expect((ev.ApprovalRequested, ev.TurnEnded)), ev.TurnEnded):
        s.submit(ops.AnswerApproval(call_id=event.request.call_id, decision=Allowed()))
    return s.results()


async def test_files_that_a_server_writes_are_in_the_ledger_and_undone_byte_for_byte(ground: Ground) -> None:
    before = b"\xef\xbb\xbfone\r\ntwo\r\n\xff"
    ground.write("notes.txt", before)
    where = str(ground.workspace)
    with_servers(ground, defined("files", [*npm_program("mcp-server-filesystem"), where]))
    script = [
        [
            Call("files__write_file", {"path": f"{where}/notes.txt", "content": "theirs\n"}),
            Call("files__write_file", {"path": f"{where}/new.txt", "content": "new\n"}),
        ],
        [Say("ok")],
    ]

    async with ground.session(script) as s:
        results = await results_of(s)
        recorded = s.rx.all(ev.ChangesRecorded)
        assert (ground.read("notes.txt"), ground.read("new.txt")) == ("theirs\n", "new\n")
        await s.carry_out(ops.UndoChanges(selection=ChangeSelection(turn=1)), ev.ChangesUndone)

    assert not any(result.is_error for result in results)
    changes = [(change.path, change.author) for each in recorded for change in each.changes]
    assert changes == [("notes.txt", "mcp"), ("new.txt", "mcp")]
    assert (ground.workspace / "notes.txt").read_bytes() == before
    assert not (ground.workspace / "new.txt").exists()


async def test_a_path_outside_of_what_the_server_may_is_refused_in_its_words(ground: Ground) -> None:
    with_servers(ground, defined("files", [*npm_program("mcp-server-filesystem"), str(ground.workspace)]))

    async with ground.session([[Call("files__read_text_file", {"path": "/etc/hostname"})], [Say("ok")]]) as s:
        (result,) = await results_of(s)

    assert result.is_error
    assert "outside allowed directories" in result.content


async def test_every_kind_of_content_reaches_the_model(ground: Ground) -> None:
    with_everything(ground)
    calls = [
        Call("everything__get-tiny-image", {}),
        Call("everything__get-structured-content", {"location": "Chicago"}),
        Call("everything__get-resource-links", {"count": 1}),
        Call("everything__get-resource-reference", {"resourceType": "Text", "resourceId": 1}),
        Call("everything__get-resource-reference", {"resourceType": "Blob", "resourceId": 2}),
    ]

    async with ground.session([calls, [Say("ok")]]) as s:
        picture, structured, link, text, blob = await results_of(s)

    assert [shown.media_type for shown in picture.images] == ["image/png"]
    assert "pixels" in picture.content
    assert '"temperature"' in structured.content
    assert structured.content.count("temperature") == 1, "said as text and as structure, and shown once"
    assert "demo://resource/dynamic/" in link.content
    assert "[demo://resource/dynamic/text/1]\nResource 1" in text.content
    assert "demo://resource/dynamic/blob/2, " in blob.content
    assert "cannot be shown to you" in blob.content


async def test_progress_is_shown_while_a_call_runs(ground: Ground) -> None:
    with_everything(ground)
    operation: dict[str, object] = {"duration": 0.2, "steps": 2}

    async with ground.session([[Call("everything__trigger-long-running-operation", operation)], [Say("ok")]]) as s:
        (result,) = await results_of(s)
        shown = "".join(output.text for output in s.rx.all(ev.ToolOutputDelta))

    assert "Long running operation completed" in result.content
    assert "1 of 2" in shown


async def test_a_call_that_is_stopped_leaves_the_server_to_the_next_one(ground: Ground) -> None:
    with_everything(ground)
    operation: dict[str, object] = {"duration": 600, "steps": 3000}
    script = [[Call("everything__trigger-long-running-operation", operation)]]
    script += [[Call("everything__echo", {"message": "still here"})], [Say("ok")]]

    async with ground.session(script) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer()
        await s.rx.expect(ev.ToolOutputDelta)
        stopped = await s.carry_out(ops.Interrupt(), ev.TurnEnded)
        (result,) = await results_of(s)

    assert stopped.reason == "interrupted"
    assert "Echo: still here" in result.content


async def test_the_workspace_is_what_the_server_is_told_of(ground: Ground) -> None:
    with_everything(ground)

    async with ground.session([[Call("everything__get-roots-list", {})], [Say("ok")]]) as s:
        (result,) = await results_of(s)

    assert ground.workspace.as_uri() in result.content
