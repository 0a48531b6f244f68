"""Which settings the user's safety depends on, and which of them a misspelt key was probably meant to be.

A mistake in one of these is not replaced with a default: nothing runs until it is mended or the user decides.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import cast

from desktop_agent.core.settings.values import declared_settings

_SAFETY = re.compile(
    r"""
      (?:execution|safety_copy|tools\.limits)\..*     # questions, sandbox, what may be written, what is copied before
    | spending\..*                                   # what may be spent without a question
    | model\.(?:provider|account|base_url|fallback|allow_readable_proxy|web_search)   # where words and keys go
    | runner\.(?:max_turns|exit_on_tool_error|dry_run|allowed_tools|blocked_tools)
    | runner\.(?:audit_log|changes_log)               # what a run leaves as proof
    """,
    re.VERBOSE,
)

_LONGEST_NAME = 64
_ALIKE = 0.65
_NEARLY_THE_SAME = 0.8


@cache
def safety_keys() -> frozenset[str]:
    """Return the dotted keys of the settings that safety depends on."""
    return frozenset(key for key in declared_settings() if _SAFETY.fullmatch(key))


def touches_safety(key: str) -> bool:
    """Whether a setting, or something in a section, is one of them."""
    return any(known == key or known.startswith(f"{key}.") for known in safety_keys())


def meant_by(key: str) -> str:
    """Return the setting or section that an unknown dotted key was probably meant to be; empty for none.

    Of several that are equally likely, one that safety depends on.
    """
    section, _, name = key.rpartition(".")
    beside = {known for known in _places() if known.rpartition(".")[0] == section}
    return _likeliest(name, beside) or _likeliest(name, _places())


def hides_safety(document: object) -> bool:
    """Whether an unknown section holds what seems to be a setting that safety depends on."""
    if not isinstance(document, dict):
        return False
    keys = safety_keys()
    values = cast("dict[str, object]", document)
    return any(_likeliest(name, keys, _NEARLY_THE_SAME) or hides_safety(value) for name, value in values.items())


@cache
def _places() -> tuple[str, ...]:
    """Return every section and setting."""
    keys = list(declared_settings())
    sections = {key[:end] for key in keys for end, sign in enumerate(key) if sign == "."}
    return (*sorted(sections), *keys)


def _likeliest(name: str, places: Iterable[str], alike: float = _ALIKE) -> str:
    from difflib import get_close_matches  # 10 ms that only a mistake costs

    if len(name) > _LONGEST_NAME:
        return ""
    by_name: dict[str, str] = {}
    for place in places:
        last = place.rpartition(".")[2]
        if last not in by_name or touches_safety(place):
            by_name[last] = place
    plain = name.strip().lower().replace("-", "_")
    found = get_close_matches(plain, by_name, n=1, cutoff=alike) or [
        last for last in by_name if last.startswith(f"{plain}_")
    ]
    return by_name[found[0]] if found else ""
