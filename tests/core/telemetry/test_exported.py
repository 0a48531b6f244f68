"""A session's telemetry at a receiver: contents, environment, and failing receivers."""

import asyncio
import json
import logging
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Denied, TextBlock
from desktop_agent.core.providers.scripted import Call, Fail, Hang, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import Settings, TelemetrySettings
from desktop_agent.core.system.environment import child_environment
from desktop_agent.core.telemetry import event_fold, pipeline
from desktop_agent.core.telemetry.event_fold import CONTENTS, METRICS, SCHEMA_URL
from desktop_agent.core.telemetry.pipeline import append_line
from desktop_agent.core.telemetry.telemetry import CUT_MARK, MAX_BYTES, MAX_LINES, Contents
from tests.barrier import Meeting, MeetingTool
from tests.core.mcp.conftest import PROGRAM
from tests.core.tools.servers.conftest import PatientClock
from tests.docs.test_telemetry import documented_spans
from tests.harness import Ground
from tests.servers.otlp_receiver import OtlpReceiver, otlp_receiver
from tests.servers.ports import closed_port

EDIT = Call("edit_file", {"path": "a.py", "old_str": "x = 1\n", "new_str": "x = 2\n"})
READ = Call("read_file", {"path": "a.py"})


def send_to(receiver: OtlpReceiver, ground: Ground, *, include_contents: bool = False) -> None:
    telemetry = TelemetrySettings(otlp_address=receiver.url, include_contents=include_contents)
    ground.settings = Settings(telemetry=telemetry)
    ground.write("a.py", "x = 1\n")


@pytest.fixture
def sender(ground: Ground, receiver: OtlpReceiver) -> Ground:
    """Its sessions send telemetry without contents to the receiver."""
    send_to(receiver, ground)
    return ground


async def test_a_turn_arrives_as_a_tree_of_spans(sender: Ground, receiver: OtlpReceiver) -> None:
    async with sender.session([[READ, READ], [EDIT], [Say("Done.")]]) as s:
        await s.prompt("go", answers=1)
    by_name = {span.name: span for span in receiver.spans}
    turn = by_name["invoke_agent desktop-agent"]
    call, question = by_name["execute_tool edit_file"], by_name["approval"]
    assert turn.parent == b""
    assert {span.trace for span in receiver.spans} == {turn.trace}
    assert [span.name for span in receiver.spans if span.parent == turn.id] == [
        "chat scripted",
        "execute_tool read_file",
        "execute_tool read_file",
        "chat scripted",
        "execute_tool edit_file",
        "chat scripted",
    ]
    assert question.parent == call.id
    assert all(turn.start_ns <= span.start_ns <= span.end_ns <= turn.end_ns for span in receiver.spans)
    assert all(span.attributes["gen_ai.conversation.id"] == s.id for span in receiver.spans)
    assert question.attributes["desktop_agent.approval.decision"] == "allowed"
    assert turn.attributes["desktop_agent.turn.end_reason"] == "completed"


async def test_what_arrives_has_the_documented_names_and_no_others(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground, include_contents=True)
    async with ground.session([[READ], [EDIT], [Say("Done.")]]) as s:
        await s.prompt("go", answers=1)
    spans, metrics = documented_spans(), {form.name: form for form in METRICS}
    for span in receiver.spans:
        assert span.attributes.keys() <= spans[span.name.split()[0]], span.name
    for name, metric in receiver.metrics.items():
        assert (metric.unit, metric.description) == (metrics[name].unit, metrics[name].text)
        for point in receiver.points(name):
            assert point.attributes.keys() <= set(metrics[name].attributes), name
    assert receiver.schema_urls == {SCHEMA_URL}
    for resource in receiver.resources:
        assert resource["service.name"] == "desktop-agent"
        assert resource["service.instance.id"]


async def test_calls_that_never_ran_are_counted_too(sender: Ground, receiver: OtlpReceiver) -> None:
    """Z-66: denied, unknown, invalid and forbidden calls."""
    calls = [READ, Call("no_such_tool"), Call("read_file", malformed="{"), Call("read_file", {"wrong": 1}), EDIT]
    async with sender.session([calls, [Say("ok")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await s.answer(Denied())
        await s.rx.expect(ev.TurnEnded)
    assert receiver.value("tool_calls_total") == 5
    assert receiver.value("tool_errors_total") == 4
    assert receiver.value("tool_errors_total", tool="_OTHER", error_type="not_found") == 1
    assert receiver.value("tool_errors_total", tool="read_file", error_type="validation") == 2
    assert receiver.value("tool_errors_total", tool="edit_file", error_type="denied") == 1
    assert receiver.value("policy_prompts_total", kind="call", decision="denied") == 1
    assert [point.count for point in receiver.points("tool_duration_seconds") if point.attributes["success"]] == [1]


async def test_a_call_that_is_stopped_is_counted_as_cancelled(sender: Ground, receiver: OtlpReceiver) -> None:
    meeting = Meeting(2)
    sender.extra_tools = (MeetingTool(meeting, []),)
    async with sender.session([[Call("meet", {"name": "a"}), EDIT]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await meeting.until(1)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
    assert receiver.value("tool_calls_total") == 2
    assert receiver.value("tool_errors_total", tool="meet", error_type="cancelled") == 1
    assert receiver.value("tool_errors_total", tool="edit_file", error_type="skipped") == 1


async def test_tokens_turns_and_failed_requests_are_measured(sender: Ground, receiver: OtlpReceiver) -> None:
    overloaded = ProviderError("The model is overloaded.", fault="overloaded")
    async with sender.session([[Fail(overloaded)], [Say("Hello.")]]) as s:
        await s.prompt()
    (usage,) = s.rx.all(ev.UsageReported)
    assert receiver.value("tokens_total", **{"gen_ai.token.type": "output"}) == usage.usage.output_tokens
    durations = receiver.points("gen_ai.client.operation.duration")
    counted = {point.attributes.get("error.type"): point.count for point in durations}
    assert counted == {"overloaded": 1, None: 1}
    assert [point.attributes for point in receiver.points("turn_duration_seconds")] == [{"reason": "completed"}]
    assert receiver.value("context_tokens") > 0
    failed, answered = [span for span in receiver.spans if span.name == "chat scripted"]
    assert (failed.is_error, failed.attributes["error.type"]) == (True, "overloaded")
    assert not answered.is_error


async def test_calls_side_by_side_are_measured_as_one_batch(sender: Ground, receiver: OtlpReceiver) -> None:
    async with sender.session([[READ, READ, READ], [READ], [Say("ok")]]) as s:
        await s.prompt()
    (batches,) = receiver.points("parallel_batch_size")
    assert (batches.count, batches.value) == (2, 4)


async def test_an_answer_that_is_stopped_ends_its_spans(sender: Ground, receiver: OtlpReceiver) -> None:
    async with sender.session([[Say("Well"), Hang()]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
    assert [span.name for span in receiver.spans] == ["chat scripted", "invoke_agent desktop-agent"]


async def test_a_compaction_arrives_with_the_request_for_it(sender: Ground, receiver: OtlpReceiver) -> None:
    summary = Say(json.dumps({"goals": ["ship it"]}))
    async with sender.session([[Say("one")], [Say("two")], [summary], [Say("no summary")], [Say("three")]]) as s:
        await s.prompt()
        await s.prompt()
        compacted = await s.carry_out(ops.Compact(), ev.Compacted)
        await s.prompt()
    (span,) = [span for span in receiver.spans if span.name == "compaction"]
    asked = [each for each in receiver.spans if each.attributes.get("desktop_agent.request.purpose") == "summary"]
    assert span.attributes["desktop_agent.compaction.tokens_before"] == compacted.tokens_before
    assert [span.start_ns <= each.start_ns <= each.end_ns <= span.end_ns for each in asked] == [True]
    assert asked[0].parent == span.id
    assert receiver.value("compactions_total", success=True, automatic=False) == 1


async def test_a_summary_that_fails_is_counted(sender: Ground, receiver: OtlpReceiver) -> None:
    refused = ProviderError("No.", fault="invalid_request")
    async with sender.session([[Say("one")], [Say("two")], [Fail(refused)]]) as s:
        await s.prompt()
        await s.prompt()
        await s.carry_out(ops.Compact(), ev.Notice)
    (span,) = [span for span in receiver.spans if span.name == "compaction"]
    assert span.is_error
    assert receiver.value("compactions_total", success=False) == 1


async def test_two_sessions_of_a_process_share_a_way_out_and_are_told_apart(
    sender: Ground, receiver: OtlpReceiver
) -> None:
    async with sender.session([[Say("one")]]) as first, sender.session([[Say("two")]]) as second:
        await first.prompt()
        await second.prompt()
    turns = [span for span in receiver.spans if span.name.startswith("invoke_agent")]
    assert [span.attributes["gen_ai.conversation.id"] for span in turns] == [first.id, second.id]


@pytest.fixture
def with_servers(tmp_path: Path, receiver: OtlpReceiver) -> Ground:
    ground = Ground(tmp_path)
    ground.clock = PatientClock()  # a server's time without a call must pass as it does
    path = ground.paths.config / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'[telemetry]\notlp_address = "{receiver.url}"\n'
        f'[[mcp.definitions]]\nname = "program"\ncommand = "python3"\nargs = ["-S", "{PROGRAM}"]\n'
        '[[mcp.definitions]]\nname = "gone"\ncommand = "no-such-program"\n'
    )
    ground.live = LiveSettings.load(path, {})
    return ground


async def test_starts_calls_and_failures_of_servers_arrive(with_servers: Ground, receiver: OtlpReceiver) -> None:
    calls = [[Call("program__echo", {"text": "hello"})], [Call("program__die")], [Say("ok")]]
    async with with_servers.session(calls) as s:
        await s.prompt("go", answers=2)
    starts = {
        str(span.attributes["desktop_agent.mcp.server"]): span for span in receiver.spans if span.name == "initialize"
    }
    assert starts.keys() == {"program", "gone"}
    assert starts["gone"].is_error
    assert starts["program"].attributes["mcp.protocol.version"]
    called = next(span for span in receiver.spans if span.name == "execute_tool program__echo")
    assert called.attributes["mcp.method.name"] == "tools/call"
    assert called.attributes["gen_ai.tool.type"] == "extension"
    assert receiver.value("mcp_fetches_total", **{"mcp.method.name": "tools/list"}) == 1
    assert receiver.value("mcp_failures_total", **{"mcp.method.name": "tools/call"}) == 1
    assert receiver.value("mcp_failures_total", **{"mcp.method.name": "initialize"}) >= 1
    assert receiver.value("tool_errors_total", tool="program__die") == 1


async def test_an_address_in_the_environment_alone_exports_nothing(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ENDPOINT", "TRACES_ENDPOINT", "METRICS_ENDPOINT"):
        monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{variable}", receiver.url)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    async with ground.session([[Say("a")]]) as s:
        await s.prompt()
    assert receiver.bodies == []


async def test_an_address_in_the_environment_does_not_go_before_the_settings(
    sender: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with otlp_receiver() as other:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", other.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{other.url}/v1/traces")
        async with sender.session([[Say("a")]]) as s:
            await s.prompt()
        assert other.bodies == []
    assert receiver.spans


async def test_attributes_names_and_compression_of_the_environment_are_honoured(
    sender: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=a%20lab,service.instance.id=x,broken")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-agents")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    monkeypatch.setenv("OTEL_EXPERIMENTAL_RESOURCE_DETECTORS", "process,os,host")
    async with sender.session([[Say("a")]]) as s:
        await s.prompt()
    assert receiver.headers[0]["content-encoding"] == "gzip"
    resource = receiver.resources[0]
    assert resource["deployment.environment.name"] == "a lab"
    assert resource["service.name"] == "my-agents"
    assert resource["service.instance.id"] != "x"
    assert [name for name in resource if name.startswith(("process.", "os.", "host."))] == []


@pytest.mark.parametrize(
    ("variable", "value", "has_metrics"),
    [("OTEL_TRACES_SAMPLER", "always_off", True), ("OTEL_SDK_DISABLED", "true", False)],
)
async def test_the_environment_can_switch_off_the_spans_or_all(
    sender: Ground,
    receiver: OtlpReceiver,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    has_metrics: bool,
) -> None:
    monkeypatch.setenv(variable, value)
    async with sender.session([[Say("a")]]) as s:
        assert (await s.prompt()).reason == "completed"
    assert receiver.spans == []
    assert bool(receiver.metrics) is bool(receiver.points("turn_duration_seconds")) is has_metrics


def test_a_command_does_not_get_the_headers_for_the_receiver() -> None:
    for name in ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"):
        assert child_environment({name: "authorization=Basic abc", "PATH": "/bin"}).keys() == {"PATH"}


def notices(events: list[ev.Event]) -> list[ev.Notice]:
    return [event for event in events if isinstance(event, ev.Notice) and event.code == "telemetry"]


def export_every(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(pipeline, "SPANS_EVERY_S", seconds)


async def until_failed(receiver: OtlpReceiver) -> None:
    await asyncio.to_thread(receiver.arrived.wait)


async def test_a_receiver_that_refuses_is_named_once_and_turns_go_on(
    sender: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_every(monkeypatch, 0.01)
    receiver.status = 401
    async with sender.session([[Say("a")], [Say("b")], [Say("c")], [Say("d")]]) as s:
        ends = [(await s.prompt()).reason]
        await until_failed(receiver)
        while not notices(s.rx.events) and len(ends) < 3:
            ends.append((await s.prompt()).reason)
    assert set(ends) == {"completed"}
    (notice,) = notices(s.rx.events)
    assert receiver.url in notice.title
    assert "401" in notice.detail


async def test_a_receiver_that_is_not_there_is_said_in_the_log_when_no_turn_can_say_it(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, expected_logs: list[str]
) -> None:
    monkeypatch.setattr(pipeline, "LAST_FLUSH_S", 0.05)
    expected_logs.append("Telemetry could not be sent")
    with closed_port() as port:
        address = f"http://127.0.0.1:{port}"
        ground.settings = Settings(telemetry=TelemetrySettings(otlp_address=address))
        async with ground.session([[Say("a")]]) as s:
            assert (await s.prompt()).reason == "completed"
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    assert said[0].startswith(f"Telemetry could not be sent to {address}.")


async def test_a_receiver_that_never_answers_holds_nothing_up(
    sender: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]
) -> None:
    export_every(monkeypatch, 0.01)
    monkeypatch.setattr(pipeline, "LAST_FLUSH_S", 0.05)
    expected_logs.append("Telemetry could not be sent")
    receiver.gate.clear()
    async with sender.session([[READ], [Say("a")], [READ], [Say("b")]]) as s:
        assert (await s.prompt()).reason == "completed"
        await until_failed(receiver)
        assert (await s.prompt()).reason == "completed"
    assert receiver.bodies == [], "the session has ended, and the receiver has answered nothing"
    receiver.gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith(("telemetry", "Otel")):
            await asyncio.to_thread(thread.join)


async def test_an_address_that_is_none_is_said_once_and_turns_go_on(ground: Ground) -> None:
    ground.settings = Settings(telemetry=TelemetrySettings(otlp_address="localhost:4318"))
    async with ground.session([[Say("a")], [Say("b")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert (await s.prompt()).reason == "completed"
    (notice,) = notices(s.rx.events)
    assert "must begin with http" in notice.detail


async def test_a_defect_in_telemetry_ends_telemetry_and_nothing_else(
    sender: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, event: ev.Event) -> None:
        raise RuntimeError("sk-ant-" + "a" * 30)

    monkeypatch.setattr(event_fold.EventFold, "apply", broken)
    async with sender.session([[READ], [Say("a")], [Say("b")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert (await s.prompt()).reason == "completed"
    (notice,) = notices(s.rx.events)
    assert notice.detail == "It was ended by a defect: RuntimeError"


async def test_a_file_that_cannot_be_written_is_said(ground: Ground, tmp_path: Path, expected_logs: list[str]) -> None:
    expected_logs.append("Telemetry could not be sent")
    ground.settings = Settings(telemetry=TelemetrySettings(file=str(tmp_path)))
    async with ground.session([[Say("a")]]) as s:
        assert (await s.prompt()).reason == "completed"


async def test_what_is_switched_off_stops_at_once(sender: Ground, receiver: OtlpReceiver) -> None:
    sender.live = LiveSettings(sender.settings)
    async with sender.session([[READ], [Say("a")], [Say("b")], [Say("c")]]) as s:
        await s.prompt()
        await sender.live.change("telemetry.otlp_address", "")
        await s.prompt()
        await sender.live.change("telemetry.otlp_address", receiver.url)
        await s.prompt()
    turns = [span for span in receiver.spans if span.name.startswith("invoke_agent")]
    assert [span.attributes["desktop_agent.turn"] for span in turns] == [1, 3]


async def test_what_is_switched_off_and_on_within_a_turn_goes_on_with_the_next(
    sender: Ground, receiver: OtlpReceiver
) -> None:
    live = sender.live = LiveSettings(sender.settings)
    meeting = Meeting(2)
    sender.extra_tools = (MeetingTool(meeting, []),)
    async with sender.session([[Call("meet", {"name": "a"})], [Say("a")], [Say("b")]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await meeting.until(1)
        await live.change("telemetry.otlp_address", "")
        await meeting.meet()
        await s.rx.expect(ev.ToolCallFinished)
        await live.change("telemetry.otlp_address", receiver.url)
        await s.rx.expect(ev.TurnEnded)
        await s.prompt()
    called = [span for span in receiver.spans if span.name == "execute_tool meet"]
    assert "desktop_agent.tool.output_bytes" not in called[0].attributes, "it was ended before"
    turns = [span for span in receiver.spans if span.name.startswith("invoke_agent")]
    assert [span.attributes.get("desktop_agent.turn.end_reason") for span in turns] == [None, "completed"]


KEY = "sk-ant-api03-" + "Q7z" * 12
PASSWORD = "correct horse battery"
"""Without a recognisable shape: only the environment marks it as a secret."""
SPAN_CONTEXT = SpanContext(trace_id=1, span_id=1, is_remote=False)
MARK = "a-word-of-the-conversation"


async def told_secrets(ground: Ground) -> None:
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
