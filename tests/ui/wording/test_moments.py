from datetime import UTC, datetime, timedelta, timezone

import pytest
from PySide6.QtCore import QLocale

from desktop_agent.ui.wording import long_moment, short_moment

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)  # a Friday
BRITISH = QLocale(QLocale.Language.English, QLocale.Country.UnitedKingdom)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOW, "15:00"),
        (datetime(2026, 11, 20, 0, 1, tzinfo=UTC), "00:01"),
        (datetime(2026, 11, 19, 23, 59, tzinfo=UTC), "Thu"),
        (datetime(2026, 11, 14, 9, 0, tzinfo=UTC), "Sat"),
        (datetime(2026, 11, 13, 9, 0, tzinfo=UTC), "13 Nov"),
        (datetime(2025, 12, 31, 9, 0, tzinfo=UTC), "Dec 2025"),
        (NOW + timedelta(days=2), "22 Nov"),
    ],
)
def test_the_nearer_the_shorter(moment: datetime, text: str) -> None:
    assert short_moment(moment, NOW, BRITISH) == text


def test_what_is_today_depends_on_where_one_is() -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    moment = datetime(2026, 11, 20, 14, 59, tzinfo=UTC)
    assert (short_moment(moment, NOW, BRITISH), short_moment(moment, tokyo, BRITISH)) == ("14:59", "Fri")


def test_in_full_there_are_date_and_time() -> None:
    assert long_moment(NOW, NOW, BRITISH) == "20/11/2026 15:00"
