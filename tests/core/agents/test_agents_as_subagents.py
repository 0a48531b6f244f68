"""Agents of other programs that take the place of a sub-agent."""

from pathlib import Path

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Allowed, ApprovalPolicy, Denied
from desktop_agent.core.providers.scripted import Call, Reply, Say
from desktop_agent.core.tools.access import CallRules
from tests.core.agents.scene import Scene, call, ended, said
from tests.git import git

GO: list[Reply] = [
    [Call("task", {"description": "Do it", "prompt": "Do this.", "role": "other"})],
    [Say("ok")],
]


def prepare(scene: Scene, folder: Path) -> None:
    """Make the workspace a repository, and a role in this folder that names the scripted agent."""
    steps = [
        said("I write. "), call("1", "edit", "Edit", locations=[{"path": "made.txt"}]),
        {"write": ["made.txt", "made\n"]}, ended("1"), said("Made it."),
    ]  # fmt: skip
    scene.script["prompts"] = [steps]
    folder.mkdir(parents=True)
    text = f"---\nname: other\ndescription: Another program\nagent: {scene.model.model!r}\n---\nYou are careful."
    (folder / "other.md").write_text(text)
    scene.ground.write("a.txt", "a\n")
    git(scene.ground.workspace, "init", "-q")
    git(scene.ground.workspace, "add", "a.txt")
    git(scene.ground.workspace, "commit", "-qm", "first")


def own_roles(scene: Scene) -> Path:
    return scene.ground.paths.config / "agents"


async def test_an_agent_of_another_program_works_in_a_worktree_once_the_user_allows_it(scene: Scene) -> None:
    prepare(scene, own_roles(scene))
    async with scene.ground.session(GO) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        asked = await opened.rx.expect(ev.ApprovalRequested)
        assert asked.request.title.startswith("Start ")
        assert "outside the sandbox" in asked.request.reason
        opened.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Allowed()))
        assert (await opened.rx.expect(ev.TurnEnded)).reason == "completed"
        (started,) = opened.rx.all(ev.SubagentStarted)
        assert started.model.is_agent
        (finished,) = opened.rx.all(ev.ToolCallFinished)
        assert finished.result.content.startswith("Made it.")
        assert not (scene.ground.workspace / "made.txt").exists()
        (seen,) = await opened.bench.worktrees.all()
        assert (seen.worktree.workspace / "made.txt").read_text() == "made\n"
        assert f"in the worktree {seen.worktree.name}" in finished.result.content
    (prompt,) = scene.sent("session/prompt")
    assert "You are careful." in prompt["prompt"][0]["text"]
    assert prompt["prompt"][0]["text"].endswith("Do this.")
    scene.judge_lines()


async def refused(scene: Scene, approval: ApprovalPolicy, rules: CallRules | None, *, is_planning: bool = False) -> str:
    """Return the result of the call, whose question is answered with yes if there is one."""
    async with scene.ground.session(GO, approval=approval, rules=rules) as opened:
        if is_planning:
            opened.submit(ops.SetMode(is_planning=True))
        opened.submit(ops.SubmitPrompt(text="go"))
        came = await opened.rx.expect((ev.ApprovalRequested, ev.ToolCallFinished))
        if isinstance(came, ev.ApprovalRequested):
            opened.submit(ops.AnswerApproval(call_id=came.request.call_id, decision=Allowed()))
        await opened.rx.expect(ev.TurnEnded)
        (finished,) = opened.rx.all(ev.ToolCallFinished)
        assert finished.state == "failed"
        assert not scene.log.exists(), "it was not started"
        assert await opened.bench.worktrees.all() == []
    return finished.result.content


async def test_it_is_not_started_where_the_session_may_do_less_than_it_could(scene: Scene) -> None:
    prepare(scene, own_roles(scene))
    limited = CallRules(blocked_tools=("run_terminal_cmd",))
    assert "cannot be kept to what this session may do" in await refused(scene, "on_request", limited)
    assert "cannot be kept to what this session may do" in await refused(scene, "on_request", None, is_planning=True)
    await refused(scene, "never", None)


async def test_it_is_not_started_after_a_no(scene: Scene) -> None:
    prepare(scene, own_roles(scene))
    async with scene.ground.session(GO) as opened:
        opened.submit(ops.SubmitPrompt(text="go"))
        asked = await opened.rx.expect(ev.ApprovalRequested)
        opened.submit(ops.AnswerApproval(call_id=asked.request.call_id, decision=Denied()))
        await opened.rx.expect(ev.TurnEnded)
    assert not scene.log.exists()


async def test_a_projects_role_starts_no_program(scene: Scene) -> None:
    prepare(scene, scene.ground.workspace / ".claude" / "agents")
    async with scene.ground.session([GO[0], [Say("I am the model")], [Say("ok")]]) as opened:
        settings = opened.bench.settings_in(scene.ground.workspace.resolve())
        await settings.refresh()
        proposal = settings.proposal
        assert proposal is not None
        settings.remember("trusted", proposal.text, proposal.items)
        await settings.refresh()
        assert (await opened.prompt()).reason == "completed"
        assert not opened.rx.all(ev.ApprovalRequested)
        (started,) = opened.rx.all(ev.SubagentStarted)
        assert not started.model.is_agent
    assert not scene.log.exists()
