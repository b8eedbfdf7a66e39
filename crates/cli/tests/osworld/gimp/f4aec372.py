"""A yellow triangle in a corner, on a layer of its own above a white background."""
import os
import subprocess
import sys

from PIL import Image, ImageDraw

name, target = sys.argv[1:]
triangle = Image.new("RGBA", (400, 300), (255, 255, 255, 0))
ImageDraw.Draw(triangle).polygon([(10, 110), (60, 20), (110, 110)], fill=(255, 220, 0, 255))
whole = Image.new("RGB", triangle.size, "white")
whole.paste(triangle, (0, 0), triangle)
if name.endswith(".png"):
    whole.save(target, "PNG")
else:
    triangle.crop((10, 20, 111, 111)).save(target + ".png", "PNG")
    script = f"""
    (let* ((image (car (gimp-image-new 400 300 RGB)))
           (back (car (gimp-layer-new image 400 300 RGB-IMAGE "Background" 100 LAYER-MODE-NORMAL)))
           (piece (car (gimp-file-load-layer RUN-NONINTERACTIVE image "{target}.png"))))
      (gimp-image-insert-layer image back 0 0)
      (gimp-drawable-fill back FILL-WHITE)
      (gimp-image-insert-layer image piece 0 0)
      (gimp-item-set-name piece "Triangle")
      (gimp-layer-set-offsets piece 10 20)
      (gimp-image-set-active-layer image piece)
      (gimp-xcf-save RUN-NONINTERACTIVE image piece "{target}" "{target}"))
    """
    subprocess.run(["gimp", "-i", "-d", "-f", "-b", script, "-b", "(gimp-quit 0)"], check=True)
    os.remove(target + ".png")
