"""The Qt-free core: ops go in, events come out, the journal of those events is the session."""
