"""What a server said last beside the protocol."""

from PySide6.QtWidgets import QPlainTextEdit

from desktop_agent.ui.theme import Theme

_HEIGHT = 132


class LogView(QPlainTextEdit):
    """Shows the end of a server's log, and stays at its end."""

    def __init__(self, theme: Theme, server_name: str) -> None:
        super().__init__(readOnly=True, tabChangesFocus=True)
        self.setObjectName("serverLog")
        self.setAccessibleName(self.tr("What {0} said last").format(server_name))
        self.setFont(theme.code_font())
        self.setFixedHeight(_HEIGHT)

    def show_log(self, text: str) -> None:
        """Show this text, unless it is shown already."""
        if self.toPlainText() != text:
            self.setPlainText(text)
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())
