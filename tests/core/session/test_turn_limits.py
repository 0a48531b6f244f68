"""What one turn may cost and how long it may take: at the limit it ends in order, and the session goes on."""

import asyncio

from desktop_agent.core.base.errors import ProviderError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol import ops
from desktop_agent.core.protocol.model import ToolUseBlock
from desktop_agent.core.providers.scripted import Call, Cost, Fail, Hang, Reply, Say
from desktop_agent.core.session.spending import TurnLimits
from tests.harness import Ground, ImpatientClock, check_conversation


class Alarm(ImpatientClock):
    """A clock on which the time of a turn is over when the test says so."""

    def __init__(self, limit_s: float) -> None:
        super().__init__()
        self._limit_s = limit_s
        self.rings = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        if seconds == self._limit_s:
            await self.rings.wait()
        else:
            await super().sleep(seconds)


def look(usd: float | None) -> Reply:
    return [Call("list_files", {}), Cost(usd)]


def codes(events: list[ev.Notice]) -> list[str]:
    return [notice.code for notice in events]


async def test_a_turn_that_has_cost_as_much_as_it_may_asks_no_more(ground: Ground) -> None:
    async with ground.session([look(0.25)] * 9, limits=TurnLimits(max_cost_usd=0.5)) as s:
        ended = await s.prompt()
        assert (ended.reason, ended.requests) == ("limit", 2)
        (notice,) = s.rx.all(ev.Notice)
        assert (notice.code, notice.level, notice.turn) == ("max_cost", "error", 1)
        assert notice.title == "The turn has cost $0.50, and may cost $0.50."


async def test_each_turn_has_its_own_costs(ground: Ground) -> None:
    replies = [look(0.25), [Say("One."), Cost(0.2)], look(0.25), [Say("Two."), Cost(0.2)]]
    async with ground.session(replies, limits=TurnLimits(max_cost_usd=0.4)) as s:
        assert [(await s.prompt()).reason for _ in range(2)] == ["completed", "completed"]
        check_conversation(s.last_request)


async def test_an_unknown_price_is_named_once_where_a_limit_depends_on_it(ground: Ground) -> None:
    async with ground.session([look(None), look(None), [Say("Done.")]], limits=TurnLimits(max_cost_usd=1.0)) as s:
        assert (await s.prompt()).reason == "completed"
        (notice,) = s.rx.all(ev.Notice)
        assert (notice.code, notice.level) == ("unknown_price", "warning")
        assert notice.title == "The price of scripted is not known, so cost limits do not apply to it."
    async with ground.session([look(None), [Say("Done.")]]) as s:
        assert (await s.prompt()).reason == "completed"
        assert s.rx.all(ev.Notice) == []


async def test_a_turn_whose_time_is_over_keeps_what_was_said_and_answers_its_call(ground: Ground) -> None:
    ground.clock = alarm = Alarm(60.0)
    command = Call("run_terminal_cmd", {"command": "sleep 600", "explanation": "Wait"})
    replies = [[Say("I wait."), command], [Say("Half an ans"), Hang()], [Say("Whole.")]]
    async with ground.session(replies, limits=TurnLimits(max_time_s=60.0), approval="never") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolCallStarted)
        alarm.rings.set()
        assert (await s.rx.expect(ev.TurnEnded)).reason == "limit"
        alarm.rings.clear()
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.TextDelta)
        alarm.rings.set()
        assert (await s.rx.expect(ev.TurnEnded)).reason == "limit"
        assert codes(s.rx.all(ev.Notice)) == ["max_time", "max_time"]
        assert s.rx.all(ev.Notice)[0].title == ("The turn was stopped after 60 seconds, its time limit.")
        alarm.rings.clear()
        assert (await s.prompt()).reason == "completed"
        check_conversation(s.last_request)
        (asked,) = [
            block for done in s.rx.all(ev.MessageDone) for block in done.content if isinstance(block, ToolUseBlock)
        ]
        (answered,) = s.rx.all(ev.ToolCallFinished)
        assert (answered.call_id, answered.state) == (asked.id, "failed")


async def test_the_time_of_a_turn_includes_its_waits_for_the_model(ground: Ground) -> None:
    class Waits(Alarm):
        async def sleep(self, seconds: float) -> None:
            if seconds == 60.0:
                await super().sleep(seconds)
            else:
                self.rings.set()
                await asyncio.get_running_loop().create_future()

    ground.clock = Waits(60.0)
    overloaded = Fail(ProviderError("Busy.", fault="overloaded", hint="Start the server.", detail="HTTP 529"))
    async with ground.session([[overloaded], [Say("Late.")]], limits=TurnLimits(max_time_s=60.0)) as s:
        assert (await s.prompt()).reason == "limit"
        notices = s.rx.all(ev.Notice)
        assert codes(notices) == ["retrying", "max_time"]
        assert "Its last request failed: Busy. Start the server." in notices[-1].hint, (
            "what was in the way is named, too"
        )
        assert notices[-1].detail == "HTTP 529"


async def test_a_failure_that_was_overcome_is_not_named_by_a_turn_whose_time_is_over(ground: Ground) -> None:
    ground.clock = alarm = Alarm(60.0)
    overloaded = Fail(ProviderError("Busy.", fault="overloaded"))
    command = Call("run_terminal_cmd", {"command": "sleep 600", "explanation": "Wait"})
    async with ground.session([[overloaded], [command]], limits=TurnLimits(max_time_s=60.0), approval="never") as s:
        await s.carry_out(ops.SubmitPrompt(text="go"), ev.ToolCallStarted)
        alarm.rings.set()
        await s.rx.expect(ev.TurnEnded)
        notices = s.rx.all(ev.Notice)
        assert codes(notices) == ["retrying", "max_time"]
        assert "Busy" not in notices[-1].hint
