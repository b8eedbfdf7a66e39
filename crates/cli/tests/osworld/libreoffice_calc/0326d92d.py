"""Sales by month; their totals as bars, and the growth of these as a line."""
import sys

from openpyxl import Workbook
from openpyxl.chart import BarChart, LineChart, Reference, Series
from openpyxl.chart.data_source import AxDataSource, StrRef

name, target = sys.argv[1:]
ROWS = [["Name", "Jan", "Feb", "Mar", "Apr", "May", "Jun"], ["Ada", 10, 12, 9, 14, 11, 13],
        ["Ben", 8, 7, 10, 9, 12, 11], ["Cleo", 15, 13, 16, 12, 14, 18]]
book = Workbook()
sheet = book.active
sheet.title = "Sheet1"
for row in ROWS:
    sheet.append(row)


def add(chart, title, first, row, place):
    """A chart of a row of values by month."""
    values = f"Sheet1!${first}${row}:$G${row}"
    series = Series(Reference(sheet, range_string=values), title=title)
    series.val.numRef.f = values
    series.cat = AxDataSource(strRef=StrRef(f=f"Sheet1!${first}$1:$G$1"))
    chart.title = title
    chart.series.append(series)
    sheet.add_chart(chart, place)


if "_gt1" in name:
    totals = [sum(column) for column in list(zip(*ROWS[1:]))[1:]]
    sheet.append(["Total", *totals])
    sheet.append(["Growth", None, *(now / before - 1 for before, now in zip(totals, totals[1:]))])
    add(BarChart(), "Total", "B", 5, "A9")
    add(LineChart(), "Growth", "C", 6, "A26")
book.save(target)
