"""Recognises secrets, and removes them from texts that leave the program: provider errors, logs, exports."""

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import ClassVar, Protocol

from msgspec import Struct

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.base.regex import regex


class Discreet(Struct, frozen=True):
    """Holds secrets: its `repr` has only the fields that `SHOWN` names."""

    SHOWN: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.SHOWN)})"


class Keyring(Protocol):
    def get(self, entry: str, /) -> str | None: ...

    def set(self, entry: str, secret: str, /) -> None: ...

    def delete(self, entry: str, /) -> None: ...


def keep_all(keyring: Keyring, secrets: Mapping[str, str]) -> None:
    """Store secrets by their entries, all or none. Blocks. Raises `CredentialsError`."""
    kept: list[str] = []
    try:
        for entry, secret in secrets.items():
            keyring.set(entry, secret)
            kept.append(entry)
    except CredentialsError:
        with suppress(CredentialsError):
            for entry in kept:
                keyring.delete(entry)
        raise


def read_all(
    keyring: Keyring, entries: Mapping[str, str], missing: Callable[[str], CredentialsError]
) -> Mapping[str, str]:
    """Return the secrets of entries, by the same names. Blocks. Raises `CredentialsError`, also for a missing one."""
    found: dict[str, str] = {}
    for name, entry in entries.items():
        value = keyring.get(entry)
        if value is None:
            raise missing(name)
        found[name] = value
    return found


HIDDEN = "***"

_SHORTEST_SECRET = 8
"""The length of the shortest known key. Shorter ones (`none`, `ollama`) are placeholders; hiding them garbles words."""

# No alternative looks twice at the same text, because the text to mask may be megabytes made by an attacker. Only
# single characters have possessive quantifiers, because Python 3.11.2 finds nothing with possessive groups.
_START = r"""(?:
    \b
  | (?<=\\[nrtbfav0]) | (?<=\\u[0-9a-f]{4}) | (?<=\\x[0-9a-f]{2}) | (?<=%[0-9a-f]{2})   # "\nsk-…" as JSON, "%0Ask-…"
  | (?<=[\[;\d]m)                                                                   # behind a colour of a terminal
  )"""
"""Where a key may begin: also behind an escape sequence, whose last letter looks like a part of the key's word."""

_KEY_SHAPED = r"""
    <START>(?:
        (?P<header>bearer\s+|(?:x-api-key|authorization)\\*+["']?\s*[:=]\s*\\*+["']?(?:basic\s+)?)[\w.~+/=-]{16,}
      | (?P<prefix>
          sk-(?:(?:ant|or|proj|svcacct)-)?                      # Anthropic, OpenAI, OpenRouter and lookalikes
        | xai-
        | (?-i:A[KS]IA|AIza)                                    # Amazon, Google
        | glpat-|xox[abeoprs]-|[rs]k_live_                      # GitLab, Slack, Stripe
        | gh[opsur]_|github_pat_
        | (?-i:hf_(?=[A-Za-z0-9]{30})|npm_(?=[A-Za-z0-9]{36}))  # Hugging Face, npm; not npm_config_cache
        | (?-i:pypi-AgE|dop_v1_|ya29\.(?:c\.)?)                 # PyPI, DigitalOcean, Google's OAuth
        )[\w-]{12,}
      | (?<!-)(?P<web_token>(?-i:eyJ))[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*   # https://www.rfc-editor.org/rfc/rfc7519
      )
    | (?P<userinfo>://[^\s/?\#@:]*+:)[^\s/?\#@]++(?=@)          # https://user:password@host
    | (?P<block>-----BEGIN\ [A-Z\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----)
      (?:
        [^-]*+(?:-(?!----)[^-]*+)*-----END\ [A-Z\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----
      | (?=[\W\d_rn]{0,40}(?:[a-z0-9+/=]{16}|Proc-Type|Version))   # cut off, and not only named
        [^-]*+(?:-(?!----)[^-]*+)*
      )
    """.replace("<START>", _START)

_IN_EVERY_KEY = (
    "bearer", "x-api-key", "authorization", "sk-", "xai-", "akia", "asia", "aiza", "glpat-", "xox", "k_live_", "gho_",
    "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "hf_", "npm_", "pypi-", "dop_v1_", "ya29.", "eyj", "://",
    "-----begin",
)  # fmt: skip
"""Every key contains one of these, in any case. They are searched for first, which takes a fiftieth of the time."""

_LITERAL = regex(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*(?:"|$)', re.MULTILINE)

_PROVIDERS_PREFIXES = ("sk-", "xai-", "AIza")
_LONGEST_KEY = 400

_DEEPEST = 4

_SECRET_NAME = regex(
    r"""
      (?:TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEYS?)(?:_|$)   # GH_TOKEN, AWS_SECRET_ACCESS_KEY
    | (?:^|_)(?:KEY|PAT|AUTH)$                                                     # FOO_KEY, but not GIT_CONFIG_KEY_0
    | (?:^|_)(?:ACCESS_KEY_ID|PRIVATE_KEY\w*|CONNECTION_STRING|CREDS)$
    | ^(?:MYSQL_PWD|SSHPASS|ANTHROPIC_CUSTOM_HEADERS|OTEL_EXPORTER_OTLP_(?:[A-Z]+_)?HEADERS|DOCKER_AUTH_CONFIG)$
    """,
    re.VERBOSE | re.IGNORECASE,
)

_SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie")


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Remove the known `secrets` and what looks like a key, also in JSON strings. A key's beginning stays: `sk-***`."""
    known = sorted((secret for secret in set(secrets) if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True)
    return _masked(text, known, _DEEPEST)


def may_hold_key(text: str) -> bool:
    if not text.isascii():
        return True  # patterns match letters such as the long s, which `lower` does not convert
    lowered = text.lower()
    return any(word in lowered for word in _IN_EVERY_KEY)


@cache
def key_shaped() -> re.Pattern[str]:
    return re.compile(_KEY_SHAPED, re.VERBOSE | re.IGNORECASE)


def _masked(text: str, known: Sequence[str], depth: int) -> str:
    for secret in known:
        text = text.replace(secret, HIDDEN)
    if may_hold_key(text):
        text = key_shaped().sub(_hide, text)
    if not depth or "\\" not in text:
        return text
    return _LITERAL.sub(lambda match: _masked_literal(match[0], known, depth - 1), text)


def _masked_literal(literal: str, known: Sequence[str], depth: int) -> str:
    if "\\" not in literal:
        return literal
    try:
        said: object = json.loads(literal, strict=False)
    except ValueError:
        return literal
    if not isinstance(said, str):
        return literal
    masked = _masked(said, known, depth)
    return literal if masked == said else json.dumps(masked, ensure_ascii=literal.isascii())


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def is_secret_pair(name: str, value: str) -> bool:
    """Whether a header or environment variable is a secret, by its name or by its value."""
    if name.lower() in _SECRET_HEADERS or is_secret_name(name.replace("-", "_")):
        return True
    return any(is_key(word) for word in value.split()) or mask(value) != value


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return an environment's secrets, as a whole and word by word, because `Name: Bearer KEY` contains a key."""
    values = (value for name, value in environ.items() if is_secret_name(name) or is_key(value))
    return tuple(word for value in values for word in (value, *value.split()))


def is_key(value: str) -> bool:
    if not may_hold_key(value):
        return False
    begun, whole = key_shaped().match(value.strip()), key_shaped().fullmatch(value.strip())
    if begun is not None and begun["block"]:  # certificates may follow
        return True
    return whole is not None and bool(whole["prefix"] or whole["web_token"])


def is_provider_key(value: str) -> bool:
    key = value.strip()
    return len(key) < _LONGEST_KEY and key.startswith(_PROVIDERS_PREFIXES) and is_key(key)


def _hide(match: re.Match[str]) -> str:
    named = match[match.lastgroup] if match.lastgroup else ""  # the part of a key that may be shown
    return f"{named}{HIDDEN}"


class MaskingFormatter(logging.Formatter):
    def __init__(self, pattern: str, environ: Mapping[str, str]) -> None:
        super().__init__(pattern)
        self._secrets = secrets_in(environ)

    def format(self, record: logging.LogRecord) -> str:
        return mask(super().format(record), self._secrets)


def mask_warnings(environ: Mapping[str, str]) -> None:
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(MaskingFormatter("%(message)s", environ))
