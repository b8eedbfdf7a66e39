//! Hostile evidence: files made to break a reader, each put to every metric that takes a file, in one process whose
//! memory is bounded. Each question gets a score or a reason.
#![expect(clippy::print_stdout, reason = "what was slowest is said")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use apprentice_protocol::Clock as _;
use apprentice_sandbox::SystemClock;
use apprentice_tasks::check::{ArgumentKind, METRICS};
use serde_json::{Value, json};

use crate::place::{PROGRAM, Place};

/// Memory that the process may ever have held, and address space that it gets: what asks for more is killed.
const MEMORY_KB: u64 = 512 << 10;
const SPACE_KB: u64 = 2 << 20;
/// No answer takes so long, not even from a debug build on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The program, answering questions about metrics.
struct Grader {
    child: Child,
    ask: Option<ChildStdin>,
    answers: Receiver<String>,
    clock: SystemClock,
    /// The slowest questions so far, the slowest first.
    slow: Vec<(Duration, String)>,
}

impl Grader {
    fn start(place: &Place) -> Self {
        let script = format!("ulimit -v {SPACE_KB}; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &script, PROGRAM, "tasks", "metric", "--stdin"])
            .env_clear()
            .env("HOME", place.0.path())
            .env("TMPDIR", place.0.path())
            .current_dir(place.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let told = BufReader::new(child.stdout.take().expect("an output"));
        let (send, answers) = channel();
        // It ends with the process's output.
        std::thread::spawn(move || told.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let ask = child.stdin.take();
        Self { child, ask, answers, clock: SystemClock::new(), slow: Vec::new() }
    }

    /// Puts one question and gives the answer, which is a score or a reason.
    fn answer(&mut self, question: &Value) -> Value {
        let mut line = question.to_string().into_bytes();
        line.push(b'\n');
        self.ask_raw(&line)
    }

    fn ask_raw(&mut self, line: &[u8]) -> Value {
        let shown: String = String::from_utf8_lossy(line).chars().take(300).collect();
        let began = self.clock.mono();
        self.ask.as_mut().expect("open").write_all(line).unwrap_or_else(|error| panic!("{error}: {shown}"));
        let answer = self.answers.recv_timeout(DEADLINE).unwrap_or_else(|error| panic!("{error}: {shown}"));
        self.slow.push((self.clock.mono() - began, shown.clone()));
        self.slow.sort_by_key(|one| std::cmp::Reverse(one.0));
        self.slow.truncate(6);
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let told = |key: &str| answer[key].as_str().is_some_and(|text| !text.is_empty());
        let scored = answer["score"].is_number() && told("explanation");
        assert!(scored || answer["score"].is_null() && told("error"), "{shown}: {answer}");
        answer
    }

    /// What it has held at most, in kilobytes.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it lives");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        line.trim_end_matches("kB").trim().parse().expect("a number")
    }

    /// Ends it, and asserts that it ended well and held little.
    fn end(mut self, what: &str) {
        let peak = self.peak();
        drop(self.ask.take());
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{what}: {status}");
        println!("{what}: at most {} MB; slowest:", peak >> 10);
        for (took, question) in &self.slow {
            println!("  {took:.1?} {question}");
        }
        assert!(peak < MEMORY_KB, "{what}: it held {peak} kB");
    }
}

impl Drop for Grader {
    fn drop(&mut self) {
        // It has ended already, unless a check failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).expect("begins");
        archive.write_all(bytes).expect("is written");
    }
    archive.finish().expect("ends").into_inner()
}

/// A workbook of one sheet, whose part is given.
fn book(sheet: &str) -> Vec<u8> {
    book_with(sheet, &[])
}

/// The same with further parts.
fn book_with(sheet: &str, more: &[(&str, &[u8])]) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const LINKS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let listed = format!(
        "<workbook xmlns='{MAIN}' xmlns:r='{LINKS}'><sheets><sheet name='One' sheetId='1' r:id='a'/></sheets></workbook>"
    );
    let links = format!(
        "<Relationships><Relationship Id='a' Type='{LINKS}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>"
    );
    let parts = [
        ("xl/workbook.xml", listed.as_bytes()),
        ("xl/_rels/workbook.xml.rels", links.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ];
    zipped(&[&parts[..], more].concat())
}

/// Workbooks that are small and sound to look at, and unfold when their cells are looked at.
fn books() -> Files {
    let sheet =
        |rows: &str, behind: &str| format!("<worksheet><sheetData>{rows}</sheetData>{behind}</worksheet>");
    let corners = "<row r='1'><c r='A1'><v>1</v></c></row><row r='90000'><c r='C90000'><v>1</v></c></row>";
    let texts = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(1 << 20));
    let shared = "<row><c t='s'><v>0</v></c></row>".repeat(2_000);
    let codes: String =
        (0..2_000).map(|at| format!("<numFmt numFmtId='{at}' formatCode='[h]{at}'/>")).collect();
    let long = format!("<numFmt numFmtId='99999' formatCode='{}'/>", "0".repeat(1 << 20));
    let styles = format!(
        "<styleSheet><numFmts>{codes}{long}</numFmts><cellXfs><xf numFmtId='14'/><xf numFmtId='99999'/></cellXfs></styleSheet>"
    );
    let dates = "<row><c><v>9000000</v></c></row><row><c><v>-9000000</v></c></row><row><c><v>0.999999999999</v></c></row>";
    let merged = format!(
        "<mergeCells>{}<mergeCell ref='0:4294967295'/></mergeCells>",
        "<mergeCell ref='A1:C90000'/>".repeat(2_000)
    );
    let rule = "<conditionalFormatting sqref='A1:C90000'><cfRule type='expression' dxfId='0'><formula>SUM($A$1:$C$90000)</formula></cfRule></conditionalFormatting>";
    let many: String =
        (0..3_000).map(|at| format!("<sheet name='S{at}' sheetId='{at}' r:id='b{at}'/>")).collect();
    let links: String =
        (0..3_000).map(|at| format!("<Relationship Id='b{at}' Type='x/worksheet' Target='a'/>")).collect();
    let space = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    vec![
        ("shared.xlsx", book_with(&sheet(&shared, ""), &[("xl/sharedStrings.xml", texts.as_bytes())])),
        ("dates.xlsx", book_with(&sheet(dates, ""), &[("xl/styles.xml", styles.as_bytes())])),
        (
            "codes.xlsx",
            book_with(
                &sheet(&"<row><c s='1'><v>1</v></c></row>".repeat(3_000), ""),
                &[("xl/styles.xml", styles.as_bytes())],
            ),
        ),
        ("merged.xlsx", book(&sheet(corners, &merged))),
        ("rules.xlsx", book(&sheet(corners, &rule.repeat(500)))),
        (
            "last.xlsx",
            book(&sheet("<row r='4294967295'><c><v>1</v></c></row><row><c><v>1</v></c></row>", "")),
        ),
        ("wide.xlsx", book(&sheet("<row r='1048576'><c r='D1048576'><v>1</v></c></row>", ""))),
        (
            "sheets.xlsx",
            zipped(&[
                (
                    "xl/workbook.xml",
                    format!("<workbook xmlns:r='{space}'><sheets>{many}</sheets></workbook>").as_bytes(),
                ),
                ("xl/_rels/workbook.xml.rels", format!("<Relationships>{links}</Relationships>").as_bytes()),
            ]),
        ),
    ]
}

/// A tar archive, packed, of one file that is this long and empty.
fn tarred(long: u64) -> Vec<u8> {
    let mut head = [0_u8; 512];
    head[..4].copy_from_slice(b"t.md");
    head[100..107].copy_from_slice(b"0000644");
    head[124..136].copy_from_slice(format!("{long:011o} ").as_bytes());
    head[156] = b'0';
    head[148..156].fill(b' ');
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&head).expect("is packed");
    for _ in 0..long.div_ceil(1 << 20) {
        packed.write_all(&[0; 1 << 20]).expect("is packed");
    }
    packed.finish().expect("ends")
}

/// A tar archive of one file that says to be six billion bytes long and holds one block.
fn holes() -> Vec<u8> {
    let mut head = [0_u8; 512];
    let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, "t.txt");
    put(100, "0000644");
    put(124, &format!("{:011o} ", 512));
    put(156, "S");
    put(257, "ustar  ");
    // One stretch of data at the start, another without any at the end.
    for (at, number) in [(386, 0), (398, 512), (410, 6_000_000_000_u64), (422, 0), (483, 6_000_000_000)] {
        put(at, &format!("{number:011o} "));
    }
    put(148, "        ");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    [&head[..], &[b'x'; 512], &[0; 1024]].concat()
}

/// Tags of a sound file whose frames unfold to half a gigabyte.
fn packed_tags() -> Vec<u8> {
    let seven =
        |number: usize| [21, 14, 7, 0].map(|bits| u8::try_from(number >> bits & 0x7f).expect("seven bits"));
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&[3]).expect("is packed");
    for _ in 0..64 {
        packed.write_all(&[b'a'; 1 << 20]).expect("is packed");
    }
    let packed = packed.finish().expect("ends");
    let frame = [&b"TIT2"[..], &seven(packed.len() + 4), &[0, 9], &seven(64 << 20), &packed].concat();
    let frames = frame.repeat(3);
    [&b"ID3\x04\0\0"[..], &seven(frames.len()), &frames].concat()
}

/// A database whose table is a view without an end, and another whose view holds far too much.
fn endless(path: &Path) -> Vec<u8> {
    let database = rusqlite::Connection::open(path).expect("opens");
    let made = database.execute_batch(
        "create view t as with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) x from n;
         create view wide as with recursive n(x) as (select 1 union all select x + 1 from n)
           select hex(zeroblob(100000000)) || x as x from n;
         create view sorted as with recursive n(x) as (select 1 union all select x + 1 from n)
           select zeroblob(1000000) as y, x from n order by y desc, x desc;",
    );
    made.expect("is made");
    drop(database);
    fs::read(path).expect("is there")
}

/// How deep the deep files are nested, and how many elements the wide ones have.
const MANY: usize = 200_000;
/// How long values are that are no files.
const WIDE: usize = 20_000;

type Files = Vec<(&'static str, Vec<u8>)>;

/// Workbooks and archives that are torn, or unfold to far more than they are.
fn archives() -> Files {
    let sheet = |rows: &str| format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    let good = book(&sheet("<row r='1'><c r='A1'><v>1</v></c></row>"));
    let flipped = good.iter().enumerate().map(|(at, byte)| if at % 97 == 50 { byte ^ 0x55 } else { *byte });
    let far = "<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>";
    let empty = vec![0; 40 << 20];
    vec![
        ("torn.xlsx", good[..good.len() / 2].to_vec()),
        ("flipped.xlsx", flipped.collect()),
        ("bomb.xlsx", book(&" ".repeat(60 << 20))),
        ("cells.xlsx", book(&sheet(&"<row><c/><c/></row>".repeat(MANY / 2)))),
        ("far.xlsx", book(&sheet(far))),
        ("bomb.zip", zipped(&[("a.txt", &empty), ("b.txt", &empty), ("c.txt", &empty)])),
        ("bomb.tar.gz", tarred(300 << 20)),
        ("holes.tar", holes()),
        ("ends.zip", b"PK\x05\x06".repeat(1 << 16)),
        (
            "names.zip",
            zipped(
                &(0..100).map(|at| (&*format!("{at}").repeat(9_000).leak(), &b"x"[..])).collect::<Vec<_>>(),
            ),
        ),
    ]
}

/// Documents that are too deep or too wide, or unfold.
fn documents() -> Files {
    let entity = |at: usize| format!("<!ENTITY l{at} \"&l{0};&l{0};&l{0};&l{0};\">", at - 1);
    let entities: String = (1..20).map(entity).collect();
    let laughs = format!("<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY l0 \"ha\">{entities}]><x>&l19;</x>");
    let alias = |at: usize| format!("a{at}: &a{at} [{}]\n", vec![format!("*a{}", at - 1); 9].join(", "));
    let aliases: String = (1..20).map(alias).collect();
    // Each of these stays open, and is opened again in every paragraph.
    let open: String = (0..600).map(|at| format!("<b id={at}>")).collect();
    vec![
        ("entities.xml", laughs.into_bytes()),
        ("deep.xml", format!("<r>{}", "<a>".repeat(MANY)).into_bytes()),
        ("closed.xml", format!("{}{}", "<a>".repeat(MANY), "</a>".repeat(MANY)).into_bytes()),
        ("wide.xml", format!("<r>{}</r>", "<a b='c'/>".repeat(MANY / 4)).into_bytes()),
        ("deep.html", "<div>".repeat(MANY).into_bytes()),
        ("unfolds.html", format!("<p>{open}{}", "<p>x".repeat(MANY / 2)).into_bytes()),
        ("deep.json", "[".repeat(MANY).into_bytes()),
        ("closed.json", format!("{}{}", "{\"a\":".repeat(MANY), "}".repeat(MANY)).into_bytes()),
        ("wide.json", format!("[{}{{}}]", "{\"a\":[]},".repeat(MANY)).into_bytes()),
        (
            "attributes.html",
            format!("<a {}>", (0..40_000).map(|at| format!("x{at} ")).collect::<String>()).into_bytes(),
        ),
        (
            "attributes.xml",
            format!("<a {}/>", (0..40_000).map(|at| format!("x{at}='>' ")).collect::<String>()).into_bytes(),
        ),
        (
            "prefixes.xml",
            format!(
                "<a {}>{}</a>",
                (0..2_500).map(|at| format!("xmlns:x{at}='u' ")).collect::<String>(),
                "<b xmlns:y='u'/>".repeat(100_000)
            )
            .into_bytes(),
        ),
        (
            "texts.yaml",
            format!("a: &a '{}'\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(5_000)).into_bytes(),
        ),
        (
            "anchors.yaml",
            format!(
                "a: {}{}{}\n",
                (0..95).map(|at| format!("&a{at} [")).collect::<String>(),
                "x,".repeat(MANY / 8),
                "]".repeat(95)
            )
            .into_bytes(),
        ),
        (
            "known.yaml",
            format!(
                "a: [{}{}]\n",
                (0..MANY / 16).map(|at| format!("&a{at} x,")).collect::<String>(),
                "*a0,".repeat(MANY / 16)
            )
            .into_bytes(),
        ),
        ("numbers.yaml", b"a: -0x-8000000000000000\nb: -99999999999999999999\nc: -0b-1:-1\n".to_vec()),
        ("aliases.yaml", format!("a0: &a0 [x, x]\n{aliases}").into_bytes()),
    ]
}

/// Settings and tables without sense, texts that are none, pictures and tags that promise too much.
fn texts() -> Files {
    let noise = (0..200_000_u64).map(|at| at.wrapping_mul(6_364_136_223_846_793_005).to_be_bytes()[0]);
    let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x18\0\0\0\x18\0\x08\x06\0\0\0".to_vec();
    picture.extend([0; 64]);
    vec![
        ("profile.js", "user_pref(\"a\", [[[[\"\\\n".repeat(40_000).into_bytes()),
        ("settings.ini", "[a]\nb==]=\n\"'\n".repeat(40_000).into_bytes()),
        ("filters.dat", "name=\"\nenabled=\ncondition=\"AND (((((\n".repeat(20_000).into_bytes()),
        ("columns.csv", format!("{}\n{}", "a,".repeat(100_000), "1\n".repeat(20_000)).into_bytes()),
        ("rows.csv", "1,\"\n".repeat(100_000).into_bytes()),
        ("line.txt", "a".repeat(2_000_000).into_bytes()),
        ("words.txt", "a b\n".repeat(200_000).into_bytes()),
        ("lines.txt", vec![b'\n'; 8 << 20]),
        ("latin.txt", b"caf\xe9 \xff\xfe\x80\n".repeat(10_000)),
        ("nul.txt", vec![0; 1 << 20]),
        ("noise.bin", noise.collect()),
        ("pixels.png", picture),
        ("packed.mp3", packed_tags()),
        ("tags.mp3", b"ID3\x04\0\0\x7f\x7f\x7f\x7f".to_vec()),
        ("empty", Vec::new()),
    ]
}

/// Documents, sounds and films that never end, unfold, or promise more than they hold.
fn media() -> Files {
    let portable = |objects: &[&str]| {
        let objects = (1..).zip(objects).map(|(at, object)| format!("{at} 0 obj{object}endobj\n"));
        format!("%PDF-1.4\n{}trailer<</Root 1 0 R>>\n", objects.collect::<String>()).into_bytes()
    };
    let root = "<</Type/Catalog/Pages 2 0 R>>";
    let page =
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<</XObject<</X 4 0 R>>>>/Contents 4 0 R>>";
    let form = "<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 4 0 R>>>>/Length 9>>stream\n/X Do /X Do\nendstream";
    let deep = format!("<</Type/Pages/Kids{}{}>>", "[".repeat(200_000), "]".repeat(200_000));
    let wide = page.replace("[0 0 200 200]", "[0 0 1e9 1e9]");
    let wave = |rate: u32, channels: u16| {
        let mut bytes = b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0".to_vec();
        bytes.extend(channels.to_le_bytes());
        bytes.extend(rate.to_le_bytes());
        bytes.extend([0, 0, 0, 0, 2, 0, 16, 0]);
        bytes.extend(b"data\xff\xff\xff\xff");
        bytes.extend([7; 4096]);
        bytes
    };
    let list = "#EXTM3U\n#EXTINF:1\nhttp://127.0.0.1:9/a.ts\nfile:///etc/passwd\n";
    vec![
        ("cyclic.pdf", portable(&[root, "<</Type/Pages/Kids[2 0 R 2 0 R]/Count 99999999>>"])),
        ("forms.pdf", portable(&[root, "<</Type/Pages/Kids[3 0 R]/Count 1>>", page, form])),
        ("deep.pdf", portable(&[root, &deep])),
        ("wide.pdf", portable(&[root, "<</Type/Pages/Kids[3 0 R]/Count 1>>", &wide, form])),
        ("count.pdf", portable(&[root, "<</Type/Pages/Kids[]/Count 2147483647>>"])),
        ("long.wav", wave(4_000_000_000, 1)),
        ("many.wav", wave(22_050, 65_535)),
        ("list.m3u8", list.as_bytes().to_vec()),
        ("list.ffconcat", b"ffconcat version 1.0\nfile /etc/passwd\nfile list.ffconcat\n".to_vec()),
        ("huge.ppm", b"P6\n60000 60000\n255\n".to_vec()),
    ]
}

/// Questions that make every metric of files look at a file: beside a like one, or by rules.
fn questions(path: &str) -> Vec<Value> {
    let rules = json!({
        "expected": ["x"], "type": "url", "value": "x", "key": "theme", "name": "x", "expect": {}, "max_size": 9,
        "minutes": 1, "sql": "select x from t", "locale_set": ["*"], "font_name": "x", "url": "x", "width": 3,
        "recording_file_path": "/", "file_name": "x", "ignore_transparent": true, "relation": "eq", "ref_value": 1, "text": "x",
    });
    let lists = json!({"expect": [{"key": ["a"], "method": "eq", "ref": 1}], "unexpect": [{"a": "x"}], "expected": {"a": 1}});
    let options = json!({"ignore_blanks": true, "is_yaml": true, "rules": [
        {"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"},
        {"type": "sheet_print", "sheet_idx0": 0, "sheet_idx1": "EI0"},
        {"type": "style", "sheet_idx0": 0, "sheet_idx1": "EI0", "props": ["bgcolor", "merge", "number_format"]},
    ]});
    let mut asked = Vec::new();
    for metric in
        METRICS.iter().filter(|metric| metric.is_implemented() && metric.result == ArgumentKind::File)
    {
        let name = metric.name;
        if metric.expected == ArgumentKind::File {
            asked.push(json!({"func": name, "result": path, "expected": path, "options": options}));
        } else {
            asked.push(json!({"func": name, "result": path, "expected": rules}));
            asked
                .push(json!({"func": name, "result": path, "expected": lists, "options": {"is_yaml": true}}));
        }
    }
    asked
}

/// Puts files to every metric. Kinds of files are tests of their own, which run side by side.
fn no_file_breaks_a_metric(place: &Place, kind: &str, files: Files) {
    let mut grader = Grader::start(place);
    for (name, bytes) in files {
        let path = place.path(name);
        fs::write(&path, bytes).expect("is written");
        for question in questions(&path.to_string_lossy()) {
            grader.answer(&question);
        }
    }
    grader.end(kind);
}

#[test]
fn no_hostile_archive_breaks_a_metric() {
    no_file_breaks_a_metric(&Place::new(), "hostile archives", archives());
}

#[test]
fn no_hostile_workbook_breaks_a_metric() {
    no_file_breaks_a_metric(&Place::new(), "hostile workbooks", books());
}

#[test]
fn no_hostile_document_breaks_a_metric() {
    no_file_breaks_a_metric(&Place::new(), "hostile documents", documents());
}

#[test]
fn no_hostile_text_breaks_a_metric() {
    no_file_breaks_a_metric(&Place::new(), "hostile texts", texts());
}

#[test]
fn no_hostile_film_or_database_breaks_a_metric() {
    let place = Place::new();
    let database = ("endless.sqlite", endless(&place.path("made.sqlite")));
    no_file_breaks_a_metric(&place, "hostile films", media().into_iter().chain([database]).collect());
}

#[test]
fn no_hostile_value_breaks_a_metric() {
    let place = Place::new();
    let mut grader = Grader::start(&place);
    let many = |unit: &str| unit.repeat(WIDE);
    let texts = [
        many("a b\n"),
        format!("<r>{}", many("<a>")),
        format!("<r>{}</r>", many("<a name='x' st:y='z'>t</a>")),
        format!("<r {}/>", (0..WIDE).map(|at| format!("x{at}='' ")).collect::<String>()),
        format!("{{{}}}", many("'a': [], ")),
        many("\u{1f600}\u{0}"),
        format!("https://{}", many("a.%25/?&")),
    ];
    let values: Vec<Value> = texts
        .into_iter()
        .map(Value::from)
        .chain([
            json!(vec![json!([]); WIDE]),
            json!(vec![json!({"url": "x", "name": "x"}); WIDE]),
            json!(vec!["x"; WIDE]),
        ])
        .chain([(0..100).fold(json!("x"), |inner, _| json!([inner]))])
        .collect();
    let rules = json!({
        "expected": ["x"], "type": "url", "url": "x", "urls": ["x"], "names": ["x"], "name": "x", "items": ["x"],
        "keywords": ["x"], "domains": ["x"], "include": ["x"], "exclude": ["x"], "expect": {"pattern": "^(a|aa)+$"}, "value": 1,
    });
    let trees = json!([{"selectors": ["r a[name=x]"], "text": "t", "exact": false}, {"xpath": "//r//a//*"}]);
    for metric in
        METRICS.iter().filter(|metric| metric.is_implemented() && metric.result == ArgumentKind::Value)
    {
        for value in &values {
            for expected in [&rules, &trees] {
                grader.answer(&json!({"func": metric.name, "result": value, "expected": expected}));
            }
        }
    }
    grader.end("hostile values");
}

#[test]
fn a_file_that_grows_and_shrinks_while_it_is_read_gets_an_answer() {
    let place = Place::new();
    let path = place.path("moving.csv");
    let file = File::create(&path).expect("is made");
    let (stop, stopped) = channel::<()>();
    let moving = std::thread::spawn(move || {
        let mut at = 0_u64;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            at = (at + 7) % 64;
            file.set_len(at << 14).expect("is cut");
        }
    });
    let mut grader = Grader::start(&place);
    for _ in 0..3 {
        for question in questions(&path.to_string_lossy()) {
            grader.answer(&question);
        }
    }
    drop(stop);
    moving.join().expect("ends");
    grader.end("a file that moves");
}

#[test]
fn what_is_no_plain_file_or_too_large_is_refused_unread() {
    let place = Place::new();
    let huge = |name: &str, long: u64| {
        let path = place.path(name);
        File::create(&path).and_then(|file| file.set_len(long)).expect("is made");
        path
    };
    let pipe = place.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    let link = |name: &str, target: &str| {
        let path = place.path(name);
        std::os::unix::fs::symlink(target, &path).expect("a link");
        path
    };
    let refused: Vec<(PathBuf, &str)> = vec![
        (huge("huge.csv", 4 << 30), "exceed the limit"),
        (huge("huge.json", 4 << 30), "exceed the limit"),
        (pipe, "regular file"),
        (PathBuf::from("/dev/zero"), "regular file"),
        (link("zero.csv", "/dev/zero"), "regular file"),
        (link("loop.csv", "loop.csv"), "symbolic links"),
        (place.0.path().to_owned(), "regular file"),
    ];
    let mut grader = Grader::start(&place);
    for (path, reason) in refused {
        let path = path.to_string_lossy();
        for question in questions(&path) {
            let answer = grader.answer(&question);
            assert!(
                answer["error"].as_str().is_some_and(|told| told.contains(reason)),
                "{question}: {answer}"
            );
        }
    }
    // Small enough to be opened, and larger than what is read as text. Each metric reads all of it, so each is asked once.
    let large = huge("large.zip", 49 << 20);
    let mut asked = BTreeSet::new();
    for question in questions(&large.to_string_lossy()) {
        if asked.insert(question["func"].to_string()) {
            grader.answer(&question);
        }
    }
    grader.end("what is not read");
}

#[test]
fn patterns_and_queries_without_end_are_given_up() {
    let place = Place::new();
    let (text, database) = (place.path("text"), place.path("endless.sqlite"));
    fs::write(&text, format!("{}!\n", "a".repeat(5_000)).repeat(20)).expect("is written");
    fs::write(&database, endless(&place.path("made.sqlite"))).expect("is written");
    let mut grader = Grader::start(&place);
    for source in [
        r"^(a+)+$",
        r"^(?=(a+)+b)(a|aa)+$",
        r"^(\w+\s?)*\1b$",
        r"(?!x)((a*)*)*b\2",
        "((a{0,999}){0,999}){0,999}",
    ] {
        let lines = json!({"func": "check_list", "result": text, "expected": {"expect": [source]}});
        assert_ne!(grader.answer(&lines)["score"], 1.0, "{source}");
        let address = json!({"func": "is_expected_url_pattern_match", "result": "a".repeat(5_000) + "!", "expected": {"expected": [source]}});
        assert_ne!(grader.answer(&address)["score"], 1.0, "{source}");
    }
    let views = ["t", "wide", "sorted"].map(|view| format!("select x from {view}"));
    let own =
        "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n".to_owned();
    for sql in views.into_iter().chain([own]) {
        let query = json!({"func": "run_sqlite3", "result": database, "expected": {"sql": sql}});
        let answer = grader.answer(&query);
        assert_eq!(answer["score"], 0.0, "{answer}");
    }
    let told = grader.ask_raw(b"{\"func\": \"exact_match\", \"result\": \"\xff\xfe\"}\n");
    assert!(told["error"].is_string(), "{told}");
    grader.end("patterns and queries");
}
