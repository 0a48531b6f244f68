"""The pictures that an answer names, read once the user wants to see them: files of the open folder, and web addresses.

An answer can name anything. So nothing outside the folder is read, and only the public internet is reached.
"""

import asyncio
import stat
from pathlib import Path
from urllib.parse import unquote

from desktop_agent.core.base.errors import AgentError, ToolError, WorkspaceError
from desktop_agent.core.tools.web import USER_AGENT, AddressBook, ClientFactory, clients_with, download
from desktop_agent.ui.chat.markdown.parser import is_web_address

MOST_BYTES = 20_000_000
TIMEOUT_S = 20.0
_HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept": "image/png,image/jpeg,image/webp,image/gif;q=0.9,image/*;q=0.5",
    "Accept-Encoding": "gzip",
}
_client = clients_with(_HEADERS, timeout_s=10.0)


async def named_picture(
    folder: str, address: str, *, book: AddressBook | None = None, factory: ClientFactory = _client
) -> bytes:
    """Return the bytes of a picture. Raises `AgentError`."""
    if not is_web_address(address):
        return await asyncio.to_thread(_read, folder, unquote(address))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            came = await download(address, book=book or AddressBook(), factory=factory, max_bytes=MOST_BYTES)
    except TimeoutError as error:
        raise AgentError("The picture took too long to load.") from error
    except ToolError as error:
        reasons = {
            "permission": "This address is not on the public internet, so nothing is loaded from it.",
            "not_found": "The host of this picture could not be found.",
        }
        title = reasons.get(error.error_type, "This picture could not be loaded.")
        raise AgentError(title, detail=str(error)) from error
    if came.status != 200:
        raise AgentError(f"There is no picture at this address: the answer was {came.status} {came.reason}.")
    if came.is_cut:
        raise _too_large()
    return came.body


def _read(folder: str, path: str) -> bytes:
    root = Path(folder).resolve()
    try:
        file = (root / path).resolve()
        if not folder or not file.is_relative_to(root):
            raise WorkspaceError("This picture is outside the open folder, so it is not loaded.")
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise WorkspaceError("This is not a file.")
        if status.st_size > MOST_BYTES:
            raise _too_large()
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise WorkspaceError("This picture is not there: the file was moved or deleted, or never existed.") from error
    except (OSError, ValueError) as error:
        raise WorkspaceError("This picture cannot be read.", detail=str(error)) from error


def _too_large() -> AgentError:
    return AgentError(f"This picture is larger than {MOST_BYTES // 1_000_000} MB, so it is not loaded.")
