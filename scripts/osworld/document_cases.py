"""Cases of documents for `oracle.py`: word-processor documents by python-docx, each with one thing changed, and
the options of each metric, combined at random."""

import io
import itertools
import random
import zipfile

from docx import Document
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_BREAK, WD_TAB_ALIGNMENT
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Inches, Pt, RGBColor
from maker import NONE
from PIL import Image

WORDS = "alpha Beta gamma DELTA epsilon 3 zeta, Êta it's e.g. under".split()


class Documents:
    """Makes files in a folder; the same ones in every run."""

    def __init__(self, maker):
        self.maker = maker
        self.random = random.Random(11)

    def save(self, document, ending=".docx"):
        path = self.maker.path(ending)
        document.save(path)
        return path

    def sentence(self):
        return " ".join(self.random.sample(WORDS, self.random.randint(1, 5)))

    def make(self, change=None, lines=None):
        """A document of some paragraphs, a table and sections, changed by a function."""
        seeded = random.Random(5)
        document = Document()
        for line in lines if lines is not None else [
            "First line of the text.", "The second\tone  has\ttabs", "", "References", "Smith (2020). On things.", "Last one",
        ]:
            paragraph = document.add_paragraph()
            for at, word in enumerate(line.split(" ")):
                run = paragraph.add_run((" " if at else "") + word)
                run.italic = seeded.choice([None, False])
        if change:
            change(document)
        return document


def text_changes():
    """Changes of a document's texts, by name."""

    def edit(at, text):
        def change(document):
            paragraphs = document.paragraphs
            paragraphs[at % len(paragraphs)].text = text

        return change

    def blanks(document):
        document.paragraphs[0].add_run("  \u00a0 ")

    def upper(document):
        for paragraph in document.paragraphs:
            paragraph.text = paragraph.text.upper()

    def breaks(document):
        run = document.paragraphs[0].add_run("a")
        run.add_break()
        run.add_text("b")
        run.add_break(WD_BREAK.PAGE)
        run.add_tab()

    def link(document):
        paragraph = document.paragraphs[1]
        hyperlink = OxmlElement("w:hyperlink")
        run = OxmlElement("w:r")
        text = OxmlElement("w:t")
        text.text = "linked"
        run.append(text)
        hyperlink.append(run)
        paragraph._p.append(hyperlink)

    def revision(document):
        inserted = OxmlElement("w:ins")
        run = OxmlElement("w:r")
        text = OxmlElement("w:t")
        text.text = "inserted"
        run.append(text)
        inserted.append(run)
        document.paragraphs[1]._p.append(inserted)

    def empty_lines(document):
        document.paragraphs[2].insert_paragraph_before("")
        document.paragraphs[0].insert_paragraph_before(" ")

    def reverse(document):
        body = document.element.body
        for paragraph in document.paragraphs:
            body.insert(0, paragraph._p)

    def drop(document):
        paragraph = document.paragraphs[-1]._p
        paragraph.getparent().remove(paragraph)

    return [None, edit(0, "First line of the text"), edit(4, "Smyth (2021): On thing."), edit(3, "Bibliography"), blanks, upper, breaks,
            link, revision, empty_lines, reverse, drop]


def formats(run_change, at=0, every=False):
    """A change of one run, or of every run of a paragraph."""

    def change(document):
        runs = document.paragraphs[at].runs
        for run in runs if every else runs[:1]:
            run_change(run)

    return change


def broken(maker, good):
    """Files that are no documents."""
    with open(good, "rb") as file:
        data = file.read()
    yield maker.text(b"", ".docx")
    yield maker.text(b"no archive", ".docx")
    yield maker.text(data[: len(data) // 2], ".docx")
    for drop in ("[Content_Types].xml", "word/document.xml", "_rels/.rels", "word/styles.xml"):
        yield repack(maker, good, lambda name, data, drop=drop: None if name == drop else data)
    yield repack(maker, good, lambda name, data: data.replace(b"<w:body>", b"<w:corpse>").replace(b"</w:body>", b"</w:corpse>"))
    yield repack(maker, good, lambda name, data: data[:-20] if name == "word/document.xml" else data)
    yield repack(maker, good, lambda name, data: data.replace(b"wordprocessingml.document.main", b"wordprocessingml.template.main"))


def repack(maker, path, change, ending=".docx"):
    """A copy of an archive whose members went through a function; `None` leaves one out."""
    target = maker.path(ending)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name in source.namelist():
            data = change(name, source.read(name))
            if data is not None:
                out.writestr(name, data)
    return target


def options_of(space, seeded, count):
    """Random combinations of options: each one absent or with one of its values."""
    absent = object()
    for _ in range(count):
        chosen = {name: seeded.choice([absent, *values]) for name, values in space.items()}
        yield {name: value for name, value in chosen.items() if value is not absent}


SWITCH = [True, False]
COMPARE = {name: SWITCH for name in ("ignore_blanks", "ignore_case", "ignore_order", "content_only", "fuzzy_match", "delete_empty_lines")}


def documents(maker, scale=1):
    make = Documents(maker)
    gold = make.save(make.make())
    texts = [make.save(make.make(change)) for change in text_changes()]
    for _ in range(4 * scale):
        texts.append(make.save(make.make(lines=[make.sentence() for _ in range(make.random.randint(0, 7))])))
    bad = list(broken(maker, gold))
    odd = bad + [None]
    open_texts = [open_text(maker, change) for change in OPEN_CHANGES]
    pairs = list(itertools.product(texts, texts[:3])) + [(path, gold) for path in odd] + [(gold, path) for path in odd]
    pairs += list(itertools.product(open_texts, open_texts[:2])) + [(gold, open_texts[0]), (open_texts[0], gold)]
    yield "compare_docx_files", True, [
        (found, wanted, options) for found, wanted in pairs for options in options_of(COMPARE, make.random, 2 * scale)
    ]
    yield "compare_docx_files_and_ignore_new_lines", False, [
        (found, wanted, options) for found, wanted in pairs[: 60 * scale] + pairs[-12:] for options in ({}, {"ignore_blanks": False})
    ]
    both = [(path, other, {}) for path in texts for other in texts[:2]] + [(path, gold, {}) for path in odd] + [(gold, path, {}) for path in odd]
    yield "compare_docx_lines", False, both
    yield "compare_init_lines", False, both
    yield "compare_references", False, [
        (path, other, options) for path in texts + odd for other in texts[:3]
        for options in options_of({"reference_indicator": ["References", "Last one", "nowhere"], "reference_base_result": [0.2, 0.9], "content_only": [True]},
                                  make.random, scale)
    ]
    yield "evaluate_alignment", False, single(texts + odd + [make.save(make.make(lines=lines)) for lines in (
        ["one two three\tfour. five six seven  eight."], ["one two three"], ["a  b c d."], ["a b c a b c d"])])
    yield from tables(maker, make, scale, odd)
    yield from formatting(maker, make, odd)
    yield from layout(maker, make, odd)
    yield from records(maker, make, odd)
    yield "check_highlighted_words", False, [(path, other, {}) for path in open_texts for other in open_texts[:2]] + [(gold, gold, {}), (None, gold, {})]


def single(paths):
    """Cases of a metric that takes one document."""
    return [(path, NONE, {}) for path in paths]


def tables(maker, make, scale, odd):
    def table(rows, columns, change=None):
        def add(document):
            made = document.add_table(rows, columns)
            for at, cell in enumerate(made._cells):
                cell.text = WORDS[at % len(WORDS)]
            if change:
                change(made)

        return add

    def merged(made):
        made.cell(0, 0).merge(made.cell(1, 1))

    def tall(made):
        made.cell(0, 2).merge(made.cell(2, 2))

    def edited(made):
        made.cell(1, 1).text = " other "

    def padded(made):
        made.cell(1, 1).text = "  " + made.cell(1, 1).text + "\n"

    def short(made):
        row = made.rows[1]._tr
        row.remove(row.tc_lst[-1])

    def no_grid(made):
        made._tbl.remove(made._tbl.tblGrid)

    def late(made):
        properties = made.rows[1]._tr.get_or_add_trPr()
        before = OxmlElement("w:gridBefore")
        before.set(qn("w:val"), "1")
        properties.append(before)

    changes = [None, merged, tall, edited, padded, short, no_grid, late]
    made = [make.save(make.make(table(3, 3, change))) for change in changes]
    made += [make.save(make.make(table(2, 3))), make.save(make.make())]
    yield "compare_docx_tables", True, [(a, b, {}) for a in made for b in made[:4]] + [(path, made[0], {}) for path in odd] + [
        (made[0], path, {}) for path in odd]
    def colored(color, vowels=None):
        def change(made):
            for cell in made._cells:
                for run in cell.paragraphs[0].runs:
                    if vowels is None or (run.text[:1].lower() in tuple("aeiou")) == vowels:
                        if color:
                            run.font.color.rgb = RGBColor(*color)

        return change

    def right(made):
        colored((255, 0, 0), True)(made)
        colored((0, 0, 255), False)(made)

    def near(made):
        colored((250, 3, 2), True)(made)
        colored((2, 3, 250), False)(made)

    def right_and_merged(made):
        right(made)
        merged(made)
        tall_cell = made.cell(2, 2)
        tall_cell.text = ""

    def automatic(made):
        right(made)
        made.cell(0, 0).paragraphs[0].runs[0].font.color._color.set(qn("w:val"), "auto")

    colors = [make.save(make.make(table(3, 3, change))) for change in (
        right, near, right_and_merged, automatic, colored((255, 0, 0)), colored((0, 0, 255)), None, colored((200, 0, 0), True))]
    yield "evaluate_colored_words_in_tables", False, [
        (path, other, options) for path in colors for other in colors[:2] for options in ({}, {"threshold": 30}, {"threshold": 0.5})
    ] + [(path, colors[0], {}) for path in odd]
    lower = [make.save(make.make(table(2, 2, change), lines=lines)) for change, lines in (
        (None, ["low er"]), (lambda made: [setattr(cell, "text", "low") for cell in made._cells], ["low er", "3"]),
        (lambda made: [setattr(cell, "text", "x") for cell in made._cells], ["UP low"]), (merged, ["a"]), (tall_low, ["b"]))]
    yield "evaluate_conversion", False, single(lower + made[:3] + odd)


def tall_low(made):
    for cell in made._cells:
        cell.text = "low"
    made.cell(0, 0).merge(made.cell(1, 0))


def formatting(maker, make, odd):
    def font(name):
        def change(document):
            for paragraph in document.paragraphs:
                for run in paragraph.runs:
                    run.font.name = name

        return change

    fonts = [make.save(make.make(change)) for change in (None, font("Times New Roman"), font("Arial"),
                                                        lambda document: (font("Arial")(document), formats(lambda run: setattr(run.font, "name", None))(document)))]
    yield "compare_font_names", False, [(path, {"font_name": name}, {}) for path in fonts + odd for name in ("Times New Roman", "Arial", None)]
    marks = [None, formats(lambda run: setattr(run.font, "subscript", True)), formats(lambda run: setattr(run.font, "superscript", True)),
             formats(lambda run: setattr(run.font, "subscript", True), at=1), formats(lambda run: setattr(run.font, "strike", True), at=5, every=True),
             formats(lambda run: setattr(run.font, "strike", True), at=5), formats(lambda run: setattr(run.font, "strike", False), at=5, every=True),
             formats(lambda run: (setattr(run, "italic", True), setattr(run.font, "size", Pt(14)))), formats(lambda run: setattr(run, "italic", True)),
             formats(lambda run: (setattr(run, "italic", True), setattr(run.font, "size", Pt(12)))), picture, embedded,
             formats(lambda run: run._r.get_or_add_rPr().append(invalid("w:i"))), formats(lambda run: run._r.get_or_add_rPr().append(invalid("w:strike")), at=5)]
    made = [make.save(make.make(change)) for change in marks]
    measured = make.save(make.make(marks[7]))
    made.append(repack(maker, measured, lambda name, data: data.replace(b'<w:sz w:val="28"/>', b'<w:sz w:val="14pt"/>')))
    made.append(repack(maker, measured, lambda name, data: data.replace(b'<w:sz w:val="28"/>', b"<w:sz/>")))
    both = [(path, other, {}) for path in made for other in made[::4]] + 8 * [(made[1], made[1], {}), (made[11], made[11], {})] + [(path, made[0], {}) for path in odd[:4]]
    for name in ("compare_subscript_contains", "compare_contains_image", "compare_insert_equation", "evaluate_strike_through_last_paragraph", "check_italic_font_size_14"):
        yield name, False, both
    pictures = [make.save(make.make(picture_of(*kind))) for kind in (("RGB", 7), ("RGB", 9), ("L", 7), ("P", 7), ("RGBA", 7), ("1", 7), ("LA", 7))]
    pictures += [make.save(make.make(two_pictures)), make.save(make.make())]
    yield "compare_docx_images", True, [(a, b, {}) for a in pictures for b in pictures] + [(path, pictures[0], {}) for path in odd]
    highlights = [make.save(make.make(highlight(*marks))) for marks in ((), (0,), (0, 1), (1,))]
    yield "compare_highlighted_text", False, [(a, b, {}) for a in highlights for b in highlights] + [(path, highlights[1], {}) for path in odd[:4]]


def invalid(name):
    element = OxmlElement(name)
    element.set(qn("w:val"), "maybe")
    return element


def highlight(*numbers):
    from docx.enum.text import WD_COLOR_INDEX

    def change(document):
        for number in numbers:
            document.paragraphs[number].runs[0].font.highlight_color = WD_COLOR_INDEX.YELLOW

    return change


def picture_file(mode, size):
    made = Image.new("RGB", (size, 5), (200, 100, 50))
    made.putpixel((2, 2), (1, 2, 3))
    file = io.BytesIO()
    made.convert(mode).save(file, "PNG")
    file.seek(0)
    return file


def picture_of(mode, size):
    return lambda document: document.paragraphs[0].runs[0].add_picture(picture_file(mode, size), width=Inches(1))


def two_pictures(document):
    picture_of("RGB", 7)(document)
    picture_of("RGB", 9)(document)


picture = picture_of("RGB", 7)


def embedded(document):
    document.paragraphs[0].runs[0]._r.append(OxmlElement("w:object"))


def layout(maker, make, odd):
    def spaced(*values):
        def change(document):
            for paragraph, value in zip(document.paragraphs, values):
                paragraph.paragraph_format.line_spacing = value

        return change

    spacings = [make.save(make.make(spaced(*values))) for values in (
        (), (1.0, 2.0, 1.5), (2.0, 1.0, 1.5), (Pt(12), 2.0, 1.5), (1.0,), (2.0, 2.0, 2.0, 2.0, 2.0, 2.0))]
    spacings.append(repack(maker, spacings[1], lambda name, data: data.replace(b'w:line="480" w:lineRule="auto"', b'w:line="480"')))
    spacings.append(repack(maker, spacings[1], lambda name, data: data.replace(b'w:line="480"', b'w:line="480.4"')))
    spacings.append(repack(maker, spacings[1], lambda name, data: data.replace(b'w:lineRule="auto"', b'w:lineRule="some"')))
    spacings.append(make.save(make.make(lines=["one"])))
    yield "evaluate_spacing", False, single(spacings + odd)
    yield "compare_line_spacing", True, [(a, b, {}) for a in spacings for b in spacings[:6]] + [(path, spacings[0], {}) for path in odd]

    def tabbed(*stops):
        def change(document):
            for paragraph in document.paragraphs:
                for position, alignment in stops:
                    paragraph.paragraph_format.tab_stops.add_tab_stop(Inches(position), alignment)

        return change

    kinds = WD_TAB_ALIGNMENT
    lines = ["one two three\tfour", "five six seven\teight", "", "nine ten\televen"]
    tabs = [make.save(make.make(tabbed(*stops), lines=lines)) for stops in (
        (), ((0, kinds.LEFT),), ((4, kinds.LEFT),), ((4.5, kinds.LEFT),), ((4, kinds.RIGHT),), ((4, kinds.CLEAR),), ((2, kinds.LEFT), (6, kinds.RIGHT)), ((-1, kinds.LEFT),))]
    tabs.append(repack(maker, tabs[2], lambda name, data: data.replace(b'w:pos="5760"', b'w:pos="4in"')))
    tabs.append(repack(maker, tabs[2], lambda name, data: data.replace(b'w:val="left"', b'w:val="odd"')))
    tabs.append(make.save(make.make(lines=["", " "])))
    tabs.append(make.save(make.make(tabbed((4, kinds.LEFT)), lines=[line.replace("nine ten", "nine ten x") for line in lines])))
    space = {"word_number_split_by_tabstop": [2, 3, 4], "index": [0, 1, -1, 5]}
    yield "check_tabstops", False, [
        (a, b, options) for a in tabs for b in tabs[::3] for options in [{}, *options_of(space, make.random, 1)]
    ] + [(path, tabs[0], {}) for path in odd] + [(tabs[0], path, {}) for path in odd]

    def breaks(count, kind=WD_BREAK.PAGE):
        return lambda document: [document.paragraphs[0].runs[0].add_break(kind) for _ in range(count)]

    pages = [make.save(make.make(breaks(*args))) for args in ((0,), (1,), (2,), (2, WD_BREAK.LINE), (1, WD_BREAK.COLUMN))]
    yield "contains_page_break", False, [
        (path, rules, {}) for path in pages + odd for rules in ({}, {"page_break_count": 1}, {"page_break_count": 2}, {"page_break_count": 0}, {"page_break_count": None})]

    def aligned(value):
        return lambda document: setattr(document.paragraphs[0], "alignment", value)

    centred = [make.save(make.make(aligned(value))) for value in (None, WD_ALIGN_PARAGRAPH.CENTER, WD_ALIGN_PARAGRAPH.LEFT, WD_ALIGN_PARAGRAPH.JUSTIFY)]
    centred.append(repack(maker, centred[1], lambda name, data: data.replace(b'<w:jc w:val="center"/>', b'<w:jc w:val="start"/>')))
    centred.append(make.save(make.make(lines=[])))
    yield "is_first_line_centered", False, single(centred + odd)

    def footed(*texts):
        def change(document):
            for at, text in enumerate(texts):
                section = document.sections[0] if at == 0 else document.add_section()
                if text is not None:
                    section.footer.is_linked_to_previous = False
                    section.footer.paragraphs[0].text = text

        return change

    feet = [make.save(make.make(footed(*texts))) for texts in (
        (None,), ("1",), ("page",), ("1", None), ("1", "x"), (None, "2"), ("x", "2"), ("page ٣",), ("½",), ("²", "①"), ("",))]
    feet.append(repack(maker, feet[1], lambda name, data: data.replace(b"w:footerReference", b"w:footerRemoved")))
    yield "has_page_numbers_in_footers", False, single(feet + odd)


def records(maker, make, odd):
    line = "10:0{0}:00, T{1}, S{0}, {0}"
    lists = [[line.format(at, train) for at, train in enumerate(trains)] for trains in ("ABCABD", "ABCD", "ABC", "ABCA", "ABDC", "")]
    lists += [lists[1] + ["note"], lists[1] + ["other, TX, S, 1"], [" " + text + " " for text in lists[1]]]
    made = [make.save(make.make(lines=lines or [""])) for lines in lists]
    yield "check_no_duplicates", False, [(a, b, {}) for a in made for b in made] + [(path, made[1], {}) for path in odd] + [(made[1], path, {}) for path in odd]
    yield "compare_unique_train_records", False, [
        (a, [b, made[0]], {}) for a in made for b in made] + [(path, [made[1], made[0]], {}) for path in odd] + [
        (made[1], [made[1], None], {}), (made[1], [made[1]], {}), (made[1], [made[1], made[0], made[2]], {"any": 1})]
    answers = [make.save(make.make(lines=lines)) for lines in (["Paris", "Rome", "Oslo"], ["Paris Rome", "", "Olso"], ["Paris"], ["a", "b", "c", "d"], [])]
    yield "fuzzy_place_math", True, [
        (path, {"expected": expected}, {}) for path in answers + odd for expected in (["Paris", "Rome", "Oslo"], ["paris"], [])]


OPEN_TEXT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" office:version="1.2">
<office:automatic-styles><style:style style:name="T1" style:family="text"><style:text-properties fo:background-color="COLOR"/></style:style><style:style style:name="T2" style:family="text"><style:text-properties fo:color="#ff0000"/></style:style></office:automatic-styles>
<office:body><office:text><text:h>Heading</text:h><text:p>First <text:span text:style-name="STYLE">marked<text:s/> inner</text:span> tail</text:p>
<text:p/><text:p>Second<text:tab/>line<text:line-break/>after <text:a>link</text:a></text:p></office:text></office:body></office:document-content>"""
OPEN_CHANGES = [
    lambda text: text, lambda text: text.replace("COLOR", "#ffff00").replace("STYLE", "T1"),
    lambda text: text.replace("COLOR", "#ffff00").replace("STYLE", "T2"), lambda text: text.replace("Second", "second"),
    lambda text: text.replace("<text:p/>", ""), lambda text: text.replace("COLOR", "transparent").replace("STYLE", "T1"),
]


def open_text(maker, change):
    path = maker.path(".odt")
    kind = "application/vnd.oasis.opendocument.text"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("mimetype", kind)
        out.writestr("META-INF/manifest.xml", '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:'
                     'xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="' + kind + '"/><manifest:file-entry '
                     'manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>')
        out.writestr("content.xml", change(OPEN_TEXT))
    return path
