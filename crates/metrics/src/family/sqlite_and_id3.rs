//! Metrics of SQLite databases and of ID3 tags.

use id3::TagLike as _;
use serde_json::Value;

use crate::comparison::value;
use crate::python;
use crate::readers::database;
use crate::scoring::{MetricError, MetricInput, Score, show, task_error, upstream_error};

/// Returns the first cell of the query's first row as the score.
pub(super) fn run_sqlite(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let sql = case.rule_str("sql")?;
    let file = case.require_file()?;
    let rows = database::rows(&file.bytes, sql).map_err(upstream_error)?;
    let cell =
        rows.first().and_then(|row| row.first()).ok_or_else(|| upstream_error("the query returns no row"))?;
    let score = match cell {
        Value::Null => Some(0.0),
        Value::String(text) if text.is_empty() => Some(0.0),
        Value::String(text) => python::float(text),
        cell => cell.as_f64(),
    };
    let score = score.ok_or_else(|| upstream_error(format!("{} is not a number", show(cell))))?;
    Ok(Score { score, explanation: format!("the query returns {cell}") })
}

/// Names of tags in tasks (as in mutagen's `EasyID3`), with their ID3 frames.
const FRAMES: &[(&str, &str)] = &[
    ("album", "TALB"),
    ("albumartist", "TPE2"),
    ("albumartistsort", "TSO2"),
    ("albumsort", "TSOA"),
    ("arranger", "TPE4"),
    ("artist", "TPE1"),
    ("artistsort", "TSOP"),
    ("author", "TOLY"),
    ("bpm", "TBPM"),
    ("compilation", "TCMP"),
    ("composer", "TCOM"),
    ("composersort", "TSOC"),
    ("conductor", "TPE3"),
    ("copyright", "TCOP"),
    ("date", "TDRC"),
    ("discnumber", "TPOS"),
    ("discsubtitle", "TSST"),
    ("encodedby", "TENC"),
    ("genre", "TCON"),
    ("grouping", "TIT1"),
    ("isrc", "TSRC"),
    ("language", "TLAN"),
    ("length", "TLEN"),
    ("lyricist", "TEXT"),
    ("media", "TMED"),
    ("mood", "TMOO"),
    ("organization", "TPUB"),
    ("originaldate", "TDOR"),
    ("title", "TIT2"),
    ("titlesort", "TSOT"),
    ("tracknumber", "TRCK"),
    ("version", "TIT3"),
];

pub(super) fn mp3_meta(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rules = case.rules()?.as_object().ok_or_else(|| task_error("`expected` must map tags to rules"))?;
    let file = match case.file()? {
        Ok(file) => file,
        Err(mark) => return Ok(mark),
    };
    if is_packed(&file.bytes) {
        return Err(upstream_error(format!("{} has compressed tags, which are not read", file.name)));
    }
    let mut source = std::io::Cursor::new(&file.bytes[..]);
    let tag = id3::Tag::read_from2(&mut source)
        .or_else(|_| id3::v1::Tag::read_from(std::io::Cursor::new(&file.bytes[..])).map(Into::into))
        .map_err(|error| upstream_error(format!("{} has no tags: {error}", file.name)))?;
    let mut complaints = Vec::new();
    for (name, rule) in rules {
        let found = Value::from(read(&tag, name)?);
        if !value::fits(&found, rule)? {
            complaints.push(format!("tag {name} is {}, expected {}", show(&found), show(rule)));
        }
    }
    Ok(Score::unless(&complaints, "every tag is as expected"))
}

/// Returns whether an ID3v2 frame at the file's start is compressed. A few bytes could expand to gigabytes, frame after
/// frame, and real programs do not write such frames.
fn is_packed(bytes: &[u8]) -> bool {
    const HEAD: usize = 10;
    let (Some(b"ID3"), Some(&version), Some(&flags)) = (bytes.get(..3), bytes.get(3), bytes.get(5)) else {
        return false;
    };
    let number =
        |bytes: &[u8], bits: u32| bytes.iter().fold(0_usize, |sum, byte| sum << bits | usize::from(*byte));
    let end = HEAD.saturating_add(number(bytes.get(6..HEAD).unwrap_or_default(), 7)).min(bytes.len());
    let mut body = bytes.get(HEAD..end).unwrap_or_default().to_vec();
    // Before version 2.4, frame sizes exclude the bytes inserted by unsynchronisation.
    if version < 4 && flags & 0x80 != 0 {
        let mut before = 0;
        body.retain(|byte| !(std::mem::replace(&mut before, *byte) == 0xff && *byte == 0));
    }
    let (mut rest, bits, mark) = match version {
        3 => (&body[..], 8, 0x80),
        4 => (&body[..], 7, 0x08),
        _ => return false,
    };
    if flags & 0x40 != 0 {
        let long = number(rest.get(..4).unwrap_or_default(), bits) + if version == 3 { 4 } else { 0 };
        rest = rest.get(long..).unwrap_or_default();
    }
    while let Some(head) = rest.get(..HEAD).filter(|head| head.first() != Some(&0)) {
        if head.get(9).is_some_and(|flags| flags & mark != 0) {
            return true;
        }
        let long = number(head.get(4..8).unwrap_or_default(), bits);
        rest = rest.get(HEAD.saturating_add(long)..).unwrap_or_default();
    }
    false
}

fn read(tag: &id3::Tag, name: &str) -> Result<String, MetricError> {
    let key = name.to_lowercase();
    let existing = FRAMES.iter().find(|(existing, _)| *existing == key);
    let Some((_, frame)) = existing else { return Err(task_error(format!("unknown tag {name:?}"))) };
    let text = |frame: &str| tag.get(frame).and_then(|frame| frame.content().text()).map(str::to_owned);
    let found = match *frame {
        "TCON" => {
            tag.genres_parsed().into_iter().map(|genre| genre.into_owned()).collect::<Vec<_>>().join("\0")
        }
        // Version 2.3 stores year and day in separate frames.
        "TDRC" => {
            text("TDRC").or_else(|| text("TYER").map(|year| dated(year, text("TDAT")))).unwrap_or_default()
        }
        "TDOR" => text("TDOR").or_else(|| text("TORY")).unwrap_or_default(),
        frame => text(frame).unwrap_or_default(),
    };
    // Before version 2.4, several values are joined by slashes.
    let mark = if tag.version() == id3::Version::Id3v24 { "," } else { "/" };
    Ok(found.trim_end_matches('\0').replace('\0', mark))
}

/// Combines a year with a day of the form DDMM.
fn dated(year: String, day: Option<String>) -> String {
    match day.filter(|day| day.len() == 4 && day.is_ascii()) {
        Some(day) => format!("{year}-{}-{}", &day[2..], &day[..2]),
        None => year,
    }
}
