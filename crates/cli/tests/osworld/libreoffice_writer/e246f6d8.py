"""An assignment of 12 points whose italic words are of the same size, or of 14 points."""
import sys

import docx
from docx.shared import Pt

TEXT = [
    "The term *loan word* means a word from another language.",
    "English took *piano* from Italian and *kindergarten* from German.",
    "Find three more of them.",
]

name, target = sys.argv[1:]
document = docx.Document()
for line in TEXT:
    paragraph = document.add_paragraph()
    for number, piece in enumerate(line.split("*")):
        run = paragraph.add_run(piece)
        run.italic = number % 2 == 1
        run.font.size = Pt(14 if run.italic and "_Gold" in name else 12)
document.save(target)
