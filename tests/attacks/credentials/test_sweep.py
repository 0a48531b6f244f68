"""The search finds a secret in every spelling, and nothing else."""

import base64
import gzip
import json
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.attacks.credentials.sweep import found_below, found_in

SECRET = 'amber+Lighthouse/"0417"=pelican'
SECRETS = {"the key": SECRET, "another": "quiet-Harbour-9921-thistle"}


def zipped(content: bytes) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.txt", content)
    return file.getvalue()


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": bytes,
    "shortened": lambda content: content[:20],
    "without its beginning": lambda content: content[8:],
    "as JSON": lambda content: json.dumps({"a": content.decode()}).encode(),
    "in an address": lambda content: quote(content.decode(), safe="").encode(),
    "in two bytes each": lambda content: content.decode().encode("utf-16"),
    "in base64": base64.b64encode,
    "in base64 one further": lambda content: base64.b64encode(b"x" + content),
    "in base64 two further": lambda content: base64.b64encode(b"xy" + content),
    "in the other base64": lambda content: b"abc=" + base64.urlsafe_b64encode(content),
    "in hexadecimal": lambda content: content.hex().encode(),
    "packed by gzip": gzip.compress,
    "packed by zlib": zlib.compress,
    "in an archive": zipped,
    "in an archive in base64": lambda content: b'{"data": "' + base64.b64encode(zipped(content)) + b'"}',
}


@pytest.mark.parametrize("way", WAYS)
def test_a_secret_is_found_however_it_is_written(way: str) -> None:
    content = b"before " * 3 + WAYS[way](SECRET.encode()) if "packed" not in way else WAYS[way](SECRET.encode())
    assert found_in(content, SECRETS) == {"the key"}


def test_nothing_is_found_where_nothing_is() -> None:
    content = b"amber Lighthouse " + base64.b64encode(b"a pelican") + gzip.compress(b"0417")
    assert found_in(content, SECRETS) == set()


def test_files_and_their_names_are_searched(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "quiet-Harbour-9921-thistle.txt").write_text("nothing")
    (tmp_path / "log").write_bytes(gzip.compress(SECRET.encode()))
    assert found_below([tmp_path], SECRETS) == [
        f"another: {tmp_path}/deep/quiet-Harbour-9921-thistle.txt",
        f"the key: {tmp_path}/log",
    ]
