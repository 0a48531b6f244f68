"""The failures of a sign-in, in words for a user. No message quotes a secret."""

import re
from collections.abc import Generator
from contextlib import contextmanager

from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.providers.auth.tokens import RefusedGrantError

_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def timed_out(service: str, limit_s: float, *, has_refused: bool) -> CredentialsError:
    if has_refused:
        return CredentialsError(
            f"The browser's answer belongs to another sign-in, not to this one with {service}.",
            hint="Close older sign-in pages, then sign in again.",
        )
    return CredentialsError(
        f"The sign-in with {service} was not finished within {limit_s / 60:.0f} minutes.",
        hint="Sign in again, and finish it in the browser.",
    )


def declined(service: str, code: str) -> CredentialsError:
    """Return the error for an error code in the browser's answer: RFC 6749 4.1.2.1."""
    if code == "access_denied":
        return CredentialsError(
            f"The sign-in with {service} was declined.",
            hint="Nothing was saved. Sign in again and allow it, or use an API key.",
        )
    return CredentialsError(
        f"{service} did not sign you in.",
        hint="Try again, or use an API key.",
        detail=f"its error: {code}" if _CODE.fullmatch(code) else "it gave no error that can be shown",
    )


def no_code(service: str) -> CredentialsError:
    return CredentialsError(f"{service} sent the browser back without an answer.", hint="Sign in again.")


def no_port(port: int, error: OSError) -> CredentialsError:
    detail = f"{type(error).__name__} {error.errno}"
    if port:
        return CredentialsError(
            f"The browser could not send the answer back: port {port} of this machine cannot be opened.",
            hint="Close the program that uses the port, or register another port with the service.",
            detail=detail,
        )
    return CredentialsError(
        "The browser could not send the answer back: no port of this machine can be opened.",
        hint="Allow the application to listen on 127.0.0.1, or use an API key.",
        detail=detail,
    )


@contextmanager
def explained_refusals(service: str) -> Generator[None]:
    try:
        yield
    except RefusedGrantError as error:
        raise CredentialsError(
            f"{service} refused to finish the sign-in.", hint="Sign in again, or use an API key.", detail=str(error)
        ) from None
    except ProviderError as error:
        raise CredentialsError(error.title, hint=error.hint, detail=error.detail) from None


def not_registered(service: str) -> CredentialsError:
    return CredentialsError(
        f"{service} did not register this application for your account.", hint="Sign in again, or use an API key."
    )


def not_for_us(service: str, detail: str) -> CredentialsError:
    return CredentialsError(
        f"The identity that {service} sent does not belong to this sign-in. Nothing was saved.",
        hint="Sign in again. If this happens again, do not use this network.",
        detail=detail,
    )


def another_account(service: str) -> CredentialsError:
    return CredentialsError(
        f"You signed in with a different {service} account.",
        hint="Choose the right account in the browser, or sign in with a new account here.",
    )


def not_allowed(service: str, missing: frozenset[str]) -> CredentialsError:
    return CredentialsError(
        f"{service} does not allow this application to use your plan.",
        hint="Sign in again and allow the use of the plan, or use an API key.",
        detail=f"not granted: {', '.join(sorted(missing))}",
    )
