"""The texts of the window and their translations: extraction, the pseudo-language, and checks."""
