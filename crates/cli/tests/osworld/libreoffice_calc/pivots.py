"""Workbooks with a table on Sheet1 and, where it is solved, pivot tables of it on Sheet2."""
from openpyxl import Workbook
from openpyxl.pivot.cache import CacheDefinition, CacheField, CacheSource, SharedItems, WorksheetSource
from openpyxl.pivot.fields import Number, Text
from openpyxl.pivot.record import RecordList
from openpyxl.pivot.table import DataField, FieldItem, Location, PivotField, RowColField, TableDefinition
from openpyxl.utils import get_column_letter


def pivot(number, rows, place, by, field, how):
    """A pivot table at a place: `field`, summed up by `how`, for each value of the column `by`. All have one cache."""
    columns = list(zip(*rows[1:]))
    values = [sorted(set(column), key=str) for column in columns]
    source = f"A1:{get_column_letter(len(columns))}{len(rows)}"
    cache = CacheDefinition(
        id="rId1", refreshOnLoad=True, saveData=False,
        cacheSource=CacheSource(type="worksheet", worksheetSource=WorksheetSource(ref=source, sheet="Sheet1")),
        cacheFields=[CacheField(name=name, sharedItems=SharedItems(
            _fields=[Text(v=one) if isinstance(one, str) else Number(v=one) for one in ones]))
            for name, ones in zip(rows[0], values)])
    cache.records = RecordList()
    fields = []
    for at, ones in enumerate(values):
        items = [FieldItem(x=x) for x in range(len(ones))] + [FieldItem(t="default")] if at == by else []
        fields.append(PivotField(axis="axisRow" if at == by else None, dataField=at == field or None, items=items,
                                 showAll=False))
    table = TableDefinition(
        name=f"Pivot{number}", cacheId=1, dataCaption="Values",
        location=Location(ref=place, firstHeaderRow=1, firstDataRow=1, firstDataCol=1), pivotFields=fields,
        rowFields=[RowColField(x=by)],
        dataFields=[DataField(name=f"{how} of {rows[0][field]}", fld=field, subtotal=how)])
    table.cache = cache
    return table


def write(target, rows, pivots, beside=()):
    book = Workbook()
    sheet = book.active
    sheet.title = "Sheet1"
    for row in rows:
        sheet.append(row)
    for name, lines in beside:
        other = book.create_sheet(name)
        for line in lines:
            other.append(line)
    if pivots:
        second = book.create_sheet("Sheet2")
        for number, about in enumerate(pivots, 1):
            second._pivots.append(pivot(number, rows, *about))
    book.save(target)
