"""A command that fails without a withheld variable is told the variable's name, never its value."""

import json
import os
from collections.abc import Sequence

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import SandboxMode, ToolResult
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.sandbox.find import find_sandbox
from desktop_agent.core.system.environment import kept_back_from, leading_out
from desktop_agent.core.tools.execution.confiner import MOST_NAMED_VARIABLES, kept_back_in, kept_back_words
from tests.harness import Ground

URL = "postgres://me:hunter2-hunter2@db/app"
OWN = {
    "DATABASE_URL": URL,
    "GITHUB_TOKEN": "hunter2-hunter2",
    "TOKEN": "hunter2-hunter2",
    "DISPLAY": ":7",
    "SSH_AUTH_SOCK": "/run/agent",
    "LANG": "C",
}
KEPT_BACK = kept_back_from(OWN) | leading_out(OWN)


def failed(output: str) -> ToolResult:
    content = json.dumps({"output": output, "metadata": {"exit_code": 1}})
    return ToolResult(content=content, is_error=True, metadata={"exit_code": 1})


MISSED = [
    ("./migrate", "./migrate: line 3: DATABASE_URL: unbound variable", "DATABASE_URL"),
    ("python app.py", "  File \"<frozen os>\", line 679, in __getitem__\nKeyError: 'DATABASE_URL'", "DATABASE_URL"),
    ("npx prisma migrate", "error: Environment variable not found: DATABASE_URL.", "DATABASE_URL"),
    ("cargo test", 'called `Result::unwrap()` on an `Err` value: "DATABASE_URL must be set"', "DATABASE_URL"),
    ("gh pr list", "GITHUB_TOKEN is not set", "GITHUB_TOKEN"),
    ("psql $DATABASE_URL", "psql: error: connection to server on socket failed", "DATABASE_URL"),
    ('psql "${DATABASE_URL:?}"', "", "DATABASE_URL"),
    ("printenv GITHUB_TOKEN", "", "GITHUB_TOKEN"),
    ("""python3 -c "import os; os.environ['TOKEN']" """, "Traceback (most recent call last):", "TOKEN"),
    ("node -e 'fetch(process.env.TOKEN)'", "TypeError: Invalid URL", "TOKEN"),
    ("./deploy", "bash: TOKEN: unbound variable", "TOKEN"),
    ("./deploy", "KeyError: 'TOKEN'", "TOKEN"),
    ("./deploy", "Please set the TOKEN environment variable.", "TOKEN"),
    ("xeyes", "Error: no $DISPLAY environment variable", "DISPLAY"),
    ("ssh-add -l", "SSH_AUTH_SOCK not set, cannot connect to agent.", "SSH_AUTH_SOCK"),
]
NOT_MISSED = [
    ("./deploy", "error: TOKEN expected, found EOF"),
    ("pytest", "E   assert 'DISPLAY' in page"),
    ("grep -r MY_DATABASE_URL2 .", "MY_DATABASE_URL2 is not set"),
    ("grep -rn DATABASE_URL src", ""),
    ("DATABASE_URL=sqlite:// ./migrate", "DATABASE_URL: no such driver"),
    ("export DATABASE_URL=sqlite:// && ./migrate", "DATABASE_URL: no such driver"),
    ("./migrate", "LANG is not set"),
    ("./migrate", "NO_SUCH_TOKEN is not set"),
]


@pytest.mark.parametrize(("command", "output", "name"), MISSED)
def test_the_variable_that_a_command_failed_for_is_named(command: str, output: str, name: str) -> None:
    missed = kept_back_in(command, failed(output), KEPT_BACK)
    assert list(missed) == [name]
    assert kept_back_words(missed).startswith(f"{name} is kept back from commands (")
    assert "hunter2" not in kept_back_words(missed)


@pytest.mark.parametrize(("command", "output"), NOT_MISSED)
def test_nothing_is_named_for_another_failure(command: str, output: str) -> None:
    assert kept_back_in(command, failed(output), KEPT_BACK) == {}


def test_nothing_is_named_for_a_success_or_for_what_the_call_sets_itself() -> None:
    done = ToolResult(content=json.dumps({"output": "DATABASE_URL is not set"}), metadata={"exit_code": 0})
    assert kept_back_in("./migrate", done, KEPT_BACK) == {}
    assert kept_back_in("./migrate", failed("DATABASE_URL is wrong"), KEPT_BACK, ["DATABASE_URL"]) == {}


def test_only_some_are_named_and_only_the_end_of_an_output_counts() -> None:
    names = [f"A{number}_TOKEN" for number in range(20)]
    kept_back = dict.fromkeys(names, "named like a credential")
    assert list(kept_back_in("x", failed("\n".join(names)), kept_back)) == names[-MOST_NAMED_VARIABLES:]
    assert kept_back_in("x", failed("DATABASE_URL is not set" + "." * 20_000), KEPT_BACK) == {}


@pytest.fixture
def ground(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    for name, value in OWN.items():
        monkeypatch.setenv(name, value)
    return ground


@pytest.mark.parametrize(
    ("command", "sandbox", "missed"),
    [
        ('set -u; echo "$DATABASE_URL"', "none", ["DATABASE_URL"]),
        ('set -u; echo "$SSH_AUTH_SOCK"', "restricted", ["SSH_AUTH_SOCK"]),
        ('echo "$SSH_AUTH_SOCK"; exit 1', "none", []),
    ],
)
async def test_the_model_and_the_user_are_told(
    ground: Ground, command: str, sandbox: SandboxMode, missed: Sequence[str]
) -> None:
    if sandbox != "none" and find_sandbox(os.environ).sandbox is None:
        pytest.skip("no sandbox is available here")
    async with ground.session([[Call("run_terminal_cmd", {"command": command})], [Say("ok")]], sandbox=sandbox) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        if sandbox == "none":
            await s.answer()
        result = (await s.rx.expect(ev.ToolCallFinished)).result
        await s.rx.expect(ev.TurnEnded)
    assert result.metadata.get("kept_back", []) == missed
    assert result.content.startswith(f"[{missed[0]} is kept back" if missed else "{")
    assert "hunter2" not in result.content
