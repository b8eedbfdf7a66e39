"""A sheet of expenses up to a day, receipts of the days after it, and the sheet with these."""
import sys

from openpyxl import Workbook
from PIL import Image, ImageDraw

name, target = sys.argv[1:]
DONE = [("2023-12-01", "Opening", 1000, 1000), ("2023-12-02", "Groceries", -60, 940),
        ("2023-12-03", "Books", -35, 905), ("2023-12-04", "Transport", -12, 893),
        ("2023-12-05", "Restaurant", -41, 852), ("2023-12-06", "Cinema", -22, 830), ("2023-12-07", "Post", -40, 790)]
RECEIPTS = [("Groceries", -186.93), ("Rent", -3670), ("Transport", -5.7), ("Clothes", -154.06), ("Restaurant", -8.1)]
if name.endswith(".xlsx"):
    book = Workbook()
    sheet = book.active
    sheet.title = "Sheet1"
    sheet.append(["Number", "Date", "Type", "Amount", "Balance"])
    for number, row in enumerate(DONE, 1):
        sheet.append([number, *row])
    if "Gold" in name:
        balance = DONE[-1][-1]
        for at, (kind, amount) in enumerate(RECEIPTS):
            balance += amount
            sheet.append([8 + at, f"2023-12-{8 + at:02}", kind, amount, round(balance, 2)])
    book.save(target)
else:
    at = int(name.split("_")[1].split(".")[0])
    kind, amount = RECEIPTS[at]
    image = Image.new("RGB", (480, 300), "white")
    lines = ["RECEIPT", f"2023-12-{8 + at:02}", f"For: {kind}", f"Paid: {-amount:.2f}"]
    ImageDraw.Draw(image).text((30, 30), "\n\n".join(lines), fill="black", font_size=24)
    image.save(target, "PDF" if name.endswith(".pdf") else "JPEG")
