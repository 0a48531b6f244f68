"""The public conformance suite for clients, from npm: it is the server, and our connection the client."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from tests.npm.programs import npm_program

PASSES = ("initialize", "tools_call", "sse-retry", "auth/resource-mismatch")
"""The last one asks that nobody signs in to a server that names another one: so far nobody signs in anywhere."""

_SIGN_IN = "signing in to a server by OAuth is not there yet"
_CREDENTIALS = "tokens for a program without a user are an extension that is not there"

EXPECTED_FAILURES = {
    "elicitation-sep1034-client-defaults": "a server's questions to the user are refused until they can be shown",
    "auth/metadata-default": _SIGN_IN,
    "auth/metadata-var1": _SIGN_IN,
    "auth/metadata-var2": _SIGN_IN,
    "auth/metadata-var3": _SIGN_IN,
    "auth/basic-cimd": _SIGN_IN,
    "auth/scope-from-www-authenticate": _SIGN_IN,
    "auth/scope-from-scopes-supported": _SIGN_IN,
    "auth/scope-omitted-when-undefined": _SIGN_IN,
    "auth/scope-step-up": _SIGN_IN,
    "auth/scope-retry-limit": _SIGN_IN,
    "auth/token-endpoint-auth-basic": _SIGN_IN,
    "auth/token-endpoint-auth-post": _SIGN_IN,
    "auth/token-endpoint-auth-none": _SIGN_IN,
    "auth/pre-registration": _SIGN_IN,
    "auth/2025-03-26-oauth-metadata-backcompat": _SIGN_IN,
    "auth/2025-03-26-oauth-endpoint-fallback": _SIGN_IN,
    "auth/offline-access-scope": _SIGN_IN,
    "auth/offline-access-not-supported": _SIGN_IN,
    "auth/client-credentials-jwt": _CREDENTIALS,
    "auth/client-credentials-basic": _CREDENTIALS,
    "auth/cross-app-access-complete-flow": _CREDENTIALS,
}
"""What the suite asks for and the application cannot do yet. A scenario that passes may not stay here."""


async def said_by_the_suite(*words: str) -> tuple[int, str]:
    """Run the suite; return its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *npm_program("conformance"), *words, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def judged(scenario: str, results: Path) -> tuple[int, str]:
    """Let the suite judge our client in a scenario."""
    client = f"{sys.executable} -m tests.core.mcp.conformance.client"
    return await said_by_the_suite("client", "--command", client, "--scenario", scenario, "--output-dir", str(results))


async def test_every_scenario_of_the_suite_is_run_or_has_its_reason() -> None:
    _, said = await said_by_the_suite("list", "--client")

    assert set(re.findall(r"^ +- (\S+)", said, re.MULTILINE)) == {*PASSES, *EXPECTED_FAILURES}


@pytest.mark.parametrize("scenario", PASSES)
async def test_the_suite_finds_no_fault(scenario: str, tmp_path: Path) -> None:
    code, said = await judged(scenario, tmp_path)

    assert code == 0, said
    assert "OVERALL: PASSED" in said


@pytest.mark.nightly
@pytest.mark.parametrize("scenario", EXPECTED_FAILURES)
async def test_what_is_expected_to_fail_fails_and_leaves_the_list_when_it_does_not(
    scenario: str, tmp_path: Path
) -> None:
    _, said = await judged(scenario, tmp_path)

    assert "OVERALL: FAILED" in said, said
