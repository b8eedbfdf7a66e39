"""Accelerations from speeds and times, and each row as a text."""
import sys

from openpyxl import Workbook

name, target = sys.argv[1:]
solved = "_gt1" in name
TIMES = [(4, 5), (8, 6.25), (2.5, 16), (5, 10), (12.5, 3.2), (16, 4)]
HEADER = ["Ramp Up Time", "Ramp Up Acceleration", "Ramp Down Time", "Ramp Down Acceleration"]
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
sheet.append(HEADER + ["Combined Data"] * solved)
for row, (up, down) in enumerate(TIMES, 2):
    if solved:
        values = [up, 20 / up, down, -20 / down]
        text = ", ".join(f"{head}: {value:.2f}" for head, value in zip(HEADER, values))
        sheet.append(values + [text])
    else:
        given = row == 2
        sheet.append([up, "=20/A2" if given else None, down, "=-20/C2" if given else None])
book.save(target)
