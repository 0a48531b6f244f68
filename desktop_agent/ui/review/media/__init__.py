"""Views of changes that are not lines of text: pictures, notebooks, binary files."""
