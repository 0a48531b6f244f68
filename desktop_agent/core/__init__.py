"""The Qt-free core: ops go in, events come out, the journal of those events is the session.

Nothing in here prints, asks or imports Qt. `docs/architecture.md` draws the layers; import-linter keeps them.
"""
