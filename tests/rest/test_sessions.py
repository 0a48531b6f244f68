import asyncio
from pathlib import Path

from desktop_agent.core.providers.scripted import Hang, Say
from desktop_agent.core.system.processes.shell import joined_words
from tests.cli.test_agents import scripted
from tests.harness import PATIENCE_S, Ground
from tests.rest.serving import NEW, serving, up_to


async def test_a_prompt_runs_a_turn_whose_events_can_be_read(tmp_path: Path) -> None:
    async with serving(tmp_path, [[Say("Hello.")]]) as served:
        session = await served.start()
        blocks = await served.run(session, "Say hello.")
        recorded = [block for block in blocks if block.event == "journal"]
        assert {"prompt_submitted", "turn_started"} <= {block.type for block in recorded}
        (done,) = (block for block in recorded if block.type == "message_done")
        assert done.data["content"][0]["text"] == "Hello."
        assert all(block.id == block.data["seq"] for block in recorded)
        live = [block for block in blocks if block.event == "live"]
        assert "text_delta" in {block.type for block in live}
        assert all(block.id is None and "seq" not in block.data for block in live)


async def test_a_session_is_listed_with_its_title_and_shown(tmp_path: Path) -> None:
    async with serving(tmp_path, [[Say("Hello.")]]) as served:
        session = await served.start()
        await served.run(session, "Say hello.")
        (listed,) = (await served.get("/v1/sessions")).json()["sessions"]
        assert listed["title"] == "Say hello."
        shown = (await served.get(session)).json()
        assert shown["is_open"]
        assert not shown["is_running"]
        assert shown["summary"] == listed


async def test_a_session_that_was_closed_goes_on_with_the_next_op(tmp_path: Path) -> None:
    async with serving(tmp_path, [[Say("One.")], [Say("Two.")]]) as served:
        session = await served.start()
        await served.run(session)
        last = (await served.get(session)).json()["last_seq"]
        closed = (await served.post(f"{session}/close")).json()
        assert not closed["is_open"]
        assert closed["last_seq"] == last
        blocks = await served.run(session)
        assert blocks[-1].data["turn"] == 2
        assert (await served.get(session)).json()["is_open"]


async def test_a_session_that_another_process_has_open_is_busy(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    async with ground.session([]) as other, serving(ground) as served:
        answer = await served.post(f"/v1/sessions/{other.id}/prompts", {"text": "go"})
        assert answer.status_code == 409
        assert answer.json()["error"]["code"] == "session_busy"


async def test_an_archived_session_is_listed_only_among_all(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        session = await served.start()
        await served.post(f"{session}/close")
        assert (await served.post(f"{session}/archive")).status_code == 204
        assert (await served.get("/v1/sessions")).json()["sessions"] == []
        assert len((await served.get("/v1/sessions?all=true")).json()["sessions"]) == 1


async def test_a_deleted_session_is_gone_also_when_it_was_open(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        session = await served.start()
        assert (await served.client.delete(session)).status_code == 204
        assert (await served.get(session)).status_code == 404
        assert list(served.ground.paths.sessions.iterdir()) == []


async def test_an_interrupt_ends_the_turn_that_runs(tmp_path: Path) -> None:
    async with serving(tmp_path, [[Say("Wait"), Hang()]]) as served:
        session = await served.start()
        await served.post(f"{session}/prompts", {"text": "go"})
        await served.until(session, "turn_started")
        await served.op(session, "interrupt")
        assert (await served.until(session, "turn_ended"))[-1].data["reason"] == "interrupted"


async def test_what_is_wrong_with_an_op_or_a_body_is_named(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        session = await served.start()
        for path, body, words in (
            (f"{session}/ops", {"type": "dance"}, "`type` must be one of submit_prompt"),
            (f"{session}/ops", {"type": "submit_prompt", "txt": ""}, "submit_prompt has no field 'txt'"),
            (f"{session}/ops", {"type": "rewind_to", "turn": "x", "scope": "both"}, "Expected `int`"),
            (f"{session}/ops", {"type": "steer", "text": ""}, "the message is empty"),
            (f"{session}/prompts", {"text": 1}, "Expected `str`"),
            (f"{session}/prompts", {"text": " \n"}, "The message is empty"),
            ("/v1/sessions", {"approval": "sometimes"}, "Invalid enum value"),
            ("/v1/sessions", {"workspace": "relative"}, "absolute path"),
            ("/v1/sessions", {"workspace": "/no/such/folder"}, "does not exist"),
            ("/v1/sessions", NEW | {"provider": "nobody"}, "nobody"),
        ):
            answer = await served.post(path, body)
            assert answer.status_code == 400, (body, answer.text)
            assert words in answer.json()["error"]["message"]
        field = (await served.post(f"{session}/prompts", {"text": 1})).json()["error"]["field"]
        assert field == "$.text"
        for content in (b"", b"[1]", b"{", b'{"text": NaN}', b'{"text": "\\ud800"}', b"\xff"):
            answer = await served.client.post(
                f"{session}/prompts", content=content, headers={"content-type": "application/json"}
            )
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")
        answer = await served.client.post(f"{session}/prompts", content=b"{}", headers={"content-type": "text/plain"})
        assert answer.status_code == 415


async def test_files_come_along_with_a_prompt(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        (served.ground.workspace / "notes.txt").write_text("what to do\n")
        session = await served.start()
        await served.post(f"{session}/prompts", {"text": "go", "include": ["notes.txt"]})
        blocks = await served.until(session, "turn_ended")
        assert "what to do" in str([block.data for block in blocks])


async def test_an_unknown_session_or_path_is_not_found_and_an_unknown_method_not_allowed(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        for path in ("/v1/sessions/20260101-000000-000000", "/v1/sessions/..%2f..", "/v1/nothing"):
            answer = await served.get(path)
            assert answer.status_code == 404
            assert answer.json()["error"]["code"]
        answer = await served.client.put("/v1/sessions")
        assert answer.status_code == 405
        assert answer.json()["error"]["code"] == "method_not_allowed"
        assert {*answer.headers["allow"].split(", ")} == {"GET", "HEAD", "POST"}
        assert (await served.client.head("/v1/sessions")).status_code == 200


async def test_the_end_of_the_server_ends_streams_turns_and_sessions(tmp_path: Path) -> None:
    async with serving(tmp_path, [[Say("Wait"), Hang()]]) as served:
        session = await served.start()
        await served.post(f"{session}/prompts", {"text": "go"})
        async with asyncio.timeout(PATIENCE_S), served.events(session) as coming:
            await up_to(coming, "turn_started")
            served.server.interrupt()
            async for _ in coming:  # the stream comes to its end
                pass
    ground = Ground(tmp_path)
    async with ground.session([[Say("On.")]], resume=session.rsplit("/", 1)[1]) as again:
        assert (await again.prompt()).reason == "completed"


async def test_a_session_is_started_in_a_worktree(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    git = ("git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(ground.workspace))
    for arguments in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        process = await asyncio.create_subprocess_exec(*git, *arguments)
        assert await process.wait() == 0
    async with serving(ground) as served:
        session = await served.start(worktree={"name": "calm"})
        summary = (await served.get(session)).json()["summary"]
        assert summary["worktree"] == {"main": str(ground.workspace), "branch": "desktop-agent/calm"} | {
            key: summary["worktree"][key] for key in ("name", "base")
        }
        assert summary["workspace"] == str(ground.paths.worktrees / "calm/workspace")
        refused = await served.post("/v1/sessions", {"worktree": {"name": "calm"}})
        assert refused.status_code == 400
        assert "There is a worktree or branch of the name calm already." in refused.text


async def test_a_session_has_an_agent_of_another_program_or_a_model(tmp_path: Path) -> None:
    hello = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hello."}}
    line = joined_words(scripted(tmp_path / "script.json", prompts=[[{"update": hello}]]))
    async with serving(tmp_path) as served:
        answer = await served.post("/v1/sessions", {"agent": line, "sandbox": "none"})
        assert answer.status_code == 201, answer.text
        blocks = await served.run(answer.headers["location"])
        assert "Hello." in str([block.data for block in blocks if block.type == "message_done"])
        assert blocks[-1].data["reason"] == "completed"
        for body, words in (
            (NEW | {"agent": line}, "an agent or a model, not both"),
            ({"agent": "no-such-agent"}, "There is no agent named no-such-agent"),
        ):
            refused = await served.post("/v1/sessions", body)
            assert (refused.status_code, words in refused.json()["error"]["message"]) == (400, True), refused.text
