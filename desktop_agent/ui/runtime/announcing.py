"""Tells a screen reader what happens out of the place that has the keyboard."""

from PySide6.QtWidgets import QWidget


def announce(widget: QWidget, words: str, *, is_urgent: bool = False) -> None:
    """Have these words said once: after what is being said now, or at once. Does nothing where no program listens."""
    from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent  # 2 ms, not for a window that says nothing

    if not words or not QAccessible.isActive():
        return
    event = QAccessibleAnnouncementEvent(widget, words)
    politeness = QAccessible.AnnouncementPoliteness
    event.setPoliteness(politeness.Assertive if is_urgent else politeness.Polite)
    QAccessible.updateAccessibility(event)
