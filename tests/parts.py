from typing import TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLabel

Part = TypeVar("Part", bound=QObject)


def part(whole: QObject, kind: type[Part], name: str = "") -> Part:
    found = whole.findChild(kind, name) if name else whole.findChild(kind)
    assert isinstance(found, kind), f"no {kind.__name__} {name}"
    return found


def visible_texts(whole: QObject) -> list[str]:
    return [label.text() for label in whole.findChildren(QLabel) if label.isVisible()]
