"""Three tiles side by side, and the same ones from the coolest to the warmest colours."""
import sys

from PIL import Image, ImageDraw

TILES = {"warm": (230, 90, 30), "cool": (240, 230, 170), "mild": (240, 170, 60)}
order = ["cool", "mild", "warm"] if "rearranged" in sys.argv[1] else ["warm", "cool", "mild"]
image = Image.new("RGB", (360, 200))
draw = ImageDraw.Draw(image)
for number, name in enumerate(order):
    left = 120 * number
    draw.rectangle((left, 0, left + 119, 199), fill=TILES[name])
    draw.ellipse((left + 30, 70, left + 90, 130), fill="white")
image.save(sys.argv[2], "PNG")
