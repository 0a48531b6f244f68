"""The installation has one name, whichever process asks first."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from desktop_agent.core.base.errors import CredentialsError
from desktop_agent.core.providers.auth.vendor_sign_ins import host_id


def test_it_is_made_once_and_kept(tmp_path: Path) -> None:
    name = host_id(tmp_path / "data")
    assert name.startswith("urn:uuid:")
    assert host_id(tmp_path / "data") == name
    assert host_id(tmp_path / "another installation") != name


def test_those_who_ask_at_the_same_time_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(host_id, [tmp_path] * 16))) == 1


@pytest.mark.parametrize("broken", [b"", b"\xff\xfe", b"somebody", b"urn:uuid:no"])
def test_a_broken_one_is_made_anew(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "host-id").write_bytes(broken)
    assert host_id(tmp_path) == host_id(tmp_path)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(CredentialsError) as caught:
        host_id(tmp_path / "data")
    assert "data" in caught.value.detail
