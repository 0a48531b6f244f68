"""Certificates for a cluster go before Dask's own configuration, and unusable ones are named."""

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from desktop_agent.core.base.errors import UsageError
from desktop_agent.headless.batch.cluster import TlsFiles, check_address, usable_files
from tests.certificates import Authority

NONE = {"ca": None, "cert": None, "key": None}


def test_what_is_named_goes_before_what_is_configured(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("one")
    configured = {"ca": str(authority.file), "cert": "/nowhere.pem", "key": "/nowhere.key"}
    files = usable_files(TlsFiles(cert=cert, key=key), configured)
    assert files == TlsFiles(ca=authority.file, cert=cert, key=key)


def test_the_key_may_stand_in_the_file_of_the_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("one")
    both = tmp_path / "both.pem"
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    assert usable_files(TlsFiles(ca=authority.file, cert=both), NONE).key is None


@pytest.mark.parametrize("name", ["ca", "cert"])
def test_what_is_not_named_at_all_is_asked_for(tmp_path: Path, name: str) -> None:
    authority = Authority(tmp_path)
    cert, key = authority.issue("one")
    given = {"ca": authority.file, "cert": cert, "key": key} | {name: None}
    with pytest.raises(UsageError, match=f"needs a certificate that is not named: {name}") as caught:
        usable_files(TlsFiles(**given), NONE)
    assert f"--tls-{name}" in caught.value.hint


def test_files_that_do_not_fit_are_named(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    cert, _ = authority.issue("one")
    _, other = authority.issue("two")
    nothing, garbage = tmp_path / "nothing.pem", tmp_path / "garbage.pem"
    garbage.write_bytes(os.urandom(64))
    for files in (
        TlsFiles(ca=nothing, cert=cert),
        TlsFiles(ca=garbage, cert=cert),
        TlsFiles(ca=authority.file, cert=cert),
        TlsFiles(ca=authority.file, cert=cert, key=other),
        TlsFiles(ca=authority.file, cert=cert, key=_locked(tmp_path, other)),
    ):
        with pytest.raises(UsageError, match="cannot be used") as caught:
            usable_files(files, NONE)
        assert str(files.cert) in caught.value.title


def _locked(folder: Path, key: Path) -> Path:
    """Return the key with a password that nobody can type."""
    path = folder / "locked.key"
    opened = serialization.load_pem_private_key(key.read_bytes(), None)
    form = serialization.BestAvailableEncryption(b"password")
    path.write_bytes(opened.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, form))
    return path


@pytest.mark.parametrize("address", ["tls://10.0.0.7:8786", "tls://host", "tcp://127.0.0.1:8786", "tcp://[::1]:1"])
def test_an_address_that_no_other_can_read_is_taken(address: str) -> None:
    check_address(address)
