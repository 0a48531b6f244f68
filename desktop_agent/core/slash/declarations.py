"""The commands, declared once: what `/help`, the popup of the composer, the user guide and the tests are made from."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from desktop_agent.core.slash.wording import bullets, code

Origin = Literal["built-in", "person", "project", "server"]
"""Who wrote a command: it comes with the application, from the user's folder, the project's, or an MCP server."""


class Declaration(Struct, frozen=True, kw_only=True):
    """One command as a user sees it."""

    name: str
    """Without the slash."""
    arguments: str = ""
    """`[…]` may be left out, `A|B` is one of them; what stands in capitals is filled in."""
    summary: str
    """What it does, in one line."""
    origin: Origin = "built-in"
    asks_model: bool = False
    """Whether carrying it out sends a request to the model."""
    works_meanwhile: bool = True
    """Whether it can be carried out while the agent works."""
    problem: str = ""
    """Why it cannot be used; it is listed all the same."""


BUILT_IN: tuple[Declaration, ...] = (
    Declaration(name="help", summary="List the commands"),
    Declaration(name="status", summary="Show the model, the tokens in use, compaction and pins"),
    Declaration(
        name="compact",
        arguments="[FOCUS]",
        summary="Summarise the older part of the conversation, FOCUS above all",
        asks_model=True,
        works_meanwhile=False,
    ),
    Declaration(
        name="pin",
        arguments="add [--ttl=SECONDS] TEXT | remove ID | list",
        summary="Keep a text in the model's sight, also after compactions",
    ),
    Declaration(name="unpin", arguments="ID", summary="Remove a pin"),
    Declaration(
        name="config", arguments="[KEY | set KEY=VALUE]", summary="Show settings, or change one from the next step on"
    ),
    Declaration(name="model", arguments="[PROVIDER/NAME | NAME]", summary="Show the model, or choose another"),
    Declaration(name="effort", arguments="[LEVEL]", summary="Show how much the model thinks, or set it"),
    Declaration(name="clear", summary="Begin a new conversation in this folder; this one stays in the list"),
    Declaration(name="fork", arguments="[TURN]", summary="Go on in a copy of the conversation, as it was before TURN"),
    Declaration(
        name="rewind",
        arguments="[TURN [conversation|files|both]]",
        summary="Go back to before TURN, with both by default; without TURN, list the turns",
        works_meanwhile=False,
    ),
    Declaration(
        name="undo",
        arguments="[turn [N] | call [ID] | file PATH | all]",
        summary="Take the agent's changes back: those of the last turn, or what you name",
        works_meanwhile=False,
    ),
    Declaration(
        name="redo",
        arguments="[step NUMBER | steps | turn [N] | call [ID] | file PATH | all]",
        summary="Take back the last undo exactly, or what you name; `steps` lists the undos",
        works_meanwhile=False,
    ),
    Declaration(name="diff", summary="Show what the agent changed in this conversation, as a patch"),
    Declaration(
        name="export",
        arguments="[md|html|jsonl|patch] [PATH]",
        summary="Write the conversation or its changes to a file of yours",
    ),
)
"""The commands of the application, in the order of `/help`."""

_ORIGINS = {"built-in": "", "person": " (yours)", "project": " (of this project)", "server": " (of a server)"}
_AS_A_PROMPT = "A prompt that begins with a slash is written with two, or with a space in front."

BUILT_IN_NAMES: frozenset[str] = frozenset(command.name for command in BUILT_IN)


def usage(command: Declaration) -> str:
    """Return how a command is written: `/pin add …`."""
    return f"/{command.name} {command.arguments}".rstrip()


def help_text(built_in: Sequence[Declaration], own: Sequence[Declaration]) -> str:
    """Return what `/help` says."""
    parts = [bullets(map(_described, built_in))]
    if own:
        parts.append("Prompts from files and servers, sent to the model:\n\n" + bullets(map(_described, own)))
    return "\n\n".join([*parts, _AS_A_PROMPT])


def _described(command: Declaration) -> str:
    """Return one command on one line. Words from files come as code."""
    is_ours = command.origin == "built-in"
    summary = command.summary if is_ours else code(command.summary)
    asks = "; asks the model" if is_ours and command.asks_model else ""
    problem = f"; cannot be used: {code(command.problem)}" if command.problem else ""
    return f"{code(usage(command))}{_ORIGINS[command.origin]}: {summary}{asks}{problem}"
