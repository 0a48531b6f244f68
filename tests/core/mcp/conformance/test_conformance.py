"""The public conformance suite for clients, from npm, against our connection and sign-in.

`--profile nightly` runs every scenario at all its protocol versions; otherwise some of them at the newest one.
"""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

from tests.npm.programs import npm_program

Versions = tuple[str, ...]

_PATIENTLY = ("--timeout", "120000")
"""The time limit of a client in milliseconds, long enough for a busy machine."""

_OLD = ("2025-11-25",)
_NEW = ("2026-07-28",)
_BOTH = (*_OLD, *_NEW)
_EXTENSION = ("extension",)

PASSES: Mapping[str, Versions] = {
    "initialize": ("2025-06-18", *_OLD),
    "tools_call": ("2025-06-18", *_BOTH),
    "elicitation-sep1034-client-defaults": _OLD,
    "sse-retry": _OLD,
    "request-metadata": _NEW,
    "auth/metadata-default": _BOTH,
    "auth/metadata-var1": _BOTH,
    "auth/metadata-var2": _BOTH,
    "auth/metadata-var3": _BOTH,
    "auth/basic-cimd": _BOTH,
    "auth/scope-from-www-authenticate": _BOTH,
    "auth/scope-from-scopes-supported": _BOTH,
    "auth/scope-omitted-when-undefined": _BOTH,
    "auth/scope-step-up": _BOTH,
    "auth/scope-retry-limit": _BOTH,
    "auth/token-endpoint-auth-basic": ("2025-06-18", *_BOTH),
    "auth/token-endpoint-auth-post": ("2025-06-18", *_BOTH),
    "auth/token-endpoint-auth-none": ("2025-06-18", *_BOTH),
    "auth/pre-registration": _BOTH,
    "auth/2025-03-26-oauth-metadata-backcompat": ("2025-03-26",),
    "auth/2025-03-26-oauth-endpoint-fallback": ("2025-03-26",),
    "auth/resource-mismatch": _NEW,
    "auth/offline-access-scope": _NEW,
    "auth/offline-access-not-supported": _NEW,
    "auth/authorization-server-migration": _NEW,
    "auth/iss-supported": _NEW,
    "auth/iss-not-advertised": _NEW,
    "auth/iss-supported-missing": _NEW,
    "auth/iss-wrong-issuer": _NEW,
    "auth/iss-unexpected": _NEW,
    "auth/iss-normalized": _NEW,
    "auth/metadata-issuer-mismatch": _NEW,
    "auth/client-credentials-jwt": _EXTENSION,
    "auth/client-credentials-basic": _EXTENSION,
    "sep-2322-client-request-state": _NEW,
    "http-standard-headers": _NEW,
    "http-custom-headers": _NEW,
    "http-invalid-tool-headers": _NEW,
    "json-schema-ref-no-deref": _NEW,
    "json-schema-2020-12-preservation": _BOTH,
}


class Expected(NamedTuple):
    versions: Versions
    reason: str
    upstream: str


_DPOP = Expected(
    _EXTENSION,
    "a proposal of tokens that are bound to a key, which the SDK does not have",
    "https://github.com/modelcontextprotocol/modelcontextprotocol/pull/1932",
)
_SKILLS = Expected(
    _EXTENSION,
    "skills that servers offer are not read, so there is nothing to get wrong",
    "https://modelcontextprotocol.io/seps/2640-skills-extension",
)

EXPECTED_FAILURES: Mapping[str, Expected] = {
    "auth/enterprise-managed-authorization": Expected(
        _EXTENSION,
        "it begins with a token of the organisation's own sign-in, which the SDK leaves to applications to get, and "
        "which this one has no sign-in for",
        "https://github.com/modelcontextprotocol/python-sdk/issues/1593",
    ),
    "auth/dpop": _DPOP,
    "auth/dpop-nonce": _DPOP,
    "auth/wif-jwt-bearer": Expected(
        _EXTENSION,
        "a proposal for programs that a platform runs and knows by a token; a user's machine has none",
        "https://github.com/modelcontextprotocol/modelcontextprotocol/pull/1933",
    ),
}

NOT_JUDGED: Mapping[str, Expected] = {
    "sep-2640-client-no-prefetch": _SKILLS,
    "sep-2640-client-verify-digest": _SKILLS,
    "sep-2640-client-verify-size": _SKILLS,
    "sep-2640-client-verify-frontmatter": _SKILLS,
}


async def said_by_the_suite(*words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *npm_program("conformance"), *words, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode or 0, re.sub(r"\x1b\[\d+m", "", output.decode())


async def judged(scenario: str, version: str, results: Path) -> tuple[int, str]:
    client = f"{sys.executable} -m tests.core.mcp.conformance.client"
    spoken = () if version in _EXTENSION else ("--spec-version", version)
    arguments = ("--command", client, "--scenario", scenario, "--output-dir", str(results), *spoken, *_PATIENTLY)
    return await said_by_the_suite("client", *arguments)


def runs() -> list[ParameterSet]:
    return [
        pytest.param(
            scenario, version, marks=() if version == versions[-1] else pytest.mark.nightly, id=f"{scenario}@{version}"
        )
        for scenario, versions in PASSES.items()
        for version in versions
    ]


async def test_every_scenario_of_the_suite_is_run_or_has_its_reason() -> None:
    _, said = await said_by_the_suite("list", "--client")

    listed = {name: tuple(at.split(",")) for name, at in re.findall(r"^ +- (\S+) \[(\S+)\]", said, re.MULTILINE)}
    others = {name: expected.versions for name, expected in {**EXPECTED_FAILURES, **NOT_JUDGED}.items()}
    assert listed == {**PASSES, **others}


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("scenario", "version"), runs())
async def test_the_suite_finds_no_fault(scenario: str, version: str, tmp_path: Path) -> None:
    code, said = await judged(scenario, version, tmp_path)

    assert code == 0, said
    assert "OVERALL: PASSED" in said
    assert re.search(r"^Passed: [1-9]", said, re.MULTILINE), said


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", EXPECTED_FAILURES)
async def test_what_is_expected_to_fail_fails_and_leaves_the_list_when_it_does_not(
    scenario: str, tmp_path: Path
) -> None:
    _, said = await judged(scenario, EXPECTED_FAILURES[scenario].versions[-1], tmp_path)

    assert "OVERALL: FAILED" in said, said


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", NOT_JUDGED)
async def test_what_is_not_judged_leaves_the_list_when_it_is(scenario: str, tmp_path: Path) -> None:
    _, said = await judged(scenario, NOT_JUDGED[scenario].versions[-1], tmp_path)

    assert "Passed: 0/0, 0 failed" in said, said
