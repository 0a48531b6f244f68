"""`/help`: the commands there are."""

from collections.abc import Sequence

from desktop_agent.core.slash.declarations import Declaration, usage
from desktop_agent.core.slash.wording import bullets, code

_ORIGINS = {"built-in": "", "person": " (yours)", "project": " (of this project)"}
_ESCAPE = "A prompt that begins with a slash is written with two, or with a space in front."


def help_text(built_in: Sequence[Declaration], own: Sequence[Declaration]) -> str:
    """Return what `/help` says."""
    parts = [bullets(map(described, built_in))]
    if own:
        parts.append("Prompts from files, sent to the model:\n\n" + bullets(map(described, own)))
    return "\n\n".join([*parts, _ESCAPE])


def described(command: Declaration) -> str:
    """Return one command on one line. Words from files come as code."""
    is_ours = command.origin == "built-in"
    summary = command.summary if is_ours else code(command.summary)
    asks = "; asks the model" if is_ours and command.asks_model else ""
    problem = f"; cannot be used: {code(command.problem)}" if command.problem else ""
    return f"{code(usage(command))}{_ORIGINS[command.origin]}: {summary}{asks}{problem}"
