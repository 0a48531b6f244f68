"""What a receiver gets of a session, over HTTP, decoded by OTLP's own classes."""

import json

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import Denied
from desktop_agent.core.providers.scripted import Call, Fail, Hang, Say
from desktop_agent.core.telemetry.conventions import METRICS, SCHEMA_URL
from tests.barrier import Meeting, MeetingTool
from tests.core.telemetry.sending import send_to
from tests.docs.test_telemetry import documented_spans
from tests.harness import Ground
from tests.servers.otlp_receiver import OtlpReceiver

EDIT = Call("edit_file", {"path": "a.py", "old_str": "x = 1\n", "new_str": "x = 2\n"})
READ = Call("read_file", {"path": "a.py"})


async def test_a_turn_arrives_as_a_tree_of_spans(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    async with ground.session([[READ, READ], [EDIT], [Say("Done.")]]) as s:
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


async def test_calls_that_never_ran_are_counted_too(ground: Ground, receiver: OtlpReceiver) -> None:
    """Z-66: denied, unknown, invalid and forbidden ones."""
    send_to(receiver, ground)
    calls = [READ, Call("no_such_tool"), Call("read_file", malformed="{"), Call("read_file", {"wrong": 1}), EDIT]
    async with ground.session([calls, [Say("ok")]]) as s:
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


async def test_a_call_that_is_stopped_is_counted_as_cancelled(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    meeting = Meeting(2)
    ground.extra_tools = (MeetingTool(meeting, []),)
    async with ground.session([[Call("meet", {"name": "a"}), EDIT]]) as s:
        s.submit(ops.SubmitPrompt(text="go"))
        await meeting.until(1)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
    assert receiver.value("tool_calls_total") == 2
    assert receiver.value("tool_errors_total", tool="meet", error_type="cancelled") == 1
    assert receiver.value("tool_errors_total", tool="edit_file", error_type="skipped") == 1


async def test_tokens_turns_and_failed_requests_are_measured(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    overloaded = ProviderError("The model is overloaded.", fault="overloaded")
    async with ground.session([[Fail(overloaded)], [Say("Hello.")]]) as s:
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


async def test_calls_side_by_side_are_measured_as_one_batch(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    async with ground.session([[READ, READ, READ], [READ], [Say("ok")]]) as s:
        await s.prompt()
    (batches,) = receiver.points("parallel_batch_size")
    assert (batches.count, batches.value) == (2, 4)


async def test_an_answer_that_is_stopped_ends_its_spans(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    async with ground.session([[Say("Well"), Hang()]]) as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        await s.carry_out(ops.Interrupt(), ev.TurnEnded)
    assert [span.name for span in receiver.spans] == ["chat scripted", "invoke_agent desktop-agent"]


async def test_a_compaction_arrives_with_the_request_for_it(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    summary = Say(json.dumps({"goals": ["ship it"]}))
    async with ground.session([[Say("one")], [Say("two")], [summary], [Say("no summary")], [Say("three")]]) as s:
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


async def test_a_summary_that_fails_is_counted(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    refused = ProviderError("No.", fault="invalid_request")
    async with ground.session([[Say("one")], [Say("two")], [Fail(refused)]]) as s:
        await s.prompt()
        await s.prompt()
        await s.carry_out(ops.Compact(), ev.Notice)
    (span,) = [span for span in receiver.spans if span.name == "compaction"]
    assert span.is_error
    assert receiver.value("compactions_total", success=False) == 1


async def test_two_sessions_of_a_process_share_a_way_out_and_are_told_apart(
    ground: Ground, receiver: OtlpReceiver
) -> None:
    send_to(receiver, ground)
    async with ground.session([[Say("one")]]) as first, ground.session([[Say("two")]]) as second:
        await first.prompt()
        await second.prompt()
    turns = [span for span in receiver.spans if span.name.startswith("invoke_agent")]
    assert [span.attributes["gen_ai.conversation.id"] for span in turns] == [first.id, second.id]
