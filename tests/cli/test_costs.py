"""`desktop-agent costs`, and the costs in lists of sessions."""

from datetime import UTC, datetime, time, timedelta

import pytest

from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import ModelRef, ToolCall, ToolResult, Usage
from tests.cli.conftest import MODEL, write_session
from tests.command_line import CommandLine

LOCAL = ModelRef(provider="ollama", model="qwen")
TODAY = datetime.now(UTC).date()


def asked(model: ModelRef | None, cost: float | None, tokens: int = 1_000) -> ev.UsageReported:
    return ev.UsageReported(
        turn=1, usage=Usage(input_tokens=tokens, cache_read_tokens=tokens, cost_usd=cost), model=model
    )


def write(number: int, *requests: ev.KnownEvent, days_ago: int = 0, workspace: str = "/home/ann/a") -> str:
    prompt = ev.PromptSubmitted(turn=1, prompt_id="p", text="An apple")
    noon = datetime.combine(TODAY - timedelta(days=days_ago), time(12), UTC)
    return write_session(number, workspace, prompt, *requests, at=noon)


def test_costs_are_summed_up_by_day_and_model_over_all_sessions(run: CommandLine) -> None:
    write(1, asked(MODEL, 0.1), asked(MODEL, 0.2), asked(LOCAL, 0.0), days_ago=3)
    write(2, asked(MODEL, 0.3), ev.SessionArchived(is_archived=True), days_ago=3)
    write(3, asked(MODEL, 0.5), days_ago=5)
    shown = run("costs", "--json").json
    assert [(one["day"], one["model"], one["requests"], one["usage"]["cost_usd"]) for one in shown["costs"]] == [
        (str(TODAY - timedelta(days=5)), "claude-opus-5-5", 1, 0.5),
        (str(TODAY - timedelta(days=3)), "claude-opus-5-5", 3, 0.6),
        (str(TODAY - timedelta(days=3)), "qwen", 1, 0.0),
    ]
    assert (shown["total"]["cost_usd"], shown["total"]["unpriced_tokens"]) == (1.1, 0)


def test_people_read_a_table_the_newest_day_first(run: CommandLine) -> None:
    write(1, asked(MODEL, 0.1), days_ago=5)
    write(2, asked(MODEL, 0.25), asked(MODEL, 0.05), days_ago=3)
    heading, newest, oldest, _, total = run("costs").out.splitlines()
    assert heading.split("  ")[0] == "day (UTC)"
    assert newest.split() == f"{TODAY - timedelta(days=3)} anthropic claude-opus-5-5 2 4,000 0 50 % $0.30".split()
    assert oldest.endswith("$0.10")
    assert total == "The last 30 days: 3 requests, $0.40."


def test_a_name_without_end_leaves_room_for_the_figures(run: CommandLine) -> None:
    write(1, asked(ModelRef(provider="openrouter", model="a" * 500), 0.1))
    assert max(map(len, run("costs").out.splitlines())) < 140
    assert run("costs", "--json").json["costs"][0]["model"] == "a" * 500


def test_what_is_not_known_is_said_and_not_counted_as_nothing(run: CommandLine) -> None:
    write(1, asked(MODEL, 0.1), asked(MODEL, None), days_ago=3)
    write(2, asked(LOCAL, None), days_ago=3)
    out = run("costs").out
    assert "≥ $0.10\n" in out
    assert "not known\n" in out
    assert out.endswith(
        "The last 30 days: 3 requests, ≥ $0.10. The price of 4,000 tokens is not known: the cost is higher.\n"
    )


def test_only_the_wanted_days_and_the_wanted_folder_are_counted(run: CommandLine) -> None:
    write(1, asked(MODEL, 0.1), days_ago=3)
    write(2, asked(MODEL, 0.2), days_ago=40)
    write(3, asked(MODEL, 0.4), days_ago=3, workspace="/home/ann/b")
    assert run("costs", "--json").json["total"]["cost_usd"] == 0.5
    assert run("costs", "--json", "--days", "50").json["total"]["cost_usd"] == 0.7
    assert run("costs", "--json", "--workspace", "/home/ann/b").json["total"]["cost_usd"] == 0.4


def test_nothing_to_tell_is_told(run: CommandLine) -> None:
    write(1, asked(None, None))
    assert run("costs").out == "No request of the last 30 days is recorded.\n"
    assert run("costs", "--json").json["costs"] == []


@pytest.mark.parametrize("days", ["0", "-1", "many", "9999999999999"])
def test_days_that_cannot_be_are_bad_usage(run: CommandLine, days: str) -> None:
    assert run("costs", "--days", days).code == 2


def called(tool: str, *, took_s: float, error: str = "") -> list[ev.KnownEvent]:
    call = ToolCall(id="c", name=tool, arguments={})
    result = ToolResult(content="", is_error=bool(error), error_type="not_found" if error else None)
    return [
        ev.TurnStarted(turn=1, model=MODEL),
        ev.ToolCallStarted(turn=1, call=call, title="", source="workspace", capabilities=(), is_read_only=True),
        ev.ToolCallFinished(
            turn=1, call_id="c", state="failed" if error else "completed", result=result, duration_s=took_s
        ),
        ev.TurnEnded(turn=1, reason="completed", requests=1, duration_s=2.0),
    ]


@pytest.mark.parametrize("by", ["day", "model", "folder"])
def test_what_was_used_adds_up_to_the_same_costs_by_anything(run: CommandLine, by: str) -> None:
    write(1, asked(MODEL, 0.1), asked(MODEL, None), asked(LOCAL, 0.0), *called("grep", took_s=0.5), days_ago=3)
    write(2, asked(MODEL, 0.3), days_ago=5, workspace="/home/ann/b")
    write(3, asked(MODEL, 9.0), days_ago=40)
    costs, used = run("costs", "--json").json, run("costs", "--by", by, "--json").json
    assert (used["by"], used["from"]) == (by, costs["from"])
    keys = ("requests", "cost_usd", "unpriced_tokens", "output_tokens", "turns")
    for sums in (used["total"], {key: sum(row[key] or 0 for row in used["usage"]) for key in keys}):
        assert sums["requests"] == sum(one["requests"] for one in costs["costs"]) == 4
        assert sums["cost_usd"] == pytest.approx(costs["total"]["cost_usd"])
        assert sums["unpriced_tokens"] == costs["total"]["unpriced_tokens"] == 2_000
        assert (sums["output_tokens"], sums["turns"]) == (0, 1)


def test_tools_are_listed_by_the_time_they_took_with_their_errors(run: CommandLine) -> None:
    write(1, *called("grep", took_s=0.25), *called("grep", took_s=0.75, error="not_found"), days_ago=3)
    write(2, *called("run_terminal_cmd", took_s=75.2), days_ago=3)
    heading, *rows = run("costs", "--by", "tool").out.splitlines()
    assert heading.split() == ["tool", "calls", "failed", "P50", "P95", "P99", "time"]
    assert [row.split("  ") for row in (" ".join(row.split()) for row in rows)] == [
        ["run_terminal_cmd 1 0 1 min 15 s 1 min 15 s 1 min 15 s 1 min 15 s"],
        ["grep 2 1 (50 %) 250 ms 750 ms 750 ms 1.0 s"],
    ]


def test_what_is_not_known_is_said_of_models_and_days_too(run: CommandLine) -> None:
    write(1, asked(LOCAL, None), days_ago=3)
    assert "not known" in run("costs", "--by", "model").out
    assert run("costs", "--by", "model", "--json").json["usage"][0]["cost_usd"] is None
    assert run("costs", "--by", "folder", "--days", "1").out == "Nothing of today is recorded.\n"


def test_a_session_says_what_it_cost(run: CommandLine) -> None:
    known = write(1, asked(MODEL, 0.42), days_ago=3)
    part = write(2, asked(MODEL, 0.42), asked(MODEL, None), days_ago=3)
    unknown = write(3, asked(MODEL, None), days_ago=3)
    unused = write(4, days_ago=3)
    by_id = {line.split()[0]: line for line in run("sessions", "list").out.splitlines()}
    assert "  $0.42  " in by_id[known]
    assert "≥ $0.42  " in by_id[part]
    assert "$" not in by_id[unknown]
    heads = {name: run("sessions", "show", name).out.splitlines()[2] for name in (known, part, unknown, unused)}
    assert heads == {
        known: "$0.42 · 2,000 tokens read, 0 written",
        part: "≥ $0.42 · 4,000 tokens read, 0 written",
        unknown: "cost not known · 2,000 tokens read, 0 written",
        unused: "",
    }
    assert run("sessions", "show", known, "--json").json["usage"]["cost_usd"] == 0.42
