//! What programs of others read from documents, sounds, films and pictures, and how it is scored; each with real files.
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

use std::fmt::Write as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::osworld::answers;
use crate::place::{Place, rows, worlds_can_start};
use crate::starter::is_installed;

/// A document of one page for each text.
fn document(pages: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..pages.len()).map(|at| format!("{} 0 R", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Kids[{}]/Count {}>>", kids.join(" "), pages.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
    ];
    for (at, text) in pages.iter().enumerate() {
        let shown = format!("BT /F 12 Tf 20 150 Td ({text}) Tj ET");
        let content = 5 + 2 * at;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F 3 0 R>>>>/Contents {content} 0 R>>"
        ));
        objects.push(format!("<</Length {}>>stream\n{shown}\nendstream", shown.len()));
    }
    let mut text = "%PDF-1.4\n".to_owned();
    for (at, object) in (1..).zip(&objects) {
        writeln!(text, "{at} 0 obj{object}endobj").expect("written");
    }
    text.push_str("trailer<</Root 1 0 R>>\n");
    text.into_bytes()
}

/// Has FFmpeg make a file of a pattern.
fn made(place: &Place, name: &str, source: &str, options: &[&str]) -> String {
    let path = place.path(name).to_string_lossy().into_owned();
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", source]).args(options).arg(&path);
    assert!(command.status().expect("it starts").success(), "{name}");
    path
}

fn written(place: &Place, name: &str, bytes: &[u8]) -> String {
    std::fs::write(place.path(name), bytes).expect("written");
    place.path(name).to_string_lossy().into_owned()
}

/// Asks by the corrected reading, and compares each score with the wanted one; null wants a reason for none.
fn assert_scores(place: &Place, cases: &[(Value, Value)]) {
    let questions: Vec<Value> = cases.iter().map(|(question, _)| question.clone()).collect();
    for (answer, (question, wanted)) in answers(place, "fixed", &questions).iter().zip(cases) {
        let near = match (answer["score"].as_f64(), wanted.as_f64()) {
            (Some(score), Some(wanted)) => (score - wanted).abs() < 1e-3,
            (None, None) => answer["error"].is_string(),
            (Some(_), None) | (None, Some(_)) => false,
        };
        assert!(near, "{question}: {answer} instead of {wanted}");
    }
}

fn lacks(programs: &[&str]) -> bool {
    let lacking: Vec<&&str> = programs.iter().filter(|program| !is_installed(program)).collect();
    if !lacking.is_empty() {
        println!("skipped: {lacking:?} are not installed");
    }
    !lacking.is_empty()
}

#[test]
fn documents_are_compared_by_their_text_and_counted_by_pages() {
    if lacks(&["mutool", "bwrap"]) {
        return;
    }
    let place = Place::new();
    let one = written(&place, "one.pdf", &document(&["Ships leave on Monday"]));
    let other = written(&place, "other.pdf", &document(&["Ships leave on Monday", "and stay"]));
    let none = written(&place, "none.pdf", b"%PDF-1.4\nnothing");
    // Pages that name themselves as their parent's kids, and a page tree that never ends.
    let cyclic = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[2 0 R 2 0 R]/Count 99999999>>endobj\n\
                   trailer<</Root 1 0 R>>\n";
    let cyclic = written(&place, "cyclic.pdf", cyclic);
    let text = written(&place, "text.pdf", b"Ships leave on Monday");
    let compare =
        |found: &Value, wanted: &Value| json!({"func": "compare_pdfs", "result": found, "expected": wanted});
    let count = |file: &str, relation: &str, number: f64| json!({"func": "check_pdf_pages", "result": file, "expected": {"relation": relation, "ref_value": number}});
    let [one, other] = [one, other].map(Value::from);
    // "and stay" with a line end is 9 of 30 characters more: 2 * 21 / (21 + 30).
    let alike = 42.0 / 51.0;
    assert_scores(
        &place,
        &[
            (compare(&one, &one), json!(1)),
            (compare(&other, &one), json!(alike)),
            (compare(&json!([one, other]), &json!([one, one])), json!(f64::midpoint(1.0, alike))),
            (compare(&json!(none), &one), json!(0)),
            (compare(&json!(text), &one), json!(0)),
            (compare(&Value::Null, &one), json!(0)),
            (compare(&one, &json!(text)), Value::Null),
            (count(one.as_str().expect("a path"), "eq", 1.0), json!(1)),
            (count(other.as_str().expect("a path"), "lt", 2.0), json!(0)),
            (count(other.as_str().expect("a path"), "ge", 2.0), json!(1)),
            (count(other.as_str().expect("a path"), "around", 2.0), Value::Null),
            (count(&text, "eq", 1.0), json!(0)),
        ],
    );
    // It ends, whatever it is taken for.
    let answer = &answers(&place, "fixed", &[compare(&json!(cyclic), &one)])[0];
    assert!(answer["score"].is_number() || answer["error"].is_string(), "{answer}");
}

#[test]
fn sounds_and_films_are_compared_by_what_is_heard_and_seen() {
    if lacks(&["ffmpeg", "bwrap"]) {
        return;
    }
    let place = Place::new();
    let sound = |name: &str, source: &str, options: &[&str]| {
        made(&place, name, source, &[&["-t", "2"][..], options].concat())
    };
    let tune = "aevalsrc=sin(660*t+20*sin(9*t))/2";
    let wave = sound("a.wav", tune, &[]);
    let other = sound("b.wav", "aevalsrc=sin(9000*t*t)/2", &[]);
    let packed = sound("a.flac", tune, &["-ar", "48000", "-ac", "2"]);
    let compare =
        |func: &str, found: &str, wanted: &str| json!({"func": func, "result": found, "expected": wanted});
    let film = |name: &str, options: &[&str]| {
        made(&place, name, "testsrc2=size=160x120:rate=10", &[&["-t", "3"][..], options].concat())
    };
    let (first, small, flipped) =
        (film("a.mp4", &[]), film("b.avi", &["-vf", "scale=96:72"]), film("c.mp4", &["-vf", "hflip"]));
    let short = made(&place, "short.mp4", "testsrc2=size=160x120:rate=10", &["-t", "2"]);
    let none = written(&place, "none.mp4", b"no film");
    // FFmpeg left to itself takes such a text for recorded speech.
    let names: String = (0..2_500).map(|at| format!("xmlns:x{at}='u' ")).collect();
    let text =
        written(&place, "text.xml", format!("<a {names}/>{}", "<b xmlns:y='u'/>".repeat(100_000)).as_bytes());
    assert_scores(
        &place,
        &[
            (compare("compare_audios", &wave, &wave), json!(1)),
            (compare("compare_audios", &none, &wave), json!(0)),
            (compare("compare_audios", &wave, &none), Value::Null),
            (compare("compare_audios", &text, &text), Value::Null),
            (compare("compare_audios", "/nowhere.wav", &wave), json!(0)),
            (compare("compare_videos", &first, &first), json!(1)),
            (compare("compare_videos", &small, &first), json!(1)),
            (compare("compare_videos", &flipped, &first), json!(0)),
            (compare("compare_videos", &short, &first), json!(0)),
            (compare("compare_videos", &none, &first), json!(0)),
            (compare("compare_videos", &first, &none), Value::Null),
        ],
    );
    let heard = answers(
        &place,
        "fixed",
        &[compare("compare_audios", &packed, &wave), compare("compare_audios", &other, &wave)],
    );
    let score = |at: usize| heard[at]["score"].as_f64().expect("a score");
    assert!(score(0) > 0.95 && score(0) > score(1) + 0.1, "{heard:?}");
}

#[test]
fn text_is_read_from_pictures() {
    const FONT: &str = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf";
    if lacks(&["ffmpeg", "tesseract", "bwrap"]) || !std::path::Path::new(FONT).exists() {
        return;
    }
    let place = Place::new();
    let draw =
        format!("drawtext=fontfile={FONT}:text='ls Desktop harbour':fontsize=14:x=8:y=12:fontcolor=white");
    let picture = made(&place, "a.png", "color=black:size=360x40", &["-frames:v", "1", "-vf", &draw]);
    let dump = made(&place, "a.xwd", "color=black:size=360x40", &["-frames:v", "1", "-vf", &draw]);
    let none = written(&place, "none.png", b"no picture");
    let large = made(&place, "large.png", "color=white:size=4800x4000", &["-frames:v", "1"]);
    let asked = |file: &str, text: &str| json!({"func": "compare_image_text", "result": file, "expected": {"type": "text", "text": text}});
    assert_scores(
        &place,
        &[
            (asked(&picture, "harbour"), json!(1)),
            (asked(&dump, "Desktop"), json!(1)),
            (asked(&picture, "submarine"), json!(0)),
            (asked(&none, "harbour"), json!(0)),
            // More pixels than are read: nobody knows what it says.
            (asked(&large, "harbour"), Value::Null),
            (
                json!({"func": "compare_image_text", "result": picture, "expected": {"type": "smell", "text": ""}}),
                Value::Null,
            ),
        ],
    );
}

/// Makes a presentation with a sound in its first slide, and the same sound beside it, in the world.
const SLIDES: &str = "
import math, struct, wave, zipfile
with wave.open('/tmp/tune.wav', 'wb') as file:
    file.setnchannels(1); file.setsampwidth(2); file.setframerate(22050)
    file.writeframes(b''.join(struct.pack('<h', int(9000 * math.sin(at * at / 90000))) for at in range(22050)))
link = '<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"a\" Type=\"x/audio\" Target=\"%s\"/></Relationships>'
for name, target in (('in', '../media/a.wav'), ('beside', 'file:///tmp/tune.wav')):
    with zipfile.ZipFile('/tmp/' + name + '.pptx', 'w') as slides:
        slides.write('/tmp/tune.wav', 'ppt/media/a.wav')
        slides.writestr('ppt/slides/_rels/slide1.xml.rels', link % target)
";

#[test]
fn what_programs_read_is_evidence_of_a_run_and_test_suites_run_in_the_world() {
    if !worlds_can_start() || lacks(&["python3", "ffmpeg"]) {
        return;
    }
    let place = Place::new();
    let task = |config: Value, evaluator: Value| json!({"apprentice": null, "config": config, "evaluator": evaluator});
    let tested = |program: &str| {
        task(
            json!([{"type": "write_file", "parameters": {"path": "/home/user/one.py", "content": program}}]),
            json!({
                "func": ["check_python_file_by_test_suite", "check_python_file_by_test_suite"],
                "result": [{"type": "vm_file", "path": "/home/user/one.py", "dest": "one.py"},
                    {"type": "vm_file", "path": "/home/user/one.py", "dest": "one.py"}],
                "expected": [{"type": "cloud_file", "path": "file:suite.py", "dest": "test_suite.py"},
                    {"type": "cloud_file", "path": "file:suite.py", "dest": "test_suite.py"}],
                "options": [{}, {"test_function_name": "half"}],
            }),
        )
    };
    let heard = |name: &str, slide: u32| {
        let result = json!({"type": "audio_in_slide", "ppt_file_path": format!("/tmp/{name}.pptx"), "slide_index": slide, "dest": "a.wav"});
        task(
            json!([{"type": "execute", "parameters": {"command": ["python3", "-c", SLIDES]}}]),
            json!({"func": "compare_audios", "result": result,
                "expected": {"type": "vm_file", "path": "/tmp/tune.wav", "dest": "tune.wav"}}),
        )
    };
    let suite = place.suite(&[
        ("right", tested("def value():\n    return 4\n")),
        ("wrong", tested("def value():\n    return 3\n")),
        ("ended", tested("import os\nos._exit(0)\n")),
        ("in", heard("in", 0)),
        ("beside", heard("beside", 0)),
        ("nowhere", heard("in", 1)),
    ]);
    let tests = "import one\n\ndef test():\n    print('noise')\n    return one.value() == 4\n\ndef half():\n    return one.value() / 8\n";
    std::fs::write(suite.join("suite.py"), tests).expect("written");
    place.run_of(&suite, "baseline/noop").status().expect("it ends");
    let mut scores: Vec<(String, Option<f64>)> = rows(&place.run_folder())
        .into_iter()
        .map(|row| (row["task"].as_str().unwrap_or_default().to_owned(), row["score"].as_f64()))
        .collect();
    scores.sort_by(|a, b| a.0.cmp(&b.0));
    let wanted =
        [("beside", 1.0), ("ended", 0.0), ("in", 1.0), ("nowhere", 0.0), ("right", 0.75), ("wrong", 0.0)];
    let wanted: Vec<(String, Option<f64>)> =
        wanted.map(|(name, score)| (name.to_owned(), Some(score))).into();
    assert_eq!(scores, wanted, "{}", place.text("stderr"));
    // The evidence alone is enough to grade once more.
    let run = place.run_folder();
    let graded = place.output(&["grade", &run.to_string_lossy()]);
    assert!(graded.status.success(), "{}", String::from_utf8_lossy(&graded.stderr));
}
