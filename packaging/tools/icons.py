"""Draws the icon in all sizes of a desktop's theme: `python packaging/tools/icons.py`, after `icon.svg` has changed."""

import os
from pathlib import Path

RESOURCES = Path(__file__).parents[2] / "resources"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)


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


if __name__ == "__main__":
    main()
