"""Names in users' scripts are stable: commands, options, keys, settings, events, ops, object names."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from desktop_agent.cli import main
from public_names import LISTS, UnreadableNameError, golden, object_names

DEMO = Path(__file__).parents[2] / "resources" / "demo" / "pagination"
OPEN_ENDED = ("metadata", "input", "input_schema", "events", "settings")
"""Keys whose objects have foreign contents, which no command promises."""

HOW_TO_ADD = "add it to the list, so that it is kept from now on: python packaging/tools/public_names.py"
BY_HAND = "add the line to tests/goldens/names/json_keys.txt, so that it is kept from now on"
HOW_TO_REMOVE = "others rely on it. If it must go, take the line out of the file and write a line for the changelog"


def differences(name: str, found: set[str]) -> list[str]:
    promised = golden(name)
    advice = HOW_TO_ADD if name in LISTS else BY_HAND
    gone = [f"{name}: {line!r} is gone: {HOW_TO_REMOVE}" for line in sorted(promised - found)]
    return gone + [f"{name}: {line!r} is new: {advice}" for line in sorted(found - promised)]


@pytest.mark.parametrize("name", LISTS)
def test_public_names_are_those_that_were_promised(name: str) -> None:
    assert golden(name)
    assert differences(name, set(LISTS[name]())) == []


def test_a_renamed_option_is_told_as_one_gone_and_one_new() -> None:
    found = {line.replace("run --prompt-file", "run --from-file") for line in LISTS["command_line"]()}
    gone, new = differences("command_line", found)
    assert "'desktop-agent run --prompt-file' is gone" in gone
    assert "changelog" in gone
    assert "'desktop-agent run --from-file' is new" in new
    assert "python packaging/tools/public_names.py" in new


def test_a_renamed_object_is_missed_however_its_name_reaches_the_object(tmp_path: Path) -> None:
    source = """from PySide6.QtWidgets import QPushButton
class Bar:
    def __init__(self):
        self._add("Go", "{name}")
        for name, button in (("first{name}", self.a), ("second", self.b)):
            button.setObjectName(name)
    def _add(self, text, name):
        QPushButton(text).setObjectName(name)
"""
    (tmp_path / "bar.py").write_text(source.replace("{name}", "goButton"), "utf-8")
    assert object_names(tmp_path) == {"goButton", "firstgoButton", "second"}
    (tmp_path / "bar.py").write_text(source.replace("{name}", "runButton"), "utf-8")
    assert object_names(tmp_path) == {"runButton", "firstrunButton", "second"}


def test_an_object_name_that_cannot_be_read_is_an_error_and_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "bar.py").write_text("import PySide6\nwidget.setObjectName(next(names))\n", "utf-8")
    with pytest.raises(UnreadableNameError, match=r"next\(names\)"):
        object_names(tmp_path)


def paths_in(value: object, path: str) -> Iterator[str]:
    """The keys of a JSON document as paths; `[]` stands for the items of a list."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, object]", value).items():
            yield f"{path}.{key}"
            if key not in OPEN_ENDED:
                yield from paths_in(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from paths_in(inner, f"{path}[]")


def test_commands_print_the_keys_that_were_promised(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    workspace = Path(shutil.copytree(DEMO, tmp_path / "pagination"))
    found: set[str] = set()

    def keys_of(*words: str) -> dict[str, object]:
        capfd.readouterr()
        main([*words, "--json", "--workspace", str(workspace)])
        document = json.loads(capfd.readouterr().out)
        name = " ".join(words[:1] if words[0] in ("run", "storage") else words[:2])
        found.update(paths_in(document, "error" if "error" in document else name))
        return document

    run = ("run", "--provider", "demo", "--approval", "on_request", "--prompt", "Fix the failing test")
    session = str(keys_of(*run, "--blocked-tools", "run_terminal_cmd", "--undo-last-turn")["session_id"])
    exported = str(tmp_path / "session.jsonl")
    for words in (
        ("changes", "list", session, "--hunks"),
        ("changes", "redo", session, "--steps"),
        ("changes", "redo", session),
        ("changes", "undo", session, "--dry-run"),
        ("changes", "undo", session),
        ("sessions", "list"),
        ("worktrees", "list"),
        ("costs",),
        ("costs", "--by", "day"),
        ("costs", "--by", "model"),
        ("costs", "--by", "tool"),
        ("costs", "--by", "folder"),
        ("sessions", "show", session),
        ("sessions", "search", "page"),
        ("sessions", "verify", session),
        ("sessions", "fork", session),
        ("sessions", "rename", session, "Another title"),
        ("sessions", "archive", session),
        ("sessions", "pin", session),
        ("sessions", "export", session, "--format", "jsonl", "--output", exported),
        ("sessions", "import", exported, "--again"),
        ("sessions", "delete", session, "--yes"),
        ("storage", "show"),
        ("storage", "collect", "--dry-run"),
        ("tools", "list"),
        ("tools", "describe", "grep"),
        ("tools", "call", "create_file", '{"path": "new.txt", "content": "new"}', "--approval", "never"),
        ("config", "show"),
        ("config", "path"),
        ("config", "get", "ui.theme"),
        ("config", "set", "ui.theme", "dark"),
        ("config", "reset", "ui.theme"),
        ("auth", "status"),
        ("models", "list"),
        ("changes", "list", "none-such"),
    ):
        keys_of(*words)
    assert golden("json_keys")
    assert differences("json_keys", found) == []
