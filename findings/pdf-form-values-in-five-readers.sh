#!/usr/bin/env bash
# What was filled into the form of a PDF is no text to four readers; the fifth reads it, and a ticked box as the digit 3.
#
# Expected: text of a page is what a person sees on it, the filled-in values included, as every viewer draws them; or no reader has them.
# What happens: pypdf, pdfplumber, pdfminer.six and pypdfium2 return the labels alone, so a filled-in form reads as an empty one. PyMuPDF
#   returns the value too, and for the tick of a box its code in the font ZapfDingbats: a line "3", between texts that hold numbers.
# Version: pypdf 7.1.1, pdfplumber 0.11.10 with pdfminer.six 20260107, pypdfium2 5.15.2, PyMuPDF 2.0; the form made by reportlab 5.1.0 (PyPI).
# Source: pypdf docs, "Extract text" and "Interactions with PDF forms" (fields are read by `get_fields`); ISO 32000-2, 12.7 (appearance
#   streams of fields belong to annotations, and not to the page's content) and annex D.6 (ZapfDingbats: the tick, a19, is 063 octal, "3").
# Seen on 2026-11-30.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/venv"
"$place/venv/bin/pip" install --quiet --disable-pip-version-check reportlab==5.1.0 pypdf==7.1.1 pdfplumber==0.11.10 \
    pdfminer.six==20260107 pypdfium2==5.15.2 pymupdf==2.0
cat > "$place/look.py" <<'PY'
import os
import sys

import pdfplumber
import pymupdf
import pypdf
import pypdfium2
from pdfminer.high_level import extract_text
from reportlab.pdfgen import canvas

os.chdir(sys.argv[1])
page = canvas.Canvas("form.pdf")
page.drawString(100, 750, "Name:")
page.acroForm.textfield(name="name", x=150, y=740, width=200)
page.acroForm.checkbox(name="agree", x=150, y=700, checked=True)
page.drawString(180, 700, "I agree")
page.save()
writer = pypdf.PdfWriter(clone_from="form.pdf")
writer.update_page_form_field_values(writer.pages[0], {"name": "Filled In"})
writer.write("filled.pdf")

texts = {
    "pypdf": pypdf.PdfReader("filled.pdf").pages[0].extract_text(),
    "pdfplumber": pdfplumber.open("filled.pdf").pages[0].extract_text(),
    "pdfminer.six": extract_text("filled.pdf"),
    "pypdfium2": pypdfium2.PdfDocument("filled.pdf")[0].get_textpage().get_text_range(),
    "PyMuPDF": pymupdf.open("filled.pdf")[0].get_text(),
}
print("the field's value, by pypdf's get_fields:", pypdf.PdfReader("filled.pdf").get_fields()["name"].get("/V"))
for reader, text in texts.items():
    print(f"{reader}: {text.split()}")
labels = ["Name:", "I", "agree"]
if [text.split() for text in texts.values()] == [labels] * 4 + [[*labels, "Filled", "In", "3"]]:
    print("as found: four readers leave the values out, and one reads a tick as 3")
else:
    sys.exit("this has changed")
PY
"$place/venv/bin/python" "$place/look.py" "$place"
