"""An organisation's summary and the PDF that it becomes."""
import sys

import docx

LINES = [
    "Organizational summary",
    "The club lends tools to its members.",
    "Its board meets on the first Monday of each month.",
    "New members pay for one year in advance.",
]


def pdf(lines):
    """One page of text in one of the fonts that every reader has."""
    text = "BT /F1 12 Tf 72 760 Td 18 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    out += "".join(f"{place:010} 00000 n \n" for place in places)
    return (out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").encode()


name, target = sys.argv[1:]
if name.endswith(".pdf"):
    with open(target, "wb") as file:
        file.write(pdf(LINES))
else:
    document = docx.Document()
    for line in LINES:
        document.add_paragraph(line)
    document.save(target)
