"""Keep secrets out of texts and out of child processes.

`mask` goes over texts that leave the program on the side: details of a provider's errors, the log, exports.
`child_environment` is the environment that commands and servers get: everything except what is a secret by its name, or
by its value's shape.
"""

import re
from collections.abc import Iterable, Mapping

HIDDEN = "***"
"""What stands where a secret was."""

_SHORTEST_SECRET = 8
"""Shorter known keys (`none`, `ollama`) are placeholders; hiding them would only garble words."""

# No alternative looks twice at the same text: what is masked may be megabytes, made by somebody who means ill.
# Only single characters are possessive: of groups that are, Python 3.11.2 finds nothing.
_KEY_SHAPED = re.compile(
    r"""
      (?P<header>\bbearer\s+|\bx-api-key["']?\s*[:=]\s*["']?|\bauthorization["']?\s*[:=]\s*["']?(?:basic\s+)?)[\w.~+/=-]{16,}
    | (?P<userinfo>://[^\s/?\#@:]*+:)[^\s/?\#@]++(?=@)        # https://user:password@host
    | (?P<prefix>
        \bsk-(?:(?:ant|or|proj|svcacct)-)?                   # Anthropic, OpenAI, OpenRouter and lookalikes
      | \bxai-
      | \b(?-i:A[KS]IA|AIza)                                  # Amazon, Google
      | \b(?:glpat-|xox[abeoprs]-|[rs]k_live_)                # GitLab, Slack, Stripe
      | \b(?:gh[opsur]_|github_pat_)
      | \b(?-i:hf_(?=[A-Za-z0-9]{30})|npm_(?=[A-Za-z0-9]{36}))  # Hugging Face, npm; not npm_config_cache
      | \b(?-i:pypi-AgE|dop_v1_|ya29\.(?:c\.)?)               # PyPI, DigitalOcean, Google's OAuth
      )[\w-]{12,}
    | (?P<web_token>(?<![\w-])(?-i:eyJ))[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*   # https://www.rfc-editor.org/rfc/rfc7519
    | (?P<block>-----BEGIN\ [A-Z\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----)
      (?:
        [^-]*+(?:-(?!----)[^-]*+)*-----END\ [A-Z\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----
      | (?=[\W\d_rn]{0,40}(?:[a-z0-9+/=]{16}|Proc-Type|Version))   # cut off, and not only named
        [^-]*+(?:-(?!----)[^-]*+)*
      )
    """,
    re.VERBOSE | re.IGNORECASE,
)

_SECRET_NAME = re.compile(
    r"""
      (?:TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEYS?)(?:_|$)   # GH_TOKEN, AWS_SECRET_ACCESS_KEY
    | (?:^|_)(?:KEY|PAT|AUTH)$                                                     # FOO_KEY, but not GIT_CONFIG_KEY_0
    | (?:^|_)(?:ACCESS_KEY_ID|PRIVATE_KEY\w*|CONNECTION_STRING|CREDS)$
    | ^(?:MYSQL_PWD|SSHPASS|ANTHROPIC_CUSTOM_HEADERS|DOCKER_AUTH_CONFIG)$
    """,
    re.VERBOSE | re.IGNORECASE,
)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without the known `secrets` and without anything that has the shape of a key.

    The beginning of a key-shaped token stays (`sk-ant-***`), so that people can tell which one it was.
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
    return _KEY_SHAPED.sub(_hide, text)


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of this name holds a secret, going by what people call them."""
    return _SECRET_NAME.search(name) is not None


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` for a child process: without the providers' keys and everything else that looks like a secret.

    What a command needs of those (`GITHUB_TOKEN` for `gh`) is named in its call, where the person sees it.
    """
    return {name: value for name, value in environ.items() if not is_secret_name(name) and not _is_key(value)}


def _is_key(value: str) -> bool:
    """Whether `value` is a key as a whole; an address with a password in it, such as a proxy's, is needed."""
    begun, whole = _KEY_SHAPED.match(value.strip()), _KEY_SHAPED.fullmatch(value.strip())
    if begun is not None and begun["block"]:  # certificates may follow
        return True
    return whole is not None and bool(whole["prefix"] or whole["web_token"])


def _hide(match: re.Match[str]) -> str:
    named = match[match.lastgroup] if match.lastgroup else ""  # of every alternative, what may be seen of it
    return f"{named}{HIDDEN}"
