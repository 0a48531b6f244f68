"""A third-party model server: `@copilotkit/aimock`, with all three wire formats at one address.

with aimock(said("Go.", "Gone."), keys=["sk-…"], folder=tmp_path) as server:
    …(base_url=server.url)

It finds its answer by the user's last words, so that the order of requests does not matter.
"""

import json
import subprocess
import urllib.request
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from desktop_agent.core.protocol.model import JsonObject
from tests.npm.programs import npm_program

_LISTENING = "server listening on "


@dataclass(frozen=True)
class Answered:
    path: str
    body: JsonObject
    """In the form of Chat Completions, whatever the request's format."""
    status: int


@dataclass(frozen=True)
class Aimock:
    url: str
    key: str

    def requests(self) -> list[Answered]:
        request = urllib.request.Request(f"{self.url}/__aimock/journal", headers={"x-api-key": self.key})
        with urllib.request.urlopen(request) as answer:
            entries: list[dict[str, Any]] = json.load(answer)
        return [Answered(entry["path"], entry["body"], entry["response"]["status"]) for entry in entries]


def said(prompt: str, answer: str, *, thinking: str = "", is_after_calls: bool | None = None) -> JsonObject:
    """Answer prompts that contain `prompt`; `is_after_calls` limits this to after, or before, tool calls."""
    return _fixture(prompt, {"content": answer, "reasoning": thinking}, is_after_calls)


def called(prompt: str, tool: str, arguments: JsonObject, *, text: str = "", thinking: str = "") -> JsonObject:
    calls = [{"name": tool, "arguments": json.dumps(arguments)}]
    return _fixture(prompt, {"content": text, "reasoning": thinking, "toolCalls": calls}, is_after_calls=False)


def _fixture(prompt: str, response: JsonObject, is_after_calls: bool | None) -> JsonObject:
    match: JsonObject = {"userMessage": prompt}
    if is_after_calls is not None:
        match["hasToolResult"] = is_after_calls
    return {"match": match, "response": {name: value for name, value in response.items() if value}}


@contextmanager
def aimock(*fixtures: JsonObject, keys: Sequence[str], folder: Path) -> Generator[Aimock]:
    """Run the server for the block; clients need one of the `keys`.

    The first matching fixture answers. A request without a match is refused.
    """
    file = folder / "aimock.json"
    file.write_text(json.dumps({"fixtures": fixtures}), encoding="utf-8")
    command = [*npm_program("llmock"), "--port", "0", "--fixtures", str(file), "--strict", "--validate-on-load"]
    environ = {"AIMOCK_API_KEYS": ",".join(keys)}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield Aimock(_address(process), keys[0])
        finally:
            process.terminate()
            process.communicate()


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if _LISTENING in line:
            return line.partition(_LISTENING)[2].strip()
    raise RuntimeError(f"aimock did not start:\n{''.join(lines)}")
