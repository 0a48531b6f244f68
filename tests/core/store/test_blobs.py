"""A blob is what its name says, or an error; what a disk damaged does not stay damaged, and a crash leaves no half."""

import errno
import gzip
import os
import random
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.store import blobs as blob_store
from desktop_agent.core.store.blobs import Blobs
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
    with pytest.raises(StorageError, match="not a digest"):
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
