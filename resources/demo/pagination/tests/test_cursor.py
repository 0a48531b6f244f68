import unittest

from pagination.cursor import decode_cursor, encode_cursor


class CursorTest(unittest.TestCase):
    def test_a_cursor_comes_back_as_its_position(self):
        self.assertEqual(decode_cursor(encode_cursor(17)), 17)


if __name__ == "__main__":
    unittest.main()
