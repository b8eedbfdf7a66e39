"""A function whose body is not indented; and with lines 2 to 10 a tab further in."""
import sys

LINES = [
    "def middle(numbers):", "ordered = sorted(numbers)", "count = len(ordered)", "half = count // 2", "last = half - 1",
    "odd = count % 2", "low = ordered[last]", "high = ordered[half]", "value = high if odd else (low + high) / 2", "return value",
    "", "print(middle([3, 1, 2]))",
]

name, target = sys.argv[1:]
with open(target, "w") as file:
    for number, line in enumerate(LINES, 1):
        file.write("    " * ("gold" in name and 2 <= number <= 10) + line + "\n")
