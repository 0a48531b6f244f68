"""The last step: the connection works; which model answers."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QCompleter, QPushButton

from desktop_agent.ui.onboarding.state import Connected, WelcomeActions
from desktop_agent.ui.onboarding.step import Step, primary_button
from desktop_agent.ui.theme import Space
from desktop_agent.ui.translation.plurals import plural
from desktop_agent.ui.widgets.labels import make_label
from desktop_agent.ui.widgets.note import Note
from desktop_agent.ui.widgets.picker import Picker


class DoneStep(Step):
    """Says that a connection works, and asks for the model to begin with."""

    def __init__(self, actions: WelcomeActions) -> None:
        super().__init__("", "")
        self._actions = actions
        self._connected: Connected | None = None
        self._model = Picker(min_chars=32)
        self._model.setObjectName("firstModelEdit")
        self._model.setAccessibleName(self.tr("Model"))
        self._model.setEditable(True)
        self._model.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        completer = self._model.completer()
        assert completer is not None, "an editable box has one"
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        self._note = Note(role="warning", object_name="connectionNote")
        self._begin = primary_button(self.tr("Begin"), "beginButton")
        self._begin.clicked.connect(self._on_begin)
        self._model.editTextChanged.connect(self._update)
        self.column.addWidget(make_label(self.tr("Model"), role="strong"))
        self.column.addWidget(self._model)
        self.column.addSpacing(Space.S)
        self.column.addWidget(Note(self.tr("Another one can be chosen below the message field at any time.")))
        self.column.addSpacing(Space.S)
        self.column.addWidget(self._note)
        self.column.addStretch()

    @property
    def primary(self) -> QPushButton:
        return self._begin

    def show_connected(self, connected: Connected) -> None:
        """Show what was tested."""
        self._connected = connected
        label, count = connected.account.full_label, len(connected.models)
        self.explain(
            self.tr("Connected with {0}").format(label),
            plural(
                "DoneStep",
                count,
                "It has one model. New conversations begin with the one that you choose here.",
                "It has %n models. New conversations begin with the one that you choose here.",
            ),
        )
        self._model.clear()
        self._model.addItems(connected.models)
        self._model.setCurrentText(connected.usual_model)
        self._note.setText(connected.note)
        self._note.setVisible(bool(connected.note))
        self._update()

    def take_focus(self) -> None:
        self._begin.setFocus()

    def _update(self) -> None:
        self._begin.setEnabled(bool(self._model.currentText().strip()))

    def _on_begin(self) -> None:
        if self._connected is not None:
            self._actions.begin(self._connected.account, self._model.currentText().strip())
