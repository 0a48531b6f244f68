"""Tokens come back from the keyring as they were, however long they are, and pieces are never mixed."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.keys import PIECE_CHARS, SystemKeyStore, delete_long, read_long, write_long
from desktop_agent.core.providers.auth.token_renewal import KeyringTokens
from desktop_agent.core.providers.auth.tokens import Tokens
from tests.core.providers.auth.file_keyring import FileKeyring

END = datetime(2026, 11, 21, 22, 37, tzinfo=UTC)
LONG = Tokens(access="a" * 3_500, refresh="r" * 40, expires_at=END, scopes=frozenset({"openid", "email"}))
SHORT = Tokens(access="b" * 40, refresh="s" * 40)


class Shelf:
    """Entries in memory."""

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
    kept = KeyringTokens(SystemKeyStore(keyring), "openai/work")
    assert await kept.load() is None
    for tokens in (LONG, SHORT, LONG):
        await kept.keep(tokens)
        assert await kept.load() == tokens


async def test_each_token_has_entries_of_the_account_s_own(keyring: FileKeyring) -> None:
    store = SystemKeyStore(keyring)
    await KeyringTokens(store, "openai/work").keep(LONG)
    await KeyringTokens(store, "openai/home").keep(SHORT)
    assert await KeyringTokens(store, "openai/work").load() == LONG
    assert {name.split("/")[1] for name in keyring.entries} == {"work", "home"}
    assert "openai/work/refresh" in keyring.entries


async def test_a_shorter_token_leaves_nothing_of_a_longer_one(keyring: FileKeyring) -> None:
    kept = KeyringTokens(SystemKeyStore(keyring), "openai/work")
    await kept.keep(LONG)
    assert len(keyring.entries) == 5
    await kept.keep(SHORT)
    assert set(keyring.entries) == {"openai/work/refresh", "openai/work/access"}


async def test_dropped_tokens_are_gone_and_may_be_dropped_again(keyring: FileKeyring) -> None:
    kept = KeyringTokens(SystemKeyStore(keyring), "openai/work")
    await kept.keep(LONG)
    await kept.drop()
    await kept.drop()
    assert keyring.entries == {}
    assert await kept.load() is None


async def test_a_refresh_token_alone_is_good_for_a_renewal(keyring: FileKeyring) -> None:
    """What a crash between the two writings leaves."""
    kept = KeyringTokens(SystemKeyStore(keyring), "openai/work")
    await kept.keep(LONG)
    delete_long(SystemKeyStore(keyring), "openai/work/access")
    tokens = await kept.load()
    assert tokens is not None
    assert tokens.refresh == LONG.refresh
    assert not tokens.is_fresh(END)


@pytest.mark.parametrize("broken", ["no piece", "00000000/1:not JSON", '00000000/1:{"token": 7}', "00000000/2:{}"])
async def test_an_access_token_that_cannot_be_read_is_renewed(keyring: FileKeyring, broken: str) -> None:
    store = SystemKeyStore(keyring)
    kept = KeyringTokens(store, "openai/work")
    await kept.keep(SHORT)
    store.set("openai/work/access", broken)
    tokens = await kept.load()
    assert tokens is not None
    assert not tokens.is_fresh(END)


async def test_a_locked_keyring_is_explained_without_the_tokens(keyring: FileKeyring) -> None:
    kept = KeyringTokens(SystemKeyStore(keyring), "openai/work")
    keyring.is_locked = True
    with pytest.raises(CredentialsError, match="locked") as caught:
        await kept.keep(LONG)
    assert "rrrr" not in f"{caught.value!r}{caught.value.detail}"


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
