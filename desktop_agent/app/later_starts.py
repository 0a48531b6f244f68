"""Takes what later starts of the application ask the window that runs to open."""

import logging
import os

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from desktop_agent.app.startup.one_instance import ANSWER, TOKEN, Asked, is_served
from desktop_agent.core.base.learned import learned

_log = logging.getLogger(__name__)
_MOST_BYTES = 64 * 2**10


class LaterStarts(QObject):
    """Listens for later starts. A window that is not the first does nothing."""

    asked = Signal(object)  # WindowArguments, or None to show only the window

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._server: QLocalServer | None = None

    def listen(self, place: str) -> None:
        """Listen, unless another window does. Blocks for some milliseconds."""
        if not place or is_served(place):
            return
        self._server = server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(place)  # of a window that was killed
        server.newConnection.connect(self._on_connection)
        if not server.listen(place):
            _log.info("Later starts open windows of their own: %s", server.errorString())

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def _on_connection(self) -> None:
        assert self._server is not None
        while self._server.hasPendingConnections():
            connection = self._server.nextPendingConnection()
            connection.disconnected.connect(connection.deleteLater)
            connection.readyRead.connect(self._on_line)

    def _on_line(self) -> None:
        connection: QLocalSocket = self.sender()  # pyright: ignore[reportAssignmentType] - connected above
        if not connection.canReadLine():
            if connection.bytesAvailable() > _MOST_BYTES:
                connection.abort()
            return
        try:
            asked = msgspec.json.decode(connection.readLine().data(), type=learned(Asked))
        except (msgspec.MsgspecError, ValueError):
            connection.abort()
            return
        if asked.activation:
            os.environ[TOKEN] = asked.activation  # where Qt looks for it when a window is to be activated
        connection.write(ANSWER)
        connection.flush()
        connection.disconnectFromServer()
        self.asked.emit(asked.arguments)
