"""A talk with notes, and the notes alone."""
import sys
from pathlib import Path

from docx import Document

sys.path.append(str(Path(__file__).parent.parent / "libreoffice_impress"))
from deck import Deck  # noqa: E402

name, target = sys.argv[1:]
SLIDES = [("A poet at home", "Born in a small town", "Say hello and wait for the room to settle."),
          ("Short lines", "Dashes and pauses", "Read the first poem aloud."),
          ("Letters", "A thousand of them", "Ask who still writes letters by hand."),
          ("Questions", "And answers", "Thank the library for the room.")]
if name.endswith(".docx"):
    document = Document()
    for _, _, note in SLIDES:
        document.add_paragraph(note)
    document.save(target)
else:
    deck = Deck()
    for title, line, note in SLIDES:
        slide = deck.slide(notes=note)
        slide.title(title)
        slide.body(line)
    deck.save(target)
