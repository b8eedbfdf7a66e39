"""Cases of presentations for `oracle.py`: by python-pptx, each with one thing changed, and the options of each
metric, alone and combined at random."""

import random

from document_cases import options_of, picture_file, repack
from maker import NONE
from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.dml import MSO_THEME_COLOR
from pptx.enum.shapes import MSO_SHAPE
from pptx.enum.text import MSO_UNDERLINE, PP_ALIGN
from pptx.oxml.ns import qn
from pptx.util import Emu, Inches, Pt

SWITCHES = [
    "number_of_slides", "shape", "text", "indent", "font_name", "font_size", "font_bold", "font_italic", "color_rgb", "font_underline",
    "strike_through", "alignment", "title_bottom_position", "table_bottom_position", "right_position", "top_position",
    "shape_for_shift_size", "image_size", "modify_height", "bullets", "background_color", "note",
]
SPACE = {f"examine_{name}": [True, False] for name in SWITCHES} | {"approximately_tolerance": [0.0, 0.1]}
SPECIAL = [{"examine_shape": False, f"examine_{name}": True} for name in SWITCHES[12:19]]


class Slides:
    """Makes presentations in a folder; the same ones in every run."""

    def __init__(self, maker):
        self.maker = maker

    def save(self, *changes):
        made = self.make()
        for change in changes:
            if change:
                change(made)
        path = self.maker.path(".pptx")
        made.save(path)
        return path

    def make(self):
        made = Presentation()
        first = made.slides.add_slide(made.slide_layouts[1])
        first.shapes.title.text = "Product Comparison"
        body = first.placeholders[1].text_frame
        body.text = "First point"
        for text, level in (("Second point", 1), ("Third point", 0)):
            paragraph = body.add_paragraph()
            paragraph.text = text
            paragraph.level = level
        second = made.slides.add_slide(made.slide_layouts[6])
        second.shapes.add_picture(picture_file("RGB", 9), Inches(1), Inches(1), Inches(3), Inches(2))
        box = second.shapes.add_textbox(Inches(1), Inches(4), Inches(3), Inches(1))
        box.text_frame.text = "Elaborate on what you want to discuss."
        group = second.shapes.add_group_shape()
        inner = group.shapes.add_shape(MSO_SHAPE.OVAL, Inches(5), Inches(1), Inches(1), Inches(1))
        inner.text_frame.text = "in a group"
        third = made.slides.add_slide(made.slide_layouts[5])
        third.shapes.title.text = "Table"
        table = third.shapes.add_table(2, 3, Inches(1), Inches(2), Inches(5), Inches(1)).table
        for row in range(2):
            for column in range(3):
                table.cell(row, column).text = f"{row} {column}"
        third.shapes.add_connector(1, Inches(1), Inches(6), Inches(5), Inches(6))
        third.notes_slide.notes_text_frame.text = "Remember this"
        return made


def shape(slide, at):
    return lambda made: made.slides[slide].shapes[at]


def run_change(change, slide=0, at=1, paragraph=0):
    return lambda made: change(made.slides[slide].shapes[at].text_frame.paragraphs[paragraph].runs[0])


def paragraph_change(change, slide=0, at=1, paragraph=0):
    return lambda made: change(made.slides[slide].shapes[at].text_frame.paragraphs[paragraph])


def place_change(slide, at, **sides):
    def change(made):
        target = made.slides[slide].shapes[at]
        for side, value in sides.items():
            setattr(target, side, value)

    return change


def background(number, color=None, master=False):
    def change(made):
        target = made.slide_masters[0] if master else made.slides[number]
        fill = target.background.fill
        if color is None:
            fill.background()
        elif isinstance(color, tuple):
            fill.solid()
            fill.fore_color.rgb = RGBColor(*color)
        else:
            fill.solid()
            fill.fore_color.theme_color = color

    return change


def cell_change(change):
    return lambda made: change(made.slides[2].shapes[1].table.cell(1, 1))


def attribute(name, value):
    def change(run):
        run.font._element.set(name, value)

    return change


def bullet(character, at=0):
    def change(made):
        properties = made.slides[0].shapes[1].text_frame.paragraphs[at]._p.get_or_add_pPr()
        mark = properties.makeelement(qn("a:buChar"), {"char": character})
        properties.append(mark)

    return change


def without_properties(made):
    for paragraph in made.slides[0].shapes[1].text_frame.paragraphs:
        if paragraph._p.pPr is not None:
            paragraph._p.remove(paragraph._p.pPr)


def with_properties(made):
    for paragraph in made.slides[0].shapes[1].text_frame.paragraphs:
        paragraph._p.get_or_add_pPr()


def remove_shape(slide, at):
    def change(made):
        element = made.slides[slide].shapes[at]._element
        element.getparent().remove(element)

    return change


def remove_slide(made):
    slides = made.slides._sldIdLst
    slides.remove(slides[-1])


def add_slide(made):
    made.slides.add_slide(made.slide_layouts[6])


def field(made):
    from lxml import etree

    paragraph = made.slides[0].shapes[1].text_frame.paragraphs[2]._p
    paragraph.append(etree.fromstring(f'<a:fld xmlns:a="{paragraph.nsmap["a"]}" id="{{0}}" type="slidenum"><a:t>7</a:t></a:fld>'))


def empty_text(made):
    made.slides[0].shapes[1].text_frame.paragraphs[0].add_run()


def freeform(made):
    builder = made.slides[1].shapes.build_freeform(0, 0)
    builder.add_line_segments([(914400, 0), (914400, 914400)])
    builder.convert_to_shape()


def no_text_body(made):
    element = made.slides[1].shapes[1]._element
    element.remove(element.txBody)


def size(width, height):
    def change(made):
        made.slide_width, made.slide_height = width, height

    return change


def notes(number, text):
    return lambda made: setattr(made.slides[number].notes_slide.notes_text_frame, "text", text)


def changes():
    yield None
    yield lambda made: setattr(made.slides[0].shapes[0].text_frame, "text", "product comparison ")
    yield lambda made: setattr(made.slides[0].shapes[0].text_frame, "text", " Product Comparison")
    for change in (
        lambda run: setattr(run.font, "name", "Arial"), lambda run: setattr(run.font, "size", Pt(30)), lambda run: setattr(run.font, "bold", True),
        lambda run: setattr(run.font, "bold", False), lambda run: setattr(run.font, "italic", True), lambda run: setattr(run.font, "italic", False),
        lambda run: setattr(run.font.color, "rgb", RGBColor(255, 0, 0)), lambda run: setattr(run.font.color, "rgb", RGBColor(0, 255, 0)),
        lambda run: setattr(run.font.color, "theme_color", MSO_THEME_COLOR.ACCENT_1), lambda run: setattr(run.font, "underline", True),
        lambda run: setattr(run.font, "underline", False), lambda run: setattr(run.font, "underline", MSO_UNDERLINE.WAVY_LINE),
        attribute("u", "words"), attribute("u", "odd"), attribute("strike", "sngStrike"), attribute("strike", "noStrike"), attribute("b", "maybe"),
        attribute("sz", "big"), lambda run: setattr(run, "text", "First  point"), lambda run: setattr(run, "text", "First point\vmore"),
    ):
        yield run_change(change)
    for value in (PP_ALIGN.LEFT, PP_ALIGN.CENTER, PP_ALIGN.RIGHT):
        yield paragraph_change(lambda paragraph, value=value: setattr(paragraph, "alignment", value))
    yield paragraph_change(lambda paragraph: paragraph._p.get_or_add_pPr().set("algn", "odd"))
    for value in (1, 2):
        yield paragraph_change(lambda paragraph, value=value: setattr(paragraph, "level", value))
    yield paragraph_change(lambda paragraph: paragraph.add_run())
    yield paragraph_change(lambda paragraph: setattr(paragraph, "text", ""))
    yield lambda made: made.slides[0].shapes[1].text_frame.add_paragraph()
    yield from (bullet("•"), bullet("-", 2), without_properties, with_properties, field, empty_text)
    yield lambda made: setattr(made.slides[1].shapes[2].shapes[0].text_frame, "text", "in the group")
    yield lambda made: setattr(made.slides[1].shapes[2].shapes[0].text_frame.paragraphs[0], "alignment", PP_ALIGN.RIGHT)
    for sides in ({"top": Emu(3700000)}, {"top": Emu(5000000)}, {"left": Emu(4400000)}, {"left": Emu(100)}, {"width": Emu(2800000)}, {"height": Emu(1000000)},
                  {"top": Emu(100)}, {"top": 0, "left": 0}):
        yield place_change(1, 0, **sides)
        yield place_change(2, 1, **sides)
        yield place_change(0, 0, **sides)
    yield place_change(1, 1, top=Inches(5))
    yield place_change(1, 0, left=Inches(1) + 10)
    for color in ((255, 255, 0), (0, 0, 255), None, MSO_THEME_COLOR.ACCENT_2):
        yield background(1, color)
        yield background(0, color, master=True)
    yield lambda made: made.slides[0].background.fill.gradient()
    for change in (
        lambda cell: setattr(cell.text_frame.paragraphs[0].runs[0].font, "bold", True), lambda cell: setattr(cell.text_frame.paragraphs[0].runs[0].font, "italic", False),
        lambda cell: setattr(cell.text_frame.paragraphs[0].runs[0].font.color, "rgb", RGBColor(1, 2, 3)),
        lambda cell: setattr(cell.text_frame.paragraphs[0].runs[0].font, "underline", True), lambda cell: setattr(cell, "text", "other"),
        lambda cell: setattr(cell, "text", "two\nlines"), lambda cell: cell.text_frame.paragraphs[0].add_run(),
    ):
        yield cell_change(change)
    yield from (notes(2, "Remember that"), notes(2, " Remember this\n"), notes(0, ""), notes(0, "new"))
    yield from (remove_shape(1, 0), remove_shape(2, 2), remove_shape(0, 1), remove_slide, add_slide, freeform, no_text_body)
    yield size(Inches(7.5), Inches(10))
    yield size(Inches(10), Inches(10))


def slides(maker, scale=1):
    make = Slides(maker)
    seeded = random.Random(13)
    made = [make.save(change) for change in changes()]
    pool = list(changes())
    made += [make.save(*seeded.sample(pool, 2)) for _ in range(10 * scale)]
    gold = made[0]
    bad = [maker.text(b"", ".pptx"), maker.text(b"no archive", ".pptx")]
    for drop in ("[Content_Types].xml", "ppt/presentation.xml", "ppt/slides/slide2.xml", "ppt/notesSlides/notesSlide1.xml", "ppt/theme/theme1.xml"):
        bad.append(repack(maker, gold, lambda name, data, drop=drop: None if name == drop else data, ".pptx"))
    bad.append(repack(maker, gold, lambda name, data: data[:-9] if name == "ppt/slides/slide1.xml" else data, ".pptx"))
    bad.append(repack(maker, gold, lambda name, data: data.replace(b"<a:prstGeom", b"<a:otherGeom").replace(b"</a:prstGeom", b"</a:otherGeom"), ".pptx"))
    cases = [(path, gold, {}) for path in made + bad] + [(gold, path, {}) for path in made]
    for path in made:
        cases += [(path, gold, options) for options in options_of({name: [False] for name in SPACE if name.startswith("examine")}, seeded, 2 * scale)]
        cases += [(path, gold, options) for options in options_of(SPACE, seeded, scale)]
        cases += [(path, gold, options) for options in SPECIAL] + [(gold, path, options) for options in SPECIAL]
    tables = [make.save(change, place_change(2, 1, top=Emu(top))) for change in (None,) for top in (3000000, 3600000, 3800000, 4000000)]
    cases += [(a, b, options) for a in tables for b in tables for options in ({}, {"examine_table_bottom_position": True, "examine_shape": False})]
    yield "compare_pptx_files", True, cases
    stretched = [make.save(*steps) for steps in picture_places()]
    yield "check_image_stretch_and_center", True, [(a, b, {}) for a in stretched for b in stretched[:3]] + [(path, gold, {}) for path in bad[:4]]
    sizes = made[-12:] + [make.save(size(Inches(width), Inches(height))) for width, height in ((5, 6), (6, 5), (5, 5), (7.5, 10), (4, 9))]
    yield "check_slide_orientation_Portrait", False, [(path, NONE, {}) for path in sizes + bad]
    fills = [make.save(*[background(number, color) for number in range(3)]) for color in ((255, 0, 0), (0, 0, 255), (250, 10, 10), None, MSO_THEME_COLOR.ACCENT_2)]
    fills += [make.save(background(0, (255, 0, 0), master=True)), gold, make.save(background(1, (0, 255, 0))), make.save(lambda made: made.slides[0].background.fill.gradient())]
    yield "evaluate_presentation_fill_to_rgb_distance", True, [
        (path, {"rgb": rgb, **more}, {}) for path in fills + bad[:3] for rgb in ([255, 0, 0], [0, 0, 255]) for more in ({}, {"original_rgb": [255, 0, 0]}, {"original_rgb": None})]
    yield "check_transition", True, [
        (path, {"slide_idx": number, "transition_type": kind}, {}) for path in transitions(maker, gold) + bad[:3] for number in (0, 1, 9) for kind in ("dissolve", "fade")]
    yield "check_page_number_colors", True, [
        (path, {"color": color}, {}) for path in masters(maker, gold) + bad[:3] for color in ("red", "blue", "green", "black", "pink")]
    struck = [gold, make.save(run_change(attribute("strike", "sngStrike"))), make.save(run_change(attribute("strike", "noStrike"))),
              make.save(*[run_change(attribute("strike", "sngStrike"), paragraph=at) for at in range(3)])]
    yield "check_strikethrough", False, [
        (path, {"slide_index_s": slides_, "shape_index_s": shapes, "paragraph_index_s": paragraphs}, {}) for path in struck + bad[:2]
        for slides_ in ([0], [-3], [9]) for shapes in ([1], [0, 1]) for paragraphs in ([0], [0, 1, 2], [], [-1])]


def picture_places():
    def picture(mode, number, *place):
        return lambda made: made.slides[0].shapes.add_picture(picture_file(mode, number), *place)

    full = (0, 0, Inches(10), Inches(7.5))
    yield (picture("RGB", 9, Inches(1), Inches(1), Inches(3), Inches(2)),)
    yield (picture("RGB", 9, *full),)
    yield ()
    yield (picture("RGB", 7, *full),)
    yield (picture("RGB", 9, Inches(0.2), Inches(-0.2), Inches(9.8), Inches(7.6)),)
    yield (picture("RGB", 9, Inches(0.8), 0, Inches(10), Inches(7.5)),)
    yield picture("RGB", 9, *full), picture("RGB", 9, Inches(1), Inches(1), Inches(3), Inches(2))


def transitions(maker, gold):
    def with_transition(number, kind):
        inserted = f'<p:transition spd="slow"><p:{kind}/></p:transition></p:sld>'.encode()
        return repack(maker, gold, lambda name, data: data.replace(b"</p:sld>", inserted) if name == f"ppt/slides/slide{number}.xml" else data, ".pptx")

    return [gold, with_transition(1, "dissolve"), with_transition(2, "dissolve"), with_transition(1, "fade"), with_transition(1, "cut")]


def masters(maker, gold):
    def with_colors(*colors):
        fills = "".join(f'<a:solidFill><a:srgbClr val="{color}"/></a:solidFill>' for color in colors)
        added = f'<p:extra xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">{fills}</p:extra></p:sldMaster>'.encode()
        return repack(maker, gold, lambda name, data: data.replace(b"</p:sldMaster>", added) if name == "ppt/slideMasters/slideMaster1.xml" else data, ".pptx")

    return [gold, *[with_colors(color, "123456") for color in ("FF0000", "0000FF", "00FF00", "000000", "A0F000", "odd000")], with_colors("FF0000")]
