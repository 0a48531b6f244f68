"""Where hooks are defined, in the dialects of four programs, and for which calls they are meant."""

import json
import os
from pathlib import Path

import pytest

from desktop_agent.core.extensions.hook_calls import answer_of, given_to, names_of, taken_back
from desktop_agent.core.extensions.hooks import (
    LONGEST_FILE,
    MOST_HOOKS,
    Dialect,
    FoundHooks,
    Hook,
    condition_holds,
    home_hooks,
    hook_items,
    hooks_in,
    is_meant,
    own_hooks,
    project_hooks,
)
from desktop_agent.core.protocol.model import HookDecision, HookEvent, JsonObject
from desktop_agent.core.settings.loading import load_settings

FILE = Path("/w/hooks.json")
ROOT = Path("/w")


def no_secret(_path: Path, _status: os.stat_result) -> str:
    return ""


def found(document: object, dialect: Dialect = "claude") -> FoundHooks:
    return hooks_in(json.dumps(document).encode(), FILE, dialect, "home")


def hook(event: HookEvent = "PreToolUse", *, matcher: str = "", condition: str = "") -> Hook:
    return Hook(event=event, command="true", path=FILE, scope="home", matcher=matcher, condition=condition)


def test_claudes_form_is_read() -> None:
    one: JsonObject = {"type": "command", "command": "a", "timeout": 5, "if": "Bash(rm *)", "async": True}
    two: JsonObject = {"command": "b", "args": ["x y"]}
    group = {"matcher": "Bash|Edit", "hooks": [one, two]}
    (first, second), problems = found({"hooks": {"PreToolUse": [group]}}).hooks, found({"hooks": {}}).problems
    assert not problems
    assert (first.command, first.matcher, first.timeout_s, first.condition, first.is_async) == (
        *("a", "Bash|Edit", 5.0, "Bash(rm *)", True),
    )
    assert (second.line, second.args, second.timeout_s, second.is_async) == ("b x y", ("x y",), None, False)


@pytest.mark.parametrize(
    ("dialect", "name", "entry", "event", "matcher", "command"),
    [
        ("codex", "PreToolUse", {"matcher": "Bash", "hooks": [{"command": "c"}]}, "PreToolUse", "Bash", "c"),
        ("cursor", "beforeShellExecution", {"command": "c", "matcher": "curl"}, "PreToolUse", "Bash", "c"),
        ("cursor", "preToolUse", {"command": "c", "matcher": "Shell"}, "PreToolUse", "Shell", "c"),
        ("cursor", "afterFileEdit", {"command": "c"}, "PostToolUse", "Edit|Write", "c"),
        ("copilot", "preToolUse", {"type": "command", "bash": "c", "powershell": "p"}, "PreToolUse", "", "c"),
        ("copilot", "agentStop", {"type": "command", "bash": "c", "timeoutSec": 3}, "Stop", "", "c"),
    ],
)
def test_other_dialects_are_translated(
    dialect: Dialect, name: str, entry: JsonObject, event: HookEvent, matcher: str, command: str
) -> None:
    (made,) = found({"version": 1, "hooks": {name: [entry]}}, dialect).hooks
    assert (made.event, made.matcher, made.command) == (event, matcher, command)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "ok?"}]}]}}, "not supported"),
        ({"hooks": {"WorktreeCreate": [{"hooks": [{"command": "a"}]}]}}, "not known here"),
        ({"hooks": {"PreToolUse": [{"hooks": [{"command": ""}]}]}}, "command must be a text"),
        ({"hooks": {"PreToolUse": [{"hooks": [{"command": ["a"]}]}]}}, "command must be a text"),
        ({"hooks": {"PreToolUse": ["a"]}}, "object with a command"),
        ({"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"command": "a"}]}]}}, "not a regular expression"),
        ({"hooks": {"Stop": [{"hooks": [{"command": "a", "if": "Bash(rm *)"}]}]}}, "`if` is for calls"),
        ({"hooks": {"PreToolUse": [{"hooks": [{"command": "a" * 10_001}]}]}}, "longer than 10,000"),
        ({"hooks": [1]}, 'no object "hooks"'),
        ([], 'no object "hooks"'),
        ({"hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}, "disableAllHooks": True}, "switches its hooks off"),
    ],
)
def test_what_cannot_be_used_is_a_problem_in_words(document: object, words: str) -> None:
    made = found(document)
    assert not made.hooks
    assert words in str(made.problems[0])


def test_of_too_many_hooks_the_first_count() -> None:
    made = found({"hooks": {"Stop": [{"hooks": [{"command": f"{number}"} for number in range(MOST_HOOKS + 1)]}]}})
    assert len(made.hooks) == MOST_HOOKS
    assert "more than 100 hooks" in str(made.problems[0])


def test_the_users_own_are_in_the_settings(tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(
        '[hooks]\nfrom_home = true\n[[hooks.definitions]]\nevent = "Stop"\ncommand = "a"\ntimeout = 5\n'
        '[[hooks.definitions]]\nevent = "Stopp"\ncommand = "b"\n'
    )
    loaded = load_settings(settings, {})
    made = own_hooks(loaded.tables)
    assert [(one.event, one.line, one.scope, one.timeout_s) for one in made.hooks] == [("Stop", "a", "own", 5.0)]
    assert "event must be one of" in str(made.problems[0])
    assert loaded.settings.hooks.from_home


def test_files_are_read_where_their_programs_have_them(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "w"
    claude = json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}})
    flat = json.dumps({"version": 1, "hooks": {"stop": [{"command": "a"}], "agentStop": [{"bash": "a"}]}})
    for folder in (home, root):
        for name, content in {
            ".claude/settings.json": claude,
            ".codex/hooks.json": claude,
            ".cursor/hooks.json": flat,
        }.items():
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(content)
    (root / ".claude" / "settings.local.json").write_text(claude)
    (root / ".github" / "hooks").mkdir(parents=True)
    (root / ".github" / "hooks" / "one.json").write_text(flat)
    assert [one.dialect for one in home_hooks({"HOME": str(home)}).hooks] == ["claude", "codex", "cursor"]
    made = project_hooks(root, no_secret).hooks
    assert [one.dialect for one in made] == ["claude", "claude", "codex", "cursor", "copilot"]
    assert home_hooks({"HOME": str(tmp_path)}) == FoundHooks()


def test_a_hostile_file_of_hooks_is_a_problem(tmp_path: Path) -> None:
    place = tmp_path / "w" / ".claude" / "settings.json"
    place.parent.mkdir(parents=True)
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}))
    bombs: dict[str, bytes] = {
        "nested too deeply": b"[" * 100_000,
        "larger than 256 KiB": b" " * (LONGEST_FILE + 1),
        "not valid JSON": b'{"hooks": {"Stop": ' + b"1" * 10_000,
        "has no object": b"1" * 4_000,
    }
    for words, content in bombs.items():
        place.write_bytes(content)
        made = project_hooks(tmp_path / "w", no_secret)
        assert not made.hooks
        assert words in str(made.problems[0])
    place.unlink()
    place.symlink_to(outside)
    assert "leads out of the workspace" in str(project_hooks(tmp_path / "w", no_secret).problems[0])
    place.unlink()
    os.mkfifo(place)
    assert "not a file" in str(project_hooks(tmp_path / "w", no_secret).problems[0])
    place.unlink()
    outside.unlink()
    outside.symlink_to(place)
    place.symlink_to(outside)
    assert not project_hooks(tmp_path / "w", no_secret).hooks


def test_what_was_trusted_covers_the_definition_and_the_scripts(tmp_path: Path) -> None:
    root = tmp_path / "w"
    place, script = root / ".claude" / "settings.json", root / ".claude" / "check.sh"
    place.parent.mkdir(parents=True)

    def digest(command: str, content: str) -> str:
        place.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}}))
        script.write_text(content)
        (item,) = hook_items(root, no_secret)
        return item.digest

    lines = (
        "bash .claude/check.sh",
        '"$CLAUDE_PROJECT_DIR"/.claude/check.sh',
        "$CLAUDE_PROJECT_DIR/.claude/check.sh x",
        'cd "$CLAUDE_PROJECT_DIR/.claude" && sh check.sh',
    )
    digests = {digest(line, content) for line in lines for content in ("exit 0", "exit 1")}
    assert len(digests) == 2 * len(lines)
    before = digest(lines[1], "exit 0")
    copy = tmp_path / "copy"
    root.rename(copy)
    (item,) = hook_items(copy, no_secret)
    assert item.digest == before, "the same in a copy of the project"


@pytest.mark.parametrize(
    ("matcher", "tool", "meant"),
    [
        ("", "run_terminal_cmd", True),
        ("*", "grep", True),
        ("Bash", "run_terminal_cmd", True),
        ("Bash", "read_file", False),
        ("Edit|Write", "create_file", True),
        ("Edit, Write", "apply_patch", True),
        ("Write", "delete_file", True),
        ("Edit|Write", "rename_file", True),
        ("Edit", "template_block", True),
        ("Read", "view_image", True),
        ("run_terminal_cmd", "run_terminal_cmd", True),
        ("mcp__.*", "git__log", True),
        ("mcp__git__log", "git__log", True),
        ("mcp__git", "git__log", False),
        ("^Web", "web_fetch", True),
        ("bash", "run_terminal_cmd", False),
        ("Notebook.*", "edit_file", False),
    ],
)
def test_a_matcher_means_claudes_names_and_ours(matcher: str, tool: str, *, meant: bool) -> None:
    assert is_meant(hook(matcher=matcher), names_of(tool)) is meant


@pytest.mark.parametrize(
    ("condition", "tool", "arguments", "holds"),
    [
        ("Bash(rm *)", "run_terminal_cmd", {"command": "rm -rf x"}, True),
        ("Bash(rm:*)", "run_terminal_cmd", {"command": "rm"}, True),
        ("Bash(rm *)", "run_terminal_cmd", {"command": "rmdir x"}, False),
        ("Bash(rm *)", "run_terminal_cmd", {"command": "ls && sudo rm x"}, True),
        ("Bash(rm *)", "run_terminal_cmd", {"command": "echo 'rm x"}, True),
        ("Bash(git push*)", "run_terminal_cmd", {"command": "git pull"}, False),
        ("Bash", "run_terminal_cmd", {"command": "ls"}, True),
        ("Edit(src/**)", "edit_file", {"path": "src/a/b.py"}, True),
        ("Edit(src/**)", "edit_file", {"path": "docs/a.md"}, False),
        ("Edit(*.ts)", "edit_file", {"path": "src/a.ts"}, True),
        ("Edit(**/*.ts)", "edit_file", {"path": "a.ts"}, True),
        ("Write(*.py)", "apply_patch", {"patch": "*** Update File: a.py\n"}, True),
        ("Bash(rm *)", "edit_file", {"path": "rm x"}, False),
        ("mcp__*", "git__log", {}, True),
    ],
)
def test_a_condition_is_for_what_a_call_is_given(
    condition: str, tool: str, arguments: JsonObject, *, holds: bool
) -> None:
    given = given_to(tool, arguments, ROOT)
    assert condition_holds(hook(condition=condition), names_of(tool), given, ROOT) is holds


@pytest.mark.parametrize(
    ("tool", "arguments", "given"),
    [
        ("run_terminal_cmd", {"command": "ls", "timeout": 2.5}, {"command": "ls", "timeout": 2500}),
        ("edit_file", {"path": "a", "old_str": "1", "new_str": "2"},
         {"file_path": "/w/a", "old_string": "1", "new_string": "2"}),
        ("read_file", {"path": "/x/a", "limit": 3}, {"file_path": "/x/a", "limit": 3}),
        ("grep", {"pattern": "x", "include": "*.py"}, {"pattern": "x", "glob": "*.py"}),
    ],
)  # fmt: skip
def test_arguments_go_there_and_back(tool: str, arguments: JsonObject, given: JsonObject) -> None:
    assert given_to(tool, arguments, ROOT) == given
    assert taken_back(tool, given, arguments, ROOT) == arguments


def test_a_patch_names_its_files() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** Add File: b.py\n+3\n*** End Patch"
    given = given_to("apply_patch", {"patch": patch}, ROOT)
    assert (given["command"], given["file_paths"]) == (patch, ["/w/a.py", "/w/b.py"])


def test_changed_input_replaces_all_of_it() -> None:
    before: JsonObject = {"command": "ls", "timeout": 5.0, "explanation": "look"}
    assert taken_back("run_terminal_cmd", {"command": "pwd"}, before, ROOT) == {"command": "pwd"}
    kept = given_to("run_terminal_cmd", before, ROOT) | {"command": "pwd"}
    assert taken_back("run_terminal_cmd", kept, before, ROOT) == before | {"command": "pwd"}


@pytest.mark.parametrize(
    ("event", "code", "output", "decision"),
    [
        ("PreToolUse", 2, "", "deny"),
        ("PreToolUse", 1, '{"decision": "block"}', "deny"),
        ("PreToolUse", 1, "no", ""),
        ("PreToolUse", 2, '{"decision": "approve"}', "deny"),
        ("PreToolUse", 0, '{"decision": "approve"}', "allow"),
        ("PreToolUse", 0, '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}', ""),
        ("PreToolUse", 0, '{"permission": "deny", "agent_message": "no"}', "deny"),
        ("PreToolUse", 0, '{"permissionDecision": "ask"}', "ask"),
        ("PreToolUse", 0, "deny", ""),
        ("Stop", 0, '{"decision": "block", "reason": "more"}', "block"),
        ("Stop", 0, '{"followup_message": "more"}', "block"),
        ("UserPromptSubmit", 0, '{"continue": false, "user_message": "no"}', "stop"),
        ("PostCompact", 2, "", ""),
        ("SessionStart", 0, '{"decision": "block"}', ""),
    ],
)
def test_answers_are_read_as_they_are_meant(event: HookEvent, code: int, output: str, decision: HookDecision) -> None:
    answer = answer_of(event, code, output, "why")
    assert (answer.decision, answer.is_unreadable) == (decision, False)


@pytest.mark.parametrize(
    "output",
    [
        "{",
        "{" * 100_000,
        '{"hookSpecificOutput": {"hookEventName": "Stop"}}',
        '{"hookSpecificOutput": 1}',
        '{"permission": "maybe"}',
        '{"hookSpecificOutput": {"updatedInput": [1]}}',
        '{"systemMessage": 1}',
        '{"a": ' + "9" * 5_000 + "}",
    ],
)
def test_an_answer_that_cannot_be_read_says_so(output: str) -> None:
    answer = answer_of("PreToolUse", 0, output, "")
    assert answer.is_unreadable
    assert answer.reason
    assert not answer.decision


def test_long_texts_of_a_hook_are_cut() -> None:
    answer = answer_of("UserPromptSubmit", 0, "x" * 20_000, "")
    assert len(answer.context) == 10_000
