"""`run --plan` writes a plan and changes nothing; `--carry-out-plan` carries it out."""

from pathlib import Path

import pytest

from tests.e2e.run.agent import AFTER, BEFORE, Agent, edit, script
from tests.servers.script import reply, text, tool_use

PLAN = "# Make it two\n\n- [ ] edit `a.py`\n"
WRITTEN = (reply(tool_use("write_plan", plan=PLAN)), reply(text("Shall I?")))


def test_a_plan_is_written_first_and_carried_out_from_its_file(agent: Agent, workspace: Path, tmp_path: Path) -> None:
    planned = agent.answered(workspace, (edit(), *WRITTEN), "--plan", "--approval", "on_request")
    assert (planned.code, planned.json["plan"]) == (0, PLAN)
    assert [(tool["tool"], tool["is_error"]) for tool in planned.json["tools"]] == [
        ("read_file", False),
        ("edit_file", True),
        ("write_plan", False),
    ]
    assert (workspace / "a.py").read_bytes() == BEFORE
    file = tmp_path / "plan.md"
    file.write_text(planned.json["plan"])
    session = ("--resume", planned.json["session_id"])
    carried = agent.without_prompt(
        workspace, script(), *session, "--carry-out-plan", str(file), "--approval", "on_request"
    )
    assert (carried.code, carried.json["plan"]) == (0, PLAN)
    assert (workspace / "a.py").read_bytes() == AFTER


def test_a_session_that_planned_goes_on_with_all_tools(agent: Agent, workspace: Path) -> None:
    planned = agent.answered(workspace, WRITTEN, "--plan")
    done = agent.answered(
        workspace, script(), "--resume", planned.json["session_id"], "--approval", "on_request", prompt="Just do it"
    )
    assert done.json["edited_files"] == ["a.py"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--carry-out-plan", "missing.md"), "The plan cannot be read"),
        (("--carry-out-plan", "empty.md"), "The prompt is empty."),
        (("--carry-out-plan", "plan.md", "--plan"), "does not go with --plan"),
        (("--carry-out-plan", "plan.md", "--prompt", "x"), "not allowed with argument"),
    ],
)
def test_options_that_do_not_go_together_are_bad_usage(
    agent: Agent, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.md").write_text(PLAN)
    Path("empty.md").write_text(" \n")
    ran = agent("run", "--workspace", workspace, "--provider", "demo", *options)
    assert (ran.code, said in ran.err) == (2, True), ran.err
