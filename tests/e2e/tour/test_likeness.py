from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QImage, QPainter

from tests.e2e.tour.likeness import differences
from tests.e2e.tour.small_png import small_png


def picture() -> QImage:
    image = QImage(480, 240, QImage.Format.Format_RGB32)
    image.fill(QColor("#F7F7F5"))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(QRect(120, 0, 1, 240), QColor("#E2E2DD"))
    painter.setBrush(QColor("#1D1F23"))
    for y in range(10, 230, 20):
        for x in range(10, 460, 9):
            painter.drawEllipse(QRect(x, y, 5, 8))
    painter.end()
    return image


def read(data: bytes) -> QImage:
    image = QImage()
    assert image.loadFromData(data)
    return image


def test_a_picture_is_like_itself_also_in_few_colours() -> None:
    assert differences(picture(), picture()) == []
    assert differences(read(small_png(picture())), picture()) == []


def test_edges_that_are_a_shade_darker_do_not_matter() -> None:
    before, now = picture(), picture()
    painter = QPainter(now)
    painter.fillRect(now.rect(), QColor(0, 0, 0, 40))
    painter.end()
    assert now != before
    assert differences(before, now) == []


def test_a_shift_by_one_pixel_is_seen() -> None:
    now = QImage(480, 240, QImage.Format.Format_RGB32)
    now.fill(QColor("#F7F7F5"))
    painter = QPainter(now)
    painter.drawImage(1, 0, picture())
    painter.end()
    assert len(differences(picture(), now)) > 5


def test_another_colour_is_seen() -> None:
    now = picture()
    painter = QPainter(now)
    painter.fillRect(QRect(240, 96, 24, 24), QColor("#0E7C70"))
    painter.end()
    assert differences(picture(), now) == ["at 240, 96"]


def test_a_mark_that_is_gone_is_seen_where_it_was() -> None:
    now = picture()
    painter = QPainter(now)
    painter.fillRect(QRect(192, 45, 48, 16), QColor("#F7F7F5"))
    painter.end()
    assert differences(picture(), now) == ["at 192, 48", "at 216, 48"]


def test_another_size_is_said() -> None:
    assert differences(picture(), picture().copy(0, 0, 400, 240)) == ["400 × 240 instead of 480 × 240"]
