"""A blob has its digest's content or is an error; crashes leave no half; only unused ones are collected."""

import errno
import gzip
import json
import os
import random
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol import events as ev
from desktop_agent.core.protocol.model import FileChange, FileImage
from desktop_agent.core.store import blobs as blob_store
from desktop_agent.core.store import collect as collecting
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.collect import GRACE, Collected, collect, digests_in, report_storage
from desktop_agent.core.store.journal.journal import JOURNAL_NAME, Journal
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.system.staged_file import is_left_over
from tests.faulty_os import FAULTS, in_place_of_os, rounds

TEXT = b"def kept(value):\n    return value\n" * 200
NOISE = random.Random(7).randbytes(5000)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def place_of(folder: Path, digest: str, *, is_packed: bool) -> Path:
    return folder / (digest + ".gz" if is_packed else digest)


def keep_plain(folder: Path, content: bytes) -> str:
    """Store as versions before compression did."""
    digest = digest_of(content)
    path = early_place_of(folder, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return digest


def early_place_of(folder: Path, digest: str) -> Path:
    return folder / digest[:2] / digest


def ways_to_ask(blobs: Blobs) -> list[Callable[[str], object]]:
    def read_blocks(digest: str) -> object:
        return list(blobs.blocks(digest))

    return [blobs.get, read_blocks]


@pytest.mark.parametrize("content", [b"kept", TEXT], ids=["plain", "packed"])
@pytest.mark.parametrize("damage", [b"", b"kepT", b"longer than it was", gzip.compress(b"something else", mtime=0)])
def test_a_damaged_blob_is_refused_and_mended_when_its_content_comes_again(
    tmp_path: Path, damage: bytes, content: bytes
) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(content)
    place_of(tmp_path, digest, is_packed=content == TEXT).write_bytes(damage)
    with pytest.raises(StorageError, match="damaged"):
        blobs.get(digest)
    assert blobs.put(content) == digest
    assert blobs.get(digest) == content


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut off in the length": lambda packed: packed[:-1],
    "without its length": lambda packed: packed[:-4],
    "without its end": lambda packed: packed[:-8],
    "cut off in the content": lambda packed: packed[:-20],
    "longer": lambda packed: packed + b"x",
    "two": lambda packed: packed + gzip.compress(b""),
    "a length that no file of its size can have": lambda packed: packed[:-4] + b"\xff\xff\xff\xff",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_packed_blob_of_another_length_than_it_says_is_refused(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    blobs = Blobs(tmp_path)
    path = place_of(tmp_path, blobs.put(TEXT), is_packed=True)
    path.write_bytes(damage(path.read_bytes()))
    for ask in (*ways_to_ask(blobs), partial(blobs.get, size=len(TEXT))):
        with pytest.raises(StorageError, match="damaged"):
            ask(digest_of(TEXT))


@given(content=st.one_of(st.binary(max_size=3000), st.text(max_size=300).map(lambda text: text.encode() * 20)))
def test_whatever_is_put_comes_back(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    blobs = Blobs(tmp_path_factory.mktemp("blobs"))
    digest = blobs.put(content)
    assert digest == digest_of(content)
    assert blobs.get(digest) == blobs.get(digest, size=len(content)) == b"".join(blobs.blocks(digest)) == content
    assert sum(path.stat().st_size for path in files_in(blobs.folder)) <= len(content)


@given(content=st.binary(max_size=200), size=st.integers(min_value=0, max_value=400))
def test_a_content_of_another_length_than_expected_is_refused(
    content: bytes, size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    blobs = Blobs(tmp_path_factory.mktemp("blobs"))
    digest = blobs.put(content * 4)
    if size != len(content) * 4:
        with pytest.raises(StorageError, match="damaged"):
            blobs.get(digest, size=size)


def test_content_is_kept_packed_where_that_is_smaller(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    kept = {content: blobs.put(content) for content in (TEXT, NOISE, b"", b"tiny")}
    assert sorted(files_in(tmp_path)) == sorted(
        place_of(tmp_path, digest, is_packed=content == TEXT) for content, digest in kept.items()
    )
    packed = place_of(tmp_path, kept[TEXT], is_packed=True)
    assert gzip.decompress(packed.read_bytes()) == TEXT, "what any other program makes of it"
    assert packed.stat().st_size < len(TEXT) / 10


def test_a_blob_of_before_compression_is_read_and_not_stored_twice(tmp_path: Path) -> None:
    digest = keep_plain(tmp_path, TEXT)
    blobs = Blobs(tmp_path)
    assert blobs.has(digest)
    assert blobs.get(digest) == b"".join(blobs.blocks(digest)) == TEXT
    assert blobs.put(TEXT) == digest
    assert files_in(tmp_path) == [early_place_of(tmp_path, digest)]


def test_a_damaged_blob_of_before_compression_does_not_hide_the_new_one(tmp_path: Path) -> None:
    keep_plain(tmp_path, TEXT)
    blobs = Blobs(tmp_path)
    early_place_of(tmp_path, digest_of(TEXT)).write_bytes(b"damaged")
    assert blobs.get(blobs.put(TEXT)) == TEXT


def test_a_good_plain_blob_is_found_behind_a_damaged_packed_one(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(TEXT)
    keep_plain(tmp_path, TEXT)
    place_of(tmp_path, digest, is_packed=True).write_bytes(b"damaged")
    assert blobs.get(digest) == TEXT


@pytest.mark.parametrize("size", [None, 10_000])
def test_a_blob_that_would_grow_without_end_is_refused_before_it_does(tmp_path: Path, size: int | None) -> None:
    digest = digest_of(b"x")
    path = place_of(tmp_path, digest, is_packed=True)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(64)) + packer.flush()
    path.write_bytes(bomb[:-4] + (1000).to_bytes(4, "little"))
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match="damaged"):
            Blobs(tmp_path).get(digest, size=size)
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()


def test_a_missing_blob_is_named(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    digest = digest_of(b"never put")
    assert not blobs.has(digest)
    for ask in ways_to_ask(blobs):
        with pytest.raises(StorageError, match="missing") as raised:
            ask(digest)
        assert digest in raised.value.detail


def test_what_is_no_digest_never_becomes_a_path(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    (tmp_path / "secret").write_bytes(b"secret")
    assert not blobs.has("../secret")
    with pytest.raises(StorageError, match="stored reference"):
        blobs.get("../secret")


def test_a_large_blob_is_read_in_blocks(tmp_path: Path) -> None:
    content = TEXT * 1500
    blobs = Blobs(tmp_path)
    digest = blobs.put(content)
    blocks = list(blobs.blocks(digest, size=len(content)))
    assert b"".join(blocks) == content
    assert max(map(len, blocks)) <= blob_store.BLOCK_BYTES


def test_several_contents_are_put_in_order_and_each_once(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path)
    contents = [TEXT, NOISE, TEXT, b""]
    assert blobs.put_many(contents) == tuple(map(digest_of, contents))
    assert blobs.put_many([]) == ()
    assert len(files_in(tmp_path)) == 3


@pytest.mark.parametrize("content", [TEXT * 100, NOISE, b""], ids=["packed", "plain", "empty"])
def test_an_adopted_file_becomes_a_blob_and_is_gone(tmp_path: Path, content: bytes) -> None:
    blobs = Blobs(tmp_path / "blobs")
    spool = tmp_path / "spool"
    for _ in range(2):
        spool.write_bytes(content)
        ref = blobs.adopt(spool, "text/plain")
        assert (ref.blob, ref.size, ref.media_type) == (digest_of(content), len(content), "text/plain")
        assert blobs.get(ref.blob, size=ref.size) == content
        [kept] = files_in(tmp_path)
        assert blobs.file_at(kept) is not None


def test_a_file_that_cannot_be_adopted_stays(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_bytes(b"a file is in the way")
    (tmp_path / "spool").write_bytes(TEXT)
    with pytest.raises(StorageError, match="output could not be saved"):
        Blobs(tmp_path / "blobs").adopt(tmp_path / "spool", "text/plain")
    assert (tmp_path / "spool").read_bytes() == TEXT


def put_before_and_after(folder: Path) -> None:
    Blobs(folder).put_many([TEXT, NOISE])


def adopt_one(folder: Path) -> None:
    spool = folder.parent / f"{folder.name}.spool"
    spool.write_bytes(TEXT * 30)
    Blobs(folder).adopt(spool, "text/plain")


@pytest.mark.parametrize("act", [put_before_and_after, adopt_one])
@pytest.mark.parametrize("code", FAULTS, ids=errno.errorcode.get)
def test_whatever_fails_no_half_blob_and_no_litter_is_left(
    tmp_path: Path, code: int, act: Callable[[Path], None]
) -> None:
    for faulty, room in rounds(tmp_path, code=code):
        raised = False
        with in_place_of_os(faulty):
            try:
                act(room)
            except StorageError:
                raised = True
        assert raised == (bool(faulty.failed) and code != errno.EINTR and faulty.failed not in ("close", "unlink"))
        for path in files_in(room):
            blob = Blobs(room).file_at(path)
            assert blob is not None, f"{faulty.failed} left {path.name}"
            assert b"".join(blob.blocks(None)), f"{faulty.failed} left a half"
        act(room)
        assert not any(is_left_over(path) for path in files_in(room))


def test_a_disk_that_takes_parts_of_a_write_gets_all_of_it(tmp_path: Path) -> None:
    for faulty, room in rounds(tmp_path, is_short=True):
        with in_place_of_os(faulty):
            put_before_and_after(room)
        assert Blobs(room).get(digest_of(TEXT)) == TEXT
        assert Blobs(room).get(digest_of(NOISE)) == NOISE


def test_a_name_appears_only_when_every_content_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def call(*args: object, name: str = name, real: object = real) -> object:
            assert callable(real)
            calls.append(name)
            return real(*args)

        monkeypatch.setattr(os, name, call)
    Blobs(tmp_path).put_many([TEXT, NOISE])
    assert calls == ["fsync", "fsync", "fsync", "replace", "replace"], "the folder's is one of the first three"


def test_two_processes_may_put_the_same_content_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from desktop_agent.core.store.blobs import Blobs; "
        "sys.stdin.readline(); blobs = Blobs(Path(sys.argv[1])); "
        "[blobs.put_many([b'%d ' % (n % 50) * 400, b'same' * 99]) for n in range(200)]"
    )
    folder = tmp_path / "blobs"
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    blobs = Blobs(folder)
    assert all(blobs.get(digest_of(b"%d " % n * 400)) for n in range(50))
    assert len(files_in(folder)) == 51


SESSION = "20261121-213700-k3f9qx"
OTHER = "20261122-090000-abcdef"


class Store:
    def __init__(self, data: Path) -> None:
        self.blobs = Blobs(data / "blobs")
        self.sessions = data / "sessions"
        self.sessions.mkdir()

    def keep(self, content: bytes, *, session: str = "", is_old: bool = True) -> str:
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
