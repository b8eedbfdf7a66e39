"""Photos of a seminar: those with the presenter show a person at a lectern, the others rows of chairs."""
import sys

from PIL import Image, ImageDraw

name, target = sys.argv[1:]
number = int(name[3:8])
image = Image.new("RGB", (320, 200), (200, 190, 170))
draw = ImageDraw.Draw(image)
if number in (657, 574, 554, 495):
    left = 60 + number % 100
    draw.rectangle((20, 20, 300, 90), fill="white")
    draw.text((30, 30), f"Presenter, slide {number % 50}", fill="black")
    draw.ellipse((left, 95, left + 30, 125), fill=(90, 60, 40))
    draw.rectangle((left - 10, 125, left + 40, 199), fill=(40, 50, 90))
else:
    for row in range(4):
        for place in range(8):
            left, top = 10 + 38 * place + number % 7, 40 + 38 * row
            draw.rectangle((left, top, left + 22, top + 22), fill=(120, 40, 40))
image.save(target, "JPEG", quality=92)
