"""Using a model of this machine: which servers run, and what to do about those that do not."""

from collections.abc import Sequence

from msgspec.structs import replace
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.vendors import LocalServer, vendor_of
from desktop_agent.ui.onboarding.cards import Cards
from desktop_agent.ui.onboarding.state import WelcomeActions
from desktop_agent.ui.onboarding.step import Step, primary_button
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.buttons import make_button
from desktop_agent.ui.widgets.layouts import STRETCH, hbox
from desktop_agent.ui.widgets.note import Note


class LocalStep(Step):
    """Offers the servers that run, and says of the others how to start them."""

    def __init__(self, theme: Theme, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("Use a model on this machine"),
            self.tr("Servers are looked for on this machine only. They need no key."),
        )
        self._actions = actions
        self._cards = Cards(theme)
        self._absent = Note(object_name="absentServersNote")
        self._again = make_button(self.tr("Look again"), object_name="lookAgainButton", clicked=self.look)
        self._use = primary_button(self.tr("Use this server"), "useServerButton")
        self._use.clicked.connect(self._on_use)
        self._cards.chosen.connect(self.changed)
        self._cards.confirmed.connect(self._use.click)
        self.column.addWidget(self._cards)
        self.column.addSpacing(Space.S)
        self.column.addWidget(self._absent)
        self.column.addSpacing(Space.S)
        self.column.addLayout(hbox(self._again, STRETCH))
        self.column.addStretch()

    @property
    def primary(self) -> QPushButton:
        return self._use

    def begin(self) -> None:
        self.look()
        self.take_focus()

    def take_focus(self) -> None:
        if isinstance(self._cards.value, LocalServer):
            self._cards.take_focus()
        else:
            self._again.setFocus()

    def look(self) -> None:
        """Look which servers run."""
        self._again.setText(self.tr("Looking…"))
        self._use.setEnabled(isinstance(self._cards.value, LocalServer))
        self._actions.look_for_servers()

    def show_servers(self, servers: Sequence[LocalServer]) -> None:
        """Show what was found."""
        self._again.setText(self.tr("Look again"))
        usable = [server for server in servers if server.is_usable]
        running = {server.provider for server in usable}
        absent = [server for server in servers if not server.is_usable and server.provider not in running]
        self._cards.show_choices([(server.label, _what(server), server) for server in usable])
        self._cards.setVisible(bool(usable))
        self._absent.setText("\n\n".join(server.words for server in absent))
        self._absent.setVisible(bool(absent))
        self._use.setEnabled(bool(usable))
        if usable and self._again.hasFocus():
            self._cards.take_focus()
        self.changed.emit()

    def _on_use(self) -> None:
        server = self._cards.value
        if isinstance(server, LocalServer):
            account = usual_account(server.provider)
            is_usual = server.address == vendor_of(server.provider).address
            self._actions.connect(account if is_usual else replace(account, address=server.address), "")


def _what(server: LocalServer) -> str:
    """Return what a server has, as far as it fits: `127.0.0.1:11434 · qwen3:8b, gpt-oss:20b and 3 more`."""
    names = list(server.models)
    shown = ", ".join(names[:2])
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return f"{server.place} · {shown}{more}"
