"""What only one sign-in knows, so that it recognises its own answer."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Self

_RANDOM_BYTES = 32


@dataclass(frozen=True, slots=True)
class Attempt:
    """Three random texts of 43 characters each. The representation shows none."""

    verifier: str = field(repr=False)
    """Proves to the token endpoint that who has the code also began the sign-in: RFC 7636."""
    state: str = field(repr=False)
    """Comes back with the answer: RFC 6749 10.12."""
    nonce: str = field(repr=False)
    """Comes back in the identity token: OpenID Connect Core 3.1.2.1."""

    @classmethod
    def new(cls) -> Self:
        """Return one that cannot be guessed."""
        return cls(*(secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3)))

    @property
    def challenge(self) -> str:
        """What the verifier is the proof for: its SHA-256, `code_challenge_method=S256`."""
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def is_same(given: str, wanted: str) -> bool:
    """Whether a text from outside is the secret one, in a time that says nothing about where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8"))
