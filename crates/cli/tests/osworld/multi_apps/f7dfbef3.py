"""Two letters of the older kind, packed, and the texts of both as PDF."""
import io
import sys
import tarfile

LETTERS = {"invitation": "You are invited to our summer party.", "reminder": "Your book is due on Friday."}


def rich(text):
    """A word processor reads this whatever the ending of its name."""
    return ("{\\rtf1\\ansi{\\fonttbl{\\f0 Liberation Serif;}}\\f0\\fs24 " + text + "\\par}").encode()


def pdf(text):
    """One page with one line."""
    shown = f"BT /F1 12 Tf 72 760 Td ({text}) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
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
ending, made = ("pdf", pdf) if name.startswith("pdf") else ("doc", rich)
with tarfile.open(target, "w:gz") as archive:
    for title, text in LETTERS.items():
        member, body = tarfile.TarInfo(f"{title}.{ending}"), made(text)
        member.size = len(body)
        archive.addfile(member, io.BytesIO(body))
