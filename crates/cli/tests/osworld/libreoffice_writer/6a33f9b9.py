"""A phone script whose mended words are still highlighted in yellow."""
import sys
import zipfile

TEXT = [
    ["Hello, my name is ", "*Robin", " and I call from the university."],
    ["We look for ", "*volunteers", " who sleep less than ", "*six hours", "."],
    ["May I ask you a few questions?"],
]
SPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in [("office", "office"), ("text", "text"), ("style", "style"), ("manifest", "manifest")]
) + ' xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
KIND = "application/vnd.oasis.opendocument.text"

name, target = sys.argv[1:]
is_gold = "_Gold" in name
body = ""
for pieces in TEXT:
    body += "<text:p>"
    for piece in pieces:
        if piece.startswith("*") and not is_gold:
            body += f'<text:span text:style-name="T1">{piece[1:]}</text:span>'
        else:
            body += piece.lstrip("*")
    body += "</text:p>"
style = (
    '<style:style style:name="T1" style:family="text">'
    '<style:text-properties fo:background-color="#ffff00"/></style:style>'
)
content = (
    f'{HEAD}<office:document-content {SPACES} office:version="1.2">'
    f"<office:automatic-styles>{style}</office:automatic-styles>"
    f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
)
manifest = (
    f'{HEAD}<manifest:manifest {SPACES} manifest:version="1.2">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{KIND}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
)
with zipfile.ZipFile(target, "w") as archive:
    archive.writestr("mimetype", KIND)
    archive.writestr("content.xml", content)
    archive.writestr("META-INF/manifest.xml", manifest)
