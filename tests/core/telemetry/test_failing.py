"""A receiver that is dead, slow or refuses, and telemetry that fails: the turn goes on, and it is said once."""

import asyncio
import logging
import socket
import threading
from pathlib import Path

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.live_settings import LiveSettings
from desktop_agent.core.settings.sections import Settings, TelemetrySettings
from desktop_agent.core.telemetry import event_fold, pipeline
from tests.barrier import Meeting, MeetingTool
from tests.core.telemetry.sending import send_to
from tests.harness import Ground
from tests.servers.otlp_receiver import OtlpReceiver

READ = Call("read_file", {"path": "a.py"})


def notices(events: list[ev.Event]) -> list[ev.Notice]:
    return [event for event in events if isinstance(event, ev.Notice) and event.code == "telemetry"]


def export_every(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(pipeline, "SPANS_EVERY_S", seconds)


async def until_failed(receiver: OtlpReceiver) -> None:
    """Wait until the receiver has refused something."""
    await asyncio.to_thread(receiver.arrived.wait)


async def test_a_receiver_that_refuses_is_named_once_and_turns_go_on(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_every(monkeypatch, 0.01)
    send_to(receiver, ground)
    receiver.status = 401
    async with ground.session([[Say("a")], [Say("b")], [Say("c")], [Say("d")]]) as s:
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
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    ground.settings = Settings(telemetry=TelemetrySettings(otlp_address=address))
    async with ground.session([[Say("a")]]) as s:
        assert (await s.prompt()).reason == "completed"
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(said) == 1
    assert said[0].startswith(f"Telemetry could not be sent to {address}.")


async def test_a_receiver_that_never_answers_holds_nothing_up(
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch, expected_logs: list[str]
) -> None:
    export_every(monkeypatch, 0.01)
    monkeypatch.setattr(pipeline, "LAST_FLUSH_S", 0.05)
    expected_logs.append("Telemetry could not be sent")
    receiver.gate.clear()
    send_to(receiver, ground)
    async with ground.session([[READ], [Say("a")], [READ], [Say("b")]]) as s:
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
    ground: Ground, receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, event: ev.Event) -> None:
        raise RuntimeError("sk-ant-" + "a" * 30)

    monkeypatch.setattr(event_fold.EventFold, "apply", broken)
    send_to(receiver, ground)
    async with ground.session([[READ], [Say("a")], [Say("b")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert (await s.prompt()).reason == "completed"
    (notice,) = notices(s.rx.events)
    assert notice.detail == "It was ended by a defect: RuntimeError"


async def test_a_file_that_cannot_be_written_is_said(ground: Ground, tmp_path: Path, expected_logs: list[str]) -> None:
    expected_logs.append("Telemetry could not be sent")
    ground.settings = Settings(telemetry=TelemetrySettings(file=str(tmp_path)))
    async with ground.session([[Say("a")]]) as s:
        assert (await s.prompt()).reason == "completed"


async def test_what_is_switched_off_stops_at_once(ground: Ground, receiver: OtlpReceiver) -> None:
    send_to(receiver, ground)
    ground.live = LiveSettings(ground.settings)
    async with ground.session([[READ], [Say("a")], [Say("b")], [Say("c")]]) as s:
        await s.prompt()
        await ground.live.change("telemetry.otlp_address", "")
        await s.prompt()
        await ground.live.change("telemetry.otlp_address", receiver.url)
        await s.prompt()
    turns = [span for span in receiver.spans if span.name.startswith("invoke_agent")]
    assert [span.attributes["desktop_agent.turn"] for span in turns] == [1, 3]


async def test_what_is_switched_off_and_on_within_a_turn_goes_on_with_the_next(
    ground: Ground, receiver: OtlpReceiver
) -> None:
    send_to(receiver, ground)
    live = ground.live = LiveSettings(ground.settings)
    meeting = Meeting(2)
    ground.extra_tools = (MeetingTool(meeting, []),)
    async with ground.session([[Call("meet", {"name": "a"})], [Say("a")], [Say("b")]]) as s:
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
