"""The variables that commands do not get, named when one of them is what a command failed for.

A guess from what the command line and its output say. It gives a name, never a value.
"""

import re
from collections.abc import Collection, Mapping

from desktop_agent.core.protocol.model import ToolResult
from desktop_agent.core.tools.output import printed_in

KEPT_BACK_KEY = "kept_back"
"""In a result's metadata: the names of these variables."""

_LOOKED_AT = 16_000
"""Characters from the end: the reason for a failure is printed last."""
MOST_NAMED = 3
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{1,99}")
_USED_AS_A_VARIABLE = (
    r"(?:\$\{{?[!#]?|%)(?:env:)?{name}\b"  # $NAME, ${{NAME:-}}, %NAME%, $env:NAME
    r"|\b(?:printenv|getenv|lookupenv|environ\w*|env)\b[^\w\n]{{1,6}}(?:get\W{{1,3}})?{name}\b"
    r"|\b(?:variables?|env var)\b[^\w\n]{{1,16}}(?:[\w ]{{1,16}}: )?['\"`]?{name}\b"
    r"|\b{name}\b['\"`]? (?:environment |env )?var(?:iable)?\b"
    r"|\b{name}\b['\"`]?:? (?:\w+ ){{0,2}}(?:unbound|unset|undefined|missing|required|null|not (?:set|defined|found))\b"
    r"|(?i:keyerror).{{0,20}}['\"]{name}['\"]"
)


def kept_back_in(
    command: str, result: ToolResult, kept_back: Mapping[str, str], given: Collection[str] = ()
) -> dict[str, str]:
    """Return which of `kept_back` a failed command seems to miss, each with its reason.

    `given` are variables that the call sets itself; those that the command line assigns do not count either.
    """
    if not result.is_error or not kept_back:
        return {}
    output = printed_in(result.content)[-_LOOKED_AT:]
    named = dict.fromkeys(_NAME.findall(f"{command}\n{output}"))
    missed = {
        name: kept_back[name]
        for name in named
        if name in kept_back and name not in given and _is_missed(name, command, output)
    }
    return dict(list(missed.items())[-MOST_NAMED:])


def sentences_about(missed: Mapping[str, str]) -> str:
    """Return what the model and the user read about these variables."""
    return " ".join(
        f"{name} is kept back from commands ({reason}). The setting `passed_variables` passes it on, from the next "
        "session on."
        for name, reason in missed.items()
    )


def _is_missed(name: str, command: str, output: str) -> bool:
    if re.search(rf"(?<![\w$])\+?{name}\+?=", command):
        return False
    # A word such as TOKEN or DISPLAY is one in many texts, API_TOKEN is a variable wherever it is printed.
    if "_" in name.strip("_") and re.search(rf"\b{name}\b", output):
        return True
    used = re.compile(_USED_AS_A_VARIABLE.format(name=name))
    return any(used.search(text) is not None for text in (command, output))
