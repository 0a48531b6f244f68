from datetime import date, timedelta

from desktop_agent.core.protocol.model import Spending, Usage
from desktop_agent.core.usage.report import Durations, ModelUse, SessionFigures, ToolUse, UsageReport, report_of
from desktop_agent.ui.usage.usage_report import Shown, shown_of

TODAY = date(2026, 11, 25)
YESTERDAY = TODAY - timedelta(days=1)


def spent(
    model: str = "opus", cost_usd: float | None = 0.5, *, day: date = TODAY, tokens: int = 1_000, requests: int = 2
) -> Spending:
    usage = Usage(input_tokens=tokens, output_tokens=100, cost_usd=cost_usd)
    return Spending(day=day, provider="anthropic", model=model, requests=requests, usage=usage)


def calls(tool: str, number: int, *, failed: int = 0, took_ms: int = 10, day: date = TODAY) -> ToolUse:
    took = Durations({took_ms * 1_000: number}, took_ms * number / 1_000)
    return ToolUse(day=day, tool=tool, calls=number, failed={"not_found": failed} if failed else {}, took=took)


def turns(model: str = "opus", number: int = 3, *, failed: int = 0, day: date = TODAY) -> ModelUse:
    ends = {"completed": number - failed, "provider_error": failed}
    answered = Durations({2_000_000: number, 9_000_000: 1}, 2.0 * number + 9.0)
    return ModelUse(
        day=day, provider="anthropic", model=model, answered=answered, turns=number, ends=ends, turn_s=60.0 * number
    )


SESSIONS = (
    SessionFigures(
        workspace="/srv/shop",
        spending=(spent(), spent("haiku", 0.25, day=YESTERDAY), spent("new", None, day=YESTERDAY, tokens=2_000)),
        tools=(calls("grep", 9, failed=1), calls("run_terminal_cmd", 4, failed=3, took_ms=2_500, day=YESTERDAY)),
        models=(turns(failed=1), turns("haiku", 1, day=YESTERDAY)),
    ),
    SessionFigures(workspace="/srv/site", spending=(spent(cost_usd=0.75),), tools=(calls("grep", 1),), models=()),
)


def report(*sessions: SessionFigures, days: int | None = 7) -> UsageReport:
    first = TODAY - timedelta(days=days - 1) if days is not None else None
    return report_of(sessions or SESSIONS, first, TODAY)


def shown(*sessions: SessionFigures, days: int | None = 7) -> Shown:
    return shown_of(report(*sessions, days=days))


def empty() -> Shown:
    return shown_of(report_of((), YESTERDAY, TODAY))
