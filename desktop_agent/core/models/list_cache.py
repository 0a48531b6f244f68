"""The lists of models that addresses gave, kept as files so that they are there at once and offline.

One file an account, address and kind of credential: each may get another list. A file is replaced as a whole, so
several processes may write it; one that cannot be read counts as missing, because it is fetched again.
"""

from datetime import datetime
from hashlib import blake2b
from pathlib import Path

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, encode
from msgspec.structs import replace

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.base.file_stamp import FileStamp, stamp_of
from desktop_agent.core.base.learned import learned
from desktop_agent.core.base.private_files import PRIVATE_FILE, make_private_folder
from desktop_agent.core.models.account import Account
from desktop_agent.core.models.known_model import ListedModel, only_embeds
from desktop_agent.core.system.file_writes import write_atomically

_VERSION = 1
_LARGEST_BYTES = 64 * 2**20


class FetchedList(Struct, frozen=True, kw_only=True):
    """What an address listed, and when."""

    v: int = _VERSION
    fetched_at: datetime
    models: tuple[ListedModel, ...]


class ListCache:
    """The lists in one folder. Methods block."""

    def __init__(self, folder: Path) -> None:
        """Touches no disk."""
        self._folder = folder

    def stamp(self, account: Account) -> FileStamp | None:
        """Return the state of an account's file, to see later whether it changed."""
        return stamp_of(self._file(account))

    def read(self, account: Account) -> FetchedList | None:
        """Return the list that was fetched last; None where there is none that can be read."""
        path = self._file(account)
        try:
            if path.stat().st_size > _LARGEST_BYTES:
                return None
            fetched = _DECODER.decode(path.read_bytes())
        except (OSError, DecodeError, UnicodeDecodeError):
            return None
        if fetched.v != _VERSION or fetched.fetched_at.tzinfo is None:
            return None
        # Versions before this one kept them.
        return replace(fetched, models=tuple(model for model in fetched.models if not only_embeds(model.name)))

    def write(self, account: Account, fetched: FetchedList) -> None:
        """Keep a list. Raises `StorageError`; the one before is then still there."""
        path = self._file(account)
        try:
            make_private_folder(self._folder)
            write_atomically(path, encode(fetched), mode=PRIVATE_FILE)
        except OSError as error:
            raise StorageError("The list of models could not be kept.", detail=f"{path}: {error}") from error

    def _file(self, account: Account) -> Path:
        asked = "\n".join((account.where.rstrip("/"), account.name.casefold(), account.kind))
        return self._folder / f"{account.provider}-{blake2b(asked.encode(), digest_size=8).hexdigest()}.json"


_DECODER = Decoder(learned(FetchedList))
