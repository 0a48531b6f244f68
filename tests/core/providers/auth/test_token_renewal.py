"""Tokens in the keyring are renewed in time, once for all who ask."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import CredentialsError, ProviderError
from desktop_agent.core.providers.auth.keys import PIECE_CHARS, SystemKeyStore, delete_long, read_long, write_long
from desktop_agent.core.providers.auth.sign_ins import CHATGPT, ChatGptRenewal
from desktop_agent.core.providers.auth.token_renewal import KeptSignIn, RenewingSource, SignedOutError, renewing
from desktop_agent.core.providers.auth.tokens import Tokens
from tests.core.providers.auth.file_keyring import FileKeyring
from tests.core.providers.auth.hand_clock import HandClock
from tests.servers.authorization_server import ISSUED_CLIENT, AuthorizationServer

END = datetime(2026, 11, 21, 22, 37, tzinfo=UTC)
LONG = Tokens(access="a" * 3_500, refresh="r" * 40, expires_at=END, scopes=frozenset({"openid", "email"}))
SHORT = Tokens(access="b" * 40, refresh="s" * 40)


class Shelf:
    def __init__(self) -> None:
        self.entries: dict[str, str] = {}

    def get(self, entry: str, /) -> str | None:
        return self.entries.get(entry)

    def set(self, entry: str, secret: str, /) -> None:
        self.entries[entry] = secret

    def delete(self, entry: str, /) -> None:
        self.entries.pop(entry, None)


@pytest.fixture
def keyring(tmp_path: Path) -> FileKeyring:
    return FileKeyring(tmp_path / "keyring.json")


async def test_tokens_come_back_as_they_were(keyring: FileKeyring) -> None:
    kept = KeptSignIn(SystemKeyStore(keyring), "openai/work", keyring.path.parent, HandClock())
    assert await kept.load() is None
    for tokens in (LONG, SHORT, LONG):
        await kept.keep(tokens)
        assert await kept.load() == tokens
    assert {name.split("/")[1] for name in keyring.entries} == {"work"}
    assert "openai/work/refresh" in keyring.entries


async def test_a_refresh_token_alone_is_good_for_a_renewal(keyring: FileKeyring) -> None:
    """A crash between the two writes leaves this state."""
    kept = KeptSignIn(SystemKeyStore(keyring), "openai/work", keyring.path.parent, HandClock())
    await kept.keep(LONG)
    delete_long(SystemKeyStore(keyring), "openai/work/access")
    tokens = await kept.load()
    assert tokens is not None
    assert tokens.refresh == LONG.refresh
    assert not tokens.is_fresh(END)


@pytest.mark.parametrize("broken", ["no piece", "00000000/1:not JSON", '00000000/1:{"token": 7}', "00000000/2:{}"])
async def test_an_access_token_that_cannot_be_read_is_renewed(keyring: FileKeyring, broken: str) -> None:
    store = SystemKeyStore(keyring)
    kept = KeptSignIn(store, "openai/work", keyring.path.parent, HandClock())
    await kept.keep(SHORT)
    store.set("openai/work/access", broken)
    tokens = await kept.load()
    assert tokens is not None
    assert not tokens.is_fresh(END)


def test_the_representation_of_tokens_shows_none() -> None:
    assert "aaa" not in repr(LONG)
    assert "rrr" not in repr(LONG)


texts = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=3 * PIECE_CHARS + 1)


@given(st.lists(texts, min_size=1, max_size=3))
def test_a_long_entry_is_the_last_that_was_written_and_nothing_else(secrets: list[str]) -> None:
    shelf = Shelf()
    for secret in secrets:
        write_long(shelf, "x", secret)
    assert read_long(shelf, "x") == secrets[-1]
    assert len(shelf.entries) == -(-len(secrets[-1]) // PIECE_CHARS)
    delete_long(shelf, "x")
    assert shelf.entries == {}


@given(texts, texts, st.integers(1, 4))
def test_a_writing_that_breaks_off_leaves_the_old_the_new_or_none(old: str, new: str, writes: int) -> None:
    class Breaking(Shelf):
        left = 1_000

        def set(self, entry: str, secret: str, /) -> None:
            if self.left == 0:
                raise CredentialsError("The keyring is gone.")
            self.left -= 1
            super().set(entry, secret)

    shelf = Breaking()
    write_long(shelf, "x", old)
    shelf.left = writes
    try:
        write_long(shelf, "x", new)
    except CredentialsError:
        assert read_long(shelf, "x") in (None, old, new)
    else:
        assert read_long(shelf, "x") == new


class Desk:
    def __init__(self, folder: Path, server: AuthorizationServer) -> None:
        self.server = server
        self.clock = HandClock()
        self.keyring = FileKeyring(folder / "keyring.json")
        self.data = folder
        self.told: list[str] = []
        self.kept = KeptSignIn(SystemKeyStore(self.keyring), "openai", folder, self.clock)

    async def sign_in(self, *, good_for: timedelta = timedelta(hours=1)) -> Tokens:
        tokens = Tokens(
            access="first-access-token",
            refresh=self.server.issue_refresh_token(),
            expires_at=self.clock.now() + good_for,
            scopes=CHATGPT.required_scopes,
        )
        await self.kept.keep(tokens)
        return tokens

    async def stored(self) -> Tokens:
        tokens = await self.kept.load()
        assert tokens is not None
        return tokens

    def source(self) -> RenewingSource:
        renewal = ChatGptRenewal(ISSUED_CLIENT, clock=self.clock, service=self.server.chatgpt())
        return RenewingSource(self.kept, renewal, clock=self.clock, tell=self.told.append)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncGenerator[Desk]:
    async with AuthorizationServer() as server:
        yield Desk(tmp_path, server)


async def test_it_is_renewed_two_minutes_before_its_end_and_kept(desk: Desk) -> None:
    first = await desk.sign_in()
    source = desk.source()
    desk.clock.move(3600 - 121)
    assert await source.access_token() == first.access
    desk.clock.move(2)
    second = await source.access_token()
    assert second != first.access
    kept = await desk.stored()
    assert kept.access == second
    assert kept.refresh != first.refresh
    assert kept.expires_at == desk.clock.now() + timedelta(hours=1)


async def test_every_renewal_uses_the_refresh_token_of_the_one_before(desk: Desk) -> None:
    await desk.sign_in()
    source = desk.source()
    for _ in range(4):
        desk.clock.move(3600)
        await source.access_token()
    used = [request["refresh_token"] for request in desk.server.token_requests]
    assert len(set(used)) == 4


async def test_those_who_ask_at_the_same_time_get_one_renewal(desk: Desk) -> None:
    await desk.sign_in(good_for=timedelta())
    source = desk.source()
    tokens = await asyncio.gather(*(source.access_token() for _ in range(8)))
    assert len(set(tokens)) == 1
    assert len(desk.server.token_requests) == 1


async def test_what_another_process_renewed_is_used(desk: Desk) -> None:
    first = await desk.sign_in()
    here, there = desk.source(), desk.source()
    assert await here.access_token() == await there.access_token() == first.access
    desk.clock.move(3600)
    assert await here.access_token() == await there.access_token() != first.access
    assert len(desk.server.token_requests) == 1


async def test_a_refused_token_is_renewed_once_for_all_who_had_it(desk: Desk) -> None:
    await desk.sign_in()
    source = desk.source()
    token = await source.access_token()
    others = await asyncio.gather(*(source.refused(token) for _ in range(4)))
    assert len(set(others)) == 1
    assert token not in others
    assert len(desk.server.token_requests) == 1


async def test_a_renewed_token_that_is_refused_as_well_ends_it(desk: Desk) -> None:
    await desk.sign_in()
    source = desk.source()
    renewed = await source.refused(await source.access_token())
    with pytest.raises(SignedOutError) as caught:
        await source.refused(renewed)
    assert "Sign in again" in caught.value.hint
    assert len(desk.server.token_requests) == 1
    desk.clock.move(60)
    assert await source.refused(renewed) != renewed


async def test_a_sign_in_that_was_revoked_in_the_middle_is_over_after_one_try(desk: Desk) -> None:
    await desk.sign_in()
    source = desk.source()
    token = await source.access_token()
    desk.server.revoke()
    with pytest.raises(SignedOutError) as caught:
        await source.refused(token)
    assert caught.value.title == "You are not signed in with ChatGPT any more."
    assert "invalid_grant" in caught.value.detail
    assert desk.keyring.entries == {}
    with pytest.raises(SignedOutError):
        await source.access_token()
    assert len(desk.server.token_requests) == 1


@pytest.mark.parametrize("answer", [(500, "oops"), (429, "{}"), (200, "garbage")])
async def test_a_renewal_that_fails_for_now_leaves_a_good_token_in_use(desk: Desk, answer: tuple[int, str]) -> None:
    desk.server.behaviour.token_answer = answer
    tokens = await desk.sign_in()
    source = desk.source()
    desk.clock.move(3600 - 60)
    assert await source.access_token() == tokens.access
    desk.clock.move(60)
    with pytest.raises(ProviderError):
        await source.access_token()
    assert await desk.kept.load() == tokens
    desk.server.behaviour.token_answer = None
    tokens = await desk.sign_in(good_for=timedelta())
    assert await source.access_token() != tokens.access


async def test_what_the_user_allows_no_more_is_not_used(desk: Desk) -> None:
    desk.server.behaviour.grant = {"scope": "openid email"}
    await desk.sign_in(good_for=timedelta())
    source = desk.source()
    for _ in range(2):
        with pytest.raises(CredentialsError, match="does not allow this application to use your plan"):
            await source.access_token()
    assert len(desk.server.token_requests) == 1


async def test_tokens_that_cannot_be_kept_are_used_and_kept_later(desk: Desk) -> None:
    await desk.sign_in()
    source = desk.source()
    await source.access_token()
    await _renew_with_a_keyring_that_locks(desk, source)
    renewed = await source.access_token()
    (words,) = desk.told
    assert "could not be kept" in words
    assert "locked" in words
    desk.keyring.is_locked = False
    assert await source.access_token() == renewed
    desk.clock.move(60)
    assert await source.access_token() == renewed
    kept = await desk.stored()
    assert kept.access == renewed
    assert len(desk.server.token_requests) == 1


async def test_the_next_renewal_uses_a_refresh_token_that_could_not_be_kept(desk: Desk) -> None:
    await desk.sign_in()
    source = desk.source()
    await source.access_token()
    await _renew_with_a_keyring_that_locks(desk, source)
    first = await source.access_token()
    desk.clock.move(3600)
    assert await source.access_token() != first
    assert len(desk.server.token_requests) == 2
    assert len(desk.told) == 1


async def _renew_with_a_keyring_that_locks(desk: Desk, source: RenewingSource) -> None:
    """Renew; the keyring locks between the request and its answer."""
    desk.server.behaviour.holds = True
    desk.clock.move(3600)
    asking = asyncio.ensure_future(source.access_token())
    await desk.server.was_asked_for_tokens.wait()
    desk.keyring.is_locked = True
    desk.server.release()
    await asking


async def test_being_cancelled_while_it_is_renewed_loses_no_token(desk: Desk) -> None:
    desk.server.behaviour.holds = True
    first = await desk.sign_in(good_for=timedelta())
    asking = asyncio.ensure_future(desk.source().access_token())
    await desk.server.was_asked_for_tokens.wait()
    asking.cancel()
    desk.server.release()
    with pytest.raises(asyncio.CancelledError):
        await asking
    kept = await desk.stored()
    assert kept.refresh != first.refresh
    assert await desk.source().access_token() == kept.access
    assert len(desk.server.token_requests) == 1


async def test_a_program_that_knows_no_lock_may_have_been_quicker(desk: Desk) -> None:
    desk.server.behaviour.holds = True
    await desk.sign_in(good_for=timedelta())
    desk.server.behaviour.token_answer = (400, '{"error": "invalid_grant"}')
    asking = asyncio.ensure_future(desk.source().access_token())
    await desk.server.was_asked_for_tokens.wait()
    end = desk.clock.now() + timedelta(hours=1)
    theirs = Tokens(access="theirs", refresh="r", expires_at=end, scopes=CHATGPT.required_scopes)
    await desk.kept.keep(theirs)
    desk.server.release()
    assert await asking == "theirs"
    assert await desk.kept.load() == theirs


async def test_a_process_that_holds_the_lock_for_too_long_is_named(desk: Desk) -> None:
    await desk.sign_in(good_for=timedelta())
    clock = _Hurried()
    async with renewing(desk.kept.lock_path, desk.clock):
        with pytest.raises(CredentialsError, match="Another process"):
            async with renewing(desk.kept.lock_path, clock):
                pass
    async with renewing(desk.kept.lock_path, clock):
        pass


async def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(CredentialsError, match="its lock cannot be used") as caught:
        async with renewing(tmp_path / "locks" / "openai.lock", HandClock()):
            pass
    assert "locks" in caught.value.detail


async def test_waiting_for_the_lock_can_be_cancelled(tmp_path: Path) -> None:
    path, clock = tmp_path / "openai.lock", HandClock()

    async def wait() -> None:
        async with renewing(path, clock):
            raise AssertionError("two have it")

    async with renewing(path, clock):
        waiting = asyncio.ensure_future(wait())
        await asyncio.to_thread(lambda: None)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with renewing(path, clock):
        pass


async def test_two_processes_that_are_refused_at_once_renew_once(desk: Desk) -> None:
    desk.server.behaviour.holds = True
    tokens = await desk.sign_in(good_for=timedelta(days=36_500))
    said = [_Refused(desk, tokens.access, desk.server.chatgpt().token_url) for _ in range(2)]
    for process in said:
        await process.is_asking()
    await desk.server.was_asked_for_tokens.wait()
    desk.server.release()
    first, second = [await process.new_token() for process in said]
    assert first == second != tokens.access
    assert len(desk.server.token_requests) == 1
    kept = await desk.stored()
    assert kept.access == first


async def test_no_secret_shows_up_in_what_is_logged_or_raised(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await desk.sign_in(good_for=timedelta())
    source = desk.source()
    token = await source.access_token()
    desk.server.revoke()
    desk.clock.move(61)
    with pytest.raises(SignedOutError) as caught:
        await source.refused(token)
    said = f"{caplog.text} {caught.value!r} {caught.value.detail} {source!r} {desk.told}"
    assert len(desk.server.secrets) >= 3
    assert [secret for secret in desk.server.secrets if secret in said] == []


class _Hurried(HandClock):
    """A clock on which waiting ends at once and counts its full time."""

    async def sleep(self, seconds: float) -> None:
        self.move(seconds)


class _Refused:
    """A process whose token was refused, at one end of its pipes."""

    def __init__(self, desk: Desk, token: str, token_url: str) -> None:
        argv = [sys.executable, "-m", "tests.core.providers.auth.refused_process"]
        told = {"keyring": str(desk.keyring.path), "data": str(desk.data), "url": token_url, "token": token}
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()

    async def is_asking(self) -> None:
        assert await self._line() == "asking"

    async def new_token(self) -> str:
        token = await self._line()
        await asyncio.to_thread(self._process.communicate)
        assert self._process.returncode == 0
        return token

    async def _line(self) -> str:
        assert self._process.stdout is not None
        return (await asyncio.to_thread(self._process.stdout.readline)).strip()
