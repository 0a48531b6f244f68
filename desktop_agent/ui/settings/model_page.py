"""The section about the model: who answers, at which address, with which key."""

from collections.abc import Iterable

from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from desktop_agent.core.base.web_address import is_readable_on_the_way
from desktop_agent.ui.settings.actions import SettingsActions
from desktop_agent.ui.settings.generated_page import SettingRows, settings_of
from desktop_agent.ui.settings.key_editor import KeyEditor
from desktop_agent.ui.settings.parts import Page, form, name_of, note, pick, picker
from desktop_agent.ui.settings.state import SettingsView
from desktop_agent.ui.theme import Space, Theme
from desktop_agent.ui.widgets.layouts import hairline, vbox
from desktop_agent.ui.widgets.picker import Picker

_HAND_MADE = ("model.provider", "model.name", "model.base_url")


class ModelPage(Page):
    """Provider, model, address, key, and how much the model may read and write."""

    def __init__(self, models: Iterable[str], theme: Theme, actions: SettingsActions) -> None:
        super().__init__(self.tr("Model"))
        self._actions = actions
        self.key = KeyEditor("anthropic", actions)
        self._known_name = ""
        self._known_address = ""
        self._provider = picker(
            self.tr("Provider"), [(self.tr("Anthropic"), "anthropic"), (self.tr("Demo, without a key"), "demo")]
        )
        self._name = self._build_name(models)
        self._address = QLineEdit()
        self._address.setObjectName("baseUrlEdit")
        self._address.setAccessibleName(self.tr("Address"))
        self._address.setPlaceholderText("https://api.anthropic.com")
        self._rows = SettingRows(settings_of("model", _HAND_MADE), theme, actions)
        self._rows.build()
        self._lay_out()
        self._provider.currentIndexChanged.connect(self._on_provider)
        self._name.currentIndexChanged.connect(self._on_name)
        line = self._name.lineEdit()
        assert line is not None
        line.editingFinished.connect(self._on_name)
        self._address.editingFinished.connect(self._on_address)

    def show_view(self, view: SettingsView) -> None:
        settings = view.settings.model
        self._rows.show_view(view)
        variables = [variable for key in _HAND_MADE if (variable := view.variable_of(key))]
        self._variables.setText(self.tr("Set by the environment: {0}.").format(", ".join(variables)))
        self._variables.setVisible(bool(variables))
        self._name.setEnabled(not view.variable_of("model.name"))
        self._address.setEnabled(not view.variable_of("model.base_url"))
        self._known_name, self._known_address = settings.name, settings.base_url
        pick(self._provider, settings.provider)
        self._name.blockSignals(True)
        self._name.setCurrentText(settings.name)
        self._name.blockSignals(False)
        self._address.setText(settings.base_url)
        self._update_provider()

    def show_key(self) -> None:
        """Show the field for the key, for the demo too: a key may be kept before it is needed."""
        self._anthropic.show()

    # --- building -------------------------------------------------------------------------------------------------

    def _build_name(self, models: Iterable[str]) -> Picker:
        name = picker(self.tr("Model"), [(model, model) for model in models])
        name.setObjectName("modelNameEdit")
        name.setEditable(True)
        name.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        name.setMinimumContentsLength(24)
        return name

    def _lay_out(self) -> None:
        who = form()
        who.addRow(name_of(self.tr("Provider")), self._provider)
        self._anthropic = QWidget()
        which = form()
        which.addRow(name_of(self.tr("Model")), self._name)
        which.addRow(name_of(self.tr("Address")), self._address)
        which.addRow(name_of(""), note(self.tr("Only for a gateway or proxy; empty means Anthropic's own.")))
        self._readable = note(
            self.tr("Not encrypted: anyone on the way can read the key and the conversation."), "warning"
        )
        which.addRow(name_of(""), self._readable)
        self._on_address_text(self._address.text())
        self._address.textChanged.connect(self._on_address_text)
        self._variables = note("", "warning")
        vbox(which, self._variables, hairline(), self.key, on=self._anthropic, spacing=Space.M)
        self._demo = note(self.tr("The demo follows a script. It needs no key, no network and no address."))
        self.column.addLayout(who)
        self.column.addWidget(self._anthropic)
        self.column.addWidget(self._demo)
        self.column.addWidget(hairline())
        self.column.addLayout(self._rows)
        self.column.addStretch()

    # --- changes --------------------------------------------------------------------------------------------------

    def _on_provider(self) -> None:
        self._update_provider()
        self._actions.change("model.provider", self._provider.currentData())

    def _update_provider(self) -> None:
        is_demo = self._provider.currentData() == "demo"
        self._anthropic.setVisible(not is_demo)
        self._demo.setVisible(is_demo)

    def _on_name(self) -> None:
        # Qt says that editing has finished at Enter, and again when the field loses the focus.
        name = self._name.currentText().strip()
        if name and name != self._known_name:
            self._known_name = name
            self._actions.change("model.name", name)

    def _on_address_text(self, text: str) -> None:
        self._readable.setVisible(is_readable_on_the_way(text.strip()))

    def _on_address(self) -> None:
        address = self._address.text().strip()
        if address != self._known_address:
            self._known_address = address
            self._actions.change("model.base_url", address)
