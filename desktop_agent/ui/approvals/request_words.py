"""What is said about a question besides its own words."""

from PySide6.QtCore import QCoreApplication

from desktop_agent.core.protocol.model import ApprovalRequest
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.wording.quoted_code import in_quotes
from desktop_agent.ui.wording.short_path import short_path


def _tr(text: str) -> str:
    return QCoreApplication.translate("ApprovalRequest", text)


def summary(request: ApprovalRequest) -> str:
    """Say in a line which tool asks, where, and how much it would change."""
    parts = [request.tool]
    if request.changes:
        from desktop_agent.core.changes.net import net_of_call

        changes = net_of_call(request.changes)
        is_outside = any(change.path.startswith(("/", "../")) or ":" in change.path[:3] for change in request.changes)
        parts.append(_tr("outside the workspace") if is_outside else _tr("inside the workspace"))
        added = sum(change.added for change in changes)
        removed = sum(change.removed for change in changes)
        count = len(changes)
        files = plural("ApprovalRequest", count, "%n file", "%n files")
        parts += [files, f"+{added} −{removed}"]
    if request.command is not None or not request.changes:
        parts.append(_tr("in {0}").format(short_path(request.cwd)) if request.cwd else _tr("in the workspace"))
    return " · ".join(parts)


def quoted(text: str) -> str:
    """Return `text` with the quotation marks of people around what stands between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text  # one of them is not a quote
    return "".join(in_quotes(part) if index % 2 else part for index, part in enumerate(parts))
