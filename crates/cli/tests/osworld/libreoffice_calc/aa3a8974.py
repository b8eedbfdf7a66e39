"""A wide sheet, and the text of the one page that it is to become."""
import sys

from openpyxl import Workbook

name, target = sys.argv[1:]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
ROWS = [["Team", *MONTHS, "Total"]]
for at, team in enumerate(["Sales", "Research", "Support", "Finance", "Logistics"]):
    costs = [1000 + 110 * at + 25 * month for month in range(12)]
    ROWS.append([team, *costs, sum(costs)])


def page(rows):
    """A PDF of one page with each value at its place."""
    text = []
    for line, row in enumerate(rows):
        for column, value in enumerate(row):
            text.append(f"1 0 0 1 {30 + 54 * column} {560 - 16 * line} Tm ({value}) Tj")
    stream = "BT /F1 9 Tf " + " ".join(text) + " ET"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
               "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 842 595] /Contents 4 0 R"
               " /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
               f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream"]
    parts, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(parts))
        parts += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (f"{parts}xref\n0 5\n0000000000 65535 f \n{table}"
            f"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n{len(parts)}\n%%EOF\n")


if name.endswith(".pdf"):
    with open(target, "w", newline="\n") as file:
        file.write(page(ROWS))
else:
    book = Workbook()
    book.active.title = "Sheet1"
    for row in ROWS:
        book.active.append(row)
    book.save(target)
