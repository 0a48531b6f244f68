"""Writes `docs/settings.md` from the declarations: `python packaging/tools/settings_page.py`."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import cast

from desktop_agent.core.settings.values import Setting, declared_section, declared_settings, shown_value


def as_code(text: str) -> str:
    """Return `text` as code in markdown."""
    return f"``{text} ``" if "`" in text else f"`{text}`"


PAGE = Path(__file__).parents[2] / "docs" / "settings.md"

_HEAD = """\
# Settings

<!-- Written by `python packaging/tools/settings_page.py` from desktop_agent/core/settings/sections.py. -->

Where the file is, how a change takes effect, what a project may say: [user guide](guide/settings-and-help.md#settings).
A choice may be written in capitals, a number in quotes, a list as one text with commas. An empty text stands for the
default. Which mistakes let nothing run, and where a default stands in, is in the user guide, too. The tables
`[[mcp.definitions]]` are described in [MCP servers](guide/mcp.md), `[[agents]]` in [Other agents](guide/agents.md),
`[[hooks.definitions]]` in [Hooks](guide/hooks.md), `[[diagnostics.definitions]]`
in [Diagnostics](guide/diagnostics.md).
"""

_EFFECTS = {
    "now": "",
    "next session": "Applies to new sessions.",
    "next run": "Applies from the next run.",
    "next start": "Applies when the window is next opened.",
}

_TIGHTENINGS = {
    "stricter": "A project may make it stricter.",
    "more": "A project may add entries.",
    "lower": "A project may lower it.",
    "own": "A project may set its own.",
}


def settings_page() -> str:
    """Return the document as the declarations have it."""
    parts = [_HEAD]
    for section, settings in groupby(declared_settings().values(), lambda setting: setting.section):
        about = declared_section(section)
        rows = "\n".join(map(_row, settings))
        parts.append(
            f"## `[{section}]`: {about.title}\n\n{about.text}\n\n"
            f"| setting | what it does | default | allowed |\n| --- | --- | --- | --- |\n{rows}\n"
        )
    parts.append(f"## All defaults\n\n```toml\n{_defaults()}```\n")
    return "\n".join(parts)


def _row(setting: Setting) -> str:
    about = setting.about
    name = setting.key.rpartition(".")[2]
    is_keys = about.holds == "keys"
    notes = [
        "" if is_keys else about.text,
        "" if setting.choices else " ".join(f"`{value}`: {meaning}." for value, meaning in about.words.items()),
        _variables(about.variables),
        _EFFECTS[about.effect],
        _TIGHTENINGS[about.tightening] if about.tightening else "",
    ]
    default = f"`{shown_value(setting.default)}`" if setting.default not in (None, "", ()) else ""
    if is_keys and default:
        default = ", ".join(map(as_code, cast("tuple[str, ...]", setting.default)))
    elif setting.kind == "texts" and default:
        default = "see below"
    unset = f"not set: {about.unset}" if about.unset else "nothing"
    allowed = ", ".join(f"`{choice}`" for choice in setting.choices) or setting.allowed
    what = f"**{about.title.removesuffix('…')}.** {' '.join(filter(None, notes))}".strip()
    unit = {1: about.unit, 1024: "bytes", 2**20: "bytes"}[about.per_unit]
    allowed = f"{allowed}, {unit}" if unit else allowed
    return f"| `{name}` | {what} | {default or unset} | {allowed} |"


def _variables(by_provider: Mapping[str, str]) -> str:
    """Say which environment variables go before the file, and with which providers."""
    providers: dict[str, list[str]] = {}
    for provider, variable in by_provider.items():
        providers.setdefault(variable, []).append(f"`{provider}`")
    return " ".join(
        f"With the provider {' or '.join(names)}, the environment variable `{variable}` overrides the file."
        for variable, names in providers.items()
    )


def _defaults() -> str:
    lines: list[str] = []
    for section, settings in groupby(declared_settings().values(), lambda setting: setting.section):
        lines += [f"[{section}]", *map(_assignment, settings), ""]
    return "\n".join(lines[:-1]) + "\n"


def _assignment(setting: Setting) -> str:
    name = setting.key.rpartition(".")[2]
    return f"# {name} is not set" if setting.default is None else f"{name} = {shown_value(setting.default)}"


if __name__ == "__main__":
    PAGE.write_text(settings_page(), encoding="utf-8")
