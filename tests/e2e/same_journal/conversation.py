"""The conversation: the model's replies and the user's answers."""

from collections.abc import Mapping
from pathlib import Path

from desktop_agent import Allowed, Denied
from tests.servers.script import Reply, reply, text, tool_use

PROMPT = "Tidy the folder up."
MODEL = "claude-sonnet-4-5"
NOTES = "First, and second.\n"
COMMAND = "echo tidy > made.txt"
EDITED_COMMAND = "echo tidy > other.txt"

ANSWERS: Mapping[str, Allowed | Denied] = {
    "edit_file": Allowed(),
    "run_terminal_cmd": Allowed(edited_command=EDITED_COMMAND),
    "delete_file": Denied(message="Keep it."),
}


def replies() -> tuple[Reply, ...]:
    return (
        reply(
            text("I look first."),
            tool_use("read_file", path="notes.txt"),
            tool_use("edit_file", path="notes.txt", old_str="First", new_str="1st"),
        ),
        reply(tool_use("run_terminal_cmd", command=COMMAND, explanation="Say that it is tidy")),
        reply(tool_use("delete_file", path="notes.txt")),
        reply(text("Done.")),
    )


def prepare(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text(NOTES, encoding="utf-8")
    return folder
