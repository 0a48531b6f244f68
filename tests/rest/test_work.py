"""A session's work over HTTP: questions, changes, background commands, exports."""

import asyncio
import json
import os
import sys
from base64 import b64encode
from pathlib import Path

from desktop_agent.core.base.file_names import legible_name, quoted_name
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from tests.core.mcp.conftest import PROGRAM
from tests.harness import PATIENCE_S, Ground
from tests.odd_names import ODD_NAMES
from tests.rest.serving import Served, serving, up_to

EDIT = Call("edit_file", {"path": "poem.txt", "old_str": "colour", "new_str": "color"})
JOB = Call("run_terminal_cmd", {"command": "echo begun; sleep 600", "explanation": "Wait", "is_background": True})


def ground_with_poem(folder: Path) -> Ground:
    ground = Ground(folder)
    ground.write("poem.txt", "The colour of the sea\n")
    return ground


async def edited(served: Served) -> str:
    session = await served.start()
    await served.post(f"{session}/prompts", {"text": "go"})
    asked = (await served.until(session, "approval_requested"))[-1].data["request"]
    answer = await served.post(f"{session}/approvals/{asked['call_id']}", {"outcome": "allowed"})
    assert answer.status_code == 202
    await served.until(session, "turn_ended")
    return session


async def test_a_question_waits_in_the_list_until_it_is_answered(tmp_path: Path) -> None:
    async with serving(ground_with_poem(tmp_path), [[EDIT], [Say("Done.")]]) as served:
        session = await served.start()
        await served.post(f"{session}/prompts", {"text": "go"})
        await served.until(session, "approval_requested")
        (waiting,) = (await served.get("/v1/approvals")).json()["approvals"]
        assert waiting["session_id"] in session
        assert waiting["request"]["changes"][0]["path"] == "poem.txt"
        assert (await served.get(f"{session}/approvals")).json()["approvals"] == [waiting]
        path = f"{session}/approvals/{waiting['request']['call_id']}"
        assert "-The colour of the sea\n+The color of the sea" in (await served.get(f"{path}/diff")).text
        assert (await served.post(path, {"outcome": "perhaps"})).status_code == 400
        assert (await served.post(path, {"outcome": "denied", "message": "Leave it."})).status_code == 202
        blocks = await served.until(session, "turn_ended")
        (resolved,) = (block for block in blocks if block.type == "approval_resolved")
        assert resolved.data["decision"] == {"outcome": "denied", "message": "Leave it."}
        assert (await served.get("/v1/approvals")).json()["approvals"] == []
        late = await served.post(path, {"outcome": "allowed"})
        assert (late.status_code, late.json()["error"]["code"]) == (404, "not_pending")
        assert served.ground.read("poem.txt") == "The colour of the sea\n"


async def test_a_question_that_waits_when_the_server_ends_is_asked_again_by_the_next_one(tmp_path: Path) -> None:
    ground = ground_with_poem(tmp_path)
    async with serving(ground, [[EDIT]]) as served:
        session = await served.start()
        await served.post(f"{session}/prompts", {"text": "go"})
        await served.until(session, "approval_requested")
    async with serving(ground, [[Say("Done.")]]) as served:
        (waiting,) = (await served.get(f"{session}/approvals")).json()["approvals"]
        path = f"{session}/approvals/{waiting['request']['call_id']}"
        assert (await served.post(path, {"outcome": "allowed"})).status_code == 202
        await served.until(session, "turn_ended")
        assert ground.read("poem.txt") == "The color of the sea\n"


async def test_changes_are_listed_shown_undone_and_redone(tmp_path: Path) -> None:
    async with serving(ground_with_poem(tmp_path), [[EDIT], [Say("Done.")]]) as served:
        session = await edited(served)
        (row,) = (await served.get(f"{session}/changes")).json()["changes"]
        assert (row["change"]["path"], row["authors"], row["state"]) == ("poem.txt", ["agent"], "standing")
        assert "-The colour of the sea\n+The color of the sea" in (await served.get(f"{session}/diff")).text
        assert (await served.get(f"{session}/diff", params={"path": "poem.txt"})).status_code == 200
        assert (await served.get(f"{session}/diff", params={"path": "none.txt"})).status_code == 404
        selection = {"change_ids": row["change_ids"]}
        (outcome,) = (await served.post(f"{session}/undo", {"selection": selection})).json()["outcomes"]
        assert (outcome["path"], outcome["state"]) == ("poem.txt", "restored")
        assert served.ground.read("poem.txt") == "The colour of the sea\n"
        again = await served.post(f"{session}/undo", {"selection": {"path": "none.txt"}})
        assert again.status_code == 400
        assert (await served.post(f"{session}/redo")).json()["outcomes"][0]["state"] == "restored"
        assert served.ground.read("poem.txt") == "The color of the sea\n"
        await served.post(f"{session}/close")
        assert (await served.get(f"{session}/changes")).json()["changes"][0]["state"] == "standing"


async def test_nothing_is_undone_while_a_turn_runs(tmp_path: Path) -> None:
    async with serving(ground_with_poem(tmp_path), [[EDIT]]) as served:
        session = await served.start()
        await served.post(f"{session}/prompts", {"text": "go"})
        await served.until(session, "approval_requested")
        answer = await served.post(f"{session}/undo")
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "busy")


async def test_a_session_is_exported_in_every_form_to_be_saved_and_not_shown(tmp_path: Path) -> None:
    async with serving(ground_with_poem(tmp_path), [[EDIT], [Say("Done.")]]) as served:
        session = await edited(served)
        for form, words in (("md", "Done."), ("html", "<!DOCTYPE html>"), ("jsonl", '"type"'), ("patch", "+The color")):
            answer = await served.get(f"{session}/export", params={"format": form})
            assert answer.status_code == 200
            assert words.lower() in answer.text.lower()
            assert answer.headers["content-disposition"].startswith("attachment;")
        assert (await served.get(f"{session}/export?format=pdf")).status_code == 400


async def test_a_background_command_is_listed_read_and_stopped(tmp_path: Path) -> None:
    async with serving(tmp_path, [[JOB], [Say("Begun.")]]) as served:
        session = await served.start()
        async with asyncio.timeout(PATIENCE_S), served.events(session) as coming:
            await served.post(f"{session}/prompts", {"text": "go"})
            asked = (await up_to(coming, "approval_requested"))[-1].data["request"]
            await served.post(f"{session}/approvals/{asked['call_id']}", {"outcome": "allowed"})
            await up_to(coming, "jobs_reported")
            (job,) = (await served.get(f"{session}/jobs")).json()["jobs"]
            assert job["state"] == "running"
            output = ""
            while "begun" not in output:
                output = (await served.get(f"{session}/jobs/{job['id']}/output")).json()["output"]
            assert (await served.post(f"{session}/jobs/{job['id']}/stop")).status_code == 202
            while True:
                reported = await up_to(coming, "jobs_reported")
                if reported[-1].data["jobs"][0]["state"] == "stopped":
                    break
        assert (await served.get(f"{session}/jobs/none/output")).status_code == 404
        await served.post(f"{session}/close")
        assert (await served.get(f"{session}/jobs")).status_code == 404


async def test_a_tool_is_executed_and_what_it_changed_can_be_undone(tmp_path: Path) -> None:
    async with serving(ground_with_poem(tmp_path)) as served:
        names = {tool["name"] for tool in (await served.get("/v1/tools")).json()["tools"]}
        assert {"read_file", "edit_file"} <= names
        body = {"arguments": EDIT.arguments, "approval": "never", "sandbox": "none"}
        answer = await served.post("/v1/tools/edit_file/execute", body)
        assert answer.status_code == 200, answer.text
        report = answer.json()
        assert (report["status"], report["changes"][0]["path"]) == ("completed", "poem.txt")
        await served.post(f"/v1/sessions/{report['session_id']}/undo")
        assert served.ground.read("poem.txt") == "The colour of the sea\n"


async def test_a_call_that_cannot_be_made_is_refused_with_what_is_wrong(tmp_path: Path) -> None:
    async with serving(ground_with_poem(tmp_path)) as served:
        wrong = await served.post("/v1/tools/read_file/execute", {"arguments": {"path": 7}})
        assert (wrong.status_code, wrong.json()["error"]["field"]) == (400, "$.arguments.path")
        missing = await served.post("/v1/tools/read_file/execute", {"arguments": {}})
        assert (missing.status_code, missing.json()["error"]["field"]) == (400, "$.arguments.path")
        unknown = await served.post("/v1/tools/read_fil/execute", {"arguments": {}})
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "tool_not_found")
        assert "Did you mean 'read_file'" in unknown.json()["error"]["message"]
        asked = await served.post("/v1/tools/edit_file/execute", {"arguments": EDIT.arguments, "approval": "always"})
        assert (asked.status_code, asked.json()["error"]["code"]) == (403, "approval_required")
        outside = {"path": "/etc/made-by-a-test.txt", "content": "x"}
        denied = await served.post("/v1/tools/create_file/execute", {"arguments": outside, "approval": "never"})
        assert (denied.status_code, denied.json()["error"]["code"]) == (403, "denied"), denied.text
        assert served.ground.read("poem.txt") == "The colour of the sea\n"


async def test_a_call_that_fails_says_so_in_its_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        answer = await served.post("/v1/tools/read_file/execute", {"arguments": {"path": "none.txt"}})
        assert (answer.status_code, answer.json()["status"]) == (200, "failed")
        assert answer.json()["error_type"] == "not_found"


async def test_what_is_not_the_agents_is_undone_only_if_that_is_included(tmp_path: Path) -> None:
    async with serving(ground_with_poem(tmp_path), [[EDIT], [Say("Done.")]]) as served:
        session = await edited(served)
        content = b64encode(b"mine\n").decode()
        op = {"type": "write_file", "path": "mine.txt", "expected": None, "content": content}
        assert (await served.post(f"{session}/ops", op)).status_code == 202
        await served.until(session, "changes_recorded")
        selection = {"path": "mine.txt"}
        (left,) = (await served.post(f"{session}/undo", {"selection": selection})).json()["outcomes"]
        assert (left["path"], left["state"], served.ground.read("mine.txt")) == ("mine.txt", "conflict", "mine\n")
        both = {"selection": selection, "includes_others": True}
        (undone,) = (await served.post(f"{session}/undo", both)).json()["outcomes"]
        assert undone["state"] == "restored"
        assert not (served.ground.workspace / "mine.txt").exists()
        wrong = await served.post(f"{session}/undo", {"includes_others": "yes"})
        assert wrong.status_code == 400


async def test_every_odd_name_goes_through_json_and_back(tmp_path: Path) -> None:
    calls = [Call("create_file", {"path": quoted_name(name), "content": "x\n"}) for name in ODD_NAMES]
    async with serving(Ground(tmp_path), [calls, [Say("Done.")]]) as served:
        session = await served.start(approval="never")
        blocks = await served.run(session)
        streamed = [block.data["changes"][0]["path"] for block in blocks if block.type == "changes_recorded"]
        rows = (await served.get(f"{session}/changes")).json()["changes"]
        assert sorted(row["change"]["path"] for row in rows) == sorted(streamed) == sorted(map(legible_name, ODD_NAMES))
        for name, path in zip(ODD_NAMES, streamed, strict=True):
            path.encode()
            shown = await served.get(f"{session}/diff", params={"path": path})
            assert shown.text.count("new file") == 1
            undone = await served.post(f"{session}/undo", {"selection": {"path": path}})
            assert [outcome["path"] for outcome in undone.json()["outcomes"]] == [path]
            assert not (served.ground.workspace / name).exists()
            arguments = {"path": quoted_name(name), "content": "y\n"}
            made = await served.post(
                "/v1/tools/create_file/execute", {"arguments": arguments, "approval": "never", "sandbox": "none"}
            )
            assert [change["path"] for change in made.json()["changes"]] == [path]
            assert (served.ground.workspace / name).read_bytes() == b"y\n"


async def test_a_folder_whose_name_is_not_utf8_is_named_as_it_was_answered(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    async with serving(Ground(tmp_path / "ground")) as served:
        session = await served.start(workspace=legible_name(str(folder)))
        summary = (await served.get(session)).json()["summary"]
        assert summary["workspace"] == legible_name(str(folder))
        again = await served.start(workspace=summary["workspace"])
        assert (await served.get(again)).json()["summary"]["workspace"] == summary["workspace"]


async def test_tools_of_servers_are_named_and_called_with_the_same_questions(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    settings = ground.paths.settings_file()
    settings.parent.mkdir(parents=True, exist_ok=True)
    args = json.dumps(["-S", str(PROGRAM)])
    settings.write_text(f'[[mcp.definitions]]\nname = "mine"\ncommand = "{sys.executable}"\nargs = {args}\n')
    ground.live = LiveSettings.load(settings, {})
    async with serving(ground) as served:
        assert (await served.get("/v1/tools")).json()["servers"] == ["mine"]
        answer = await served.post("/v1/tools/mine__echo/execute", {"arguments": {"text": "hello"}})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "approval_required")
        assert (
            "A rule in rules.toml can allow it: kind 'tool', pattern 'mine__echo'." in answer.json()["error"]["message"]
        )
        unknown = await served.post("/v1/tools/mine__nothing/execute", {"arguments": {}})
        assert (unknown.status_code, "mcp test mine" in unknown.text) == (404, True)
