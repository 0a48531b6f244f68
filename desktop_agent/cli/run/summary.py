"""What `desktop-agent run` prints at its end, for people."""

from typing import cast

from desktop_agent.core.base.plain_text import cost_text
from desktop_agent.headless import RunResult


def summary_of(result: RunResult) -> str:
    """The result in words."""
    if result.is_command:
        return result.final_response
    lines = [result.final_response or "<no final response>", "---"]
    lines.append(f"Stopped reason: {result.stopped_reason} (turns: {result.turns_used})")
    lines.append(f"Session: {result.session_id}")
    if cost := cost_text(result.usage.cost_usd, is_partial=result.usage.is_cost_partial):
        lines.append(f"Cost: {cost}")
    lines.append("Tools executed:")
    for event in result.tools:
        state = "skipped" if event["skipped"] else "error" if event["is_error"] else "ok"
        paths = cast("list[str]", event["paths"])
        where = f" paths={','.join(paths)}" if paths else ""
        lines.append(f"- turn {event['turn']}: {event['tool']} [{state}]{where}")
    if not result.tools:
        lines.append("none")
    if result.edited_files:
        lines.append("Edited files: " + ", ".join(result.edited_files))
    lines += [str(summary["summary"]) for summary in result.turn_summaries]
    if result.undo_operations is not None:
        lines += ["Undo operations:", *(f"- {operation}" for operation in result.undo_operations)]
    return "\n".join(lines)
