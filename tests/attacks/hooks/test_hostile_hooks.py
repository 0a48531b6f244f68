"""A hostile project's hooks: nothing of it runs before trust, nothing else than what was trusted runs after it.

And a hook that misbehaves, a fork bomb or a flood, ends within its limits.
"""

import asyncio
import json
import os
from pathlib import Path

import pytest

from desktop_agent.core.extensions.hooks import hook_items
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.sections import ExecutionSettings, HookSettings, Settings
from desktop_agent.core.settings.workspace_settings import ProjectTrust
from tests.core.extensions.test_hook_runs import define
from tests.harness import Ground
from tests.system_processes import processes_with

LOOK = Call("run_terminal_cmd", {"command": "echo seen"})
MOMENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop", "SessionEnd"),
    *("Notification", "PreCompact"),
)
CLAUDE = {name: [{"hooks": [{"command": "touch ran"}]}] for name in MOMENTS}
CAMEL = {name[0].lower() + name[1:]: [{"command": "touch ran", "bash": "touch ran"}] for name in MOMENTS}
FILES = {
    ".claude/settings.json": {"hooks": CLAUDE},
    ".claude/settings.local.json": {"hooks": CLAUDE},
    ".codex/hooks.json": {"hooks": CLAUDE},
    ".cursor/hooks.json": {"version": 1, "hooks": CAMEL | {"beforeShellExecution": [{"command": "touch ran"}]}},
    ".github/hooks/x.json": {"version": 1, "hooks": CAMEL},
}


DEFINITION = '[[hooks.definitions]]\nevent = "Stop"\ncommand = "touch ran"\n'
BOMBS = (
    *(":(){ :|:& };: ; sleep 600", "while :; do sleep 600 & done", "yes >&2", "cat /dev/zero"),
    "trap '' TERM; while :; do :; done",
)


def no_secret(_path: Path, _status: os.stat_result) -> str:
    return ""


def trust(ground: Ground) -> None:
    items = tuple(hook_items(ground.workspace, no_secret))
    assert items
    ProjectTrust(ground.paths.project_answers).remember_items(ground.workspace, "trusted", items)


def checking(ground: Ground, command: str) -> None:
    ground.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"command": command}]}]}}))


async def test_nothing_of_a_project_runs_before_trust(ground: Ground) -> None:
    for name, content in FILES.items():
        ground.write(name, json.dumps(content))
    definition = (
        '[hooks]\nenabled = true\nfrom_home = true\n[[hooks.definitions]]\nevent = "Stop"\ncommand = "touch ran"\n'
    )
    ground.write(".desktop-agent/config.toml", definition)
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
        s.submit(ops.Compact())
    assert not (ground.workspace / "ran").exists()
    assert not s.rx.all(ev.HookRan)


async def test_a_project_cannot_define_hooks_in_trusted_settings(ground: Ground) -> None:
    ground.write(".desktop-agent/config.toml", DEFINITION)
    ProjectTrust(ground.paths.project_answers).remember(ground.workspace, DEFINITION, "trusted")
    async with ground.session([[Say("Done.")]]) as s:
        await s.prompt()
    assert not (ground.workspace / "ran").exists()


async def test_what_was_trusted_runs(ground: Ground) -> None:
    checking(ground, "touch ran")
    trust(ground)
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert (ground.workspace / "ran").exists()


NAMING_IT = (
    "bash .claude/check.sh", '"$CLAUDE_PROJECT_DIR"/.claude/check.sh', '"$CLAUDE_PROJECT_DIR/.claude/check.sh"',
    'bash -u "${CLAUDE_PROJECT_DIR}/.claude/check.sh" x', 'sh "${CLAUDE_PROJECT_DIR:-.}/.claude/check.sh"',
    'sh "$(git rev-parse --show-toplevel)/.claude/check.sh"', 'cd "$CLAUDE_PROJECT_DIR/.claude" && ./check.sh',
    "cd .claude; sh check.sh", "cat .claude/check.sh | sh", "sh < .claude/check.sh", "sh -s x <.claude/check.sh",
    'eval "$(cat .claude/check.sh)"', 'sh -c "$(cat .claude/check.sh)"', "bash <(cat .claude/check.sh)",
    "for each in .claude/*.sh; do sh $each; done", "BASH_ENV=.claude/check.sh bash -c true",
    'PATH=".claude:$PATH" check.sh', "env PATH=.claude:/usr/bin:/bin check.sh", 'PATH="$PWD/.claude:$PATH"; check.sh',
    'export PATH="$CLAUDE_PROJECT_DIR/.claude:$PATH" && check.sh',
)  # fmt: skip
PYTHON = (
    "python3 -m kit.check", "python3 -mkit.check", "python3 -Im kit.check", "PYTHONPATH=. python3 -m kit.check",
    "python3 -c \"exec(open('kit/check.py').read())\"", "cd kit && python3 -m check", "python3 < kit/check.py",
)  # fmt: skip


@pytest.mark.parametrize("line", NAMING_IT)
async def test_a_script_that_changed_since_it_was_trusted_does_not_run(ground: Ground, line: str) -> None:
    ground.write(".claude/check.sh", "#!/bin/sh\nexit 0\n").chmod(0o755)
    checking(ground, line)
    trust(ground)
    ground.write(".claude/check.sh", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not (ground.workspace / "ran").exists()
    assert not s.rx.all(ev.HookRan)


@pytest.mark.parametrize(
    ("line", "name"), [*((line, "check") for line in PYTHON), *((line, "__init__") for line in PYTHON[:4])]
)
async def test_a_module_that_changed_since_it_was_trusted_does_not_run(ground: Ground, line: str, name: str) -> None:
    ground.write("kit/check.py", "\n")
    ground.write("kit/__init__.py", "\n")
    checking(ground, line)
    trust(ground)
    ground.write(f"kit/{name}.py", "open('ran', 'w').close()\n")
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not (ground.workspace / "ran").exists()
    assert not s.rx.all(ev.HookRan)


async def test_a_program_that_is_put_before_the_usual_one_is_not_run(ground: Ground) -> None:
    ground.write("tools/check.sh", "true\n").chmod(0o755)
    checking(ground, 'PATH="tools:$PATH" nice check.sh')
    trust(ground)
    ground.write("tools/nice", "#!/bin/sh\ntouch ran\n").chmod(0o755)
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not (ground.workspace / "ran").exists()


async def test_a_hook_of_words_with_a_blank_runs_only_as_it_was_trusted(ground: Ground) -> None:
    ground.write("a b/check.sh", "true\n")
    hook = {"command": "sh", "args": ["${CLAUDE_PROJECT_DIR}/a b/check.sh"]}
    ground.write(".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}))
    trust(ground)
    ground.write("a b/check.sh", "touch ran\n")
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not (ground.workspace / "ran").exists()


def test_a_text_that_a_hook_only_prints_may_change(ground: Ground) -> None:
    ground.write(".claude/notes.md", "one")
    checking(ground, "cat .claude/notes.md")
    (before,) = hook_items(ground.workspace, no_secret)
    ground.write(".claude/notes.md", "two")
    assert list(hook_items(ground.workspace, no_secret)) == [before]


def test_a_large_program_is_not_changed_unseen_by_setting_its_date(ground: Ground) -> None:
    program = ground.write(".claude/check", b"\0" * 8_000_001)
    program.chmod(0o755)
    checking(ground, ".claude/check")
    (before,) = hook_items(ground.workspace, no_secret)
    seen = program.stat()
    program.write_bytes(b"\1" * 8_000_001)
    os.utime(program, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    (after,) = hook_items(ground.workspace, no_secret)
    assert after.digest != before.digest


async def test_a_script_that_the_agent_changes_in_its_turn_does_not_run_and_the_user_is_asked(ground: Ground) -> None:
    """Otherwise a command in the sandbox could have the hook do outside what it may not do itself."""
    ground.write(".claude/check.sh", "exit 0\n")
    checking(ground, "sh .claude/check.sh")
    trust(ground)
    change = Call("run_terminal_cmd", {"command": "echo 'touch ran' > .claude/check.sh"})
    async with ground.session([[change], [LOOK], [Say("Done.")]], approval="on_request") as s:
        asked = await s.begin(Denied())
        await s.rx.expect(ev.TurnEnded)
    assert asked.request.command == "echo seen"
    assert "changed since you trusted it" in asked.request.reason
    assert not (ground.workspace / "ran").exists()
    assert [run.state for run in s.rx.all(ev.HookRan)] == ["completed", "changed"]


async def test_a_definition_that_changed_since_it_was_trusted_does_not_run(ground: Ground) -> None:
    checking(ground, "true")
    trust(ground)
    checking(ground, "touch ran")
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not (ground.workspace / "ran").exists()


async def test_a_link_in_place_of_the_file_is_not_followed_outside(ground: Ground, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"hooks": CLAUDE}))
    (ground.workspace / ".claude").mkdir()
    (ground.workspace / ".claude" / "settings.json").symlink_to(outside)
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        await s.prompt()
    assert not (ground.workspace / "ran").exists()
    assert any("leads out of the workspace" in notice.title for notice in s.rx.all(ev.Notice))


@pytest.mark.parametrize("line", BOMBS)
async def test_a_hook_that_bombs_or_floods_ends_within_its_limits(ground: Ground, line: str) -> None:
    define({"PreToolUse": [{"hooks": [{"command": f"{line}", "timeout": 3}]}]})
    ground.settings = Settings(
        hooks=HookSettings(from_home=True), execution=ExecutionSettings(max_processes=64, max_memory_gib=0.5)
    )
    async with ground.session([[LOOK], [Say("Done.")]]) as s:
        async with asyncio.timeout(60):
            await s.begin(Denied())
        await s.rx.expect(ev.TurnEnded)
        (run,) = s.rx.all(ev.HookRan)
    assert run.state in ("failed", "timed_out", "flooded")
    assert run.decision == "ask"
    assert len(run.output) < 20_000
    async with asyncio.timeout(30):
        while processes_with("CLAUDE_PROJECT_DIR", str(ground.workspace)):  # noqa: ASYNC110 - nothing reports their end
            await asyncio.sleep(0.02)
