"""An essay of three paragraphs: introduction, body and conclusion, with the usual spacing or each with its own."""
import sys

import docx
from docx.shared import Pt

PARTS = [
    ("This course asks how cities grow. It starts with villages beside rivers and ends with towers.", 1.0),
    ("Markets come first, because people trade before they build. Walls follow, and with them taxes and roads.", 2.0),
    ("A city is a market that stayed. What it needs is what its traders needed.", 1.5),
]

name, target = sys.argv[1:]
document = docx.Document()
for text, spacing in PARTS:
    paragraph = document.add_paragraph()
    paragraph.add_run(text).font.size = Pt(12)
    if "_Gold" in name:
        paragraph.paragraph_format.line_spacing = spacing
document.save(target)
