"""What is counted is what is there; what any session names stays; what no session names goes when it is old enough."""

import json
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange, FileImage
from desktop_agent.core.store import collect as collecting
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.collect import GRACE, Collected, collect, digests_in, report_storage
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.system.files import digest_of

TEXT = b"def kept(value):\n    return value\n" * 200
NOISE = random.Random(7).randbytes(5000)
SESSION = "20261121-213700-k3f9qx"
OTHER = "20261122-090000-abcdef"


class Store:
    """A data folder with blobs and sessions."""

    def __init__(self, data: Path) -> None:
        self.blobs = Blobs(data / "blobs")
        self.sessions = data / "sessions"
        self.sessions.mkdir()

    def keep(self, content: bytes, *, session: str = "", is_old: bool = True) -> str:
        """Put a content, name it in a session if one is given, and return its digest."""
        digest = self.blobs.put(content)
        if is_old:
            self.make_old(digest)
        if session:
            self.write_line(session, {"v": 99, "type": "of_tomorrow", "what": [{"deep": digest}]})
        return digest

    def write_line(self, session: str, line: object) -> Path:
        path = self.sessions / session / JOURNAL_NAME
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        return path

    def make_old(self, name: str) -> None:
        for path in self.blobs.folder.rglob(f"{name}*"):
            before = path.stat().st_mtime - GRACE.total_seconds() - 60
            os.utime(path, (before, before))

    def collect(self, *, is_dry_run: bool = False, later: timedelta = timedelta()) -> Collected:
        return collect(self.blobs, self.sessions, now=datetime.now(UTC) + later, is_dry_run=is_dry_run)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.blobs.folder.rglob("*") if path.is_file())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def test_what_no_session_names_is_removed_and_the_rest_stays(store: Store) -> None:
    named, lost = store.keep(TEXT, session=SESSION), store.keep(NOISE)
    assert store.collect() == Collected(removed=1, removed_bytes=len(NOISE), kept_young=0)
    assert (store.blobs.get(named), store.blobs.has(lost)) == (TEXT, False)
    assert store.collect() == Collected(removed=0, removed_bytes=0, kept_young=0)


def test_images_and_long_texts_of_a_real_journal_are_named(store: Store) -> None:
    change = FileChange(
        id="1.1",
        path="a",
        kind="modified",
        author="agent",
        before=FileImage(digest=store.keep(TEXT), size=len(TEXT), mode=0o644),
        after=FileImage(digest=store.keep(NOISE), size=len(NOISE), mode=0o644),
    )
    journal = Journal.create(store.sessions / SESSION / JOURNAL_NAME, store.blobs)
    journal.append(ev.ChangesRecorded(turn=1, call_id="c", changes=(change,)).stamped(1, ev.UNSTAMPED), is_durable=True)
    journal.append(ev.SessionRenamed(title="long " * 9000).stamped(2, ev.UNSTAMPED), is_durable=True)
    journal.close()
    for name in store.files():
        store.make_old(name)
    assert store.collect() == Collected(removed=0, removed_bytes=0, kept_young=0)
    assert len(store.files()) == 3


def test_blobs_of_earlier_versions_are_collected_and_kept_alike(store: Store) -> None:
    for content in (TEXT, NOISE):
        path = store.blobs.folder / digest_of(content)[:2] / digest_of(content)
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        store.make_old(path.name)
    store.write_line(SESSION, {"digest": digest_of(TEXT)})
    assert store.collect() == Collected(removed=1, removed_bytes=len(NOISE), kept_young=0)
    assert store.blobs.get(digest_of(TEXT)) == TEXT


def test_a_blob_put_a_moment_ago_stays_until_it_is_a_day_old(store: Store) -> None:
    store.keep(NOISE, is_old=False)
    assert store.collect() == Collected(removed=0, removed_bytes=0, kept_young=1)
    assert store.collect(later=GRACE + timedelta(minutes=1)).removed == 1


def test_putting_an_old_blob_again_makes_it_young(store: Store) -> None:
    store.keep(NOISE)
    store.blobs.put(NOISE)
    assert store.collect().kept_young == 1


@pytest.mark.parametrize("is_moved_aside", [False, True])
def test_a_blob_that_is_put_again_while_it_is_collected_is_there_afterwards(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_moved_aside: bool
) -> None:
    digest = store.keep(NOISE)
    real = Path.replace

    def put_meanwhile(path: Path, target: Path) -> Path:
        if path.name == digest and not is_moved_aside:
            store.blobs.put(NOISE)
        result = real(path, target)
        if path.name == digest and is_moved_aside:
            store.blobs.put(NOISE)
        return result

    monkeypatch.setattr(Path, "replace", put_meanwhile)
    assert store.collect().removed == is_moved_aside
    assert store.blobs.get(digest) == NOISE
    assert store.files() == [digest]


def test_what_an_ended_collection_left_aside_is_given_back_if_a_session_names_it(store: Store) -> None:
    named, lost = store.keep(TEXT, session=SESSION), store.keep(NOISE)
    for path in [path for path in store.blobs.folder.rglob("*") if path.is_file()]:
        path.rename(path.with_name(path.name + ".collected"))
    assert store.collect(is_dry_run=True).removed == 1
    assert not store.blobs.has(named)
    assert store.collect().removed == 1
    assert store.blobs.get(named) == TEXT
    assert not store.blobs.has(lost)
    assert len(store.files()) == 1


def test_a_dry_run_says_the_same_and_removes_nothing(store: Store) -> None:
    store.keep(TEXT, session=SESSION)
    store.keep(NOISE)
    before = store.files()
    assert store.collect(is_dry_run=True) == Collected(removed=1, removed_bytes=len(NOISE), kept_young=0)
    assert store.files() == before


def test_old_temporary_files_go_and_new_ones_stay(store: Store) -> None:
    folder = store.blobs.folder / "ab"
    folder.mkdir(parents=True)
    for path in (folder / ".desktop-agent-1.tmp", store.blobs.folder / ".desktop-agent-2.tmp"):
        path.write_bytes(b"half")
        store.make_old(path.name)
    (folder / ".desktop-agent-3.tmp").write_bytes(b"half")
    assert report_storage(store.blobs, store.sessions).left_overs == 3
    assert store.collect() == Collected(removed=2, removed_bytes=8, kept_young=1)
    assert store.files() == [".desktop-agent-3.tmp"]


def test_what_is_not_ours_is_left_alone(store: Store) -> None:
    store.keep(NOISE)
    strangers = [store.blobs.folder / "note.txt", store.blobs.folder / "zz" / digest_of(b"")]
    for path in strangers:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
        store.make_old(path.name)
    assert store.collect().removed == 1
    assert all(path.exists() for path in strangers)


def test_torn_lines_and_folders_inside_a_session_count_too(store: Store) -> None:
    torn, inner = store.keep(TEXT), store.keep(NOISE)
    folder = store.sessions / SESSION
    (folder / "agents" / "one").mkdir(parents=True)
    (folder / "journal.jsonl.17.torn").write_text('{"v":1,"x":"' + torn)
    (folder / "agents" / "one" / JOURNAL_NAME).write_text(inner)
    assert store.collect().removed == 0


def test_a_session_that_was_moved_and_linked_counts_too(store: Store, tmp_path: Path) -> None:
    store.keep(NOISE, session=SESSION)
    (store.sessions / SESSION).rename(tmp_path / "elsewhere")
    (store.sessions / SESSION).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "itself").symlink_to(tmp_path / "elsewhere")
    assert store.collect().removed == 0


def dangle(store: Store) -> None:
    (store.sessions / OTHER).symlink_to(store.sessions / "nowhere")


def take_away(store: Store) -> None:
    (store.sessions / SESSION / JOURNAL_NAME).unlink()
    (store.sessions / SESSION).rmdir()
    store.sessions.rmdir()


def loop(store: Store) -> None:
    (store.sessions / OTHER).symlink_to(store.sessions / OTHER)


@pytest.mark.parametrize("hide", [dangle, take_away, loop])
def test_nothing_is_removed_while_a_session_cannot_be_read(store: Store, hide: Callable[[Store], None]) -> None:
    store.keep(TEXT, session=SESSION)
    store.keep(NOISE)
    hide(store)
    for act in (store.collect, lambda: report_storage(store.blobs, store.sessions)):
        with pytest.raises(StorageError, match="could not be read"):
            act()
    assert len(store.files()) == 2


def test_a_journal_that_may_not_be_read_stops_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.keep(NOISE)
    path = store.write_line(SESSION, {})
    real = Path.open

    def refuse(self: Path, mode: str = "r") -> object:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, mode)

    monkeypatch.setattr(collecting.Path, "open", refuse)
    with pytest.raises(StorageError, match="Nothing was removed"):
        store.collect()
    assert len(store.files()) == 1


def test_nothing_at_all_is_no_error(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    assert collect(blobs, tmp_path / "sessions", now=datetime.now(UTC)) == Collected(0, 0, 0)
    report = report_storage(blobs, tmp_path / "sessions")
    assert (report.blobs, report.blob_bytes, report.content_bytes, report.sessions) == (0, 0, 0, ())


def test_the_report_tells_own_shared_and_unneeded_contents_apart(store: Store) -> None:
    own, shared, unneeded = b"own" * 3000, TEXT, NOISE
    store.keep(own, session=SESSION)
    store.keep(shared, session=SESSION)
    store.keep(shared, session=OTHER)
    store.keep(unneeded)
    packed = {path.name[:64]: path.stat().st_size for path in store.blobs.folder.rglob("*") if path.is_file()}
    report = report_storage(store.blobs, store.sessions)
    assert report.blobs == 3
    assert report.blob_bytes == sum(packed.values())
    assert report.content_bytes == len(own) + len(shared) + len(unneeded)
    assert (report.unreferenced, report.unreferenced_bytes) == (1, len(NOISE))
    assert (report.left_overs, report.left_over_bytes) == (0, 0)
    first, second = report.sessions
    assert (first.name, second.name) == (SESSION, OTHER)
    assert first.journal_bytes == (store.sessions / SESSION / JOURNAL_NAME).stat().st_size
    assert (first.own_bytes, first.shared_bytes) == (packed[digest_of(own)], packed[digest_of(shared)])
    assert (second.own_bytes, second.shared_bytes) == (0, packed[digest_of(shared)])


def test_a_damaged_blob_is_counted_as_it_is(store: Store) -> None:
    digest = store.keep(TEXT, session=SESSION)
    (store.blobs.folder / f"{digest}.gz").write_bytes(b"xyz")
    report = report_storage(store.blobs, store.sessions)
    assert (report.blob_bytes, report.content_bytes) == (3, 3)


@given(
    before=st.text("0123456789abcdefxyz ", max_size=80),
    after=st.text("0123456789abcdefxyz ", max_size=80),
    cut=st.lists(st.integers(min_value=1, max_value=230), max_size=4),
)
def test_a_digest_is_found_wherever_it_stands_and_wherever_the_text_is_cut(
    before: str, after: str, cut: list[int]
) -> None:
    digest = digest_of(b"looked for")
    text = (before + digest + after).encode()
    edges = sorted({0, *(edge for edge in cut if edge < len(text)), len(text)})
    blocks = [text[start:end] for start, end in pairwise(edges)]
    assert digests_in(blocks, {digest, digest_of(b"another")}) == {digest}


@given(pieces=st.lists(st.tuples(st.text("0f", min_size=50, max_size=140), st.text("0f -Gé", max_size=9)), max_size=6))
def test_every_digest_there_could_be_is_found_wherever_it_starts(pieces: list[tuple[str, str]]) -> None:
    text = "".join(digits + other for digits, other in pieces)
    windows = {text[start : start + 64] for start in range(len(text) - 63)}
    digests = {window for window in windows if set(window) <= set("0123456789abcdef")}
    assert digests_in([text.encode()], digests) == digests
