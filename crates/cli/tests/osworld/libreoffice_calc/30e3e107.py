"""People who answered; their shares by three questions are pivot tables below a heading."""
import sys

sys.dont_write_bytecode = True
from pivots import write

name, target = sys.argv[1:]
ROWS = [["Sex", "Civil Status", "Highest Educational Attainment"], ["Female", "Single", "College"],
        ["Male", "Married", "High School"], ["Female", "Married", "College"], ["Female", "Widowed", "Elementary"],
        ["Male", "Single", "High School"], ["Male", "Married", "College"], ["Female", "Single", "High School"]]
PIVOTS = [("A3:B6", 0, 0, "count", "percentOfTotal"), ("A8:B12", 1, 1, "count", "percentOfTotal"),
          ("A14:B18", 2, 2, "count", "percentOfTotal")]
write(target, ROWS, PIVOTS if "_gt1" in name else [])
