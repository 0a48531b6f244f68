"""What is asked of a new account: its name, its address, and how its key travels."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QLineEdit

from desktop_agent.core.models.account import Account, is_same_name, why_unusable
from desktop_agent.core.models.vendors import Vendor
from desktop_agent.ui.widgets.picker import Picker

NO_KEY = ""
"""In the place of how a key travels: none is sent."""


class AccountFields(QObject):
    """The fields, which its owner places, and the account that they come to.

    Signals:
        changed: something else is in one of them.
        confirmed: Enter was pressed in a line.
    """

    changed = Signal()
    confirmed = Signal()

    def __init__(self, name_edit: str, address_edit: str, *, may_need_no_key: bool = False) -> None:
        """`name_edit` and `address_edit` are the object names of the lines. `may_need_no_key` offers to send none."""
        super().__init__()
        self.name = QLineEdit()
        self.name.setObjectName(name_edit)
        self.name.setAccessibleName(self.tr("Name of the account"))
        self.name.setPlaceholderText(self.tr("For example: work"))
        self.address = QLineEdit()
        self.address.setObjectName(address_edit)
        self.address.setAccessibleName(self.tr("Address of the account"))
        self.header = Picker(min_chars=24)
        self.header.setAccessibleName(self.tr("How the key travels"))
        self.header.addItem("Authorization: Bearer", "bearer")
        self.header.addItem("x-api-key", "x-api-key")
        if may_need_no_key:
            self.header.addItem(self.tr("No key is needed"), NO_KEY)
        for line in (self.name, self.address):
            line.textChanged.connect(self.changed)
            line.returnPressed.connect(self.confirmed)
        self.header.currentIndexChanged.connect(self.changed)

    def begin(self, vendor: Vendor) -> None:
        """Ask for another account of a vendor, whose own address and header are the usual ones."""
        self.name.clear()
        self.address.clear()
        self.address.setPlaceholderText(vendor.address)
        self.header.setCurrentIndex(self.header.findData(vendor.key_header))

    @property
    def is_filled(self) -> bool:
        """Whether there are a name and an address, of whatever kind."""
        return bool(self.name.text().strip() and self.address.text().strip())

    def account(self, provider: str) -> Account:
        """Return the account of a provider that is asked for, which may be none that can be used."""
        header = self.header.currentData()
        return Account(
            provider=provider,
            name=self.name.text().strip(),
            address=self.address.text().strip().rstrip("/"),
            kind="key" if header != NO_KEY else "none",
            header="x-api-key" if header == "x-api-key" else "bearer",
        )

    def why_not(self, account: Account, others: Sequence[Account] = ()) -> str:
        """Return why an account cannot be added beside others, as a sentence; empty if it can."""
        if not account.name:
            return self.tr("Give the account a name.")
        if any(is_same_name(account.name, other.name) for other in others):
            return self.tr("There is an account of this name already.")
        reason = why_unusable(account)
        return self.tr("The account cannot be used: {0}.").format(reason) if reason else ""
