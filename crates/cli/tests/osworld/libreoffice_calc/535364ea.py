"""Sales of a summer; their revenue by product and by channel are pivot tables."""
import sys

sys.dont_write_bytecode = True
from pivots import write

name, target = sys.argv[1:]
ROWS = [["Product", "Sales Channel", "Revenue"], ["Hats", "Online", 310], ["Towels", "Shop", 145], ["Hats", "Shop", 95],
        ["Balls", "Online", 60], ["Towels", "Online", 220], ["Balls", "Fair", 48], ["Hats", "Fair", 130]]
PIVOTS = [("A1:B6", 0, 2, "sum"), ("A10:B15", 1, 2, "sum")]
write(target, ROWS, PIVOTS if "_gt1" in name else [])
