"""Pages of lists."""

from pagination.pages import page_bounds, page_count

__all__ = ["page_bounds", "page_count"]
