"""What is said of a version of a picture or a binary file."""

from hashlib import blake2b

from PySide6.QtCore import QCoreApplication, QLocale

from desktop_agent.ui.review.media.decoding import MAX_PIXELS, DecodedPicture, Problem

_HASH_BYTES = 6


def size_words(size_bytes: int) -> str:
    """Return a size as people read it: `12.4 kB`."""
    return QLocale().formattedDataSize(size_bytes, 1, QLocale.DataSizeFormat.DataSizeSIFormat)


def exact_size_words(size_bytes: int) -> str:
    """Return a size as people read it, and to the byte."""
    exact = _tr("{0} bytes").format(QLocale().toString(size_bytes))
    return exact if size_bytes < 1000 else f"{size_words(size_bytes)} ({exact})"


def short_hash(content: bytes) -> str:
    """Return the beginning of the content's BLAKE2b digest. Takes a second for a gigabyte."""
    return blake2b(content, digest_size=32).hexdigest()[: 2 * _HASH_BYTES]


def picture_words(picture: DecodedPicture) -> str:
    """Return the caption of a picture: `800 × 600 · PNG image · 12.4 kB`."""
    parts: list[str] = []
    if picture.size.isValid():
        parts.append(f"{picture.size.width()} × {picture.size.height()}")
    if picture.type_name:
        parts += (picture.type_name, size_words(picture.size_bytes))
    if picture.is_animated:
        parts.append(_tr("first frame"))
    return " · ".join(parts)


def problem_words(problem: Problem) -> str:
    """Return why nothing is drawn; empty when something is."""
    words: dict[Problem, str] = {
        "": "",
        "absent": _tr("There is no file"),
        "no picture": _tr("This is not a picture that can be shown here"),
        "damaged": _tr("The picture is damaged or cut off"),
        "too large": _tr("Too large to show: more than {0} million pixels or 30 MB"),
        "too complex": _tr("Not drawn: the drawing has too many parts"),
        "unsafe": _tr("Not drawn: it refers to other files or runs a program"),
    }
    return words[problem].format(MAX_PIXELS // 1_000_000)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Media", text)
