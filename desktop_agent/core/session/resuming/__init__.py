"""Opening sessions again, however long they are: from a snapshot and the records that came after it."""
