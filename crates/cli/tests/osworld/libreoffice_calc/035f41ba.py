"""Sales and expenses by year; the profit is what is left."""
import sys

from openpyxl import Workbook

name, target = sys.argv[1:]
solved = "_gt1" in name
HEADER = ["Year", "Sales", "Sales Returns", "Discounts", "Allowances", "Materials Charges", "Labor Charges",
          "Overhead", "Gross Profit"]
YEARS = [(2016, 84500.75, 1200, 900.5, 310, 30250, 18400, 5600), (2017, 91220, 1850.4, 1010, 275, 33900, 19100, 5750),
         (2018, 88730.9, 990, 875, 420.2, 31875, 19960, 5800), (2019, 97610, 2100, 1200.3, 390, 35640, 21050, 6125),
         (2020, 79940.6, 1640, 760, 505, 28990, 18875, 6010)]
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
sheet.append(HEADER)
profits = [(year, sales - sum(minus)) for year, sales, *minus in YEARS]
for given, (_, profit) in zip(YEARS, profits):
    sheet.append([*given, profit if solved else None])
if solved:
    second = book.create_sheet("Sheet2")
    second.append(["Year_Profit"])
    for year, profit in profits:
        second.append([f"{year}_{int(profit)}"])
book.save(target)
