"""Sales of boomerangs and their prices; the revenue of each product is a pivot table."""
import sys

sys.dont_write_bytecode = True
from pivots import write

name, target = sys.argv[1:]
solved = "_gt1" in name
PRICES = {"Carlota": 23, "Quad": 43.5, "Sunset": 20}
SALES = [("Day 1", "Quad", 10, 0.1), ("Day 1", "Carlota", 4, 0), ("Day 2", "Sunset", 12, 0.25), ("Day 3", "Quad", 3, 0),
         ("Day 3", "Sunset", 20, 0.3), ("Day 4", "Carlota", 15, 0.2)]
rows = [["Date", "Product", "Quantity", "Discount"] + ["Revenue"] * solved]
for day, product, quantity, discount in SALES:
    rows.append([day, product, quantity, discount] + [PRICES[product] * quantity * (1 - discount)] * solved)
prices = ("Retail Price", [["Product", "Price"], *PRICES.items()])
write(target, rows, [("A1:B6", 1, 4, "sum")] * solved, [prices])
