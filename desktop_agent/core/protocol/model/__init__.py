"""Frozen data that ops and events share: messages, tool calls, changes, approvals, sessions.

Journals must stay readable (`docs/session-format.md`): add fields with a default, remove none.
"""

from desktop_agent.core.protocol.model.approvals import *
from desktop_agent.core.protocol.model.changes import *
from desktop_agent.core.protocol.model.messages import *
from desktop_agent.core.protocol.model.sessions import *
