"""Small widgets for any panel. They do not depend on a session."""
