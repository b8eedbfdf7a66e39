"""Items of invoices; how often each invoice appears is a pivot table."""
import sys

sys.dont_write_bytecode = True
from pivots import write

name, target = sys.argv[1:]
ROWS = [["Invoice No.", "Item", "Amount"], ["INV-01", "Paper", 12.5], ["INV-02", "Pens", 8], ["INV-01", "Ink", 30],
        ["INV-03", "Lamp", 45], ["INV-02", "Tape", 3.5], ["INV-01", "Clips", 2.25]]
write(target, ROWS, [("A3:B7", 0, 0, "count")] if "_gt1" in name else [])
