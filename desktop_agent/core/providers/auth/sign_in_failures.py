"""What can go wrong with a sign-in, in words for a user. None of it quotes a code, a token or an address with one."""

import re
from collections.abc import Mapping

from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.providers.auth.tokens import RefusedGrantError

_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


def timed_out(service: str, limit_s: float, *, has_refused: bool) -> CredentialsError:
    """The browser did not come back in time; `has_refused` says that the answer to another sign-in came."""
    if has_refused:
        return CredentialsError(
            f"The browser came back with the answer to another sign-in, not to this one with {service}.",
            hint="Close older pages of a sign-in, then sign in again.",
        )
    return CredentialsError(
        f"The sign-in with {service} was not finished within {limit_s / 60:.0f} minutes.",
        hint="Sign in again, and finish it in the browser.",
    )


def declined(service: str, parameters: Mapping[str, str]) -> CredentialsError:
    """The answer in the browser is an error: RFC 6749 4.1.2.1."""
    code = parameters.get("error", "")
    if code == "access_denied":
        return CredentialsError(
            f"The sign-in with {service} was declined.",
            hint="Nothing is kept. Sign in again and allow it, or use an API key.",
        )
    return CredentialsError(
        f"{service} did not sign you in.",
        hint="Try again, or use an API key.",
        detail=f"its error: {code}" if _CODE.fullmatch(code) else "it gave no error that can be shown",
    )


def no_code(service: str) -> CredentialsError:
    """The answer in the browser has neither a code nor an error."""
    return CredentialsError(f"{service} sent the browser back without an answer.", hint="Sign in again.")


def not_registered(service: str) -> CredentialsError:
    """The answer in the browser names no client, or another one than before."""
    return CredentialsError(
        f"{service} did not register this application for your account.", hint="Sign in again, or use an API key."
    )


def refused_grant(service: str, error: RefusedGrantError) -> CredentialsError:
    """The service does not take the code."""
    return CredentialsError(
        f"{service} refused to finish the sign-in.", hint="Sign in again, or use an API key.", detail=str(error)
    )


def not_for_us(service: str, detail: str) -> CredentialsError:
    """The identity token is of another sign-in, application or service."""
    return CredentialsError(
        f"The identity that {service} sent does not belong to this sign-in. Nothing is kept.",
        hint="Sign in again. If this happens again, do not use this network.",
        detail=detail,
    )


def another_account(service: str) -> CredentialsError:
    """Another user signed in than the account is of."""
    return CredentialsError(
        f"You signed in with another {service} account than this one.",
        hint="Choose the right account in the browser, or sign in with a new account here.",
    )


def not_allowed(service: str, missing: frozenset[str]) -> CredentialsError:
    """The user, or the plan, does not allow what the sign-in is for."""
    return CredentialsError(
        f"{service} does not allow this application to use your plan.",
        hint="Sign in again and allow the use of the plan, or use an API key.",
        detail=f"not granted: {', '.join(sorted(missing))}",
    )


def unanswered(error: ProviderError) -> CredentialsError:
    """The service could not be asked."""
    return CredentialsError(error.title, hint=error.hint, detail=error.detail)


def no_port(error: OSError) -> CredentialsError:
    """Nothing can listen on loopback."""
    return CredentialsError(
        "The browser could not send the answer back: no port of this machine can be opened.",
        hint="Allow the application to listen on 127.0.0.1, or use an API key.",
        detail=f"{type(error).__name__} {error.errno}",
    )


def port_taken(port: int, error: OSError) -> CredentialsError:
    """The one port that the browser may come back to is not free."""
    return CredentialsError(
        f"The browser could not send the answer back: port {port} of this machine cannot be opened.",
        hint="End what uses it, or register another one with the service.",
        detail=f"{type(error).__name__} {error.errno}",
    )
