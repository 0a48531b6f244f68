"""Sessions as an editor has them: prompts, questions, changes and undo by the Agent Client Protocol."""

import asyncio
import base64
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol.model import ModelRequest, TextBlock
from desktop_agent.core.providers.scripted import Call, Fail, Hang, Reply, Say
from tests.acp.editor import CAPABILITIES, RefusedError, demo_in, editing, first_option, program_with_demo
from tests.core.mcp.conftest import PROGRAM as SERVER
from tests.dropping_disk import dropping_disk
from tests.harness import Ground
from tests.pictures import png

POEM = "".join(f"line {number}\n" for number in range(1, 41))
FIRST = Call("edit_file", {"path": "poem.txt", "old_str": "line 2\n", "new_str": "LINE 2\n"})
SECOND = Call("edit_file", {"path": "poem.txt", "old_str": "line 39\n", "new_str": "LINE 39\n"})
SHELL = Call("run_terminal_cmd", {"command": "echo made > shell.txt", "explanation": "Make a file"})


def ground_with_poem(folder: Path) -> Ground:
    ground = Ground(folder)
    ground.write("poem.txt", POEM)
    return ground


async def test_a_turn_asks_shows_diffs_and_its_hunks_are_undone_out_of_order_and_redone(tmp_path: Path) -> None:
    script = [[Say("I begin. "), FIRST], [SECOND], [SHELL], [Say("Done.")]]
    async with editing(ground_with_poem(tmp_path), script, sandbox="none") as (editor, ground):
        session = await editor.start(ground.workspace)
        assert await editor.prompt(session, "go") == "end_turn"
        assert editor.text() == "I begin. Done."
        assert not editor.seen("user_message_chunk"), "the editor shows what it sent itself"
        questions = [params for method, params in editor.asked if method == "session/request_permission"]
        assert [one["toolCall"]["kind"] for one in questions] == ["edit", "edit", "execute"]
        (diff,) = (one for one in questions[0]["toolCall"]["content"] if one["type"] == "diff")
        assert diff["path"] == str(ground.workspace / "poem.txt")
        assert (diff["oldText"], diff["newText"]) == (POEM, POEM.replace("line 2\n", "LINE 2\n"))
        assert "echo made > shell.txt" in questions[2]["toolCall"]["content"][0]["content"]["text"]
        finished = [one for one in editor.seen("tool_call_update") if one.get("status") == "completed"]
        assert [one["path"] for one in finished[2]["content"] if one["type"] == "diff"] == [
            str(ground.workspace / "shell.txt")
        ]
        both = ground.read("poem.txt")
        (poem, shell) = (await editor.ask("_desktop-agent/changes", sessionId=session))["changes"]
        assert (poem["path"], shell["path"], len(poem["hunks"])) == ("poem.txt", "shell.txt", 2)
        selection = {"path": "poem.txt", "hunks": [poem["hunks"][0]["key"]]}
        undone = await editor.ask("_desktop-agent/undo", sessionId=session, selection=selection)
        assert [one["state"] for one in undone["outcomes"]] == ["restored"]
        assert ground.read("poem.txt") == POEM.replace("line 39\n", "LINE 39\n")
        await editor.ask("_desktop-agent/redo", sessionId=session)
        assert ground.read("poem.txt") == both
        assert await editor.prompt(session, "/undo all") == "end_turn"
        assert ground.read("poem.txt") == POEM
        assert not (ground.workspace / "shell.txt").exists()


async def test_a_denied_call_changes_nothing_and_the_model_goes_on(tmp_path: Path) -> None:
    async def deny(params: dict[str, Any]) -> dict[str, Any]:
        (no,) = (one for one in params["options"] if one["kind"] == "reject_once")
        return {"outcome": {"outcome": "selected", "optionId": no["optionId"]}}

    async with editing(ground_with_poem(tmp_path), [[FIRST], [Say("As you wish.")]]) as (editor, ground):
        editor.answers["session/request_permission"] = deny
        session = await editor.start(ground.workspace)
        assert await editor.prompt(session, "go") == "end_turn"
        assert ground.read("poem.txt") == POEM
        assert editor.text() == "As you wish."


async def test_options_are_those_of_the_question_and_others_are_a_no(tmp_path: Path) -> None:
    async def invent(params: dict[str, Any]) -> dict[str, Any]:
        assert {one["kind"] for one in params["options"]} >= {"allow_once", "allow_always", "reject_once"}
        return {"outcome": {"outcome": "selected", "optionId": "everything, for ever"}}

    async with editing(ground_with_poem(tmp_path), [[FIRST], [Say("Fine.")]]) as (editor, ground):
        editor.answers["session/request_permission"] = invent
        assert await editor.prompt(await editor.start(ground.workspace), "go") == "end_turn"
        assert ground.read("poem.txt") == POEM


async def test_a_cancelled_turn_ends_and_its_question_is_withdrawn(tmp_path: Path) -> None:
    async def wait(_params: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    async with editing(ground_with_poem(tmp_path), [[FIRST], [Hang()], [Hang()]]) as (editor, ground):
        editor.answers["session/request_permission"] = wait
        session = await editor.start(ground.workspace)
        _, answer = editor.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
        await editor.until(lambda: editor.asked)
        with pytest.raises(RefusedError, match="A prompt is running"):
            await editor.prompt(session, "once more")
        editor.tell("session/cancel", sessionId=session)
        assert (await answer)["stopReason"] == "cancelled"
        await editor.until(lambda: editor.cancelled)
        assert ground.read("poem.txt") == POEM
        number, answer = editor.send(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
        )
        editor.write({"method": "$/cancel_request", "params": {"requestId": number}})
        with pytest.raises(RefusedError) as refused:
            await answer
        assert refused.value.code == -32800


async def test_a_session_is_loaded_as_it_was_after_the_agent_was_killed(tmp_path: Path) -> None:
    workspace, environ = tmp_path / "demo", os.environ | {"DESKTOP_AGENT_HOME": str(tmp_path / "home")}
    (workspace / "pagination").mkdir(parents=True)
    (workspace / "pagination" / "pages.py").write_text("def pages() -> int:\n    return 1\n")
    async with program_with_demo(environ) as (program, editor):
        session = await editor.start(workspace)
        assert await editor.prompt(session, "Show me") == "end_turn"
        said, calls = editor.text(), editor.seen("tool_call")
        program.send_signal(signal.SIGKILL)
    async with program_with_demo(environ) as (program, editor):
        await editor.ask("initialize", protocolVersion=1, clientCapabilities=CAPABILITIES)
        listed = (await editor.ask("session/list", cwd=str(workspace)))["sessions"]
        assert [one["sessionId"] for one in listed] == [session]
        await editor.ask("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        assert (editor.text("user_message_chunk"), editor.text()) == ("Show me", said)
        assert editor.seen("tool_call") == calls
    assert program.returncode == 0


async def test_two_sessions_work_beside_each_other(tmp_path: Path) -> None:
    def script(request: ModelRequest) -> Reply:
        said = "".join(block.text for block in request.messages[0].content if isinstance(block, TextBlock))
        if "edit" not in said:
            return [Say("Beside.")]
        return [FIRST] if len(request.messages) == 1 else [Say("Edited.")]

    async with editing(ground_with_poem(tmp_path), script) as (editor, ground):
        answer = asyncio.get_running_loop().create_future()

        async def wait(params: dict[str, Any]) -> dict[str, Any]:
            await answer
            return await first_option(params)

        editor.answers["session/request_permission"] = wait
        one = await editor.start(ground.workspace)
        two = (await editor.ask("session/new", cwd=str(ground.workspace), mcpServers=[]))["sessionId"]
        edited = asyncio.create_task(editor.prompt(one, "edit it"))
        await editor.until(lambda: editor.asked)
        assert await editor.prompt(two, "talk") == "end_turn"
        answer.set_result(None)
        assert await edited == "end_turn"
        said = {
            session: "".join(
                update["content"]["text"]
                for update in editor.told[session]
                if update["sessionUpdate"] == "agent_message_chunk"
            )
            for session in (one, two)
        }
        assert said == {one: "Edited.", two: "Beside."}
        assert not any(update["sessionUpdate"] == "tool_call" for update in editor.told[two])


async def test_a_cancelled_load_or_list_leaves_a_session_that_can_be_loaded(tmp_path: Path) -> None:
    async with editing(ground_with_poem(tmp_path), lambda _request: [Say("Said.")]) as (editor, ground):
        session = await editor.start(ground.workspace)
        for number in range(60):
            await editor.prompt(session, f"prompt {number}")
        place: dict[str, Any] = {"sessionId": session, "cwd": str(ground.workspace), "mcpServers": []}
        codes = list[int]()
        for is_begun in (False, True):
            editor.updates.clear()
            asked: tuple[tuple[str, dict[str, Any]], ...] = (("session/load", place), ("session/list", {}))
            for method, params in asked:
                number, answer = editor.send(method, params)
                if is_begun and method == "session/load":
                    await editor.until(lambda: editor.seen("user_message_chunk"))
                editor.write({"method": "$/cancel_request", "params": {"requestId": number}})
                (end,) = await asyncio.gather(answer, return_exceptions=True)
                codes += [end.code] if isinstance(end, RefusedError) else []
        assert len(codes) >= 2, "those that had not begun"
        assert set(codes) == {-32800}
        editor.updates.clear()
        await editor.ask("session/load", **place)
        assert len(editor.seen("user_message_chunk")) == 60
        assert await editor.prompt(session, "on") == "end_turn"


async def test_a_question_that_waited_when_the_agent_was_killed_is_asked_again(tmp_path: Path) -> None:
    async def wait(_params: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.get_running_loop().create_future()

    workspace, environ = await asyncio.to_thread(demo_in, tmp_path)
    pages = workspace / "pagination" / "pages.py"
    before = pages.read_text()
    async with program_with_demo(environ) as (program, editor):
        editor.answers["session/request_permission"] = wait
        session = await editor.start(workspace)
        _, turn = editor.send("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
        await editor.until(lambda: editor.asked)
        program.kill()
        await program.wait()
        editor.drop()
        turn.cancel()
    async with program_with_demo(environ) as (program, editor):
        await editor.ask("initialize", protocolVersion=1, clientCapabilities=CAPABILITIES)
        await editor.ask("session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
        await editor.until(lambda: "Now the tests again" in editor.text())
        assert pages.read_text() != before


async def test_approvals_model_and_sandbox_are_set_as_modes_and_options(tmp_path: Path) -> None:
    async with editing(ground_with_poem(tmp_path), [[FIRST], [Say("Done.")]]) as (editor, ground):
        session = await editor.start(ground.workspace)
        await editor.ask("session/set_mode", sessionId=session, modeId="plan")
        await editor.until(lambda: editor.seen("current_mode_update"))
        assert editor.seen("current_mode_update")[-1]["currentModeId"] == "plan"
        options = await editor.ask("session/set_config_option", sessionId=session, configId="mode", value="on_request")
        values = {one["id"]: one["currentValue"] for one in options["configOptions"]}
        assert (values["mode"], values["model"]) == ("on_request", "scripted/scripted")
        await editor.ask("session/set_config_option", sessionId=session, configId="sandbox", value="none")
        both = (("mode", "always"), ("sandbox", "strict"), ("mode", "on_request"), ("sandbox", "none"))
        await asyncio.gather(
            *(
                editor.ask("session/set_config_option", sessionId=session, configId=option, value=value)
                for option, value in both
            )
        )
        with pytest.raises(RefusedError, match="no value 'everything'"):
            await editor.ask("session/set_config_option", sessionId=session, configId="sandbox", value="everything")
        assert await editor.prompt(session, "go") == "end_turn"
        assert not editor.asked, "edits in the folder run freely"
        assert ground.read("poem.txt") != POEM


async def test_pictures_links_and_unsaved_texts_reach_the_model(tmp_path: Path) -> None:
    seen: list[str] = []
    async with editing(ground_with_poem(tmp_path), [[Say("I see.")]]) as (editor, ground):
        session = await editor.start(ground.workspace)
        odd = ground.workspace / "100%25 sure.txt"
        odd.write_text("of course\n")
        uri, odd_uri = (ground.workspace / "poem.txt").as_uri(), odd.as_uri()
        await editor.prompt(
            session,
            "Look: ",
            {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png(8, 8)).decode()},
            {"type": "resource_link", "uri": uri, "name": "poem.txt"},
            {"type": "resource_link", "uri": odd_uri, "name": "sure"},
            {"type": "resource", "resource": {"uri": "file:///else/unsaved.txt", "text": "not on the disk"}},
        )
        records = ground.journal(session).read_text().splitlines()
        (prompt,) = (json.loads(one) for one in records if '"prompt_submitted"' in one)
        seen = [one["kind"] for one in prompt["attachments"]]
        assert sorted(seen) == ["file", "file", "picture"]
        assert "of course" in str(prompt["attachments"]), "a name is decoded once"
        assert "not on the disk" in prompt["text"]
        with pytest.raises(RefusedError, match="type 'audio'"):
            await editor.prompt(session, {"type": "audio", "mimeType": "audio/wav", "data": ""})


async def test_the_editors_own_servers_offer_their_tools(tmp_path: Path) -> None:
    call = Call("notes__echo", {"text": "over here"})
    async with editing(tmp_path, [[call], [Say("Done.")]]) as (editor, ground):
        await editor.ask("initialize", protocolVersion=1, clientCapabilities=CAPABILITIES)
        server = {"name": "notes", "command": sys.executable, "args": ["-S", str(SERVER)], "env": []}
        made = await editor.ask("session/new", cwd=str(ground.workspace), mcpServers=[server])
        await editor.prompt(made["sessionId"], "go")
        (asked,) = editor.asked
        assert "notes/echo" in asked[1]["toolCall"]["content"][0]["content"]["text"]
        (done,) = (one for one in editor.seen("tool_call_update") if one.get("status") == "completed")
        assert "over here" in done["content"][0]["content"]["text"]


async def test_a_failed_turn_says_why_and_a_missing_sign_in_has_its_own_code(tmp_path: Path) -> None:
    refused = ProviderError("The key was refused.", fault="authentication", hint="Store another one.")
    async with editing(tmp_path, [[Fail(refused)]]) as (editor, ground):
        session = await editor.start(ground.workspace)
        with pytest.raises(RefusedError, match=r"The key was refused\. Store another one\.") as failure:
            await editor.prompt(session, "go")
        assert failure.value.code == -32000
        assert await editor.prompt(session, "/status") == "end_turn"


async def test_sessions_are_closed_resumed_and_deleted(tmp_path: Path) -> None:
    async with editing(tmp_path, [[Say("One.")], [Say("Two.")]]) as (editor, ground):
        session = await editor.start(ground.workspace)
        await editor.prompt(session, "go")
        await editor.ask("session/close", sessionId=session)
        with pytest.raises(RefusedError, match="not open"):
            await editor.prompt(session, "again")
        before = len(editor.updates)
        await editor.ask("session/resume", sessionId=session, cwd=str(ground.workspace), mcpServers=[])
        assert not [one for one in editor.updates[before:] if "content" in one], "nothing is told again"
        assert await editor.prompt(session, "again") == "end_turn"
        await editor.ask("session/delete", sessionId=session)
        assert (await editor.ask("session/list"))["sessions"] == []
        with pytest.raises(RefusedError):
            await editor.ask("session/load", sessionId=session, cwd=str(ground.workspace), mcpServers=[])


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("session/new", {"cwd": "relative", "mcpServers": []}, "absolute"),
        ("session/new", {"cwd": "/proc/self", "mcpServers": []}, "system"),
        ("session/new", {"cwd": 5}, "as the protocol says"),
        ("session/prompt", {"sessionId": "none", "prompt": []}, "not open"),
        ("session/frob", {}, "no such method"),
    ],
)
async def test_what_cannot_be_done_is_refused_in_words(
    tmp_path: Path, method: str, params: dict[str, Any], words: str
) -> None:
    async with editing(tmp_path) as (editor, _):
        editor.is_judged = False
        with pytest.raises(RefusedError, match=words):
            await editor.ask(method, **params)


async def test_a_turn_that_cannot_be_recorded_ends_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editing(tmp_path, [[Say("Never said.")], [Say("Now.")]]) as (editor, ground):
        session = await editor.start(ground.workspace)
        dropping_disk(ground.journal(session), monkeypatch).failures = 1
        with pytest.raises(RefusedError, match="could not be"):
            await editor.prompt(session, "go")
        assert await editor.prompt(session, "again") == "end_turn"
