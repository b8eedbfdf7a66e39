//! Property tests of all evidence parsers, on randomly generated and randomly mutated files.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{ArgumentKind, METRICS, compute};
use crate::evidence::{EvidenceValue, FileRef};
use crate::readers::{database, yaml};
use crate::scoring::{Compat, CompatProbe, MetricInput};

/// Runs a fraction of the default number of cases, which `PROPTEST_CASES` can raise for a long run.
fn part(of: u32) -> ProptestConfig {
    ProptestConfig::with_cases((ProptestConfig::default().cases / of).max(1))
}

fn file(name: &str, bytes: impl Into<Vec<u8>>) -> EvidenceValue {
    EvidenceValue::files_of(vec![Some(FileRef::new(name, bytes.into()))])
}

#[expect(clippy::needless_pass_by_value, reason = "calls with literals read better so")]
fn score(
    metric: &str,
    result: &EvidenceValue,
    expected: EvidenceValue,
    options: &Value,
) -> Result<f64, String> {
    let none = Map::new();
    let reading = CompatProbe::new(Compat::Fixed);
    let options = options.as_object().unwrap_or(&none);
    let case = MetricInput {
        result,
        expected: Some(&expected),
        options,
        reading: &reading,
        beside: &[],
        readings: &[],
        judgements: &[],
    };
    compute(metric, &case).map(|mark| mark.score).map_err(|fault| fault.message().to_owned())
}

fn by_rule(metric: &str, text: &str, rules: &Value) -> Result<f64, String> {
    score(metric, &file("f", text), EvidenceValue::Value { value: rules.clone() }, &Value::Null)
}

/// Generates any JSON value.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{1,8}( [a-z\u{e9}]{1,5})?".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{2,6}x", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Valid files of the formats that metrics read.
fn sound() -> Vec<(&'static str, Vec<u8>)> {
    let mut database = tempfile::NamedTempFile::new().expect("a file");
    let connection = rusqlite::Connection::open(database.path()).expect("opens");
    let made = connection.execute_batch(
        "create table urls(url text, n int); create index i on urls(n);
         with recursive c(x) as (select 1 union all select x + 1 from c where x < 300) insert into urls select 'u' || x, x from c;",
    );
    made.expect("is made");
    drop(connection);
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut database, &mut bytes).expect("reads");
    let mut files = vec![
        ("urls.sqlite", bytes),
        ("page.html", b"<html><head><style>a{}</style></head><body><p class='a b'>x<table><tr><td>1</table></body>".to_vec()),
        ("prefs.js", b"user_pref(\"a.b\", true);\nuser_pref(\"c\", \"[1, 2]\");\n".to_vec()),
        ("filters.dat", b"version=\"9\"\nname=\"one\"\nenabled=\"yes\"\ntype=\"17\"\naction=\"Move\"\ncondition=\"AND (from,is,a@b)\"\n".to_vec()),
        ("inbox", b"From - Mon\nX-Mozilla-Status: 0001\nSubject: x\n\ntext\nFrom - Tue\nSubject: y\n\nmore\n".to_vec()),
        ("settings.xcu", b"<?xml version=\"1.0\"?><oor:items xmlns:oor=\"http://openoffice.org/2001/registry\"><item oor:path=\"/org.openoffice.Setup/L10N\"><prop oor:name=\"ooLocale\"><value>de</value></prop></item></oor:items>".to_vec()),
        ("vlcrc", b"[qt]\nqt-max-volume=125\n#qt-bgcone=1\nqt-slider-colours=1;2;3\n".to_vec()),
        ("gimprc", b"# GIMP\n(undo-levels 100)\n(theme \"Dark\")\n".to_vec()),
        ("table.csv", b"name,age\n\"Ann, B\",36\nBob,\"4\"\"0\"\n".to_vec()),
        ("notes.yaml", b"a: &a [1, yes, ~]\nb: {<<: {c: *a}}\n'd': |\n  text\n".to_vec()),
        ("state.json", b"{\"a\": [1, {\"b\": \"\\u00e9\"}], \"c\": 1.5e3}".to_vec()),
    ];
    files.extend(pictures());
    files
}

/// Pictures of each kind that metrics read.
fn pictures() -> Vec<(&'static str, Vec<u8>)> {
    const SIDE: u16 = 12;
    let side = u32::from(SIDE);
    let pixels: Vec<u8> = (0..side * side).map(|at| u8::try_from(at * 7 % 251).unwrap_or_default()).collect();
    let colors: Vec<u8> = (0..=255).flat_map(|at: u8| [at, 255 - at, at / 2]).collect();
    let png = |palette: bool| {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, side, side);
        encoder.set_color(if palette { png::ColorType::Indexed } else { png::ColorType::Rgba });
        if palette {
            encoder.set_palette(colors.clone());
            encoder.set_trns(vec![0, 255, 7]);
        }
        let own = if palette {
            pixels.clone()
        } else {
            pixels.iter().flat_map(|one| [*one, 9, 200, 255 - one]).collect()
        };
        encoder.write_header().expect("a header").write_image_data(&own).expect("pixels");
        bytes
    };
    let mut gif = Vec::new();
    let mut encoder = gif::Encoder::new(&mut gif, SIDE + 2, SIDE + 1, &colors).expect("a header");
    encoder
        .write_frame(&gif::Frame::from_indexed_pixels(SIDE, SIDE, pixels.clone(), Some(3)))
        .expect("a frame");
    drop(encoder);
    let mut jpeg = Vec::new();
    let grey = image::ExtendedColorType::L8;
    image::codecs::jpeg::JpegEncoder::new(&mut jpeg).encode(&pixels, side, side, grey).expect("a picture");
    vec![("full.png", png(false)), ("palette.png", png(true)), ("first.gif", gif), ("grey.jpg", jpeg)]
}

proptest! {
    #![proptest_config(part(8))]

    /// A broken file gets a score from 0 to 1 or a reason, and the same one each time.
    #[test]
    fn a_changed_file_has_one_score_and_a_reason(
        which in any::<prop::sample::Index>(), edits in vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..8),
    ) {
        let mut files = sound();
        let (name, mut bytes) = files.swap_remove(which.index(files.len()));
        for (at, byte, how) in edits {
            let at = at.index(bytes.len().max(1));
            match how {
                0 if !bytes.is_empty() => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => bytes.truncate(at),
                _ => bytes.extend_from_within(at.min(bytes.len())..),
            }
        }
        let rules = json!({
            "expected": ["x"], "type": "match", "value": "100", "key": "undo-levels", "expect": {}, "max_size": 9, "minutes": 1,
            "sql": "select count(*) from urls where n > 1", "locale_set": ["d*"], "font_name": "x", "recording_file_path": "/",
            "expected_qt_max_volume": 125, "expected_qt_bgcone": 1, "expected_qt_slider_colours": "1;2;3",
        });
        let found = file(name, bytes);
        for metric in METRICS.iter().filter(|metric| metric.is_implemented() && metric.result == ArgumentKind::File) {
            let expected = || if metric.expected == ArgumentKind::File { found.clone() } else { EvidenceValue::Value { value: rules.clone() } };
            let options = if metric.options().is_some() { json!({"is_yaml": true, "rules": []}) } else { Value::Null };
            let first = score(metric.name, &found, expected(), &options);
            match &first {
                // A query's result is the score, whatever its range.
                Ok(score) if metric.name != "run_sqlite3" => prop_assert!((0.0..=1.0).contains(score), "{}: {score}", metric.name),
                Ok(_) => {}
                Err(why) => prop_assert!(!why.is_empty()),
            }
            prop_assert_eq!(first, score(metric.name, &found, expected(), &options), "{}", metric.name);
        }
    }

    /// A text equals itself.
    #[test]
    fn a_text_is_as_itself(text in "([a-zA-Z0-9 ,\"'<>=&;/\u{e9}\u{1f600}-]{0,12}\r?\n){1,12}", case in any::<bool>()) {
        let found = file("f.txt", text);
        for (metric, options) in [
            ("compare_text_file", json!({"ignore_case": case})), ("compare_csv", json!({"strict": case})),
            ("diff_text_file", Value::Null), ("compare_htmls", json!({"ignore_sdnum": case})),
        ] {
            prop_assert_eq!(score(metric, &found, found.clone(), &options), Ok(1.0), "{}", metric);
        }
    }

    /// JSON is valid YAML with the same value.
    #[test]
    fn json_is_yaml(value in document(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        prop_assert_eq!(yaml::read(&text.expect("is written")), Ok(value));
    }

    /// Inserted rows are read back unchanged. A corrupted database gives rows or a reason, and is never written.
    #[test]
    fn rows_come_back_and_broken_pages_end(
        rows in vec((any::<i64>(), "[^\u{0}]{0,20}", proptest::option::of(-1e9_f64..1e9)), 0..20),
        flips in vec((any::<prop::sample::Index>(), 1_u8..), 1..40),
    ) {
        let place = tempfile::NamedTempFile::new().expect("a file");
        let connection = rusqlite::Connection::open(place.path()).expect("opens");
        connection.execute_batch("create table t(a, b, c)").expect("is made");
        for row in &rows {
            connection.execute("insert into t values (?, ?, ?)", rusqlite::params![row.0, row.1, row.2]).expect("is put in");
        }
        drop(connection);
        let mut bytes = std::fs::read(place.path()).expect("reads");
        let wanted: Vec<Vec<Value>> = rows.iter().map(|row| vec![row.0.into(), row.1.as_str().into(), row.2.map_or(Value::Null, Value::from)]).collect();
        prop_assert_eq!(database::rows(&bytes, "select * from t order by rowid"), Ok(wanted));
        for (at, flip) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        if let Err(why) = database::rows(&bytes, "select * from t order by b, c") {
            prop_assert!(!why.is_empty());
        }
        prop_assert!(database::rows(&bytes, "create table other(a)").is_err());
    }

    /// A setting is found at any position, and other lines do not affect it.
    #[test]
    fn other_lines_of_settings_do_not_matter(
        value in 0_u16..500, wanted in 0_u16..500, before in vec("[a-p]{1,9}=[ -~]{0,9}", 0..9), after in vec("#?[a-p]{1,9}=[ -~]{0,9}", 0..9),
    ) {
        let lines = |own: &str| [before.join("\n"), own.to_owned(), after.join("\n")].join("\n");
        for wanted in [value, wanted] {
            let expected = Ok(f64::from(u8::from(value == wanted)));
            let rules = json!({"expected_qt_max_volume": wanted});
            prop_assert_eq!(by_rule("check_qt_max_volume", &lines(&format!("qt-max-volume={value}")), &rules), expected.clone());
            let prefs: String = before.iter().fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "user_pref({}, 1);", json!(line.replace('"', "'")));
                text
            });
            let rules = json!({"expect": {"own.name": {"method": "eq", "ref": wanted}}});
            let own = format!("{prefs}user_pref(\"own.name\", {value});\n// user_pref(\"own.name\", 9999);\n{prefs}");
            prop_assert_eq!(by_rule("check_thunderbird_prefs", &own, &rules), expected.clone());
            let item = |path: &str, name: &str, value: &str| format!(
                "<item oor:path=\"{path}\"><prop oor:name=\"{name}\" oor:op=\"fuse\"><value>{value}</value></prop></item>"
            );
            let others: String = (0..after.len()).map(|at| item("/org.other/Path", &format!("Name{at}"), "9999")).collect();
            let own = item("/org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall", &value.to_string());
            let registry = format!("<oor:items xmlns:oor=\"http://openoffice.org/2001/registry\">{others}{own}{others}</oor:items>");
            prop_assert_eq!(by_rule("check_auto_saving_time", &registry, &json!({"minutes": wanted})), expected);
        }
    }

    /// A written filter is found with all its conditions, and a filter of another name is not.
    #[test]
    fn filters_are_found_as_they_were_written(
        names in proptest::collection::btree_set("[a-zA-Z \"\\\\]{1,12}", 1..6), words in vec("[a-z]{1,8}", 1..4),
    ) {
        let conditions: Vec<String> = words.iter().map(|word| format!("AND (subject,contains,{word})")).collect();
        let write = |name: &str| {
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            format!("name=\"{name}\"\nenabled=\"yes\"\ntype=\"17\"\naction=\"Mark read\"\ncondition=\"{}\"\n", conditions.join(" "))
        };
        let text: String = names.iter().map(|name| write(name)).collect();
        for name in names.iter().filter(|name| !name.contains('\\')) {
            let pattern = |name: &str| json!({"expect": [{"name": name, "enabled": "yes", "condition": conditions}]});
            prop_assert_eq!(by_rule("check_thunderbird_filter", &text, &pattern(name)), Ok(1.0), "{:?}", text);
            prop_assert_eq!(by_rule("check_thunderbird_filter", &text, &pattern(&format!("{name}!"))), Ok(0.0));
        }
    }

    /// Only bookmarks on the bar count for the bar, in any order.
    #[test]
    fn bookmarks_elsewhere_do_not_matter(names in proptest::collection::btree_set("[a-z]{1,6}", 1..6), turn in 0_usize..6, other in document()) {
        let folder = |name: &String| json!({"type": "folder", "name": name, "children": other});
        let mut bar: Vec<Value> = names.iter().map(folder).collect();
        let long = bar.len();
        bar.rotate_left(turn % long);
        let roots = |bar: Vec<Value>| EvidenceValue::Value { value: json!({"bookmark_bar": {"children": bar}, "other": {"children": [other]}}) };
        let rules = EvidenceValue::Value { value: json!({"type": "bookmark_bar_folders_names", "names": names}) };
        prop_assert_eq!(score("is_expected_bookmarks", &roots(bar.clone()), rules.clone(), &Value::Null), Ok(1.0));
        bar.pop();
        prop_assert_eq!(score("is_expected_bookmarks", &roots(bar), rules, &Value::Null), Ok(0.0));
    }

    /// A text matches every escaped part of itself as a pattern, and no part that it lacks.
    #[test]
    fn a_quoted_text_is_a_pattern_of_itself(text in "[ -~\u{e9}\u{1c}\n]{1,30}", from in 0_usize..30, long in 1_usize..30) {
        let part: String = text.chars().skip(from % text.chars().count()).take(long).collect();
        let quoted = |part: &str| part.chars().fold(String::new(), |mut out, c| {
            out.extend(if c.is_alphanumeric() || c == '_' { vec![c] } else { vec!['\\', c] });
            out
        });
        let fits = |pattern: String| {
            let rules = EvidenceValue::Value { value: json!({"expected": [pattern]}) };
            score("is_expected_url_pattern_match", &EvidenceValue::Value { value: text.as_str().into() }, rules, &Value::Null)
        };
        prop_assert_eq!(fits(quoted(&part)), Ok(1.0), "{:?}", quoted(&part));
        prop_assert_eq!(fits(format!("^{}\\Z", quoted(&text))), Ok(1.0));
        prop_assert_eq!(fits(format!("{}\u{2603}", quoted(&part))), Ok(0.0));
    }
}
