"""An essay with three references, and with a fourth one that its fourth paragraph refers to."""
import sys

import docx

NEW = (
    "Steinberg, F. M., Bearden, M. M., & Keen, C. L. (2003). Cocoa and chocolate flavonoids: Implications for"
    " cardiovascular health. Journal of the American Dietetic Association, 103(2), 215-223."
    " doi: 10.1053/jada.2003.50028"
)

name, target = sys.argv[1:]
is_gold = "_Gold" in name
lines = [
    "Is chocolate good for us?", "Cocoa was a drink for a long time [1].",
    "Bars came with the steam engine [2], and milk later [3].",
    "Its flavonoids may help the heart " + ("[4]." if is_gold else "<add here>."),
    "More studies are wanted.", "References",
    "[1] Field, A. (1998). A cup of cocoa. Kitchen Press.", "[2] Hill, B. (2001). Steam and sugar. Mill Books.",
    "[3] Lake, C. (2002). Milk in bars. Dairy Letters, 4(1), 5-9.",
]
if is_gold:
    lines.append("[4] " + NEW)
document = docx.Document()
for line in lines:
    document.add_paragraph(line)
document.save(target)
