"""Entering an API key: of which provider, and the key, which is tested before it is kept."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from desktop_agent.core.models.account import usual_account
from desktop_agent.core.models.vendors import VENDORS, Vendor, vendor_of
from desktop_agent.ui.connecting.key_field import ApiKeyField
from desktop_agent.ui.onboarding.state import Found, WelcomeActions
from desktop_agent.ui.onboarding.step import Step, form, primary_button
from desktop_agent.ui.theme import Space
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.note import Note
from desktop_agent.ui.widgets.picker import Picker


class KeyStep(Step):
    """Asks for a provider and its key."""

    def __init__(self, actions: WelcomeActions) -> None:
        super().__init__(
            self.tr("Enter an API key"),
            self.tr("It is tested with the provider, which costs nothing, and then kept in your system keyring."),
        )
        self._actions = actions
        self._found = Found()
        self._provider = Picker(min_chars=18)
        self._provider.setAccessibleName(self.tr("Provider"))
        for vendor in _keyed():
            self._provider.addItem(vendor.label, vendor.id)
        self.key = ApiKeyField()
        self._page = make_label(role="secondary", wraps=True, object_name="keysPageLink")
        self._page.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self._page.setOpenExternalLinks(True)
        self._there = Note()
        self._try = primary_button(self.tr("Test and continue"), "tryKeyButton")
        self._lay_out()
        self._provider.currentIndexChanged.connect(self._on_provider)
        self.key.changed.connect(self._update)
        self._try.clicked.connect(self._on_try)
        self._on_provider()

    @property
    def primary(self) -> QPushButton:
        return self._try

    def show_found(self, found: Found) -> None:
        """Begin with the provider that the settings name, or one whose key the environment has."""
        self._found = found
        place = self._provider.findData(next(iter(found.keys), found.provider))
        self._provider.setCurrentIndex(max(place, 0))
        self._on_provider()

    def take_focus(self) -> None:
        self.key.take_focus()

    def forget(self) -> None:
        self.key.forget()

    def offer(self, key: str) -> None:
        """Take a key that was pasted elsewhere."""
        self.key.offer(key)

    def _lay_out(self) -> None:
        fields = form()
        fields.addRow(self.tr("Provider"), self._provider)
        fields.addRow(self.tr("API key"), self.key)
        self.column.addLayout(fields)
        self.column.addSpacing(Space.S)
        self.column.addWidget(self._there)
        self.column.addWidget(self._page)
        self.column.addStretch()

    @property
    def _vendor(self) -> Vendor:
        return vendor_of(str(self._provider.currentData()))

    def _on_provider(self) -> None:
        vendor = self._vendor
        variable = self._found.keys.get(vendor.id, "")
        self._there.setText(self.tr("Leave it empty to use the key in {0}.").format(variable))
        self._there.setVisible(bool(variable))
        shown = vendor.keys_page.removeprefix("https://")
        self._page.setText(self.tr("Keys are made at {0}").format(f'<a href="{vendor.keys_page}">{shown}</a>.'))
        self._update()

    def _update(self) -> None:
        self._try.setEnabled(bool(self.key.text) or self._vendor.id in self._found.keys)
        self.changed.emit()

    def _on_try(self) -> None:
        self._actions.connect(usual_account(self._vendor.id), self.key.text)


def _keyed() -> list[Vendor]:
    """Return the vendors that take a key, each keys page once: the others are other formats of the same vendor."""
    pages: dict[str, Vendor] = {}
    for vendor in VENDORS:
        if vendor.needs_key and vendor.keys_page:
            pages.setdefault(vendor.keys_page, vendor)
    return list(pages.values())
