//! Getters for downloaded files, browser databases, and the output of other programs.

use std::collections::BTreeMap;

use apprentice_metrics::{EvidenceValue, FileRef, is_truthy, last_row, query_database};
use apprentice_protocol::{Command, MachineError};
use serde_json::Value;

use super::output::{GetterOutput, machine_error, required_str};
use super::{browser, machine, relative_date};
use crate::check::collect_context::{CollectContext, CollectError};
use crate::world_io::at_home;
use crate::world_io::{HttpRequest, ask};

/// Subtypes of `video/` whose default player is queried.
const VIDEOS: &[&str] = &[
    "3gp",
    "3gpp",
    "3gpp2",
    "avi",
    "divx",
    "dv",
    "fli",
    "flv",
    "mp2t",
    "mp4",
    "mp4v-es",
    "mpeg",
    "mpeg-system",
    "msvideo",
    "ogg",
    "quicktime",
    "vnd.divx",
    "vnd.mpegurl",
    "vnd.rn-realvideo",
    "webm",
    "x-anim",
    "x-avi",
    "x-flc",
    "x-fli",
    "x-flv",
    "x-m4v",
    "x-matroska",
    "x-mpeg",
    "x-mpeg-system",
    "x-mpeg2",
    "x-ms-asf",
    "x-ms-asf-plugin",
    "x-ms-asx",
    "x-ms-wm",
    "x-ms-wmv",
    "x-ms-wmx",
    "x-ms-wvx",
    "x-msvideo",
    "x-nsv",
    "x-ogm",
    "x-ogm+ogg",
    "x-theora",
    "x-theora+ogg",
];

/// Port of VLC's web interface, and the password set in OSWorld's machine images.
const PLAYER_PORT: u16 = 8080;
const PLAYER_PASSWORD: (&str, &str) = ("Authorization", "Basic OnBhc3N3b3Jk");

fn wrong(getter: &str, problem: impl Into<String>) -> CollectError {
    CollectError::Parameters { getter: getter.to_owned(), problem: problem.into() }
}

fn missing(getter: &str, what: impl Into<String>) -> CollectError {
    CollectError::Missing { getter: getter.to_owned(), what: what.into() }
}

/// Returns files published by the suite's authors, from the mirror.
pub(super) async fn cloud_file(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let many = spec.get("multi").is_some_and(is_truthy);
    let list = |field: &str| -> Result<Vec<String>, CollectError> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let found = match spec.get(field) {
            Some(Value::Array(list)) if many => list.iter().map(text).collect(),
            Some(value) if !many => text(value).map(|one| vec![one]),
            _ => None,
        };
        found
            .ok_or_else(|| wrong("cloud_file", format!("{field:?} must be a string, or a list with `multi`")))
    };
    let (urls, names) = (list("path")?, list("dest")?);
    let gives = spec.get("gives").and_then(Value::as_array);
    let gives: Vec<u64> = gives.map_or(vec![0], |gives| gives.iter().filter_map(Value::as_u64).collect());
    let (mut files, mut beside) = (Vec::new(), Vec::new());
    for ((url, name), at) in urls.iter().zip(names).zip(0_u64..) {
        let bytes = match (context.mirror, url.strip_prefix("file:")) {
            (_, Some(local)) => machine::local(local.trim_start_matches("//"), context).await?,
            (Some(mirror), None) => {
                mirror.fetch(url).await.map_err(|error| missing("cloud_file", error.to_string()))?
            }
            (None, None) => {
                return Err(missing("cloud_file", format!("{url}, and there is no mirror (--mirror)")));
            }
        };
        let file = FileRef::new(name, bytes);
        if gives.contains(&at) { files.push(Some(file)) } else { beside.push(file) }
    }
    Ok(GetterOutput::found(EvidenceValue::Files { files, beside }))
}

/// Returns a rule with relative days, resolved by the machine's clock.
pub(super) async fn relative_time(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    const GETTER: &str = "rule_relativeTime";
    let rules = spec.get("rules").ok_or_else(|| wrong(GETTER, "\"rules\" is required"))?;
    let mut command = Command::new(["date", "+%Y-%m-%d"]).apart();
    if let Some(zone) = rules.get("timezone").and_then(Value::as_str) {
        command.env.push(("TZ".into(), zone.into()));
    }
    let output = context.machine.run(&command).await.map_err(machine_error(GETTER))?;
    let text = output.stdout_text();
    let today =
        text.trim().parse().map_err(|_| missing(GETTER, format!("a date, but `date` prints {text:?}")))?;
    let filled =
        relative_date::with_dates(rules, today, context.compat).map_err(|problem| wrong(GETTER, problem))?;
    Ok(GetterOutput::value(filled).of(format!("today is {today}")))
}

/// Returns rows of a database in the browser's profile.
pub(super) async fn profile_rows(
    getter: &str,
    file: &str,
    sql: &str,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let (path, bytes) = match browser::profile_bytes(file, context).await? {
        Ok(found) => found,
        Err(lack) => return Ok(GetterOutput::absent(lack.why())),
    };
    match query_database(&bytes, sql) {
        Ok(rows) => Ok(GetterOutput::value(rows.into_iter().map(Value::from).collect::<Vec<_>>()).of(path)),
        Err(why) => Ok(GetterOutput::absent(format!("{getter}: {why}")).of(path)),
    }
}

/// Returns the last row of a workbook as strings.
pub(super) async fn content(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    const GETTER: &str = "content_from_vm_file";
    let path = required_str(spec, GETTER, "path")?;
    match (required_str(spec, GETTER, "file_type")?, required_str(spec, GETTER, "file_content")?) {
        ("xlsx", "last_row") => {}
        (kind, part) => return Err(wrong(GETTER, format!("{part:?} of a {kind:?} file is not supported"))),
    }
    let bytes = match context.machine.read(&at_home(context.machine, path)).await {
        Ok(bytes) => bytes,
        Err(MachineError::NotFound(_)) => {
            return Ok(GetterOutput::absent(format!("{path} does not exist")).of(path));
        }
        Err(MachineError::Refused { why, .. }) => {
            return Ok(GetterOutput::absent(format!("{path} cannot be read: {why}")).of(path));
        }
        Err(source) => return Err(machine_error(GETTER)(source)),
    };
    Ok(match last_row(&FileRef::new(path, bytes)) {
        Ok(row) => GetterOutput::value(row).of(path),
        Err(why) => GetterOutput::absent(why).of(path),
    })
}

/// Returns VLC's playback status from its web interface.
pub(super) async fn vlc_status(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    const GETTER: &str = "vlc_playing_info";
    let name = spec.get("dest").and_then(Value::as_str).unwrap_or("status.xml");
    let way = context.machine.dial(PLAYER_PORT).await.map_err(machine_error(GETTER))?;
    let question = HttpRequest { header: Some(PLAYER_PASSWORD), ..HttpRequest::get("/requests/status.xml") };
    Ok(match ask(way.address, question).await {
        Ok(body) => {
            let files = vec![Some(FileRef::new(name, body))];
            GetterOutput::found(EvidenceValue::files_of(files)).of("/requests/status.xml")
        }
        Err(why) => GetterOutput::absent(format!("the player's web interface: {why}")),
    })
}

/// Returns the program that is the default for most video types.
pub(super) async fn video_player(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    let asked = VIDEOS.iter().map(|kind| format!("xdg-mime query default video/{kind}"));
    let script = asked.collect::<Vec<_>>().join("; ");
    let output = context
        .machine
        .run(&Command::shell(script).apart())
        .await
        .map_err(machine_error("default_video_player"))?;
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let text = output.stdout_text();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let count = counts.entry(line).or_insert((0, usize::MAX - at));
        count.0 += 1;
    }
    // On a tie, the first one wins.
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    Ok(GetterOutput::value(most.map_or("unknown".to_owned(), |(name, _)| format!("{name}\n"))))
}

/// Returns the desktop's wallpaper.
pub(super) async fn wallpaper(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    const GETTER: &str = "vm_wallpaper";
    let name = spec.get("dest").and_then(Value::as_str).unwrap_or("wallpaper");
    let command = Command::new(["gsettings", "get", "org.gnome.desktop.background", "picture-uri"]).apart();
    let output = match context.machine.run(&command).await {
        Err(MachineError::MissingProgram(program)) => {
            return Ok(GetterOutput::absent(format!("{program} is not installed")));
        }
        other => other.map_err(machine_error(GETTER))?,
    };
    let text = output.stdout_text();
    let path = text.trim().trim_matches('\'').trim_start_matches("file://").to_owned();
    Ok(match context.machine.read(&path).await {
        Ok(bytes) => {
            let file = FileRef::new(name, bytes);
            GetterOutput::found(EvidenceValue::files_of(vec![Some(file)])).of(path)
        }
        Err(MachineError::NotFound(_) | MachineError::Refused { .. }) => {
            GetterOutput::absent(format!("no wallpaper is set: {:?}", text.trim()))
        }
        Err(source) => return Err(machine_error(GETTER)(source)),
    })
}
