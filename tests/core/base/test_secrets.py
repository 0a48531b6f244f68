"""Secrets leave neither in a text nor in a child's environment."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.secrets import HIDDEN, Discreet, is_secret_name, key_shaped, mask, may_hold_key
from desktop_agent.core.mcp import client
from desktop_agent.core.providers import sdk_connection
from desktop_agent.core.providers.auth import sign_ins

BEGINNINGS = (
    "bearer ", "Authorization: ", "x-api-key=", "sk-", "SK-ant-", "xai-", "AKIA", "ASIA", "AIza", "glpat-", "xoxb-",
    "rk_live_", "sk_live_", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "hf_", "npm_", "pypi-AgE",
    "dop_v1_", "ya29.", "eyJ", "https://user:", "-----BEGIN EC PRIVATE " + "KEY-----",
)  # fmt: skip
PRIVATE_KEY = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA\nu1SU1LfVLPHCozMx\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-ant-api03-AbCdEf_0123456789-xyz!", "key sk-ant-***!"),
        ("sk-or-v1-0123456789abcdef", "sk-or-***"),
        ("sk-proj-0123456789abcdef", "sk-proj-***"),
        ("sk-0123456789abcdef", "sk-***"),
        ("xai-0123456789abcdef", "xai-***"),
        ("ghp_0123456789abcdefghij", "ghp_***"),
        ("Authorization: Bearer abcdefghijklmnop.qrst", "Authorization: Bearer ***"),
        ('"authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="', '"authorization": "Basic ***"'),
        ('"x-api-key": "0123456789abcdef0123"', '"x-api-key": "***"'),
        ("AKIA" + "IOSFODNN7EXAMPLE", "AKIA***"),
        ("AIza" + "SyA1234567890abcdefghijklm", "AIza***"),
        ("glpat-" + "0123456789abcdefghij", "glpat-***"),
        ("xoxb-" + "123456789012-abcdefghij", "xoxb-***"),
        ("sk_live_" + "0123456789abcdefghij", "sk_live_***"),
        ("token hf_" + "aB3" * 12, "token hf_***"),
        ("//registry.example/:_authToken=npm_" + "aB3" * 12, "//registry.example/:_authToken=npm_***"),
        ("pypi-AgE" + "IcHlwaS5vcmc", "pypi-AgE***"),
        ("cookie eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl;", "cookie eyJ***;"),
        (f"a\n{PRIVATE_KEY}\nb", "a\n-----BEGIN RSA PRIVATE KEY-----***\nb"),
        (PRIVATE_KEY[:60], "-----BEGIN RSA PRIVATE KEY-----***"),
        (f"  1\t{PRIVATE_KEY[:31]}\n  2\tMIIEpAIBAAKCAQEA", "  1\t-----BEGIN RSA PRIVATE KEY-----***"),
        (PRIVATE_KEY.replace("RSA ", "PGP ").replace("KEY-", "KEY BLOCK-"), "-----BEGIN PGP PRIVATE KEY BLOCK-----***"),
        ("ya29." + "a0AfH6SMBx-0123456789", "ya29.***"),
        ("ya29." + "c.c0ASRK0GaAbCdEf-0123456789", "ya29.c.***"),
        ("https://me:hunter2@example.com/v1", "https://me:***@example.com/v1"),
        ("https://me:hunter2:and:more@example.com", "https://me:***@example.com"),
    ],
)
def test_what_has_the_shape_of_a_key_is_hidden(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "task-management-board",
        "the bearer of good news",
        "https://example.com:8080/a@b",
        "npm_config_user_agent and npm_package_version_of_the_thing",
        "from huggingface_hub import hf_hub_download_with_progress_of_all_files",
        "eyJ is how a web token begins",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        f'if "{PRIVATE_KEY[:31]}" in text:\n    hide(text)\n\n\ndef unrelated() -> None:\n    pass\n',
        "",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert mask(text) == text


KEY = "sk-ant-" + "api03-AbCdEf_0123456789-xyz"
BEFORE_KEYS = ["\n", "\t", "\r", "\b", "\f", "\0", "\x1b", "\x1b[32m", "\x1b[m", "\u2028", '"', "\\", "é\n", " "]


def spelled(text: str, levels: int) -> str:
    """`text` as a string of JSON inside a string of JSON, `levels` times."""
    for _ in range(levels):
        text = json.dumps(text)
    return text


@pytest.mark.parametrize("levels", range(6))
@pytest.mark.parametrize("before", BEFORE_KEYS, ids=ascii)
def test_a_key_at_the_beginning_of_a_line_is_hidden_in_json_too(before: str, levels: int) -> None:
    masked = mask(f"{{'output': {spelled(f'one{before}{KEY}', levels)}}}")
    assert KEY not in masked
    assert "sk-ant-***" in masked


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_key_in_json_that_is_cut_off_is_hidden(cut: int) -> None:
    assert "AbCdEf" not in mask(spelled(f"one\n{KEY}", 2)[:-cut])


@pytest.mark.parametrize("text", [repr(f"a\n{KEY}"), repr(f"a\x1b[1m{KEY}"), f"q=1%0A{KEY}", rf"C:\n{KEY}"])
def test_a_key_behind_other_spellings_of_a_character_is_hidden(text: str) -> None:
    assert KEY not in mask(text)


def test_a_key_spelled_with_escapes_is_hidden() -> None:
    text = r'{"key": "s\u006b-ant-api03-AbCdEf_0123456789-xyz", "other": "ab\u00e9"}'
    assert json.loads(mask(text)) == {"key": "sk-ant-***", "other": "abé"}


def test_a_header_in_json_of_json_is_hidden() -> None:
    text = spelled(json.dumps({"x-api-key": "0123456789abcdef0123"}), 1)
    assert json.loads(json.loads(mask(text))) == {"x-api-key": "***"}


@given(text=st.text(max_size=20), levels=st.integers(0, 5))
def test_json_without_a_key_stays_byte_for_byte(text: str, levels: int) -> None:
    assert mask(spelled(text, levels)) == spelled(text, levels)


def test_a_known_key_is_hidden_whatever_its_shape() -> None:
    assert mask("my key is correct-horse!", ["correct-horse"]) == f"my key is {HIDDEN}!"


def test_a_key_that_contains_another_is_hidden_whole() -> None:
    assert mask("abcdefgh-ijkl", ["abcdefgh", "abcdefgh-ijkl"]) == HIDDEN


def test_a_placeholder_key_does_not_garble_words() -> None:
    assert mask("ollama is not running", ["ollama"]) == "ollama is not running"


@given(before=st.text(), key=st.text(min_size=8), after=st.text())
def test_no_known_key_survives(before: str, key: str, after: str) -> None:
    assert key not in mask(before + key + after, [key]) or key in HIDDEN


@pytest.mark.parametrize(
    "name",
    [
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "XAI_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        *("ANTHROPIC_CUSTOM_HEADERS", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GH_TOKEN", "GITHUB_PAT"),
        *("PGPASSWORD", "MYSQL_PWD", "DB_PASSWORD", "SECRET_KEY_BASE", "GOOGLE_APPLICATION_CREDENTIALS"),
        *("stripe_apikey", "REDISCLI_AUTH", "AWS_ACCESS_KEY_ID", "AZURE_STORAGE_CONNECTION_STRING"),
    ],
)
def test_a_variable_named_like_a_secret_is_one(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "PWD", "HOME", "SSH_AUTH_SOCK", "XAUTHORITY", "GIT_CONFIG_KEY_0", "ANTHROPIC_MAX_TOKENS"),
        *("TOKENIZERS_PARALLELISM", "KEYBOARD_LAYOUT", "HTTPS_PROXY", "ANTHROPIC_BASE_URL"),
    ],
)
def test_a_variable_that_programs_need_is_none(name: str) -> None:
    assert not is_secret_name(name)


MASK_A_LONG_TEXT = """
import sys
from desktop_agent.core.base.secrets import mask
for begin in ("", "://", "eyJ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN "):
    mask(begin + sys.argv[1] * (200_000 // len(sys.argv[1])))
"""
GUARD_S = 60
"""A hundred times the usual time; quadratic search would take longer."""


@pytest.mark.parametrize(
    "piece", ["eyJ-", "eyJaaaaaaaa.-", "://:", ":", "a:", "-----BEGIN PRIVATE KEY-----", "-----END "]
)
def test_the_time_it_takes_grows_no_faster_than_the_text(piece: str) -> None:
    program = [sys.executable, "-c", MASK_A_LONG_TEXT, piece]
    subprocess.run(program, check=True, timeout=GUARD_S)  # noqa: TID251 - a process can be ended, an expression cannot


LONG = st.text("aB9", min_size=36, max_size=40)


@given(st.text(max_size=8), st.sampled_from(BEGINNINGS), st.booleans(), LONG, st.text(max_size=8))
def test_no_text_with_a_key_is_taken_for_one_without(
    before: str, beginning: str, in_capitals: bool, rest: str, after: str
) -> None:
    key = f"{beginning}{rest}.{rest}.{rest}@host"
    text = f"{before} {key.upper() if in_capitals else key} {after}"
    assert may_hold_key(text) or key_shaped().search(text) is None
    assert in_capitals or key_shaped().search(f" {key}") is not None


def test_a_discreet_struct_shows_only_the_fields_that_it_names() -> None:
    class Grant(Discreet, frozen=True):
        SHOWN = ("scopes",)

        token: str
        scopes: tuple[str, ...] = ()

    grant = Grant("sesame", ("read",))
    assert (repr(grant), f"{[grant]}") == ("Grant(scopes=('read',))", "[Grant(scopes=('read',))]")
    assert grant == Grant("sesame", ("read",)) != Grant("other", ("read",))


def test_what_discreet_structs_show_are_fields() -> None:
    found = (each for module in (client, sdk_connection, sign_ins) for each in vars(module).values())
    kinds = [each for each in found if isinstance(each, type) and issubclass(each, Discreet)]
    assert len(kinds) > 10
    assert [kind for kind in kinds if not set(kind.SHOWN) <= set(kind.__struct_fields__)] == []
