"""What a sign-in makes up for itself."""

import re

from desktop_agent.core.providers.auth.browser_sign_in import Attempt, is_same

UNRESERVED = re.compile(r"[A-Za-z0-9._~-]{43,128}")


def test_the_challenge_is_the_one_of_the_standards_example() -> None:
    """RFC 7636, appendix B."""
    attempt = Attempt("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "state", "nonce")
    assert attempt.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_every_attempt_has_its_own_texts_of_the_length_that_the_standard_asks_for() -> None:
    attempts = [Attempt.new() for _ in range(20)]
    texts = [text for attempt in attempts for text in (attempt.verifier, attempt.state, attempt.nonce)]
    assert len(set(texts)) == len(texts)
    assert all(UNRESERVED.fullmatch(text) for text in texts)


def test_the_representation_shows_nothing() -> None:
    attempt = Attempt.new()
    assert not any(text in repr(attempt) for text in (attempt.verifier, attempt.state, attempt.nonce))


def test_texts_are_the_same_only_when_all_of_them_is() -> None:
    assert is_same("état", "état")
    assert not is_same("\udcff", "x")
    assert not is_same("", "x")
