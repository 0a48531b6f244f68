"""Text in encodings other than UTF-8, and an edit of it for each edit tool."""

SENTENCES = {
    "Le café était fermé, déjà à l'été. Ça coûte très cher, naïveté française.": "cp1252 latin-1 iso8859-15 mac-roman",
    "Die Straße ist größer als üblich. Prüfe die Länge der Schlüssel.": "cp1252 cp850",
    "Zażółć gęślą jaźń. Sprawdź długość łańcucha przed usunięciem pliku.": "cp1250 iso8859-2",
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Zkontrolujte délku řetězce.": "cp1250 iso8859-2",
    "Съешь же ещё этих мягких французских булок. Проверьте длину строки.": "cp1251 koi8-r cp866 iso8859-5",
    "Ελέγξτε το μήκος της συμβολοσειράς πριν διαγράψετε το αρχείο.": "cp1253",
    "Dosyayı silmeden önce dizginin uzunluğunu kontrol edin, lütfen.": "cp1254",
    "ファイルを削除する前に文字列の長さを確認してください。ソースコード表示。": "cp932 euc_jp iso2022_jp",
    "删除文件之前请检查字符串的长度。这是一个测试文件，用来检验编码。": "gbk gb18030",
    "刪除檔案之前請檢查字串的長度。這是一個測試檔案，用來檢驗編碼。": "big5",
    "파일을 삭제하기 전에 문자열의 길이를 확인하십시오. 한국어 테스트입니다.": "euc_kr cp949",
}
"""Ordinary sentences, and their usual encodings."""
WRITTEN = [(text, encoding) for text, names in SENTENCES.items() for encoding in names.split()]
EDITS: dict[str, dict[str, str]] = {
    "edit_file": {"path": "f", "old_str": "x = 1", "new_str": "x = 2  # {}"},
    "line_edit": {"path": "f", "mode": "replace", "anchor": "x = 1", "text": "x = 2  # {}"},
    "template_block": {"path": "f", "mode": "replace_block", "anchor": "x = 1", "template": "x = 2  # {}"},
    "apply_patch": {"file_path": "f", "patch": "-x = 1\n+x = 2  # {}\n"},
}
"""The arguments of a call that appends a comment, `{}`, to the line `x = 1` of the file `f`."""


def program(sentence: str) -> str:
    return f"# {sentence}\r\nx = 1\r\n# {sentence.lower()}\r\n"


def edit(tool: str, comment: str) -> dict[str, str]:
    return {key: value.format(comment) for key, value in EDITS[tool].items()}
