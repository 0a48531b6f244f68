import unittest

from pagination import page_bounds, page_count


class PageCountTest(unittest.TestCase):
    def test_full_pages(self):
        self.assertEqual(page_count(40, 10), 4)

    def test_a_short_last_page_counts(self):
        self.assertEqual(page_count(41, 10), 5)

    def test_a_page_needs_a_size(self):
        with self.assertRaises(ValueError):
            page_count(1, 0)


class PageBoundsTest(unittest.TestCase):
    def test_first_page(self):
        self.assertEqual(page_bounds(1, 40, 10), (0, 10))


if __name__ == "__main__":
    unittest.main()
