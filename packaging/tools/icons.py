"""Draws the icon in all sizes of a desktop's theme: `python packaging/tools/icons.py`, after `icon.svg` has changed.

From these it makes the icons of Windows and macOS, which are containers of PNG files.
"""

import os
import struct
from pathlib import Path

RESOURCES = Path(__file__).parents[2] / "resources"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)

FROZEN = Path(__file__).parents[1] / "frozen"
ICNS_KINDS = {16: b"icp4", 32: b"icp5", 64: b"icp6", 128: b"ic07", 256: b"ic08", 512: b"ic09"}


def ico(pictures: dict[int, bytes]) -> bytes:
    """Return an icon of Windows. 256 is written as 0 and is the largest size."""
    entries, place = b"", 6 + 16 * len(pictures)
    for size, png in pictures.items():
        entries += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(png), place)
        place += len(png)
    return struct.pack("<HHH", 0, 1, len(pictures)) + entries + b"".join(pictures.values())


def icns(pictures: dict[int, bytes]) -> bytes:
    """Return an icon of macOS."""
    parts = b"".join(ICNS_KINDS[size] + struct.pack(">I", 8 + len(png)) + png for size, png in pictures.items())
    return b"icns" + struct.pack(">I", 8 + len(parts)) + parts


def main() -> None:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    app = QGuiApplication([])
    picture = QSvgRenderer(str(RESOURCES / "rest" / "icon.svg"))
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(0)
        painter = QPainter(image)
        picture.render(painter)
        painter.end()
        image.save(str(RESOURCES / "icons" / f"{size}.png"), quality=0)
    app.quit()
    pictures = {size: (RESOURCES / "icons" / f"{size}.png").read_bytes() for size in SIZES}
    for_windows = {size: png for size, png in pictures.items() if size <= 256}
    (FROZEN / "desktop-agent.ico").write_bytes(ico(for_windows))
    for_mac = {size: png for size, png in pictures.items() if size in ICNS_KINDS}
    (FROZEN / "desktop-agent.icns").write_bytes(icns(for_mac))


if __name__ == "__main__":
    main()
