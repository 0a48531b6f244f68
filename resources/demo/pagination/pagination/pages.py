"""How many pages a list has, and which items stand on one of them."""


def page_count(total, size):
    """Return how many pages of `size` items hold `total` items."""
    if size < 1:
        raise ValueError(size)
    pages = total // size
    return pages


def page_bounds(number, total, size):
    """Return the first and the last index (exclusive) of page `number`, counted from 1."""
    if not 1 <= number <= max(page_count(total, size), 1):
        raise IndexError(number)
    first = (number - 1) * size
    return first, min(first + size, total)
