"""Cases for `oracle.py`: for each metric results, expectations and options, with mutations that should
matter and some that should not."""

import itertools
import json
import random
import sqlite3
import struct
import tarfile
import zipfile
import zlib

from maker import NONE, Maker
from table_cases import tables

# Cases of a metric that are taken of the many that a family makes: Python takes long to open its files.
SAMPLED = {"media": 150, "document": 36, "slides": 60, "picture": 60, "rare": 200}


def sample(cases, count):
    """So many of the cases, always the same ones."""
    return cases if len(cases) <= count else random.Random(3).sample(cases, count)


# Families that are made only when asked for, since they show what is still to be mended.
ASKED_FOR = {"differing"}


def make(folder, scale=1, wanted=()):
    """Makes the cases of all families of metrics, or of those wanted; `scale` times as many where they are random."""
    from document_cases import documents
    from media_cases import media
    from picture_cases import pictures
    from rare_cases import differing, rare
    from slide_cases import slides

    maker = Maker(folder)
    families = {}
    for family, build in (
        ("text", texts), ("structure", structures), ("table", tables), ("browser", browsers), ("profile", profiles),
        ("tree", trees), ("archive", archives), ("image", images),
        ("media", media), ("rare", rare), ("differing", differing), ("picture", lambda maker: pictures(maker, scale)),
        ("document", lambda maker: documents(maker, scale)), ("slides", lambda maker: slides(maker, scale)),
    ):
        if family not in wanted and (wanted or family in ASKED_FOR):
            continue
        families[family] = {name: (often, list(cases)) for name, often, cases in build(maker)}
        if family in SAMPLED:
            for name, (often, cases) in families[family].items():
                families[family][name] = (often, sample(cases, SAMPLED[family] * scale))
    return families


WORDS = "alpha beta gamma delta Epsilon zeta Eta theta iota Kappa lambda mu".split()


def sentences(maker, lines=6):
    return ["  ".join(maker.random.sample(WORDS, 4)) if maker.random.random() < 0.2 else
            " ".join(maker.random.sample(WORDS, 4)) for _ in range(lines)]


def mutations(maker, lines):
    """Texts that differ from a list of lines in one thing each."""
    yield "\n".join(lines)
    yield "\n".join(lines) + "\n"
    yield "\r\n".join(lines) + "\r\n"
    yield "\n".join(lines).upper()
    yield "\n".join(line + " " for line in lines)
    yield "\n\n".join(lines)
    yield "\n".join(lines[1:])
    yield "\n".join(reversed(lines))
    yield "\n".join(lines[:2] + ["entirely new"] + lines[2:])
    yield "\t".join(lines)
    yield "\n".join(lines).replace("a", "4", 1)
    yield "\n".join(lines + lines)
    yield "\u2028".join(lines)
    yield "\x0c".join(lines)
    yield ""


def texts(maker):
    values = ["a", "a\n", "", "1", 1, 1.0, True, None, ["a"], {"a": 1}, "A", " a", [1, 2], [2, 1], 1.5, "true"]
    pairs = list(itertools.product(values[:8], values[:8]))
    yield "exact_match", True, [(a, {"expected": b}, {}) for a, b in pairs] + [("a", {"expected": "a"}, {"ignore_case": True})]
    yield "compare_answer", False, [(a, {"expected": b}, {}) for a, b in pairs]
    yield "literal_match", False, [
        (a, b, {"type": kind, "ignore_case": case})
        for a, b in [("a", "A"), ("a", "a"), (1, "1"), (1.0, "1"), (True, "True"), (None, "None"), (["a", 1], ["A", "1"]),
                     (["a"], ["a", "b"]), ("[1, 'a']", [1, "a"]), ([1, "a"], [1, "a"])]
        for kind in ("str", "list") for case in (False, True)
    ]
    yield "match_in_list", True, [
        (a, {"expected": b}, {}) for a, b in itertools.product(["a", "b", 1, None, "ab"], [["a", "b"], [1, None], [], "abc", ["ab\n"]])
    ]
    yield "is_in_list", True, [
        (a, {"expected": b}, {}) for a, b in itertools.product([["a", "b"], [1, None], [], "abc", {"a": 1}], ["a", "b", 1, None, "ab"])
    ]
    yield "fuzzy_match", False, [(a, {"expected": b}, {}) for a, b in itertools.product(["kitten", "", "ab c"], ["sitting", "", "ab c", "c ba"])]
    yield "check_include_exclude", True, [
        (a, {"include": i, "exclude": e}, {})
        for a in ("on two", "off", "", None, ["on", "two"]) for i in ([], ["on"], ["on", "two"]) for e in ([], ["off"])
    ]
    lines = sentences(maker)
    gold = maker.text("\n".join(lines) + "\n")
    found = [maker.text(text) for text in mutations(maker, lines)] + [None]
    yield "compare_text_file", True, [
        (path, gold, options) for path in found
        for options in ({}, {"ignore_blanks": True}, {"ignore_case": True}, {"ignore_blanks": True, "ignore_case": True})
    ]
    long = [maker.random.choice(WORDS) for _ in range(320)]
    long_gold = maker.text("\n".join(long))
    others = [maker.text("\n".join(text)) for text in (long, long[::-1], long[:150] + ["x"] * 40 + long[150:], sorted(long), long * 2)]
    yield "diff_text_file", True, [(path, gold, {}) for path in found] + [(path, long_gold, {}) for path in others] + [(None, gold, {})]
    yield "compare_terminal_and_txt", False, [(path, text, {}) for path in found[:4] for text in ("\n".join(lines), "", None)]
    code = "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\ndef f(x):\n\tif x:\n\t\treturn 1\n\n    # note\n"
    codes = [code, code.replace("\t", "    "), code.replace("\n\n", "\n"), code.replace("#!", "# !"), code + "x = 1\n", code.replace("1", "2"),
             code.split("\n", 2)[2], code.replace("return 1", "return 1   ")]
    paths = [maker.text(text, ".py") for text in codes]
    yield "compare_python_pure_text", False, list((a, b, {}) for a in paths for b in paths[:2]) + [(None, paths[0], {})]
    numbers = ["3.14159", "3.14160", "3.2", "result: 3.14159", "x", "inf", " 3.14159\n", "1e3", "1000", "1_000", "1e_3", "_1000", ""]
    paths = [maker.text(text) for text in numbers]
    yield "compare_result_files", False, [(a, b, {}) for a, b in itertools.product(paths, paths)]
    yield "file_contains", True, [
        (path, {"expected": wanted}, {}) for path in found for wanted in ([lines[0]], [lines[0], "nowhere"], [], lines[0][:3])
    ]
    times = ["12:30:59 a\n24:00:00\n 01:02:03\n", "no\n", "", "23:59:60\n1:02:03\n"]
    yield "check_line_number", False, [(maker.text(text), {"expected": wanted}, {}) for text in times for wanted in ("0", 1, "2")]
    yield "is_extension_installed", True, [
        (a, {"type": kind, "expected": b}, {}) for a in ("x.y\nz.w", "", "x") for b in ("x.y", "q", "") for kind in ("contain", "not_contain", "other")
    ]
    yield "is_in_vm_clickboard", False, [
        ({"expected": a}, b, {}) for a in ("x", ["x", "y"], []) for b in ("$ x y", "x", "")
    ]
    zones = ["a\nb\nc\n   Time zone: UTC (UTC, +0000)\nd", "a\nb\nc\nTime zone: Europe/Rome (CET, +0100)", "a\nb\nc\n(UTC, +0000) ", "a", "\n\n\n+0000)"]
    yield "is_utc_0", False, [(zone, NONE, {}) for zone in zones]
    yield "check_text_enlarged", False, [(text, NONE, {}) for text in ("1.0", "1.25", "0.5\n", "x", "1.5\n", "2")]
    lists = ["['a.desktop', 'b.desktop']", "['b.desktop','a.desktop']", "['a.desktop']", "[]", "['a.desktop', 'a.desktop']"]
    yield "check_gnome_favorite_apps", False, [(text, {"expected": wanted}, {}) for text in lists for wanted in (["a.desktop", "b.desktop"], ["a.desktop"], [])]
    folders = [[], ["a"], ["a", "b"], ["b", "a"], ["a", "a"]]
    yield "check_moved_jpgs", False, [
        ({"children": [{"name": name} for name in names]}, {"expected": wanted}, {}) for names in folders for wanted in (["a", "b"], ["a"], [])
    ]
    patterns = [["^alpha"], ["a$"], ["zeta|mu"], ["(?i)EPSILON"], ["nothing"], [r"\bbeta\b", "e"], [r"^\w+ \w+ \w+ \w+$"], ["(a)\\1"], ["(?<!x)beta"]]
    yield "check_list", True, [
        (path, {"expect": yes, "unexpect": no}, {}) for path in found[:8] for yes, no in
        [(p, []) for p in patterns] + [([], p) for p in patterns] + [(patterns[0], patterns[4])]
    ] + [(None, {"expect": []}, {})]


def structures(maker):
    objects = [{"a": 1, "l": [1, 2]}, {"a": 1.0, "l": [2, 1]}, {"a": "1", "l": []}, {"a": True}, {}, {"a": None, "l": "x"},
               {"t": "part of it"}, {"t": ["x", "part"]}, {"t": "part"}]
    rules = [{"expected": {"a": 1}}, {"expected": {"a": 1, "l": [1, 2]}}, {"expected": {"l": [2, 1], "ignore_list_order": True}},
             {"expected": {"t": ["x", "part"]}, "expect_in_result": True}, {"expected": {"t": "part"}, "expect_in_result": True},
             {"expected": {"a": 3}, "expect_in_result": True}, {"expected": {"a": "__EVALUATION_FAILED__"}}, {"expected": {}}, {"expected": {"z": None}}]
    yield "check_direct_json_object", True, [
        (given, rule, {}) for one in objects for rule in rules for given in (one, json.dumps(one).replace('"', "'"))
    ] + [("no json", rules[0], {}), (None, rules[0], {})]
    document = {"a": {"b": [10, "word", 2.5], "c": True, "n": None}, "t": "Hello, World", "list": "x,y,z", "neg": -3}
    texts = [json.dumps(document), json.dumps({**document, "t": "hello"}), json.dumps({"a": []}), "{", "[]", "", json.dumps(document, indent=2)]
    found = [maker.text(text, ".json") for text in texts] + [None]
    matches = [("eq", 10), ("eq", "10"), ("ne", 10), ("lt", 11), ("le", 10), ("gt", 10), ("ge", 9.5), ("approx:0.5", 10.4), ("approx:0.1", 10.4),
               ("range.te", [9, 10]), ("range.te", [10, 12]), ("range.et", [10, 12]), ("re", "^w"), ("re.I", "^HELLO"), ("re.I.M", "world$"),
               ("str_list_eq", ["x", "y", "z"]), ("str_set_eq", ["z", "y", "x"]), ("eq", None), ("eq", True), ("nonsense", 1)]
    keys = [["a", "b", 0], ["a", "b", 1], ["t"], ["list"], ["none"], ["a", "n"], ["a", "b", 9], ["a", "c"], ["t", "x"]]
    checks = [{"key": key, "method": method, "ref": ref} for key in keys for method, ref in matches]
    cases = [(found[0], {"expect": [check]}, {}) for check in checks] + [(found[0], {"unexpect": [check]}, {}) for check in checks]
    cases += [(path, {"expect": [checks[0]], "unexpect": [checks[5]]}, {}) for path in found]
    yaml = "a:\n  b: [10, word, 2.5]\n  c: yes\n  n: ~\nt: Hello, World\nlist: 'x,y,z'\nneg: -3\nd: 2020-01-01\no: 010\nf: 1e3\nm: &m {k: off}\nn: *m\n"
    yamls = [maker.text(text, ".yaml") for text in (yaml, yaml.replace("10", "11"), "", "a: [", "- 1\n- 2\n", yaml + "<<: 1\n")]
    more = checks + [{"key": ["d"], "method": "eq", "ref": "2020-01-01"}, {"key": ["o"], "method": "eq", "ref": 8},
                     {"key": ["f"], "method": "eq", "ref": "1e3"}, {"key": ["n", "k"], "method": "eq", "ref": False}]
    cases += [(yamls[0], {"expect": [check]}, {"is_yaml": True}) for check in more] + [(path, {"expect": [checks[0]]}, {"is_yaml": True}) for path in yamls]
    yield "check_json", True, cases
    yield "check_json_settings", True, [
        (path, {"expected": wanted}, {}) for path in found for wanted in ({"t": "Hello, World"}, {"t": "hello"}, {"neg": -3.0, "a": document["a"]}, {}, {"z": 1})
    ]
    bindings = ['[{"key": "a", "command": "b"}]', '// note\n[{"key": "a", "command": "b"}]', "[]", "{}", "x\ny", '[{"command": "b", "key": "a"}, 1]']
    yield "check_json_keybindings", True, [
        (maker.text(text, ".json"), {"expected": wanted}, {}) for text in bindings
        for wanted in ({"key": "a", "command": "b"}, {"key": "a"}, 1, {})
    ] + [(None, {"expected": {}}, {})]
    yield "is_included_all_json_objects", False, [(a, b, {}) for a, b in itertools.product(found[:3] + [None], found[:3])]
    yield "compare_config", True, [
        (path, {"expected": wanted}, {}) for path in found[:4] + [maker.text("key = 1\n"), None] for wanted in (texts[0], "key = 1\n", "key = 1", "{}", texts[1])
    ]


BOOKMARKS = {"bookmark_bar": {"children": [
    {"type": "url", "name": "A", "url": "https://a.org/"}, {"type": "folder", "name": "Favorites", "children": []},
    {"type": "folder", "name": "Liked Authors", "children": [{"type": "url", "url": "https://x1/"}, {"type": "url", "url": "https://y/"}]}]}}

URLS = ["https://www.google.com/", "google.com", "http://google.com", "https://google.co.uk", "https://maps.google.com/a", "https://www.google.com/search?q=1",
        "https://www.google.com/search?q=2#x", "chrome://settings/", "chrome://settings", "https://user.github.io/", "https://github.com", "file:///home/x.html",
        "HTTPS://WWW.Google.COM", "https://google.com:8443/", "https://1.2.3.4/a", "localhost:3000/a", "https://a.b.c.co.jp/x;p=1", "about:blank", "", ".google.com",
        "https://[::1]:80/x", "https://www.www.com", "https://xn--bcher-kva.example/", "https://foo.unknownsuffix/p"]


def browsers(maker):
    pairs = list(itertools.product(URLS, URLS[:16]))
    yield "is_expected_active_tab", True, [({"url": a, "title": "t"}, {"type": "url", "url": b}, {}) for a, b in pairs] + [
        ("https://google.com", {"type": "url", "url": "google.com"}, {}), (None, {"type": "url", "url": "x"}, {}), ({"url": "x"}, {"type": "title"}, {})]
    yield "is_expected_active_tab_approximate", False, [({"url": a}, {"type": "url", "url": b}, {}) for a, b in pairs]
    yield "is_expected_url_pattern_match", True, [
        (a, {"expected": wanted}, {}) for a in URLS + [{"url": URLS[5]}, None, {}] for wanted in (["google"], ["q=1", "^https"], [r"q=\d+$"], [r"(?=.*search)(?!.*q=2)"], [])
    ]
    yield "is_expected_tabs", True, [
        ([{"url": url, "title": ""} for url in tabs], {"type": "url", "urls": wanted}, {})
        for tabs in ([], URLS[:1], URLS[:2], [URLS[4], URLS[0]], [URLS[0], URLS[0]]) for wanted in (["google.com"], [URLS[0], URLS[4]], [URLS[0], URLS[0]], [], ["https://x.org"])
    ]
    marks = [BOOKMARKS, {}, None, {"bookmark_bar": {"children": []}}]
    wanted = [{"type": "bookmark_bar_folders_names", "names": ["Favorites", "Liked Authors"]}, {"type": "bookmark_bar_folders_names", "names": ["Favorites"]},
              {"type": "bookmark_bar_websites_urls", "urls": ["https://a.org/"]}, {"type": "bookmark_bar_websites_urls", "urls": []},
              {"type": "liked_authors_websites_urls", "urls": [["https://x1/", "https://x2/"], "https://y/"]},
              {"type": "liked_authors_websites_urls", "urls": [["https://x2/"], "https://y/"]}, {"type": "other"}]
    yield "is_expected_bookmarks", True, [(mark, rule, {}) for mark in marks for rule in wanted]
    yield "is_expected_search_query", False, [({"url": url}, {"expect": {"pattern": pattern}}, {}) for url in URLS[:6] for pattern in (r"google\.com.*q=", "^http", "x")]
    yield "is_expected_installed_extensions", False, [(a, {"expected": b}, {}) for a in (["A", "B"], ["A"], [], None) for b in (["A"], ["A", "B"], [], ["C"])]
    rows = [[1, ".amazon.com", "n"], [2, "www.google.com", "m"]]
    yield "is_cookie_deleted", False, [(cookies, {"type": kind, "domains": domains}, {}) for cookies in (rows, rows[1:], [])
                                       for domains in (["amazon.com"], ["google.com", "x.org"], [".amazon.com"], []) for kind in ("domains", "x")]
    yield "check_history_deleted", False, [(history, {"type": "keywords", "keywords": words}, {}) for history in ([["https://youtube.com/x", "t", 1]], [], [["https://a.org", "t", 1]])
                                           for words in (["youtube"], [], ["a.org", "x"])]
    yield "check_enabled_experiments", False, [(a, {"type": "names", "names": b}, {}) for a in (["a@1", "b@2"], ["a"], []) for b in (["a", "b"], ["a"], [])]
    yield "check_font_size", False, [({"default_font_size": size}, rule, {}) for size in (16, 20, 20.0, 28) for rule in
                                     ({"type": "value", "value": 20}, {"type": "range", "min": 16, "max": 28}, {"type": "x"})]
    starters = [{"/a.desktop": "[Desktop Entry]\nName=Mail\nExec=mail %u\n"}, {"/a.desktop": "Name=Mail"}, {}, {"/b": "Name=My Mail\n", "/c": "Exec=x\n"}]
    yield "is_shortcut_on_desktop", False, [(one, rule, {}) for one in starters for rule in
                                            ({"type": "name", "name": "Mail"}, {"type": "exec", "exec": "mail %u"}, {"type": "url", "url": "x"})]
    yield "is_added_to_steam_cart", False, [({"content": text}, {"items": items}, {}) for text in ("Game One, Game Two", "") for items in (["Game One"], ["Game Three"], [])]
    style = "<html><head><style>body { background-image: url('%s'); }</style></head><body></body></html>"
    yield "check_html_background_image", False, [(maker.text(page, ".html"), {"value": "a.png"}, {}) for page in
                                                 (style % "a.png", style % "b.png", "<p>background-image: url('a.png')</p>", "", style.replace("'", '"') % "a.png")]


def profiles(maker):
    gimprc = "# GIMP\n\n(theme \"Dark\")\n(undo-levels 100)\n(default-image (width 10))\n(session-info \"toplevel\" (position 1 2))\n(show-tips no)\n"
    found = [maker.text(text) for text in (gimprc, gimprc.replace("Dark", "Light"), "", gimprc.replace("no)", "yes)"), "(theme)\n", gimprc.replace("100", "50"))] + [None]
    rules = [{"key": "theme", "value": '"Dark"'}, {"key": "undo-levels", "value": "100"}, {"key": ["session-info", '"toplevel"'], "value": "2"},
             {"key": "show-tips", "value": "no"}, {"key": "nothing", "value": "x"}]
    yield "check_config_status", True, [(path, rule, {}) for path in found for rule in rules]
    item = '<item oor:path="%s"><prop oor:name="%s" oor:op="fuse"><value>%s</value></prop></item>'
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema">%s</oor:items>'

    def registry(*items):
        return maker.text(head % "".join(item % one for one in items), ".xcu")

    font, screen, save = "/org.openoffice.Office.Writer/DefaultFont", "/org.openoffice.Office.Impress/Misc/Start", "/org.openoffice.Office.Common/Save/Document"
    fonts = [registry((font, "Standard", "Times New Roman")), registry((font, "Standard", "Arial")), registry((font, "List", "Times New Roman")), registry(),
             registry((font, "Standard", "Arial"), (font, "Standard", "Times New Roman")), maker.text("<a"), None]
    yield "find_default_font", False, [(path, {"font_name": name}, {}) for path in fonts for name in ("Times New Roman", "Arial")]
    screens = [registry((screen, "EnablePresenterScreen", word)) for word in ("false", "FALSE", "true", "")] + [registry(), maker.text("")]
    yield "check_presenter_console_disable", False, [(path, NONE, {}) for path in screens]
    saves = [registry((save, "AutoSaveTimeIntervall", word)) for word in ("3", "10", "x")] + [registry(), registry((save, "Other", "3")), maker.text("<a/>")]
    yield "check_auto_saving_time", False, [(path, {"minutes": minutes}, {}) for path in saves for minutes in (3, 10)]
    locales = [registry(("/org.openoffice.Setup/L10N", "ooSetupSystemLocale", "en-US"), ("/org.openoffice.Setup/L10N", "ooLocale", "de")),
               registry(("/org.openoffice.Setup/L10N", "ooLocale", "de")), registry()]
    yield "check_libre_locale", False, [(path, {"locale_set": patterns}, {}) for path in locales for patterns in (["en-*"], ["de", "fr"], ["??"], [])]
    prefs = '// note\nuser_pref("mail.count", 3);\nuser_pref("a.b", true);\nuser_pref("name", "X \\"q\\"");\nuser_pref("neg", -1);\nbroken\n'
    found = [maker.text(text) for text in (prefs, prefs.replace("true", "false"), "", prefs.replace("3", "4"), prefs + prefs.replace("true", "false"))] + [None]
    rules = [{"expect": {"mail.count": {"method": "eq", "ref": 3}}}, {"expect": {"a.b": {"method": "eq", "ref": True}, "neg": {"method": "lt", "ref": 0}}},
             {"expect": {"name": {"method": "re", "ref": '^X "q"$'}}}, {"expect": {"missing": {"method": "eq", "ref": 1}}},
             {"unexpect": {"a.b": {"method": "eq", "ref": True}}}, {"unexpect": {"missing": {"method": "eq", "ref": 1}}}, {}]
    yield "check_thunderbird_prefs", True, [(path, rule, {}) for path in found for rule in rules]
    rule = 'version="9"\nlogging="no"\nname="promo"\nenabled="yes"\ntype="17"\naction="Move to folder"\nactionValue="mailbox://nobody@Local%20Folders/Promo"\ncondition="AND (subject,contains,discount)"\n'
    filters = [rule, rule.replace("discount", "sale"), rule.replace("yes", "no"), rule + rule.replace("promo", "other").replace('AND (subject,contains,discount)', 'OR (from,contains,a) OR (subject,is,"b c")'), "", rule.replace("AND (subject,contains,discount)", "ALL"),
               "".join(sorted(rule.splitlines(True), key=lambda line: line.startswith(("enabled", "action"))))]
    found = [maker.text(text) for text in filters] + [None]
    wanted = [{"expect": [{"name": "promo", "enabled": "yes", "action": "Move to folder"}]}, {"expect": [{"condition": ["AND (subject,contains,discount)"]}]},
              {"expect": [{"condition": ["OR (from,contains,a)", 'OR (subject,is,"b c")']}]}, {"unexpect": [{"enabled": "no"}]}, {"expect": [{"condition": ["ALL"]}]}]
    yield "check_thunderbird_filter", True, [(path, rule, {}) for path in found for rule in wanted]
    mail = "From - Mon Jan 1\nX-Mozilla-Status: 000%s\nX-Mozilla-Keys: \nMIME-Version: 1.0\nSubject: %s\n\nbody\n"
    boxes = [maker.text("".join(mail % one for one in box)) for box in ([("1", "a"), ("1", "b")], [("1", "b"), ("1", "a")], [("1", "a")], [("8", "a")], [])] + [None]
    yield "check_thunderbird_folder", False, [(a, b, options) for a in boxes for b in boxes[:4] for options in ({}, {"ignore_status": True, "remove_deleted": False})]
    status = '<root><state>%s</state><information><category name="meta"><info name="%s">%s</info></category></information></root>'
    found = [maker.text(status % one, ".xml") for one in (("playing", "filename", "video.mp4"), ("paused", "filename", "video.mp4"), ("playing", "filename", "other.mp4"),
             ("playing", "title", "https://h.org/live/stream.m3u8"), ("playing", "filename", "stream.m3u8"), ("playing", "x", "y"))] + [maker.text("<a", ".xml")]
    rules = [{"type": "file_name", "file_name": "video.mp4"}, {"type": "url", "url": "https://h.org/live/stream.m3u8"}, {"type": "url", "url": "https://h.org/live"}, {"type": "x"}]
    yield "is_vlc_playing", True, [(path, rule, {}) for path in found for rule in rules]
    vlcrc = "# comment\n#qt-bgcone=1\nqt-max-volume=%s\nqt-minimal-view=%s\nqt-bgcone=%s\n#global-key-play-pause=\n%s\ninput-record-path=%s\nplay-and-exit=%s\none-instance-when-started-from-file=%s\nqt-slider-colours=%s\n"
    made = [vlcrc % one for one in (("125", "0", "1", "", "/home/user/Desktop", "0", "1", "1;2;3;4;5;6"), ("200", "1", "0", "global-key-play-pause=Ctrl+P", "/tmp", "1", "0", "200;2;3"))] + ["", "x\n"]
    found = [maker.text(text) for text in made]
    yield "is_vlc_recordings_folder", False, [(path, {"recording_file_path": wanted}, {}) for path in found for wanted in ("/home/user/Desktop", "/tmp")]
    for name, key in (("check_qt_bgcone", "expected_qt_bgcone"), ("check_qt_max_volume", "expected_qt_max_volume"), ("check_qt_minimal_view", "expected_qt_minimal_view"),
                      ("check_global_key_play_pause", "expected_global_key_play_pause"),
                      ("check_one_instance_when_started_from_file", "expected_one_instance_when_started_from_file")):
        yield name, False, [(path, {key: value}, {}) for path in found for value in (0, 1, "1", 200, "125")]
    yield "check_qt_slider_colours", False, [(path, rule, {}) for path in found for rule in
                                             ({"type": "blackish"}, {"type": "match", "expected_qt_slider_colours": "1;2;3;4;5;6"}, {"type": "match", "expected_qt_slider_colours": "x"})]
    sizes = [{"width": 1920, "height": 1080}, {"width": 1280, "height": 720}, None]
    yield "is_vlc_fullscreen", False, list((a, b, {}) for a in sizes for b in sizes)
    database = maker.path(".sqlite")
    with sqlite3.connect(database) as connection:
        connection.executescript("create table t(a, b); insert into t values (1, 'x'), (2.5, null);")
    queries = ["select count(*) from t", "select a from t where b is null", "select b from t where b is null", "select a from t where a > 9", "select sum(a) > 3 from t", "select nothing"]
    yield "run_sqlite3", False, [(database, {"sql": sql}, {}) for sql in queries]
    yield "check_mp3_meta", True, list(tags(maker))


def tags(maker):
    from mutagen.easyid3 import EasyID3
    from mutagen.id3 import ID3

    made = []
    for artist, title, date, version in itertools.product(("Ann", "Bob"), ("Song", "Ünder"), ("2004", None), (3, 4)):
        path = maker.text(b"\xff\xfb\x90\x00" + bytes(413), ".mp3")
        tag = EasyID3()
        tag["artist"], tag["title"], tag["album"], tag["genre"] = [artist, "Guest"], title, "Disc", "Jazz"
        if date:
            tag["date"] = date
        tag.save(path)
        full = ID3(path)
        if version == 3:
            full.update_to_v23()
        full.save(path, v2_version=version)
        made.append(path)
    made += [maker.text(b"no tags", ".mp3"), None]
    rules = [{"artist": {"method": "eq", "ref": "Ann,Guest"}}, {"title": {"method": "eq", "ref": "Song"}, "date": {"method": "eq", "ref": "2004"}}, {"genre": {"method": "re", "ref": "Ja"}},
             {"album": {"method": "ne", "ref": "Disc"}}]
    return [(path, rule, {}) for path in made for rule in rules]


def trees(maker):
    spaces = ' xmlns:st="https://accessibility.ubuntu.example.org/ns/state" xmlns:cp="https://accessibility.ubuntu.example.org/ns/component" xmlns:attr="https://accessibility.ubuntu.example.org/ns/attributes"'
    tree = f'<desktop-frame{spaces}><application name="Thunderbird"><page-tab-list attr:id="tabmail-tabs"><page-tab name="About Profiles"/><page-tab name="Inbox" st:selected="true">mail</page-tab></page-tab-list>' \
           '<entry name="Address and search bar" cp:screencoord="(1, 2)">example.org</entry></application><application name="x"><document-frame name="Slides View"/></application></desktop-frame>'
    selectors = ['application[name=Thunderbird] page-tab-list[attr|id="tabmail-tabs"]>page-tab[name="About Profiles"]', 'page-tab[st|selected="true"]', "entry[name^=Address]",
                 "application:first-child entry", "document-frame[name~=View]", "nothing", "page-tab + page-tab", 'entry[name*="search"], nothing', "application:not([name=x])"]
    paths = ["//page-tab[@st:selected='true']", "//entry[contains(@name, 'search')]", "/desktop-frame/application/entry", "//nothing", "count(//entry)", "//application[2]"]
    rules = [[{"selectors": [one]}] for one in selectors] + [[{"xpath": one}] for one in paths]
    rules += [[{"xpath": paths[0], "text": "mail", "exact": exact}] for exact in (True, False)] + [[{"xpath": paths[0], "text": "male", "exact": exact}] for exact in (True, False)]
    rules += [[{"xpath": paths[0]}, {"selectors": ["nothing"]}], [{"xpath": "//page-tab", "text": "ma", "exact": False}, {"xpath": "//entry", "text": "example", "exact": False}]]
    yield "check_accessibility_tree", True, [(tree, rule, {}) for rule in rules] + [("<a", rules[0], {}), (tree, rules[0], {"osname": "windows"})]
    yield "check_left_panel", False, [(text, NONE, {}) for text in (tree, tree.replace("Slides View", "Other"), "<a/>", tree.replace("document-frame", "frame"), "<a", None)]


PAGE = '<html><head><title>T</title><meta charset="utf-8"></head><body class="a  b"><h1>Head</h1><p sdnum="1">One <b>two</b> three &amp; four</p><table><tr><td>x</td></tr></table></body></html>'


def archives(maker):
    pages = [PAGE, PAGE.replace("a  b", "a b"), PAGE.replace('sdnum="1"', 'sdnum="2"'), PAGE.replace("two", "2"), PAGE.replace("<h1>", "<h2>").replace("</h1>", "</h2>"), PAGE.replace("</table>", "</table><hr>"),
             PAGE.replace('<p sdnum="1">', '<p sdnum="1" id="p">'), PAGE.replace("<p ", "\n<p "), PAGE.replace("<body", "<!-- note --><body"), "", "<p>x", PAGE.replace("One", " One")]
    paths = [maker.text(page, ".html") for page in pages]
    yield "compare_htmls", False, [(a, b, options) for a in paths for b in (paths[0], paths[2]) for options in ({}, {"ignore_sdnum": True})]

    def packed(members, ending):
        path = maker.path(ending)
        if ending == ".zip":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, text in members.items():
                    archive.writestr(name, text)
        else:
            with tarfile.open(path, "w:gz" if ending == ".tar.gz" else "w") as archive:
                for name, text in members.items():
                    single = maker.text(text)
                    archive.add(single, name)
        return path

    sets = [{"d/a.txt": "one\n", "d/b.txt": "two\n"}, {"d/a.txt": "one\n", "d/b.txt": "2\n"}, {"d/a.txt": "one\n"}, {"d/a.txt": "ONE \n", "d/b.txt": "two\n"}, {"x/a.txt": "one\n"}, {"d/c.txt": "one\n", "d/b.txt": "two\n"}]
    cases = []
    for ending in (".zip", ".tar.gz", ".tar"):
        made = [packed(one, ending) for one in sets]
        cases += [(a, made[0], {"file_path": "d", **options}) for a in made for options in ({"file_type": "text"}, {"file_type": "text", "ignore_case": True, "ignore_blanks": True}, {"file_type": "csv"})]
    yield "compare_archive", True, cases + [(None, cases[0][1], {})]
    made = [packed(one, ".zip") for one in sets] + [packed({}, ".zip"), maker.text("no zip")]
    yield "compare_zip_files", False, [(a, b, {}) for a in made for b in made[:3]] + [(None, made[0], {})]
    opf = '<package>\n<dc:identifier>%s</dc:identifier>\n<x/>\n</package>\n'
    ncx = '<ncx>\n<navPoint id="%s">\n<text>A</text>\n</navPoint>\n</ncx>\n'
    books = [{"content.opf": opf % one, "toc.ncx": ncx % one, "p1.html": page, "p2.html": PAGE} for one in ("1", "2") for page in
             (PAGE, PAGE.replace("two", "2"), PAGE.replace("<h1>Head</h1>", ""), "<html><body><div><p>a</p><p>b</p></div><ul><li>x</li><li>y</li></ul></body></html>")]
    books += [{"p1.html": PAGE}, {"content.opf": "other\nlines\n"}, {}]
    made = [packed(one, ".zip") for one in books] + [maker.text("no book")]
    yield "compare_epub", True, [(a, b, {}) for a in made for b in (made[0], made[3])] + [(None, made[0], {})]


def images(maker):
    def png(width, height, alpha=None):
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        rows = b"".join(b"\x00" + b"".join(bytes((200, 10, 10, 255 if alpha is None or (alpha[0] <= x < alpha[2] and alpha[1] <= y < alpha[3]) else 0)) for x in range(width)) for y in range(height))
        head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")

    found = [maker.text(png(8, 6), ".png"), maker.text(png(8, 6, (1, 1, 4, 3)), ".png"), maker.text(png(8, 6, (0, 0, 0, 0)), ".png"), maker.text("no picture", ".png"), None]
    rules = [{"width": 8, "height": 6}, {"height": 6}, {"width": 3, "height": 2, "ignore_transparent": True}, {"width": 8, "ignore_transparent": True}, {"width": 0, "ignore_transparent": True}, {}]
    yield "check_image_size", True, [(path, rule, {}) for path in found for rule in rules]
    yield "check_image_file_size", False, [(path, {"max_size": size}, {}) for path in found for size in (50, 100000, 10.5)]
