"""Cases that files of people seldom have, and that readers often get wrong: numbers that are none, digits of other
scripts, marks at the start of files, selectors and paths of all kinds, words for "no value"."""

import itertools

from maker import NONE

JSON_TEXTS = [
    '{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": 1, "a": 2}', '{"a": {"b": 1}, "a": {"c": 2}}', '\ufeff{"a": 1}',
    '{"a": 1} // note', '/* note */ {"a": 1}', '{"a": 1,}', "{'a': 1}", '{"a": 12345678901234567890123}', '{"a": 1e400}', '{"a": -1e400}',
    '{"a": 1e-400}', '{"a": 0.1e1}', '{"a": 01}', '{"a": +1}', '{"a": .5}', '{"a": 1.}', '{"a": "\\ud800"}', '{"a": "\\ud83d\\ude00"}',
    '{"a": "x\ty"}', '{"a": "x\ny"}', '{"a": "\x7f"}', '\u00a0{"a": 1}', '{"a": 1}\x0c', '{"a": 1} {"b": 2}', '{"a": True}', '{"a": nan}',
    '{"a": 9007199254740993}', '{"a": 18446744073709551616}', '{"a": -0}', '{"a": -0.0}', '[NaN]', '[1, 1]', '"a"', "1", "null", "NaN", "",
    '{"a": null}', '{"a": [1, NaN]}', '{"": 1, "a": 1}', '{"a": "1"}', '{"a": 1.0}', '{"a": true}', '{"\\u0061": 1}', "[" * 300 + "]" * 300,
    '{"a": ' + "[" * 200 + "1" + "]" * 200 + "}", '{"a": 1}\x00', '{"a": 1}\n\n', '\n{"a": 1}', '{"a": "NaN"}', '{"a": "Infinity"}',
]
VALUES = [1, 1.0, True, "1", None, 2, 1e400, -1e400, "NaN", 12345678901234567890123, 9007199254740993, 9007199254740992, 0, [1], {"c": 2},
          "\U0001f600", "Infinity", 18446744073709551616]


def structures(maker):
    paths = [maker.text(text.encode("utf-8", "surrogatepass"), ".json") for text in JSON_TEXTS]
    rules = [{"expect": [{"key": ["a"], "method": method, "ref": value}]} for method, value in itertools.chain(
        (("eq", value) for value in VALUES if value not in (1e400, -1e400)),
        [("ne", 1), ("lt", 5), ("ge", 1), ("approx:0.1", 1), ("range.te", [0, 3]), ("re", "1"), ("gt", 1e300)])]
    rules += [{"unexpect": [{"key": ["a"], "method": "eq", "ref": 1}]}, {"expect": [{"key": ["b"], "method": "eq", "ref": 1}]},
              {"expect": [{"key": ["a", 0], "method": "eq", "ref": 1}]}, {"unexpect": [{"key": ["a"], "method": "lt", "ref": 5}]}]
    yield "check_json", True, [(path, rule, {}) for path in paths for rule in rules]
    wanted = [{"expected": {"a": value}} for value in VALUES[:6] + [12345678901234567890123, 9007199254740993, [1]]] + [{"expected": {}}]
    yield "check_json_settings", True, [(path, one, {}) for path in paths for one in wanted]
    lists = [maker.text(f"// note\n[{text}]", ".json") for text in JSON_TEXTS[:40]] + [maker.text(f"[{text}]", ".json") for text in JSON_TEXTS[:40]]
    yield "check_json_keybindings", True, [(path, {"expected": {"a": value}}, {}) for path in lists for value in (1, 2, None, "1")]
    yield "check_direct_json_object", True, [(text, {"expected": {"a": value}, **more}, {}) for text in JSON_TEXTS for value in (1, "1", None, [1], True)
                                             for more in ({}, {"expect_in_result": True})]
    yield "is_included_all_json_objects", False, [(a, b, {}) for a in paths[:30] for b in paths[:30:3]]
    yield "compare_config", True, [(path, {"expected": text}, {}) for path, text in itertools.product(paths[:24], JSON_TEXTS[:12])]


PATTERNS = [r"^\d+$", r"^\w+$", r"^\s+$", r"\bword\b", r"^\D$", r"^\W$", r"^.$", r"(?i)^stra\u00dfe$", r"(?i)^\u0130$", r"^[\d]+$", r"^[^\W\d]+$",
            r"(?a)^\d+$", r"(?a)^\w+$", r"^\S+$", "(?x) a b # note", r"^a{0,2}$", r"^\x41$", r"(?P<n>a)(?P=n)", r"a|b|", r"(?<=a)b", r"(?<!a)b", r"^(?:a)?$",
            r"(?s)^a.b$", r"(?m)^b$", r"\Aa\Z", r"(a)?(?(1)b|c)", r"^\u0661$", r"(?i)k", r"(?i)[a-z]\Z", r"(?i)\u017f"]
TEXTS = ["\u0661\u0662", "12", "\uff11", "\u00b2", "\u2160", "a\u0301", "\u00e9", "_", "\u203f", "\u00a0", "\u2003", "\u200b", "\u1680", "\x1f", "\x85", "a word here", "STRASSE",
         "stra\u00dfe", "i\u0307", "\u0130", "\u0131", "ab", "", "a", "aa", "A", "b", "c", "a\nb", "\u212a", "\u017f", "S", "\U00010400", "\u0e01\u0e34", "\u0915\u093f", "\u20e3", "\u0300"]


def texts(maker):
    yield "is_expected_url_pattern_match", True, [(text, {"expected": [pattern]}, {}) for text in TEXTS for pattern in PATTERNS]
    numbers = ["1", "\u0661", "\uff11", "1_0", "_1", "1__0", " 1 ", "\u00a01", "1e5", "1E400", "nan", "NaN", "inf", "-inf", "+1", "0x1", "1.", ".5", "\u0661.\u0665",
               "\u00b2", "1,0", "", "\u2003 1\u2003", "\x1f1", "\u200b1", "infinity", "1e", "--1", "1\x00", "\u0967\u0968", "1\u0660"]
    paths = [maker.text(text) for text in numbers]
    yield "compare_result_files", False, [(a, b, {}) for a in paths for b in paths]
    times = ["12:00:00", "\u0661\u0662:00:00", "1:2:3", "99:99:99", "12:00", "x 12:00:00 y\n12:00:01", "12:00:00\u2028 12:00:00", "12:00:00\x0b12:00:00", "12:00:00\r12:00:00", ""]
    yield "check_line_number", False, [(maker.text(text), {"expected": count}, {}) for text in times for count in ("0", "1", "2", 1)]
    blanks = ["a b", "a\u00a0b", "a  b", "a\u2003b", "a\tb", "a\u200bb", " a b ", "a\x1cb", "a\x85b", "\ufeffa b", "a\u3000b", "a\nb", "A B", "\u00c5", "A\u030a", "\u1e9e", "\u00df", "\u0130", "i\u0307"]
    paths = [maker.text(text) for text in blanks]
    yield "compare_text_file", True, [(a, b, {"ignore_blanks": blank, "ignore_case": case}) for a in paths for b in paths for blank in (False, True) for case in (False, True)]
    yield "literal_match", False, [(a, b, {"type": "str", "ignore_case": True}) for a in TEXTS for b in TEXTS]


ADDRESSES = [
    "https://b\u00fccher.example.de/", "https://xn--bcher-kva.example.de/", "https://B\u00dcCHER.example.de", "https://example.co.uk/a", "https://www.example.co.uk/a", "https://example.com/a",
    "https://example.com:443/a", "https://example.com:8080/a", "https://user:word@example.com/a", "http://example.com/a/", "https://example.com/a?x=1#y", "https://example.com/%61",
    "https://127.0.0.1/a", "https://[::1]/a", "https://localhost/a", "https://example.\u4e2d\u56fd/a", "https://example.xn--fiqs8s/a", "https://a.github.io/a", "https://b.github.io/a", "//example.com/a",
    "example.com/a", "EXAMPLE.com/a", "https://www.www.example.com/a", "https://wwwx.example.com/a", "https://m.example.com/a", "about:blank", "chrome://settings/", "file:///a", "https://example.com./a",
    "https://ex ample.com/a", "", "https://", "https://example\u3002com/a", "https://com/a", "https://uk/a", "https://co.uk/a", "https://example.kawasaki.jp/a", "https://city.kawasaki.jp/a",
    "mailto:a@example.com", "javascript:void(0)", "https://example.com/a;b", "https://example.com//a", "https://example.com/\u00e9", "HTTPS://example.com/a", "https://example.com\\a",
]


def browsers(maker):
    yield "is_expected_active_tab", True, [({"url": a, "title": "t"}, {"type": "url", "url": b}, {}) for a in ADDRESSES for b in ADDRESSES]
    yield "is_cookie_deleted", False, [([[0, a.split("/")[2]]], {"type": "domains", "domains": [b.split("/")[2]]}, {}) for a in ADDRESSES for b in ADDRESSES
                                       if a.count("/") > 2 and b.count("/") > 2]


TREE = ('<desktop-frame xmlns:st="https://accessibility.ubuntu.example.org/ns/state" xmlns:cp="https://accessibility.ubuntu.example.org/ns/component"'
        ' xmlns:attr="https://accessibility.ubuntu.example.org/ns/attributes" xmlns:txt="https://accessibility.ubuntu.example.org/ns/text" xmlns:val="https://accessibility.ubuntu.example.org/ns/value">'
        '<application name="Mail" class="a b"><list><item name="one" st:selected="true">1</item><item name="two">2</item><item name="three" val:value="0.5">3<b/></item><item/><item name="five 5">5</item></list>'
        '<entry name="Search" attr:id="box" cp:screencoord="(1, 2)"/><label name="one"/></application><application name="Other"><list/><item name="six">x</item></application></desktop-frame>')
SELECTORS = [
    "item:nth-child(2)", "item:nth-child(2n)", "item:nth-child(2n+1)", "item:nth-child(odd)", "item:nth-child(even)", "item:nth-child(-n+2)", "item:nth-child(n)", "item:nth-last-child(1)", "item:nth-of-type(3)",
    "item:nth-last-of-type(1)", "item:last-child", "item:first-of-type", "item:last-of-type", "item:only-child", "label:only-of-type", "item:empty", "list:empty", "desktop-frame:root", "item + item", "item ~ item",
    "list ~ label", "entry ~ label", "list + entry + label", "list > item", "list>item~item", "list item + item ~ item", "*", "* > *", "application *", "item[name]", "item:not([name])", "item[name='one']", 'item[name="one"]',
    "item[name~=five]", "item[name|=five]", "item[name^=t]", "item[name$=e]", "item[name*=w]", "item[name^='']", "item[name='ONE']", "item[name='one' i]", "item[name!=one]", "item[st|selected]", "item[st|selected=true]",
    "item[val|value='0.5']", "entry[attr|id=box]", "entry[cp|screencoord^='(1']", "item, label", "item , nothing", "nothing, item", "item:not(.x)", ".a", ".a.b", "application.b", "#box", "entry#box", "item:contains('3')",
    "item:contains(one)", "item:has(b)", "list:has(> item)", "item:is(item, label)", "item:where(item)", "item:matches(item)", "item:hover", "item:checked", "item::before", "item:lang(en)", "item:nth-child(0)", "item:nth-child(2 of item)",
    "item:nth-child( 2n + 1 )", "item:nth-child(+3n-2)", "item:not(item)", "item:not(:first-child)", "item:not(item, label)", "item >", "> item", "item[", "item]", "", " item ", "item:unknown", "st|item", "*|item", "|item", "xx|item",
    "application[name=Mail]:first-child list item:nth-child(2)", "item:scope", "item:enabled", "item:link", "item\\:x", "ITEM", "Item", "item/**/", "item:first-child:not(:last-child)", "list > :first-child", ":first-child", "item:nth-child(3) b",
]
PATHS = [
    "//item[2]", "//item[last()]", "//item[position() < 3]", "//item[@name='one']", "//item[not(@name)]", "//item[contains(@name, 'o')]", "//item[starts-with(@name, 't')]", "//item[string-length(@name) > 3]", "//item[normalize-space(.)='1']",
    "//item[text()='1']", "//item[. = 3]", "//item[number(.) > 2]", "//item/@name", "//item/text()", "//item/..", "//b/ancestor::list", "//b/parent::item", "//item/following-sibling::item", "//item/preceding-sibling::item[1]", "//item[@st:selected]",
    "//item[@st:selected='true']", "//*[local-name()='item']", "//*[name()='item']", "//item[translate(@name, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')='ONE']", "//item[substring(@name, 1, 2)='on']",
    "//item[substring-before(@name, ' ')='five']", "//item[substring-after(@name, ' ')='5']", "//item[concat(@name, 'x')='onex']", "//item[count(*) = 1]", "//list[count(item) > 3]", "count(//item)", "sum(//item)", "string(//item)", "//item = 3",
    "boolean(//nothing)", "true()", "1 + 1", "//item | //label", "//item[position() mod 2 = 1]", "//item[@name='one' or @name='two']", "//item[@name='one' and @st:selected]", "/desktop-frame/application[2]/item", "/item", "item", ".//item", "(//item)[2]",
    "//item[matches(@name, 'o.e')]", "//item[re:test(@name, 'o')]", "//item[ends-with(@name, 'e')]", "//item[lower-case(@name)='one']", "//xx:item", "//item[", "", "//", "//item[@name=$x]", "//item[floor(2.5)]", "//item[round(1.5)]", "//item[ceiling(0.2)]",
    "//item[lang('en')]", "//item[id('box')]", "//processing-instruction()", "//comment()", "//node()", "//item[self::item]", "//item/descendant-or-self::*", "//item[@name != 'one']", "//item[-1 + 2]", "//item[1]/attribute::name", "//namespace::*",
    "//item[@val:value * 2 = 1]", "//item[@val:value div 2 < 1]", "descendant::item", "self::desktop-frame", "//application[list/item]", "//application[.//b]", "//item[string(@name)]", "id('box')", "document('x')", "//item[generate-id()]",
]


def trees(maker):
    rules = [[{"selectors": [one]}] for one in SELECTORS] + [[{"xpath": one}] for one in PATHS]
    rules += [[{"selectors": [one], "text": "3", "exact": True}] for one in SELECTORS[:40]] + [[{"xpath": one, "text": "1", "exact": False}] for one in PATHS[:40]]
    rules += [[{"selectors": ["item:nth-child(9)", "item"]}], [{"selectors": []}], [{}], [], [{"xpath": "//item", "selectors": ["nothing"]}]]
    yield "check_accessibility_tree", True, [(TREE, rule, {}) for rule in rules]
    kinds = ['<!DOCTYPE a><a><document-frame name="Slides View"/></a>', '<!DOCTYPE a [<!ENTITY e "Slides View">]><a><document-frame name="&e;"/></a>', '<?xml version="1.0"?><a><document-frame name="Slides View"/></a>',
             '<?xml version="1.0" encoding="utf-8"?><a><document-frame name="Slides View"/></a>', '\ufeff<a><document-frame name="Slides View"/></a>', '<a><document-frame name="Slides&#32;View"/></a>', '<a><document-frame name="Slides&nbsp;View"/></a>',
             '<a><document-frame name=\'Slides View\'/></a>', '<a><!-- <document-frame name="Slides View"/> --></a>', '<a><![CDATA[<document-frame name="Slides View"/>]]></a>', '<a><x:document-frame name="Slides View"/></a>', ' <a/>', '<a/><b/>', "<a", "", None]
    yield "check_left_panel", False, [(text, kind, {}) for text, kind in zip(kinds, [NONE] * len(kinds))]


QUERIES = ["select 1", "select 1.5", "select '1'", "select 'x'", "select null", "select true", "select 1e400", "select -1e400", "select abs(-2)", "select round(2.567, 1)", "select length('abc')", "select upper('a') = 'A'", "select instr('abc', 'b')", "select iif(1, 2, 3)",
           "select json_extract('{\"a\": 2}', '$.a')", "select json_array_length('[1,2]')", "select json('{\"a\":2}') ->> '$.a'", "select strftime('%Y', '2020-01-02')", "select julianday('2000-01-01') > 1", "select sqrt(4)", "select ln(1)", "select pow(2, 3)", "select floor(2.5)", "select pi() > 3",
           "select total(a) from t", "select avg(a) from t", "select group_concat(b) = 'x' from t", "select string_agg(b, ',') = 'x' from t", "select count(*) filter (where a > 1) from t", "select row_number() over () from t", "select median(a) from t", "select max(a, 2) from t", "select min(a) from t", "select typeof(a) = 'integer' from t",
           "select x'31'", "select cast('1' as integer)", "select printf('%d', 3)", "select format('%d', 3)", "select unicode('a')", "select char(49)", "select hex('1')", "select unhex('31')", "select soundex('a') = 'A000'", "select glob('a*', 'abc')", "select 'abc' like 'A%'", "select regexp('a', 'abc')", "select 'abc' regexp 'a'",
           "with recursive c(x) as (select 1 union all select x + 1 from c where x < 5) select count(*) from c", "values (7)", "select * from t", "select count(*) from sqlite_master", "pragma user_version", "select 1; select 2", "", ";", "select", "insert into t values (9, 'y')", "select concat('1', '2')", "select concat_ws('', '1', '2')",
           "select octet_length('abc')", "select sign(-3)", "select nullif(1, 1)", "select coalesce(null, 4)", "select likely(1)", "select random() is not null", "select zeroblob(1)", "select quote(1)", "select replace('11', '1', '2')", "select ltrim(' 1')", "select date('now') is not null", "select 1 is distinct from 2", "select unixepoch('1970-01-02')",
           "select timediff('2020-01-02', '2020-01-01') is not null", "select load_extension('x')", "select fts5('x')", "select rtreecheck('x')", "select count(*) from generate_series(1, 5)", "select count(*) from json_each('[1,2,3]')", "select count(*) from pragma_table_info('t')", "select jsonb('{}') is not null"]


def profiles(maker):
    import sqlite3

    database = maker.path(".sqlite")
    with sqlite3.connect(database) as connection:
        connection.executescript("create table t(a, b); insert into t values (1, 'x'), (2.5, null), ('z', null);")
    yield "run_sqlite3", False, [(database, {"sql": sql}, {}) for sql in QUERIES]
    item = '<item oor:path="/org.openoffice.Office.Common/Save/Document"><prop oor:name="AutoSaveTimeIntervall" oor:op="fuse"><value>%s</value></prop></item>'
    start = '<oor:items xmlns:oor="http://openoffice.org/2001/registry">'
    files = [f"{head}{start}{item % value}</oor:items>" for head in ("", '<?xml version="1.0" encoding="UTF-8"?>\n', "<!DOCTYPE oor:items>", '<!DOCTYPE oor:items [<!ENTITY e "3">]>', "\ufeff", "<!-- note -->")
             for value in ("3", "\u0663", " 3 ", "3.0", "", "&#51;", "x", "+3", "3_0")] + [f'<!DOCTYPE oor:items [<!ENTITY e "3">]>{start}{item % "&e;"}</oor:items>']
    yield "check_auto_saving_time", False, [(maker.text(text, ".xcu"), {"minutes": minutes}, {}) for text in files for minutes in (3, 3.0, "3")]


WORDS = ["", " ", "NA", "N/A", "n/a", "nan", "NaN", "NULL", "null", "None", "#N/A", "-nan", "<NA>", "1.#IND", "na", "Na", "none", "-", "#NA", "\u00a0", "1", "1.0", "01", "True", "x", "x ", "\u00a0x", "inf", "Infinity", "1e400", "\u0661"]


def tables(maker):
    from openpyxl import Workbook

    def book(values):
        workbook = Workbook()
        for at, value in enumerate(values, 1):
            workbook.active.cell(at, 1, value)
            workbook.active.cell(at, 2, at)
        path = maker.path(".xlsx")
        workbook.save(path)
        return path

    plain = [book(["head", word, "y"]) for word in WORDS] + [book(["head", value, "y"]) for value in (None, 1, 1.5, True, 12345678901234567, 10**15 + 0.5, 1e300, 1e-300, -0.0)]
    plain += [book([word, 1, 2]) for word in WORDS[:12]] + [book(["head", 1, word]) for word in WORDS[:24]]
    data = {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]}
    some = plain[::4] + plain[2:12]
    yield "compare_table", True, [(a, b, data) for a in plain for b in some] + [
        (a, a, {"rules": [{"type": "check_cell", "sheet_idx": 0, "coordinate": "A2", "props": {"value": {"method": "eq", "ref": value}}}]}) for a in plain for value in ("NA", "", 1, None, "x")
    ]
    lines = [f"a,b\n{word},1\n" for word in WORDS]
    paths = [maker.text(text, ".csv") for text in lines]
    yield "check_csv", True, [(path, {"expect": [{"a": word}]}, {}) for path in paths for word in ("", "NA", "x", None, "1", 1)]
    yield "compare_csv", True, [(a, b, {"strict": strict, "ignore_case": not strict}) for a in paths for b in paths[::3] for strict in (True, False)]


# Metrics of which some of these cases differ still: they are compared with `--family differing` alone.
DIFFERING = {
    "check_json", "check_json_settings", "check_direct_json_object", "is_included_all_json_objects", "is_expected_url_pattern_match",
    "is_expected_active_tab", "is_cookie_deleted", "check_accessibility_tree", "check_left_panel", "run_sqlite3", "check_auto_saving_time",
}


def every(maker):
    for family in (structures, texts, browsers, trees, profiles, tables):
        yield from family(maker)


def rare(maker):
    return (made for made in every(maker) if made[0] not in DIFFERING)


def differing(maker):
    return (made for made in every(maker) if made[0] in DIFFERING)
