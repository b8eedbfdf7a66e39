"""Presentations of a few slides. All formatting is given at each run, so that a program that saves has nothing to add."""
from io import BytesIO

from lxml import etree
from PIL import Image, ImageDraw
from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.text import MSO_AUTO_SIZE, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Cm, Pt

TITLE, BODY = (1, 1, 23.4, 3), (1, 5, 23.4, 13)
ALIGN = {"left": PP_ALIGN.LEFT, "center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}


class Deck:
    """A presentation on white, of this size in centimetres."""

    def __init__(self, width=25.4, height=19.05):
        self.file = Presentation()
        self.file.slide_width, self.file.slide_height = Cm(width), Cm(height)
        fill(self.file.slide_master.background, "FFFFFF")

    def slide(self, background=None, notes=None):
        slide = self.file.slides.add_slide(self.file.slide_layouts[1])
        for shape in list(slide.shapes):
            shape.element.getparent().remove(shape.element)
        if background:
            fill(slide.background, background)
        if notes is not None:
            slide.notes_slide.notes_text_frame.text = notes
        return Slide(slide)

    def save(self, target):
        self.file.save(target)


class Slide:
    """A slide to put titles, texts and pictures on; places are left, top, width and height in centimetres."""

    def __init__(self, slide):
        self.slide = slide

    def title(self, *lines, at=TITLE, **look):
        return self.holder("Title", "type='title'", at, lines, {"size": 36, **look})

    def body(self, *lines, at=BODY, **look):
        return self.holder("Content", "idx='1'", at, lines, {"size": 24, **look})

    def holder(self, name, kind, at, lines, look):
        box = self.slide.shapes.add_textbox(*map(Cm, at))
        box.name = name
        inner = box.element.find(qn("p:nvSpPr"))
        inner.find(qn("p:cNvSpPr")).attrib.pop("txBox")
        inner.find(qn("p:nvPr")).append(etree.fromstring(f"<p:ph xmlns:p='{inner.nsmap['p']}' {kind}/>"))
        return write(box, lines, look)

    def box(self, *lines, at, ground, **look):
        box = self.slide.shapes.add_textbox(*map(Cm, at))
        box.fill.solid()
        box.fill.fore_color.rgb = RGBColor.from_string(ground)
        return write(box, lines, {"size": 18, **look})

    def picture(self, file, at):
        return self.slide.shapes.add_picture(file, *map(Cm, at))


def fill(background, color):
    background.fill.solid()
    background.fill.fore_color.rgb = RGBColor.from_string(color)


def write(box, lines, look):
    """Fills a shape with paragraphs: texts, or texts with a look of their own."""
    frame = box.text_frame
    frame.word_wrap, frame.auto_size = True, MSO_AUTO_SIZE.NONE
    for number, line in enumerate(lines or ("",)):
        text, own = line if isinstance(line, tuple) else (line, {})
        own = {**look, **own}
        paragraph = frame.add_paragraph() if number else frame.paragraphs[0]
        paragraph.alignment = ALIGN[own.get("align", "left")]
        mark(paragraph, own.get("bullet"), own.get("level", 0))
        if not text:
            continue
        run = paragraph.add_run()
        run.text = text
        font = run.font
        font.size, font.name = Pt(own["size"]), own.get("face", "DejaVu Sans")
        font.bold, font.underline = own.get("bold", False), own.get("underline", False)
        font.color.rgb = RGBColor.from_string(own.get("color", "000000"))
        run._r.get_or_add_rPr().set("strike", "sngStrike" if own.get("strike") else "noStrike")
    return box


def mark(paragraph, bullet, level):
    """Makes a paragraph an item of a list, or none."""
    properties = paragraph._p.get_or_add_pPr()
    space = properties.nsmap["a"]
    if level:
        properties.set("lvl", str(level))
    name = f"<a:buChar xmlns:a='{space}' char='{bullet}'/>" if bullet else f"<a:buNone xmlns:a='{space}'/>"
    properties.append(etree.fromstring(name))


def picture(width, height, background, *ellipses):
    """A drawing of ellipses: left, top, right, bottom in hundredths of the sides, and the colour."""
    image = Image.new("RGB", (width, height), background)
    draw = ImageDraw.Draw(image)
    for left, top, right, bottom, color in ellipses:
        draw.ellipse((left * width // 100, top * height // 100, right * width // 100, bottom * height // 100), color)
    file = BytesIO()
    image.save(file, "PNG")
    file.seek(0)
    return file


def portrait():
    """A drawing of a face that is nobody's."""
    return picture(240, 300, "#b8d4e8", (15, 75, 85, 130, "#345a8a"), (25, 15, 75, 85, "#5a3a22"), (28, 22, 72, 82, "#e2b48f"),
                   (36, 42, 44, 48, "#222222"), (56, 42, 64, 48, "#222222"), (47, 48, 53, 60, "#cf9b75"),
                   (40, 66, 60, 71, "#a8433f"))


def tree():
    return picture(240, 300, "#d8ecf5", (44, 50, 56, 110, "#6b4a2b"), (15, 8, 85, 70, "#3f7d3a"))
