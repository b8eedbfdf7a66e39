//! Metrics of VLC's settings and playback status.

use serde_json::Value;

use crate::comparison::value;
use crate::readers::url::Url;
use crate::readers::xml;
use crate::scoring::{MetricError, MetricInput, Score, quote, task_error, upstream_error};

/// Returns the value of the last line that contains a key, or VLC's default.
fn setting<'t>(text: &'t str, key: &str, default: &'t str) -> &'t str {
    let line = text.split('\n').rfind(|line| line.contains(key));
    line.map_or(default, |line| line.rsplit('=').next().unwrap_or(line).trim())
}

fn settings(case: &MetricInput<'_>) -> Result<String, MetricError> {
    let file = case.require_file()?;
    String::from_utf8(file.bytes.to_vec()).map_err(|_| upstream_error(format!("{} is not text", file.name)))
}

/// Compares a setting with the value of a rule. Numbers are compared as text.
fn compared(case: &MetricInput<'_>, key: &str, default: &str, rule: &str) -> Result<Score, MetricError> {
    let text = settings(case)?;
    judged(key, setting(&text, &format!("{key}="), default), case.rule(rule)?)
}

fn judged(key: &str, found: &str, wanted: &Value) -> Result<Score, MetricError> {
    let wanted = match wanted {
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(task_error(format!("the expected value of {key} must be a number or a string")));
        }
    };
    Ok(Score::of(found == wanted, format!("{key} is {}, expected {}", quote(found), quote(&wanted))))
}

pub(super) fn background_cone(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    compared(case, "qt-bgcone", "1", "expected_qt_bgcone")
}

pub(super) fn max_volume(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    compared(case, "qt-max-volume", "125", "expected_qt_max_volume")
}

pub(super) fn minimal_view(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    compared(case, "qt-minimal-view", "0", "expected_qt_minimal_view")
}

pub(super) fn one_instance(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let rule = "expected_one_instance_when_started_from_file";
    compared(case, "one-instance-when-started-from-file", "1", rule)
}

pub(super) fn play_and_exit(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    compared(case, "play-and-exit", "0", "expected_play_and_exit")
}

/// Compares whether a global hotkey is bound to play/pause.
pub(super) fn global_key(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let text = settings(case)?;
    let key = setting(&text, "global-key-play-pause=", "");
    let bound = if key.is_empty() { "0" } else { "1" };
    judged("global-key-play-pause", bound, case.rule("expected_global_key_play_pause")?)
}

pub(super) fn recordings_folder(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let wanted = case.rule_str("recording_file_path")?;
    let text = settings(case)?;
    let mut lines = text.split('\n').filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    match lines.find(|line| line.contains("input-record-path")) {
        Some(line) => judged("input-record-path", setting(line, "input-record-path", ""), &wanted.into()),
        None => Ok(Score::none("input-record-path is absent")),
    }
}

pub(super) fn slider_colours(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let text = settings(case)?;
    let found = setting(&text, "qt-slider-colours", "153;210;153;20;210;20;255;199;15;245;39;29");
    match case.rule("type")?.as_str() {
        Some("match") => judged("qt-slider-colours", found, case.rule("expected_qt_slider_colours")?),
        Some("blackish") => {
            let numbers: Result<Vec<i64>, _> = found.split(';').map(|one| one.trim().parse()).collect();
            let Ok(numbers) = numbers else {
                return Ok(Score::none(format!("{} are not colours", quote(found))));
            };
            let bright = numbers.chunks_exact(3).find(|colour| colour.iter().any(|part| *part >= 100));
            Ok(match bright {
                Some(colour) => Score::none(format!("colour {colour:?} is not nearly black")),
                None => Score::full("all colours are nearly black"),
            })
        }
        _ => Err(task_error("rule \"type\" must be match or blackish")),
    }
}

pub(super) fn fullscreen(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let (window, screen) = match (case.value()?, case.rules()) {
        (Err(mark), _) => return Ok(mark),
        (Ok(_), Err(_) | Ok(Value::Null)) => return Ok(Score::none("the screen size is unknown")),
        (Ok(window), Ok(screen)) => (window, screen),
    };
    let side = |value: &Value, name: &str| {
        value.get(name).cloned().ok_or_else(|| upstream_error(format!("no {name}")))
    };
    let mut same = true;
    for name in ["width", "height"] {
        same &= value::equal(&side(window, name)?, &side(screen, name)?);
    }
    Ok(Score::of(same, format!("the window is {window}, the screen {screen}")))
}

/// Fields of a status document that may name the current media, in upstream's search order.
const NAMES: &[&str] = &["filename", "title", "uri", "location", "name"];
const ADDRESSES: &[&str] = &["url", "URI", "location", "title", "filename"];

pub(super) fn playing(case: &MetricInput<'_>) -> Result<Score, MetricError> {
    let text = settings(case)?;
    let document = xml::read(&text).map_err(upstream_error)?;
    let root = document.root_element();
    let state = root.children().find(|node| node.has_tag_name("state")).and_then(|node| node.text());
    if state != Some("playing") {
        return Ok(Score::none(format!("the player is {}", state.unwrap_or("in no state"))));
    }
    let by_name = match case.rule("type")?.as_str() {
        Some("file_name") => true,
        Some("url") => false,
        other => return Ok(Score::none(format!("the current media cannot be compared by {other:?}"))),
    };
    let fields = if by_name { NAMES } else { ADDRESSES };
    let meta = fields.iter().find_map(|field| info(root, "meta", field));
    let stream = || ["Codec", "Type", "Language"].iter().find_map(|field| info(root, "Stream 0", field));
    let Some(found) = meta.or_else(|| if by_name { None } else { stream() }) else {
        return Ok(Score::none("the player does not report its current media"));
    };
    let wanted = case.rule_str(if by_name { "file_name" } else { "url" })?;
    let same = if by_name { found.ends_with(wanted) } else { is_address(found, wanted) };
    Ok(Score::of(same, format!("playing {}, expected {}", quote(found), quote(wanted))))
}

fn info<'d>(root: roxmltree::Node<'d, '_>, category: &str, name: &str) -> Option<&'d str> {
    let information = root.children().find(|node| node.has_tag_name("information"))?;
    let named = |node: &roxmltree::Node<'_, '_>, tag: &str, name: &str| {
        node.has_tag_name(tag) && node.attribute("name") == Some(name)
    };
    let mut categories = information.children().filter(|node| named(node, "category", category));
    categories
        .find_map(|node| node.children().find(|child| named(child, "info", name)))
        .and_then(|node| node.text())
        .filter(|text| !text.is_empty())
}

/// Accepts a text that contains the URL, its file name, or a URL of the same host whose path contains the expected
/// path.
fn is_address(found: &str, wanted: &str) -> bool {
    let parsed = Url::parse(wanted);
    let base = parsed.path.rsplit('/').next().unwrap_or_default();
    let near = || {
        let found = Url::parse(found);
        found.host == parsed.host && found.path.contains(&parsed.path)
    };
    found.contains(wanted) || found == base || found.contains("://") && near()
}
