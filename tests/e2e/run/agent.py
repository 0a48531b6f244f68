"""`desktop-agent` in this process, with a scripted model that edits a file."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from tests.command_line import CommandLine, Ran
from tests.servers.model_server import Exchange
from tests.servers.script import Reply, reply, text, thinking, tool_use
from tests.servers.threaded import serve

BEFORE = b"def f():\r\n    return 1\r\n"
AFTER = b"def f():\r\n    return 2\r\n"


class Agent(CommandLine):
    def run(self, workspace: Path, url: str, *more: str, prompt: str = "make it two") -> Ran:
        return self("run", "--prompt", prompt, "--workspace", workspace, "--base-url", url, "--json", *more)

    def without_prompt(self, workspace: Path, replies: Iterable[Any], *options: str) -> Ran:
        with serve(*replies) as server:
            return self("run", "--workspace", workspace, "--base-url", server.url, "--json", *options)

    def answered(self, workspace: Path, replies: Iterable[Any], *more: str, prompt: str = "make it two") -> Ran:
        with serve(*replies) as server:
            return self.run(workspace, server.url, *more, prompt=prompt)


def edit() -> Reply:
    return reply(
        thinking("An edit will do.", signature="sig"),
        text("I'll change it."),
        tool_use("read_file", path="a.py"),
        tool_use("edit_file", path="a.py", old_str="    return 1\n", new_str="    return 2\n"),
    )


def script() -> Sequence[Any]:
    return (edit(), reply(text("Done: it returns **2**.")))


def prompts_in(exchange: Exchange) -> list[str]:
    messages = cast("list[dict[str, Any]]", exchange.fields["messages"])
    first = [message["content"][0] for message in messages if message["role"] == "user"]
    return [block["text"] for block in first if block["type"] == "text"]
