"""Small parts that any panel may use. None of them knows a session."""
