from contextlib import suppress
from pathlib import Path


class FullDisk:
    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    def make_room(self) -> None:
        self._ballast.unlink()
