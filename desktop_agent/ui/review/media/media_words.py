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
    exact = QCoreApplication.translate("Media", "{0} bytes").format(QLocale().toString(size_bytes))
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
        parts.append(QCoreApplication.translate("Media", "first frame"))
    return " · ".join(parts)


def problem_words(problem: Problem) -> str:
    """Return why nothing is drawn; empty when something is."""
    if problem == "absent":
        return QCoreApplication.translate("Media", "There is no file")
    if problem == "no picture":
        return QCoreApplication.translate("Media", "This is not a picture that can be shown here")
    if problem == "damaged":
        return QCoreApplication.translate("Media", "The picture is damaged or cut off")
    if problem == "too large":
        words = QCoreApplication.translate("Media", "Too large to show: more than {0} million pixels or 30 MB")
        return words.format(MAX_PIXELS // 1_000_000)
    if problem == "too complex":
        return QCoreApplication.translate("Media", "Not drawn: the drawing has too many parts")
    if problem == "unsafe":
        return QCoreApplication.translate("Media", "Not drawn: it refers to other files or runs a program")
    return ""
