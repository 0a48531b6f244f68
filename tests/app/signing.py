"""For sign-ins in the real window: a service, its models, and the desktop's browser."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from desktop_agent.core.providers.auth.sign_ins import SignInServices
from tests.servers.authorization_server import AuthorizationServer
from tests.servers.browser import UserInBrowser
from tests.servers.dialects.dialect import Dialect
from tests.servers.script import Answer
from tests.servers.threaded import ThreadedServer, in_thread, serve


class BrowserOfTheDesktop(QObject):
    def __init__(self, user: UserInBrowser) -> None:
        super().__init__()
        self._user = user
        self.opened: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
        self._user.visit(self.opened[-1])

    def __enter__(self) -> "BrowserOfTheDesktop":
        name: Any = "open"  # the types want bytes, and the call wants text
        QDesktopServices.setUrlHandler("http", self, name)
        return self

    def __exit__(self, *_: object) -> None:
        QDesktopServices.unsetUrlHandler("http")


@contextmanager
def service(
    monkeypatch: pytest.MonkeyPatch, dialect: Dialect, *answers: Answer
) -> Generator[tuple[AuthorizationServer, ThreadedServer]]:
    with serve(*answers, dialect=dialect) as models, in_thread(AuthorizationServer()) as (server, _):
        server.resource = models.url
        services = SignInServices(server.chatgpt(), server.openrouter())
        monkeypatch.setattr("desktop_agent.core.providers.auth.sign_ins.SignInServices", lambda: services)
        yield server, models
