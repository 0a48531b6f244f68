"""Small parts for any panel. None of them knows a session."""
