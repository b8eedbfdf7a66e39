"""Sales and their costs by week, and a chart of them on a sheet of its own."""
import sys

from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference, Series
from openpyxl.chart.data_source import AxDataSource, StrRef

name, target = sys.argv[1:]
WEEKS = [(8200, 5100), (7650, 4890), (9120, 5600), (8875, 5420), (9640, 6010), (7980, 5050)]
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
sheet.append(["Week", "Sales", "COGS"])
for number, values in enumerate(WEEKS, 1):
    sheet.append([f"Week {number}", *values])
if "_gt1" in name:
    chart = BarChart()
    chart.type = "col"
    chart.title = "Sales & COGS"
    for column in (2, 3):
        letter = "ABC"[column - 1]
        series = Series(Reference(sheet, min_col=column, min_row=2, max_row=7), title=sheet.cell(1, column).value)
        series.val.numRef.f = f"Sheet1!${letter}$2:${letter}$7"
        series.cat = AxDataSource(strRef=StrRef(f="Sheet1!$A$2:$A$7"))
        chart.series.append(series)
    book.create_sheet("Sheet2").add_chart(chart, "B2")
book.save(target)
