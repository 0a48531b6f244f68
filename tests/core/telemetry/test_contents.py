"""What of contents leaves: nothing unless it is asked for, then the beginning, masked; and how that looks in a file."""

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from desktop_agent.core.protocol.model import TextBlock
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.sections import Settings, TelemetrySettings
from desktop_agent.core.telemetry import pipeline
from desktop_agent.core.telemetry.conventions import CONTENTS
from desktop_agent.core.telemetry.pipeline import append_line
from desktop_agent.core.telemetry.telemetry import CUT_MARK, MAX_BYTES, MAX_LINES, Contents
from tests.core.telemetry.sending import send_to
from tests.harness import Ground
from tests.servers.otlp_receiver import OtlpReceiver

KEY = "sk-ant-api03-" + "Q7z" * 12
PASSWORD = "correct horse battery"
"""Has no shape: only the environment says that it is a secret."""
SPAN_CONTEXT = SpanContext(trace_id=1, span_id=1, is_remote=False)
MARK = "a-word-of-the-conversation"


async def told_secrets(ground: Ground) -> None:
    """Run a turn in which secrets stand in the prompt, the answer, the arguments and the results."""
    text = f"{MARK} {KEY} {PASSWORD}"
    ground.write("a.py", text)
    calls = [Call("read_file", {"path": "a.py"}), Call("grep", {"pattern": text}), Call(f"made_up_{KEY}"[:64])]
    async with ground.session([calls, [Say(f"Found {text}")]]) as s:
        assert (await s.prompt(f"Look for {text}")).reason == "completed"


@pytest.mark.parametrize("include_contents", [False, True])
async def test_no_secret_of_a_session_is_exported(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch, include_contents: bool
) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"x-tenant={KEY}")
    send_to(receiver, ground, include_contents=include_contents)
    await told_secrets(ground)
    exported = b"".join(receiver.bodies)
    assert KEY.encode() not in exported
    assert PASSWORD.encode() not in exported
    assert str(ground.workspace).encode() not in exported
    assert (MARK.encode() in exported) is include_contents
    assert any(span.attributes.keys() & CONTENTS for span in receiver.spans) is include_contents
    assert {headers["x-tenant"] for headers in receiver.headers} == {KEY}


async def test_contents_stand_where_the_conventions_have_them(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground, include_contents=True)
    await told_secrets(ground)
    turn = next(span for span in receiver.spans if span.name.startswith("invoke_agent"))
    asked = json.loads(str(turn.attributes["gen_ai.input.messages"]))
    assert asked[0]["role"] == "user"
    assert MARK in asked[0]["parts"][0]["content"]
    answers = [span.attributes["gen_ai.output.messages"] for span in receiver.spans if span.name.startswith("chat")]
    assert [part["type"] for part in json.loads(str(answers[0]))[0]["parts"]] == ["tool_call"] * 3
    read = next(span for span in receiver.spans if span.name == "execute_tool read_file")
    assert json.loads(str(read.attributes["gen_ai.tool.call.arguments"])) == {"path": "a.py"}
    assert MARK in str(read.attributes["gen_ai.tool.call.result"])


async def test_a_file_gets_whole_lines_of_otlps_json(ground: Ground, tmp_path: Path) -> None:
    file = tmp_path / "new" / "telemetry.jsonl"
    ground.settings = Settings(telemetry=TelemetrySettings(file=str(file)))
    for _ in range(2):
        async with ground.session([[Say("Hello.")]]) as s:
            await s.prompt()
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    scopes = [each["scopeSpans"][0] for line in lines for each in line.get("resourceSpans", [])]
    turns = [span for scope in scopes for span in scope["spans"] if span["name"].startswith("invoke_agent")]
    assert len({span["traceId"] for span in turns}) == 2
    assert all(len(bytes.fromhex(span["traceId"])) == 16 for span in turns)
    metrics = {
        metric["name"]
        for line in lines
        for each in line.get("resourceMetrics", [])
        for metric in each["scopeMetrics"][0]["metrics"]
    }
    assert "turn_duration_seconds" in metrics
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_full_file_makes_room_and_two_earlier_ones_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "MOST_BYTES", 1)
    file = tmp_path / "telemetry.jsonl"
    for name in "abcde":
        append_line(file, encode_spans([ReadableSpan(name=name, context=SPAN_CONTEXT)]))
    kept = sorted(path for path in tmp_path.iterdir() if path.suffix != ".lock")
    assert [path.name for path in kept] == ["telemetry.jsonl", "telemetry.jsonl.1", "telemetry.jsonl.2"]
    names = [json.loads(path.read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"] for path in kept]
    assert names == ["e", "d", "c"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


@given(st.text(max_size=300), st.integers(0, 40))
def test_a_text_is_cut_to_its_limits_and_says_so(text: str, repeats: int) -> None:
    """R-04: the limits and the mark of a preview."""
    whole = text * repeats
    kept = Contents(()).text(whole)
    body = kept.removesuffix(f"\n{CUT_MARK}")
    assert len(body.encode("utf-8", "replace")) <= MAX_BYTES
    assert body.count("\n") < MAX_LINES
    assert kept.endswith(CUT_MARK) or len(whole) <= MAX_BYTES


@pytest.mark.parametrize(
    ("secret", "visible", "known"),
    [
        (KEY, KEY[:20], ()),
        (PASSWORD, PASSWORD[:9], (PASSWORD,)),
        ("eyJ" + ".".join(["Zm9v" * 400] * 3), "Zm9vZm9v", ()),
        (f"https://user:{'p!s' * 40}@example.org", "p!sp!s", ()),
    ],
    ids=["a key", "one that the environment names", "a long token", "a password in an address"],
)
def test_a_secret_at_a_cut_is_never_half_seen(secret: str, visible: str, known: tuple[str, ...]) -> None:
    contents = Contents(known)
    for before in range(MAX_BYTES - 700, MAX_BYTES + 1200, 7):
        assert visible not in contents.text("x" * (before - 1) + " " + secret + " y" * 9000), before


def test_what_the_model_thinks_is_left_out() -> None:
    assert json.loads(Contents(()).answer((TextBlock(text="a"),)))[0]["parts"] == [{"type": "text", "content": "a"}]
