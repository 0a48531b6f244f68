"""The telemetry of a tool call, against making the call's lines of the journal.

The events of a real session are folded repeatedly into the SDK's spans and metrics, which are sent to a receiver on
loopback. Only the processor time of the session's thread counts. The yardstick is the JSON of the same events. With
telemetry off, the benchmark checks that nobody listens.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from desktop_agent.core.base.clock import SystemClock
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.codec import encode_event
from desktop_agent.core.providers.scripted import Call, Say
from desktop_agent.core.settings.sections import TelemetrySettings
from desktop_agent.core.telemetry.pipeline import SdkPipeline
from desktop_agent.core.telemetry.telemetry import Health, SessionFacts
from tests.harness import Ground
from tests.servers.otlp_receiver import otlp_receiver

LIMIT_MS = 1.0
CALLS = 200
LINES = 400
"""Of the file that each call reads, some 20 kB."""


def per_call_ms(step: Callable[[], None], repeats: int) -> float:
    """Return the median processor time of one call on this thread."""
    times: list[float] = []
    for _ in range(repeats):
        begun = time.thread_time()
        step()
        times.append((time.thread_time() - begun) * 1000 / CALLS)
    return median(times)


async def recorded(ground: Ground) -> Sequence[ev.Event]:
    ground.write("a.py", "a line of code that is long enough to be one\n" * LINES)
    replies = [[Call("read_file", {"path": "a.py"})] for _ in range(CALLS)]
    async with ground.session([*replies, [Say("ok")]]) as s:
        await s.prompt()
        assert s.session._parts.recorder._observer is None, "off: nobody listens"  # pyright: ignore[reportPrivateUsage]
    assert len(s.rx.all(ev.ToolCallFinished)) == CALLS
    return s.rx.events


async def test_a_call_costs_little_more_with_telemetry(tmp_path: Path, is_nightly: bool) -> None:
    events = await recorded(Ground(tmp_path))
    repeats = 30 if is_nightly else 7

    def as_json() -> None:
        for event in events:
            json.dumps(encode_event(event))

    taken: dict[bool, float] = {}
    for include_contents in (False, True):
        with otlp_receiver() as receiver:
            wanted = TelemetrySettings(otlp_address=receiver.url, include_contents=include_contents)
            pipeline = SdkPipeline(wanted, {}, "bench", Health(receiver.url, ()))
            facts = SessionFacts(session_id="bench", is_tool=lambda name: name == "read_file", clock=SystemClock())
            fold = pipeline.fold(facts)

            def all_folded(apply: Callable[[ev.Event], None] = fold.apply) -> None:
                for event in events:
                    apply(event)

            taken[include_contents] = per_call_ms(all_folded, repeats)
            await pipeline.aclose()
            assert receiver.bodies
    yardstick = per_call_ms(as_json, repeats)
    rows = [
        ("without contents", taken[False]),
        ("with contents", taken[True]),
        ("yardstick: its lines of JSON", yardstick),
    ]
    lines = [
        f"one call that reads {LINES} lines, with the request for it ({CALLS} in a turn), limit {LIMIT_MS:.1f} ms",
        f"{'':32}{'ms':>8}{'ratio':>8}",
        *(f"{name:32}{ms:8.3f}{ms / yardstick:8.2f}" for name, ms in rows),
    ]
    print(*lines, sep="\n")
    assert max(taken.values()) <= LIMIT_MS
