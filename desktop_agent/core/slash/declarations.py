"""The commands, declared once, and how a line is parsed as one of them.

A quotation mark counts only if it begins a word that also ends with one, so `/pin add don't` needs no quoting.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from desktop_agent.core.base.plain_text import shortened
from desktop_agent.core.base.regex import regex

_BACKQUOTES = regex(r"`+")


def code(text: str) -> str:
    """Return `text` as inline code; line breaks become spaces."""
    line = " ".join(text.split()) or " "
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def short_line(text: str, longest: int = 120) -> str:
    return shortened(" ".join(text.split()), longest)


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKQUOTES.findall(text)), default=0)


Origin = Literal["built-in", "person", "project", "skill", "server", "agent"]
"""`person`: our folder of the user. `project`: our folder of the project. `server`, `agent`: of one."""


class Declaration(Struct, frozen=True, kw_only=True):
    name: str
    arguments: str = ""
    """The syntax of the arguments: `[…]` is optional, `A|B` is a choice, capitals are placeholders."""
    summary: str
    origin: Origin = "built-in"
    asks_model: bool = False
    works_meanwhile: bool = True
    """Whether the command can be carried out while the agent works."""
    problem: str = ""
    """Why the command cannot be used, although it is listed."""


BUILT_IN: tuple[Declaration, ...] = (
    Declaration(name="help", summary="List the commands"),
    Declaration(name="status", summary="Show the model, the tokens in use, compaction and pins"),
    Declaration(
        name="compact",
        arguments="[FOCUS]",
        summary="Summarise the older part of the conversation, keeping FOCUS above all",
        asks_model=True,
        works_meanwhile=False,
    ),
    Declaration(
        name="pin",
        arguments="add [--ttl=SECONDS] TEXT | remove ID | list",
        summary="Keep a text in the model's context, even after compactions",
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
        summary="Go back to before TURN, by default with conversation and files; without TURN, list the turns",
        works_meanwhile=False,
    ),
    Declaration(
        name="undo",
        arguments="[turn [N] | call [ID] | file PATH | all]",
        summary="Undo the agent's changes: those of the last turn, or what you name",
    ),
    Declaration(
        name="redo",
        arguments="[step NUMBER | steps | turn [N] | call [ID] | file PATH | all]",
        summary="Redo the last undo exactly, or what you name; `steps` lists the undos",
    ),
    Declaration(name="diff", summary="Show what the agent changed in this conversation, as a patch"),
    Declaration(
        name="export",
        arguments="[md|html|jsonl|patch] [PATH]",
        summary="Export the conversation or its changes to a file",
    ),
)

_ORIGINS = {
    "built-in": "",
    "person": " (yours)",
    "project": " (of this project)",
    "skill": " (a skill)",
    "server": " (of a server)",
}
_AS_A_PROMPT = "To begin a prompt with a slash, write two slashes, or a space before the slash."

BUILT_IN_NAMES: frozenset[str] = frozenset(command.name for command in BUILT_IN)


def usage(command: Declaration) -> str:
    return f"/{command.name} {command.arguments}".rstrip()


def help_text(built_in: Sequence[Declaration], own: Sequence[Declaration]) -> str:
    parts = [bullets(map(_described, built_in))]
    if own:
        parts.append("Prompts from files and servers, sent to the model:\n\n" + bullets(map(_described, own)))
    return "\n\n".join([*parts, _AS_A_PROMPT])


def _described(command: Declaration) -> str:
    is_ours = command.origin == "built-in"
    summary = command.summary if is_ours else code(command.summary)
    asks = "; asks the model" if is_ours and command.asks_model else ""
    problem = f"; cannot be used: {code(command.problem)}" if command.problem else ""
    return f"{code(usage(command))}{_ORIGINS[command.origin]}: {summary}{asks}{problem}"


_WORD = regex(r'"((?:[^"\\]|\\.)*)"(?=\s|$)|\'([^\']*)\'(?=\s|$)|(\S+)', re.DOTALL)
_ESCAPED = regex(r'\\(["\\])')
_NAME = regex(r"/(\S*)\s*", re.DOTALL)


class Invocation(Struct, frozen=True):
    name: str
    rest: str

    @property
    def words(self) -> tuple[str, ...]:
        return split_words(self.rest)


def is_command(text: str) -> bool:
    return text.startswith("/") and not text.startswith("//")


def prompt_of(text: str) -> str:
    """Return the prompt that `text`, which is not a command, stands for."""
    stripped = text.strip()
    return stripped[1:] if text.startswith("//") else stripped


def typed_prompt(prompt: str) -> str:
    """Return how to type `prompt` so that it is not taken for a command: the inverse of `prompt_of`."""
    return f" {prompt}" if prompt.startswith("/") else prompt


def parse(text: str) -> Invocation:
    """Parse a line as a command. Never fails: an invalid name is an unknown command."""
    text = text.strip()
    match = _NAME.match(text)
    if match is None:
        return Invocation("", text)
    return Invocation(match[1].lower(), text[match.end() :])


def split_words(text: str) -> tuple[str, ...]:
    """Split into words. In double quotes, a backslash escapes a double quote or a backslash."""
    return tuple(_unquoted(match) for match in _WORD.finditer(text))


def first_word(text: str) -> tuple[str, str]:
    """Return the first word of `text`, and the rest unchanged."""
    match = _WORD.match(text.lstrip())
    if match is None:
        return "", ""
    return _unquoted(match), text.lstrip()[match.end() :].strip()


def plain_text(text: str) -> str:
    """Remove quotation marks around all of `text`."""
    text = text.strip()
    match = _WORD.fullmatch(text)
    return _unquoted(match) if match is not None else text


def _unquoted(match: re.Match[str]) -> str:
    double, single, bare = match.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return single if single is not None else bare
