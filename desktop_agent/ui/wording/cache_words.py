"""Why a provider read a prompt anew that it had kept in its cache, in words."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.protocol.model import CacheMiss, CacheMissReason
from desktop_agent.ui.widgets.context_meter import counted


def cache_miss_words(miss: CacheMiss) -> str:
    """Return a sentence on what was not in the cache, about how much that was, and why."""
    why = _why(miss.reason)
    if not miss.tokens:
        return _tr("The last turn was not in the provider's cache: {0}.").format(why)
    text = _tr("About {0} tokens of the last turn were not in the provider's cache: {1}.")
    return text.format(counted(miss.tokens), why)


def _why(reason: CacheMissReason) -> str:
    match reason:
        case "model":
            return _tr("the model changed")
        case "system":
            return _tr("the instructions changed")
        case "tools":
            return _tr("the tools changed")
        case "messages":
            return _tr("the earlier conversation changed")
        case "compaction":
            return _tr("older turns were summarised")
        case "options":
            return _tr("an option of the request changed")
        case "unknown":
            return _tr("it does not say why, and keeps nothing for long")


def _tr(text: str) -> str:
    return QCoreApplication.translate("CacheMiss", text)
