//! Table tests per metric: result, expected value, and upstream's score.

use serde_json::{Map, Value, json};

use super::{ArgumentKind, METRICS, compute};
use crate::evidence::{EvidenceValue, FileRef};
use crate::scoring::{Compat, CompatProbe, MetricInput};

fn value(value: Value) -> EvidenceValue {
    EvidenceValue::Value { value }
}

fn file(text: impl Into<Vec<u8>>) -> EvidenceValue {
    EvidenceValue::files_of(vec![Some(FileRef::new("f", text.into()))])
}

fn absent() -> EvidenceValue {
    EvidenceValue::Absent { why: "no such file".into() }
}

#[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
fn score(
    metric: &str,
    result: &EvidenceValue,
    expected: &EvidenceValue,
    options: Value,
) -> Result<f64, String> {
    let none = Map::new();
    let options = options.as_object().unwrap_or(&none);
    let reading = CompatProbe::new(Compat::Fixed);
    let case = MetricInput {
        result,
        expected: Some(expected),
        options,
        reading: &reading,
        beside: &[],
        readings: &[],
        judgements: &[],
    };
    compute(metric, &case).map(|mark| mark.score).map_err(|fault| fault.message().to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "tables of literals read better so")]
fn check(metric: &str, result: EvidenceValue, rules: Value, expected: f64) {
    let scored = score(metric, &result, &value(rules.clone()), Value::Null);
    assert_eq!(scored, Ok(expected), "{metric} of {result:?} by {rules}");
}

#[test]
fn exact_match() {
    check("exact_match", value(json!("a\n")), json!({"expected": "a\n"}), 1.0);
    check("exact_match", value(json!("a\n")), json!({"expected": "a"}), 0.0);
    check("exact_match", value(json!(1)), json!({"expected": 1.0}), 1.0);
    check("exact_match", value(json!("1")), json!({"expected": 1}), 0.0);
    check("exact_match", value(json!([1, {"a": true}])), json!({"expected": [1, {"a": 1}]}), 1.0);
    check("exact_match", absent(), json!({"expected": "a"}), 0.0);
    assert!(score("exact_match", &value(json!(1)), &value(json!({"expect": 1})), Value::Null).is_err());
}

#[test]
fn lists_and_literals() {
    check("match_in_list", value(json!("b")), json!({"expected": ["a", "b"]}), 1.0);
    check("match_in_list", value(json!("c")), json!({"expected": ["a", "b"]}), 0.0);
    check("is_in_list", value(json!(["a", "b"])), json!({"expected": "b"}), 1.0);
    check("is_in_list", value(json!("abc")), json!({"expected": "bd"}), 0.0);
    let options = json!({"type": "list", "ignore_case": true});
    let scored = score("literal_match", &value(json!(["A"])), &value(json!(["a"])), options);
    assert_eq!(scored, Ok(1.0));
}

#[test]
fn include_exclude() {
    let rules = json!({"include": ["on", "two"], "exclude": ["off"]});
    check("check_include_exclude", value(json!("on\ntwo")), rules.clone(), 1.0);
    check("check_include_exclude", value(json!("on")), rules.clone(), 0.0);
    check("check_include_exclude", value(json!("on two off")), rules.clone(), 0.0);
    check("check_include_exclude", absent(), rules, 0.0);
    check("check_include_exclude", value(json!("")), json!({}), 1.0);
}

#[test]
fn text_files() {
    let score =
        |found: &str, wanted: &str, options| score("compare_text_file", &file(found), &file(wanted), options);
    assert_eq!(score("a\nb\n", "a\nb\n", Value::Null), Ok(1.0));
    assert_eq!(score("a\nb", "a\nb\n", Value::Null), Ok(0.0));
    assert_eq!(score("a \n\n b", "a b", json!({"ignore_blanks": true})), Ok(1.0));
    assert_eq!(score("A", "a", json!({"ignore_case": true})), Ok(1.0));
    check("file_contains", file("x y"), json!({"expected": ["x", "y"]}), 1.0);
    check("file_contains", file("x"), json!({"expected": ["x", "y"]}), 0.0);
    check("check_line_number", file("at 12:30:59\nno\n24:00:00\n"), json!({"expected": "1"}), 1.0);
    check("is_utc_0", value(json!("a\nb\nc\nTime zone: (UTC, +0000)\n")), json!({}), 1.0);
}

#[test]
fn extensions_and_clipboard() {
    check("is_extension_installed", value(json!("a\nb")), json!({"type": "contain", "expected": "b"}), 1.0);
    check("is_extension_installed", value(json!("a")), json!({"type": "not_contain", "expected": "b"}), 1.0);
    let rule = value(json!({"expected": ["x"]}));
    assert_eq!(score("is_in_vm_clickboard", &rule, &value(json!("$ x")), Value::Null), Ok(1.0));
}

#[test]
fn lines_and_records() {
    check("check_list", file("alpha\nbeta"), json!({"expect": ["^al"], "unexpect": ["gamma"]}), 1.0);
    check("check_list", file("alpha\nbeta"), json!({"expect": ["^eta"]}), 0.0);
    check("check_list", file("alpha\nbeta"), json!({"unexpect": ["eta$"]}), 0.0);
    let csv = || file("name,age\nAnn,36\nBob,40\n");
    check("check_csv", csv(), json!({"expect": [{"name": "Ann", "age": "36"}]}), 1.0);
    check("check_csv", csv(), json!({"expect": [{"name": "Ann", "age": "40"}]}), 0.0);
    check("check_csv", csv(), json!({"unexpect": [{"name": "Bob"}]}), 0.0);
    check("check_csv", absent(), json!({}), 0.0);
    let loose =
        score("compare_csv", &file("a,b \n"), &file("A,b"), json!({"strict": false, "ignore_case": true}));
    assert_eq!(loose, Ok(1.0));
    assert_eq!(score("compare_csv", &file("a,b \n"), &file("a,b\n"), Value::Null), Ok(0.0));
    let tree = json!({"type": "directory", "name": "d", "children": [{"type": "file", "name": "b"}, {"type": "file", "name": "a"}]});
    check("check_moved_jpgs", value(tree.clone()), json!({"expected": ["a", "b"]}), 1.0);
    check("check_moved_jpgs", value(tree), json!({"expected": ["a"]}), 0.0);
}

#[test]
fn direct_json_objects() {
    let rules = json!({"expected": {"a": 1, "l": [1, 2]}});
    check("check_direct_json_object", value(json!("{'a': 1, 'l': [1, 2], 'more': 0}\n")), rules.clone(), 1.0);
    check("check_direct_json_object", value(json!({"a": 1, "l": [2, 1]})), rules, 0.0);
    let any = json!({"expected": {"l": [1, 2], "ignore_list_order": true}});
    check("check_direct_json_object", value(json!({"l": [2, 1]})), any, 1.0);
    let inside = json!({"expect_in_result": true, "expected": {"t": ["x", "part"]}});
    check("check_direct_json_object", value(json!({"t": "a part of it"})), inside, 0.0);
    check("check_direct_json_object", value(json!("no json")), json!({"expected": {"a": 1}}), 0.0);
    check(
        "check_direct_json_object",
        value(json!({})),
        json!({"expected": {"a": "__EVALUATION_FAILED__"}}),
        0.0,
    );
}

#[test]
fn json_files() {
    let found = || file(r#"{"a": {"b": [10, "word"]}, "t": "Hello"}"#);
    let rule = |method: &str, key: Value, reference: Value| json!({"expect": [{"key": key, "method": method, "ref": reference}]});
    for (method, key, reference, expected) in [
        ("eq", json!(["a", "b", 0]), json!(10), 1.0),
        ("ne", json!(["a", "b", 0]), json!(10), 0.0),
        ("lt", json!(["a", "b", 0]), json!(11), 1.0),
        ("ge", json!(["a", "b", 0]), json!(11), 0.0),
        ("approx:0.5", json!(["a", "b", 0]), json!(10.4), 1.0),
        ("range.te", json!(["a", "b", 0]), json!([10, 12]), 0.0),
        ("range.et", json!(["a", "b", 0]), json!([10, 12]), 1.0),
        ("re", json!(["t"]), json!("^hel"), 0.0),
        ("re.I", json!(["t"]), json!("^hel"), 1.0),
        ("eq", json!(["none"]), json!(null), 0.0),
    ] {
        check("check_json", found(), rule(method, key, reference), expected);
    }
    check("check_json", found(), json!({"unexpect": [{"key": ["t"], "method": "eq", "ref": "Hello"}]}), 0.0);
    check("check_json", file("{"), rule("eq", json!(["a"]), json!(1)), 0.0);
    check("check_json_settings", file(r#"{"x": 1, "y": 2}"#), json!({"expected": {"x": 1}}), 1.0);
    check("check_json_settings", file(r#"{"x": 1}"#), json!({"expected": {"x": 1, "y": 2}}), 0.0);
    check(
        "check_json_keybindings",
        file("// keys\n[{\"key\": \"a\"}]"),
        json!({"expected": {"key": "a"}}),
        1.0,
    );
    check(
        "compare_config",
        file(r#"{"x": {"y": 1}, "z": 2}"#),
        json!({"expected": r#"{"x": {"y": 1}}"#}),
        1.0,
    );
    check("compare_config", file("key = 1\n"), json!({"expected": "key = 2"}), 0.0);
}

#[test]
fn browser_profiles() {
    check(
        "check_font_size",
        value(json!({"default_font_size": 20})),
        json!({"type": "value", "value": 20}),
        1.0,
    );
    check(
        "check_font_size",
        value(json!({"default_font_size": 20})),
        json!({"type": "range", "min": 20, "max": 30}),
        0.0,
    );
    let roots = json!({"bookmark_bar": {"children": [
        {"type": "url", "url": "http://a/"},
        {"type": "folder", "name": "Liked Authors", "children": [{"type": "url", "url": "http://x2/"}]},
    ]}});
    let check_roots = |rules, expected| check("is_expected_bookmarks", value(roots.clone()), rules, expected);
    check_roots(json!({"type": "bookmark_bar_websites_urls", "urls": ["http://a/"]}), 1.0);
    check_roots(json!({"type": "bookmark_bar_websites_urls", "urls": ["http://a/", "http://b/"]}), 0.0);
    check_roots(json!({"type": "bookmark_bar_folders_names", "names": ["Liked Authors"]}), 1.0);
    check_roots(json!({"type": "liked_authors_websites_urls", "urls": [["http://x1/", "http://x2/"]]}), 1.0);
    check_roots(json!({"type": "liked_authors_websites_urls", "urls": [["http://x1/"]]}), 0.0);
    check(
        "is_expected_bookmarks",
        value(json!({})),
        json!({"type": "bookmark_bar_folders_names", "names": []}),
        0.0,
    );
    check(
        "is_expected_url_pattern_match",
        value(json!("https://a.b/?q=1")),
        json!({"expected": ["q=1", "^https"]}),
        1.0,
    );
    check("is_expected_url_pattern_match", value(json!({"url": "x"})), json!({"expected": ["y"]}), 0.0);
    check(
        "is_shortcut_on_desktop",
        value(json!({"a.desktop": "[Desktop Entry]\nName=Mail"})),
        json!({"type": "name", "name": "Mail"}),
        1.0,
    );
}

#[test]
fn an_empty_tab_is_searched_for_nothing_by_both_readings() {
    for found in [json!({}), json!([]), json!("")] {
        let (found, rules) = (value(found), value(json!({"expect": {"pattern": "x"}})));
        let (options, reading) = (Map::new(), CompatProbe::new(Compat::Exact));
        let case = MetricInput {
            result: &found,
            expected: Some(&rules),
            options: &options,
            reading: &reading,
            beside: &[],
            readings: &[],
            judgements: &[],
        };
        assert_eq!(compute("is_expected_search_query", &case).map(|mark| mark.score), Ok(0.0));
    }
}

#[test]
fn pictures() {
    let mut picture = image::RgbaImage::new(8, 6);
    picture.put_pixel(2, 1, image::Rgba([255, 0, 0, 255]));
    picture.put_pixel(4, 1, image::Rgba([255, 0, 0, 9]));
    let mut png = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut png, image::ImageFormat::Png).expect("encodes");
    let png = png.into_inner();
    check("check_image_size", file(png.clone()), json!({"width": 8, "height": 6}), 1.0);
    check("check_image_size", file(png.clone()), json!({"width": 8, "height": 5}), 0.0);
    check(
        "check_image_size",
        file(png.clone()),
        json!({"width": 3, "height": 1, "ignore_transparent": true}),
        1.0,
    );
    check("check_image_size", file("no picture"), json!({"width": 1}), 0.0);
    check("check_image_file_size", file(png), json!({"max_size": 10}), 0.0);
}

#[test]
fn what_is_not_there_scores_nothing_and_nothing_panics() {
    let rules = json!({
        "expected": [], "type": "value", "value": 1, "name": "x", "max_size": 1, "include": [], "key": "k", "url": "u",
        "urls": [], "domains": [], "keywords": [], "names": [], "items": [], "minutes": 1, "font_name": "f",
    });
    let odd = [
        absent(),
        value(json!(null)),
        value(json!([])),
        value(json!({})),
        value(json!("")),
        file(""),
        file([0xff, 0xfe, 0]),
    ];
    for metric in METRICS {
        for (result, expected) in odd.iter().flat_map(|a| odd.iter().map(move |b| (a, b))) {
            let _ = score(metric.name, result, expected, json!({"rules": [{"type": "sheet_name"}]}));
            let _ = score(metric.name, result, &value(rules.clone()), Value::Null);
        }
        if let Ok(scored) = score(metric.name, &absent(), &value(rules.clone()), Value::Null) {
            assert_eq!(scored, 0.0, "{}", metric.name);
        }
    }
    assert!(score("no_such", &absent(), &absent(), Value::Null).is_err());
}

/// Inputs that broke a parser once or could break one. Each is passed to every metric that takes a file.
const CORPUS: &[&str] = &[
    "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
    "user_pref(\"a\", [[[[);\n",
    "name=\"\nenabled=\ncondition=\"",
    "[[[[[[[[{{{{",
    "a: &a [*a, *a]\n- x\n? :",
    "(((((((((())))\n)",
    "qt-slider-colours=;;;-;999999999999999999999",
    "\u{feff}\"\n\"\"\",\"",
    "<html><table><p><table><a></html><plaintext>",
    "ID3\u{4}\0\0\u{7f}\u{7f}\u{7f}\u{7f}",
];

/// Grades one file with every metric that takes a file, against a file or against rules.
fn grade_everywhere(bytes: &[u8]) {
    let rules = json!({
        "expected": ["x"], "type": "url", "value": "x", "key": "theme", "name": "x", "expect": {}, "max_size": 9, "minutes": 1,
        "sql": "select 1", "locale_set": ["*"], "font_name": "x", "recording_file_path": "/", "file_name": "x", "url": "x",
    });
    for metric in METRICS.iter().filter(|metric| metric.result == ArgumentKind::File) {
        for name in ["f.zip", "f.tar.gz", "f.xlsx"] {
            let found = EvidenceValue::files_of(vec![Some(FileRef::new(name, bytes.to_vec()))]);
            let expected =
                if metric.expected == ArgumentKind::File { found.clone() } else { value(rules.clone()) };
            let _ = score(metric.name, &found, &expected, json!({"rules": [], "is_yaml": true}));
        }
    }
}

#[test]
fn no_file_of_the_corpus_breaks_a_metric() {
    CORPUS.iter().for_each(|text| grade_everywhere(text.as_bytes()));
    grade_everywhere(&"[".repeat(100_000).into_bytes());
    grade_everywhere(&"<a>".repeat(100_000).into_bytes());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(16))]

    #[test]
    fn no_bytes_break_a_metric(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        grade_everywhere(&bytes);
    }

    #[test]
    fn no_text_breaks_a_metric(text in "[\\[\\]{}<>&;:,\"'=a-c \\n-]{0,200}") {
        grade_everywhere(text.as_bytes());
    }
}

#[test]
fn an_option_that_a_metric_cannot_take_is_a_fault_of_the_task() {
    let same = value(json!("a"));
    let expected = value(json!({"expected": "a"}));
    let told = score("exact_match", &same, &expected, json!({"ignore_case": true}));
    assert_eq!(told, Err("exact_match takes no options, but got ignore_case".to_owned()));
    assert_eq!(score("exact_match", &same, &expected, json!({})), Ok(1.0));
}
