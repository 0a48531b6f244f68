"""The bar above a file with what is to be said or asked before something of it is lost."""

from typing import Literal

from PySide6.QtCore import Signal

from desktop_agent.ui.widgets.banner_frame import BannerFrame

SaveStage = Literal["", "stale", "gone", "closing", "failed"]


class SaveBar(BannerFrame):
    """Hidden while there is nothing to say.

    Signals:
        compare_requested: show how the file on disk differs from what is shown.
        overwrite_requested: write what is shown, whatever is on disk.
        reload_requested: show what is on disk, and drop what is shown.
        save_requested: write what is shown.
        discard_requested: close the file without writing it.
    """

    compare_requested = Signal()
    overwrite_requested = Signal()
    reload_requested = Signal()
    save_requested = Signal()
    discard_requested = Signal()

    def __init__(self) -> None:
        super().__init__("viewerSaveBar")
        self.stage: SaveStage = ""
        """What it is about."""
        self._compare = self.add_button(self.tr("Show difference"), "viewerCompareButton")
        self._overwrite = self.add_button(self.tr("Overwrite"), "viewerOverwriteButton")
        self._reload = self.add_button(self.tr("Reload"), "viewerReloadButton")
        self._save = self.add_button(self.tr("Save"), "viewerSaveNowButton")
        self._discard = self.add_button(self.tr("Discard"), "viewerDiscardButton")
        self._later = self.add_button(self.tr("Go on editing"), "viewerGoOnButton", is_flat=True)
        self._compare.clicked.connect(self.compare_requested)
        self._overwrite.clicked.connect(self.overwrite_requested)
        self._reload.clicked.connect(self.reload_requested)
        self._save.clicked.connect(self.save_requested)
        self._discard.clicked.connect(self.discard_requested)
        self._later.clicked.connect(self.close_bar)

    def ask(self, stage: SaveStage, reason: str = "") -> None:
        """Say what is the matter, with what can be done."""
        words = {
            "": ("", ""),
            "stale": (
                self.tr("This file was changed on disk since you began to edit it."),
                self.tr("Overwrite writes your version; Reload drops it and shows the file as it is."),
            ),
            "gone": (
                self.tr("This file was deleted or moved since you began to edit it."),
                self.tr("Overwrite writes your version as a new file; Reload drops it."),
            ),
            "closing": (self.tr("Your changes to this file are not saved."), ""),
            "failed": (reason, self.tr("Nothing was written; your text is still here.")),
        }
        self.stage = stage
        self.say(*words[stage])
        self._compare.setVisible(stage == "stale")
        self._overwrite.setVisible(stage in ("stale", "gone"))
        self._reload.setVisible(stage in ("stale", "gone"))
        self._save.setVisible(stage == "closing")
        self._discard.setVisible(stage == "closing")
        self._later.setVisible(stage in ("closing", "failed"))
        self.setVisible(bool(stage))

    def close_bar(self) -> None:
        """Say nothing any more."""
        self.ask("")
