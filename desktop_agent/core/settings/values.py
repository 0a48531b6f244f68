"""Single settings: which ones exist, which values each accepts, and which ones the user's safety depends on."""

import json
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, TypeVar, cast, get_args, get_origin

from msgspec import Struct
from msgspec.structs import fields, replace

from desktop_agent.core.base.errors import UsageError
from desktop_agent.core.base.regex import regex
from desktop_agent.core.base.web_address import completed, why_no_address, without_userinfo
from desktop_agent.core.models.vendors import VENDORS, known_vendor
from desktop_agent.core.settings.declaring import About, AboutSection, Kind, Section, about_in
from desktop_agent.core.settings.keyboard import written_keys
from desktop_agent.core.settings.sections import Settings

S = TypeVar("S", bound=Section)


class Setting(Struct, frozen=True, kw_only=True):
    key: str
    kind: Kind
    default: object
    choices: tuple[str, ...]
    is_optional: bool
    about: About

    @property
    def section(self) -> str:
        return self.key.rpartition(".")[0]

    @property
    def allowed(self) -> str:
        about = self.about
        match self.kind:
            case "choice":
                return f"one of {', '.join(self.choices)}"
            case "switch":
                return "true or false"
            case "text" if self.about.holds == "model":
                return "PROVIDER/NAME, or nothing"
            case "text" if self.about.holds == "address":
                return "a web address, or nothing"
            case "text":
                return "text"
            case "texts" if about.holds == "keys":
                return "a list of keys, such as `Ctrl+Shift+F`"
            case "texts":
                return "a list of texts"
            case "whole" | "number":
                kind = "a whole number" if self.kind == "whole" else "a number"
                if about.least is not None and about.most is not None:
                    return f"{kind} from {about.least:g} to {about.most:g}"
                return f"{kind}, {about.least:g} or more" if about.least is not None else f"{kind} greater than 0"

    def checked(self, value: object) -> object:
        """Return a user's value in its stored form. Raises `ValueError` with the allowed values."""
        if value is None and self.is_optional:
            return None
        if self.about.holds == "keys":
            return written_keys(value, self.about.plain_keys)
        if self.kind == "texts":
            return tuple(map(_storable, _checked_texts(value)))
        if isinstance(value, str) and not value.strip():
            return self.default
        if isinstance(value, str) and self.kind in ("whole", "number") and _NUMBER.fullmatch(value.strip()):
            value = int(value) if _WHOLE.fullmatch(value.strip()) else float(value)
        match self.kind:
            case "choice":
                chosen = value.strip().lower() if isinstance(value, str) else value
                if chosen not in self.choices:
                    raise ValueError(f"{value!r} is not one of {', '.join(self.choices)}")
                return chosen
            case "switch" if isinstance(value, bool):
                return value
            case "text" if isinstance(value, str):
                return self._checked_text(value.strip())
            case "whole" if isinstance(value, int) and not isinstance(value, bool):
                return self._in_range(value)
            case "number" if isinstance(value, int | float) and not isinstance(value, bool):
                return self._in_range(_as_float(value))
            case _:
                names = {"switch": "true or false", "text": "text", "whole": "a whole number", "number": "a number"}
                raise ValueError(f"{value!r} is not {names[self.kind]}")

    def _checked_text(self, text: str) -> str:
        if self.about.holds == "address" and (reason := why_no_address(text := completed(text))):
            raise ValueError(reason)
        if self.about.holds == "model":
            provider, slash, name = text.partition("/")
            if not slash or not name.strip():
                raise ValueError(f"{text!r} is no model with its provider, as in PROVIDER/NAME")
            if known_vendor(provider) is None:
                raise ValueError(f"{provider!r} is no provider; known are {', '.join(vendor.id for vendor in VENDORS)}")
        return _storable(text)

    def _in_range(self, value: float) -> float:
        least, most = self.about.least, self.about.most
        if not 0 < value < math.inf and least is None:
            raise ValueError(f"{value!r} is not greater than 0")
        if not (least if least is not None else 0) <= value <= (most if most is not None else _LARGEST):
            raise ValueError(f"{value!r} is not {self.allowed}")
        return value


_LARGEST = 2**53


@cache
def declared_settings() -> Mapping[str, Setting]:
    return {setting.key: setting for setting in _declared(Settings(), "")}


@cache
def declared_section(name: str) -> AboutSection:
    section: object = Settings()
    about: AboutSection | None = None
    for part in name.split("."):
        assert isinstance(section, Section)
        about, section = about_in(section, part), getattr(section, part)
    assert about is not None
    return about


def setting_values(settings: Settings) -> dict[str, object]:
    return {key: value_of(settings, key) for key in declared_settings()}


def value_of(settings: Settings, key: str) -> object:
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value


def with_setting(settings: Settings, key: str, value: object) -> Settings:
    """Return `settings` with the dotted `key` set. Raises `UsageError`, which names the allowed values."""
    setting = require_setting(key)
    try:
        checked = setting.checked(value)
    except ValueError as error:
        shown = without_userinfo(value) if isinstance(value, str) else value
        raise UsageError(f"{key} cannot be {shown!r}: {error}.", hint=f"Allowed is {setting.allowed}.") from error
    return replaced(settings, key, checked)


def require_setting(key: str) -> Setting:
    """Return a setting. Raises `UsageError`, which names the settings that exist."""
    known = declared_settings()
    if key not in known:
        raise UsageError(f"There is no setting {key!r}.", hint=f"Known settings: {', '.join(known)}.")
    return known[key]


def replaced(section: S, key: str, value: object) -> S:
    first, _, rest = key.partition(".")
    return replace(section, **{first: replaced(getattr(section, first), rest, value) if rest else value})


def absolute(setting: Setting, value: object, base: Path) -> object:
    """Make paths absolute, from `base` or `~`. Blocks. Raises `ValueError` for an impossible path."""
    try:
        match setting.about.holds:
            case "folders":
                return tuple(str((base / Path(text).expanduser()).resolve()) for text in cast("tuple[str, ...]", value))
            case "file" if value:
                return str((base / Path(str(value)).expanduser()).absolute())
            case _:
                return value
    except (OSError, RuntimeError) as error:  # the home of an unknown user, circular links
        raise ValueError(f"{value!r} cannot be a path: {error}") from error


def read_value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def shown_value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return f"[{', '.join(map(shown_value, cast('tuple[object, ...]', value)))}]"
    # Strings and truth values are written in JSON as in TOML, all but one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _declared(section: Section, prefix: str) -> Iterator[Setting]:
    for item in fields(section):
        default = getattr(section, item.name)
        if isinstance(default, Section):
            yield from _declared(default, f"{prefix}{item.name}.")
            continue
        about = about_in(section, item.name)
        assert isinstance(about, About)
        hint: object = item.type
        is_optional = isinstance(hint, UnionType)
        if isinstance(hint, UnionType):
            hint = next(option for option in get_args(hint) if option is not NoneType)
        # The choices may be data, such as the vendors of models: then they are shown as they are.
        choices = get_args(hint) if get_origin(hint) is Literal else tuple(about.words) if hint is str else ()
        yield Setting(
            key=f"{prefix}{item.name}",
            kind="choice" if choices else _KINDS[hint],
            default=default,
            choices=choices,
            is_optional=is_optional,
            about=about,
        )


_KINDS: dict[object, Kind] = {bool: "switch", int: "whole", float: "number", str: "text", tuple[str, ...]: "texts"}

_NUMBER = regex(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_WHOLE = regex(r"[+-]?[0-9]+")


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _storable(text: str) -> str:
    """Raise `ValueError` if no settings file, path or request could hold `text`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} has signs that are no text") from None
    if "\0" in text:
        raise ValueError(f"{text!r} has a NUL in it")
    return text


def _checked_texts(value: object) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in cast("list[object]", items)):
        raise ValueError(f"{value!r} is not a list of texts")
    return tuple(text.strip() for text in cast("list[str]", items) if text.strip())


_STRICTER: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    # `never` turns questions into refusals, but lets edits through as `on_request` does.
    "execution.approval": {"on_request": ("on_write", "always", "never"), "on_write": ("always",)},
    # At the provider, nobody is asked.
    "model.web_search": {"provider": ("local",)},
    "execution.sandbox": {"none": ("restricted", "strict"), "restricted": ("strict",)},
}


def tightened(setting: Setting, before: object, wanted: object) -> object | None:
    """Return `before` made as strict as `wanted`; `None` if `wanted` is not stricter, or the setting has no order."""
    if wanted == before:
        return before
    match setting.about.tightening:
        case "stricter":
            return wanted if wanted in _STRICTER[setting.key].get(str(before), ()) else None
        case "more":
            kept = cast("tuple[str, ...]", before)
            return (*kept, *(item for item in cast("tuple[str, ...]", wanted) if item not in kept))
        case "lower":
            is_lower = before is None or (wanted is not None and cast("float", wanted) < cast("float", before))
            return wanted if is_lower else None
        case "own":
            return wanted
        case None:
            return None


_SAFETY = regex(
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
    return frozenset(key for key in declared_settings() if _SAFETY.fullmatch(key))


def touches_safety(key: str) -> bool:
    return any(known == key or known.startswith(f"{key}.") for known in safety_keys())


def is_safety_section(section: str) -> bool:
    """Whether safety depends on every setting of a section, so that an unknown key may be a misspelt one."""
    inside = [key for key in declared_settings() if key.rpartition(".")[0] == section]
    return bool(inside) and safety_keys().issuperset(inside)


def closest_key(key: str) -> str:
    section, _, name = key.rpartition(".")
    beside = {known for known in _places() if known.rpartition(".")[0] == section}
    return _likeliest(name, beside) or _likeliest(name, _places())


def hides_safety(document: object) -> bool:
    """Whether an unknown section seems to contain a misspelt setting that safety depends on."""
    if not isinstance(document, dict):
        return False
    keys = safety_keys()
    values = cast("dict[str, object]", document)
    return any(_likeliest(name, keys, _NEARLY_THE_SAME) or hides_safety(value) for name, value in values.items())


@cache
def _places() -> tuple[str, ...]:
    keys = list(declared_settings())
    sections = {key[:end] for key in keys for end, sign in enumerate(key) if sign == "."}
    return (*sorted(sections), *keys)


def _likeliest(name: str, places: Iterable[str], alike: float = _ALIKE) -> str:
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
