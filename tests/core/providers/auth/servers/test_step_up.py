"""A server that wants more than the user has allowed: it is said, asked for in the next sign-in, and used then."""

import pytest

from desktop_agent.core.base.errors import ServerError
from tests.core.providers.auth.servers.server_user import User
from tests.servers.mcp_http import Fault

WANTS_WRITE = Fault(403, b"{}", "application/json", 'Bearer error="insufficient_scope", scope="write"')


async def refused(user: User, fault: Fault) -> ServerError:
    """Let the server refuse a call, and return what the user reads."""
    user.server.will("tools/call", fault)
    with pytest.raises(ServerError) as caught:
        await user.call()
    return caught.value


async def test_more_is_asked_for_in_the_next_sign_in_with_all_that_was_granted_before(user: User) -> None:
    await user.sign_in()

    error = await refused(user, WANTS_WRITE)
    assert error.title == "It needs you to allow more: write."
    assert error.hint == "Sign in again: `desktop-agent mcp sign-in tickets`."
    assert await user.call() == "hello"  # what needs no more goes on
    await user.sign_in()

    assert [scopes for _, scopes in user.authorization.authorized] == [["use"], ["use", "write"]]
    assert not [entry for _, entry in user.backend.entries if "challenge" in entry]


async def test_a_connection_that_runs_uses_the_new_sign_in_at_once(user: User) -> None:
    await user.sign_in()
    await refused(user, WANTS_WRITE)
    await user.sign_in()
    state = user.connection.status.state

    user.server.will("tools/call", WANTS_WRITE)  # to the token of before, which the connection still has

    assert await user.call() == "hello"
    assert (state, user.connection.status.state) == ("ready", "ready")
    assert user.authorization.renewals == 0


async def test_what_was_allowed_and_is_refused_all_the_same_asks_for_no_further_sign_in(user: User) -> None:
    await user.sign_in()
    await refused(user, WANTS_WRITE)
    await user.sign_in()
    user.server.will("tools/call", WANTS_WRITE)

    error = await refused(user, WANTS_WRITE)

    assert "although you allowed all that it asks for" in error.title
    assert "sign-in" not in error.hint


async def test_a_refusal_that_does_not_say_what_is_wanted_asks_for_no_sign_in(user: User) -> None:
    await user.sign_in()

    for challenge in ('Bearer error="insufficient_scope"', 'Bearer error="access_denied", scope="write"'):
        error = await refused(user, Fault(403, b"{}", "application/json", challenge))
        assert "does not allow this" in error.title


async def test_signing_out_forgets_what_was_wanted(user: User) -> None:
    await user.sign_in()
    await refused(user, WANTS_WRITE)

    await user.sign_ins.sign_out(user.definition)

    assert user.backend.entries == {}
