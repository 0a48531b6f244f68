import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from desktop_agent.app.navigator import demo_follow_up, demo_prompt, examples
from desktop_agent.core.diff.diff import as_read, diff_change
from desktop_agent.core.models.model_catalog import FREE
from desktop_agent.core.protocol.model import FileChange, FileImage
from desktop_agent.core.providers.demo import DEMO_FOLLOW_UP, DEMO_PROMPT
from desktop_agent.core.slash.declarations import BUILT_IN, Declaration
from desktop_agent.ui.approvals.question_head import IconNote, QuestionHead
from desktop_agent.ui.chat.cards.request_card import card_notes
from desktop_agent.ui.chat.composer.offer_popups import CommandPopup
from desktop_agent.ui.chat.text.styles import TextStyles
from desktop_agent.ui.models.model_popup import cost_words
from desktop_agent.ui.open_question import OpenQuestion
from desktop_agent.ui.review.diff.diff_words import diff_name, notes_label
from desktop_agent.ui.theme import Theme
from desktop_agent.ui.translation import answer_words, core_words
from tests.parts import part
from tests.ui.approvals.stage import WordRules, push

TEXTS = [
    ("The key was refused.", "Der Schlüssel wurde abgelehnt."),
    ("There is no API key for Anthropic.", "Es gibt keinen API-Schlüssel für Anthropic."),
    ("Trying again in 4 s (try 2 of 5).", "Neuer Versuch in 4 s (Versuch 2 von 5)."),
    ("A rule of yours asks before this: `git push {0}`.", "Eine Ihrer Regeln fragt hiervor: `git push {0}`."),
    (
        "This needs the network. The sandbox blocks that, so the command would run outside it.",
        "Dies braucht das Netz. Die Sandbox lässt das nicht zu, der Befehl würde also außerhalb laufen.",
    ),
    (
        "A safety copy is made first: the files of this folder.",
        "Zuerst wird eine Sicherungskopie angelegt: die Dateien dieses Ordners.",
    ),
    (
        "Confined: it writes none of your files and reaches no network.",
        "Eingeschränkt: er schreibt nichts von Ihren Dateien und erreicht kein Netz.",
    ),
    (
        "This command could not be fully understood: `sh` runs what it reads.",
        "Dieser Befehl konnte nicht ganz verstanden werden: `sh` führt aus, was es liest.",
    ),
    ("Always allow edits", "Bearbeitungen immer erlauben"),
    (
        "address: it must begin with https:// or http://, for example https://models.example/v1",
        "Adresse: sie muss mit https:// oder http:// beginnen, zum Beispiel https://models.example/v1",
    ),
    ("PNG image", "PNG-Bild"),
    ("it needs a command line or an address", "es fehlt eine Befehlszeile oder eine Adresse"),
    (
        "The MCP server notes could not be started: "
        "Files that it runs are not as you trusted them, so it was not started.",
        "Der MCP-Server notes konnte nicht gestartet werden: "
        "Dateien, die er ausführt, sind nicht so, wie Sie ihnen vertraut haben; deshalb wurde er nicht gestartet.",
    ),
    (
        "The MCP server x broke off: It ended with exit code 7.",
        "Der MCP-Server x ist abgebrochen: Er hat sich mit dem Exit-Code 7 beendet.",
    ),
    ("The settings file could not be made.", "Die Einstellungsdatei konnte nicht angelegt werden."),
    ("The rules could not be saved.", "Nicht gespeichert: Regeln."),
    ("There is a server named 'git' already.", "Es gibt schon einen Server namens 'git'."),
    ("Ollama runs on 127.0.0.1:11434, without a model.", "Ollama läuft auf 127.0.0.1:11434, ohne Modell."),
    ("What a server says of itself.", "What a server says of itself."),
    ("", ""),
]


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize(("text", "said"), TEXTS)
def test_a_text_is_recognised_with_its_values(text: str, said: str) -> None:
    assert core_words(text) == said


@pytest.mark.usefixtures("german")
def test_notes_of_a_diff_are_said_in_the_language_of_the_window() -> None:
    image = FileImage(digest="d", size=9, mode=0o100644)
    before, after = "Straße\nüber\n".encode("cp1252"), "Straße\r\nüber".encode()
    change = FileChange(
        id="c", path="a", kind="modified", author="agent", before=image, after=replace(image, mode=0o100755)
    )
    diff = as_read(diff_change(change, before, after), before, after)
    words = (
        "Rechte 644 → 755 · Zeilenenden geändert (LF → CRLF) · kein Zeilenende am Dateiende · Kodierung CP1252 → UTF-8"
    )
    assert notes_label(diff.notes) == words
    assert diff_name(diff).endswith(words.replace(" · ", ". "))


@pytest.mark.usefixtures("german")
def test_commands_and_prices_are_offered_in_the_language_of_the_window(qtbot: QtBot, theme: Theme) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    popup = CommandPopup(theme, window)
    theirs = Declaration(name="helper", summary="List the commands", origin="person", asks_model=True)
    popup.follow("/help", (*BUILT_IN, theirs))
    rows = [popup.model().index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(2)]
    assert "Die Befehle auflisten" in rows[0]
    assert "List the commands" in rows[1], "what the user wrote stays"
    assert cost_words(FREE, None) == "kostenlos"


@pytest.mark.usefixtures("german")
def test_a_question_names_its_safety_copy_in_the_language_of_the_window(qtbot: QtBot, theme: Theme) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    request = replace(push(), safety=("A safety copy is made first: the files of this folder.",))
    said = "Zuerst wird eine Sicherungskopie angelegt: die Dateien dieses Ordners."
    notes = card_notes(request, request.command or "", TextStyles(theme), window)
    assert notes.rest[-1].accessibleName() == said
    assert notes.spoken.endswith(said)
    head = QuestionHead(theme, OpenQuestion(request, window), WordRules(), window)
    assert part(head, IconNote, "approvalSafetyNote").text() == said


@pytest.mark.parametrize("text", [text for text, _ in TEXTS])
def test_in_english_it_stays_as_it_is(text: str) -> None:
    assert core_words(text) == text


ANSWERS = [
    ("Undone: 2 files. Left as they are: 1.", "Rückgängig gemacht: 2 Dateien. Unverändert gelassen: 1."),
    (
        "Undone: 1 file.\n\n- `restored my files.txt`\n- `left alone: b.txt (You changed the same lines since.)`",
        "Rückgängig gemacht: 1 Datei.\n\n- `wie zuvor: my files.txt`\n"
        "- `in Ruhe gelassen: b.txt (Sie haben dieselben Zeilen seither geändert.)`",
    ),
    (
        "The agent did not change `a. Model: b` in this conversation. `/diff` shows what it did.",
        "Der Agent hat `a. Model: b` in dieser Unterhaltung nicht geändert. `/diff` zeigt, was er getan hat.",
    ),
    (
        "2 files changed by the agent.\n\n````diff\n-Nothing was undone.\n```\n+Which pin?\n````\nNothing was undone.",
        "2 Dateien hat der Agent geändert.\n\n````diff\n-Nothing was undone.\n```\n+Which pin?\n````\n"
        "Es wurde nichts rückgängig gemacht.",
    ),
    ("- Auto-compaction: off\n- Folder: `/srv/a`", "- Automatisch zusammenfassen: aus\n- Ordner: `/srv/a`"),
    (
        "There is no command `/xyz`. `/help` lists them. To send it to the model as it is, begin with a space or a "
        "second slash.",
        "Einen Befehl `/xyz` gibt es nicht. `/help` zählt sie auf. Um es so an das Modell zu senden, beginnen Sie mit "
        "einem Leerzeichen oder einem zweiten Schrägstrich.",
    ),
    ("What others say. And more.", "What others say. And more."),
]


@pytest.mark.usefixtures("german")
@pytest.mark.parametrize(("said", "shown"), ANSWERS)
def test_what_a_slash_command_said_is_shown_sentence_by_sentence_and_code_as_it_is(said: str, shown: str) -> None:
    assert answer_words(said) == shown


@pytest.mark.parametrize("said", [said for said, _ in ANSWERS])
def test_in_english_an_answer_stays_as_it_is(said: str) -> None:
    assert answer_words(said) == said


@pytest.mark.usefixtures("german")
def test_prompts_are_suggested_in_the_users_language() -> None:
    assert examples()[0] == "Was macht dieses Projekt?"
    assert demo_prompt().startswith("Einer der Tests schlägt fehl.")
    assert demo_follow_up().startswith("Ergänze einen Test für eine leere Liste")


def test_the_demo_is_asked_what_it_is_written_for() -> None:
    assert (demo_prompt(), demo_follow_up()) == (DEMO_PROMPT, DEMO_FOLLOW_UP)
