"""Numbers in full, and the same in millions and in billions."""
import sys
from decimal import ROUND_HALF_UP, Decimal

from openpyxl import Workbook

name, target = sys.argv[1:]
solved = "_gold" in name
NUMBERS = [1254000000, 850250000, 7349000000, 12450000000, 96550000000, 175350000000]


def shown(number, unit, letter):
    return f"{(Decimal(number) / unit).quantize(Decimal('0.1'), ROUND_HALF_UP)} {letter}"


rows = [["Parameter", "Represent in Millions (M)", "Represent in Billions (B)"]]
for number in NUMBERS:
    rows.append([number, shown(number, 10**6, "M"), shown(number, 10**9, "B")] if solved else [number])
if name.endswith(".csv"):
    with open(target, "w") as file:
        file.writelines(",".join(str(value) for value in row) + "\n" for row in rows)
else:
    book = Workbook()
    book.active.title = "Sheet1"
    for row in rows:
        book.active.append(row)
    book.save(target)
