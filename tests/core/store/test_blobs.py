"""A blob is what its name says, or an error; and what a disk damaged does not stay damaged."""

from pathlib import Path

import pytest

from desktop_agent.core.errors import StorageError
from desktop_agent.core.store.blobs import Blobs


@pytest.mark.parametrize("damage", [b"", b"kepT", b"longer than it was"])
def test_a_damaged_blob_is_refused_and_mended_when_its_content_comes_again(tmp_path: Path, damage: bytes) -> None:
    blobs = Blobs(tmp_path)
    digest = blobs.put(b"kept")
    (tmp_path / digest[:2] / digest).write_bytes(damage)
    with pytest.raises(StorageError, match="damaged"):
        blobs.get(digest)
    assert blobs.put(b"kept") == digest
    assert blobs.get(digest) == b"kept"
