"""A session with every challenge for an export."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from desktop_agent.core.base.ids import new_session_id
from desktop_agent.core.export.export_source import ExportSource
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import (
    AssistantBlock,
    FileChange,
    FileImage,
    ModelRef,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResult,
    ToolUseBlock,
    Usage,
)
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from tests.pictures import png

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MODEL = ModelRef(provider="scripted", model="scripted-1")
KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"

HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> <svg/onload=alert(1)> ]]> --> </details></main>\n"
    "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) <javascript:alert(1)> [d][e]\n"
    '![pixel](http://tracker.example/a.png) ![x](data:image/svg+xml,<svg>) [ok](https://example.org/?a=1&b="2")\n\n'
    "[e]: javascript:alert(1)\n\n"
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp.exe\u202c nul\x00here bell\x07 lone\ud800surrogate \x9b31m\n\n"
    f"key {KEY} end\n\n"
    "| a | b |\n|:-:|-|\n| <b>x</b> | y |\n\n"
    "```html\n<script>in code</script>\n"
)


class Written:
    def __init__(self, folder: Path) -> None:
        self.blobs = Blobs(folder / "blobs")
        self.id = new_session_id(NOON)
        self.path = folder / "sessions" / self.id / JOURNAL_NAME
        self._journal = Journal.create(self.path, self.blobs)
        self._seq = 0
        self.add(
            ev.SessionOpened(
                session_id=self.id, workspace="/home/me/app", model=MODEL, approval="on_write", app_version="1"
            )
        )

    @property
    def source(self) -> ExportSource:
        return ExportSource(self.path, self.blobs)

    def add(self, *events: ev.KnownEvent) -> None:
        for event in events:
            self._seq += 1
            self._journal.append(event.stamped(self._seq, NOON + timedelta(seconds=self._seq)), is_durable=False)

    def turn(
        self, number: int, prompt: str, *blocks: AssistantBlock, results: dict[str, ToolResult] | None = None
    ) -> None:
        self.add(
            ev.PromptSubmitted(turn=number, prompt_id=f"p-{number}", text=prompt),
            ev.TurnStarted(turn=number, model=MODEL),
            ev.MessageDone(turn=number, message_id="m", model=MODEL, content=blocks, stop_reason="end_turn"),
            ev.UsageReported(turn=number, usage=Usage(input_tokens=10, output_tokens=5)),
        )
        for block in blocks:
            if isinstance(block, ToolUseBlock):
                call = ToolCall(id=block.id, name=block.name, arguments=block.arguments)
                result = (results or {}).get(block.id, ToolResult(content="done"))
                self.add(
                    ev.ToolCallStarted(
                        turn=number, call=call, title=block.name, source="workspace", capabilities=(), is_read_only=True
                    ),
                    ev.ToolCallFinished(
                        turn=number, call_id=block.id, state="completed", result=result, duration_s=0.1
                    ),
                )
        self.add(ev.TurnEnded(turn=number, reason="completed", requests=1, duration_s=1))

    def steered_turn(self) -> None:
        self.add(
            ev.PromptSubmitted(turn=1, prompt_id="p-1", text="look"),
            ev.TurnStarted(turn=1, model=MODEL),
            ev.MessageDone(
                turn=1, message_id="m", model=MODEL, content=(TextBlock(text="I look."),), stop_reason="max_tokens"
            ),
            ev.Steered(turn=1, prompt_id="p-2", text="and the tests"),
            ev.MessageDone(
                turn=1, message_id="n", model=MODEL, content=(TextBlock(text="Both."),), stop_reason="end_turn"
            ),
            ev.TurnEnded(turn=1, reason="completed", requests=2, duration_s=1.0),
        )

    def image(self, content: bytes) -> FileImage:
        return FileImage(digest=self.blobs.put(content), size=len(content), mode=0o100644, kind="file")

    def change(self, number: str, path: str, before: bytes | None, after: bytes | None) -> FileChange:
        kind = "created" if before is None else "deleted" if after is None else "modified"
        return FileChange(
            id=number,
            path=path,
            kind=kind,
            author="agent",
            before=None if before is None else self.image(before),
            after=None if after is None else self.image(after),
            added=1,
            removed=1,
        )


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path / "data")


@pytest.fixture
def hostile(written: Written) -> Written:
    picture = written.blobs.put_ref(png(3, 2), "image/png")
    fake = written.blobs.put_ref(b"<svg onload=alert(1)>", "image/png")
    output = written.blobs.put_ref(f"whole output {KEY}".encode(), "text/plain; charset=utf-8")
    blocks = (
        ThinkingBlock(thinking=HOSTILE, signature="s"),
        TextBlock(text=HOSTILE),
        ToolUseBlock(id="c1", name="<b>tool</b>", arguments={"<script>": HOSTILE}),
        ToolUseBlock(id="c2", name="view_image", arguments={"path": "a\x00b"}),
    )
    results = {
        "c1": ToolResult(content=HOSTILE + "x" * 300_000, output=output),
        "c2": ToolResult(content="", images=(picture, fake)),
    }
    written.turn(1, HOSTILE, *blocks, results=results)
    change = written.change("1.1", "src/<b>.py", b"a = 1\n", b"a = '<script>'\n")
    written.add(
        ev.ChangesRecorded(turn=1, call_id="c1", changes=(change,)),
        ev.SessionRenamed(title="</title><script>alert(1)</script>\u202e"),
        ev.Notice(level="warning", code="x", title=HOSTILE),
        ev.CommandRun(text="/status <script>", output=HOSTILE),
        ev.GuidanceLoaded(files=()),
    )
    written.turn(2, "and more", TextBlock(text="the end"))
    return written
