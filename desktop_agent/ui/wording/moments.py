"""When something was, in as few letters as say it."""

from datetime import datetime

from PySide6.QtCore import QCoreApplication, QDate, QLocale, QTime


def short_moment(moment: datetime, now: datetime, locale: QLocale) -> str:
    """Return the time of today, the day of this week, else the date: `14:05`, `Tue`, `12 Nov`, `Nov 2025`.

    Both moments are aware; what is today depends on the time zone of `now`.
    """
    moment = moment.astimezone(now.tzinfo)
    days = (now.date() - moment.date()).days
    if days == 0:
        return locale.toString(QTime(moment.hour, moment.minute), QLocale.FormatType.ShortFormat)
    date = QDate(moment.year, moment.month, moment.day)
    if 0 < days < 7:
        return locale.dayName(date.dayOfWeek(), QLocale.FormatType.ShortFormat)
    return locale.toString(date, _tr("d MMM") if moment.year == now.year else _tr("MMM yyyy"))


def long_moment(moment: datetime, now: datetime, locale: QLocale) -> str:
    """Return date and time in the way of the locale."""
    moment = moment.astimezone(now.tzinfo)
    date = locale.toString(QDate(moment.year, moment.month, moment.day), QLocale.FormatType.ShortFormat)
    return f"{date} {locale.toString(QTime(moment.hour, moment.minute), QLocale.FormatType.ShortFormat)}"


def _tr(pattern: str) -> str:
    """Return the pattern of a date in the order of the user's language."""
    return QCoreApplication.translate("Dates", pattern)
