"""Changes that are not lines of text: pictures, notebooks, binary files."""
