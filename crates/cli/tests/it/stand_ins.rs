//! Small files in the place of those that OSWorld's tasks download: a mirror of what a task needs to be set up, solved
//! and judged, made here by real programs or from descriptions (`files.json`, `documents.rs`). What the makers' files
//! hold is not known; the structure is the task's own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::documents;
use crate::offline;
use crate::place::Place;

/// What a file holds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Description {
    Plain(String),
    /// Lines for Bash: they prepare folders, or say whether the task is done.
    Script {
        script: String,
    },
    /// Options of FFmpeg for a pattern and a tune of its own.
    Pattern {
        ffmpeg: Vec<String>,
    },
    Document(documents::Description),
}

/// Options of FFmpeg for files without a description, by the end of their names.
const PATTERNS: &[(&str, &[&str])] = &[
    (".mp4", &["-t", "3"]),
    (".jpeg", &["-frames:v", "1"]),
    (".jpg", &["-frames:v", "1"]),
    (".png", &["-frames:v", "1"]),
];

/// Puts a file into the mirror for each one that the task, or its check, downloads.
pub(crate) fn put(place: &Place, program: &str, task: &Value) {
    let id = task["id"].as_str().expect("an id");
    // By the start of a task's id and by name.
    let descriptions: BTreeMap<String, BTreeMap<String, Description>> = offline::data(program, "files.json");
    let described = descriptions.iter().find(|(start, _)| id.starts_with(start.as_str()));
    let short = id.split('-').next().expect("an id");
    let recipe = offline::folder(program).join(format!("{short}.py"));
    let mut addresses = Vec::new();
    collect(task, &mut addresses);
    for address in addresses {
        let (_, below) = address.split_once("/resolve/main/").expect("its place");
        let target = place.path("mirror").join(below);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        let name = address.rsplit('/').next().expect("a name");
        match described.and_then(|(_, files)| files.get(name)) {
            Some(description) => make_described(description, &target),
            None if recipe.exists() => follow(&recipe, name, &target),
            None => make(place, name, &target),
        }
    }
}

/// Finds the addresses of files, wherever the task has them.
fn collect<'a>(value: &'a Value, addresses: &mut Vec<&'a str>) {
    match value {
        Value::String(text)
            if text.starts_with("https://huggingface.co/") && text.contains("/resolve/main/") =>
        {
            addresses.push(text);
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, addresses)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, addresses)),
        _ => {}
    }
}

fn make_described(description: &Description, target: &Path) {
    match description {
        Description::Plain(text) => fs::write(target, text).expect("written"),
        Description::Script { script } => {
            fs::write(target, format!("#!/bin/bash\n{script}\n")).expect("written");
        }
        Description::Pattern { ffmpeg } => pattern(ffmpeg, target),
        Description::Document(description) => {
            fs::write(target, documents::made(description)).expect("written");
        }
    }
}

/// Has the task's own script make a file, with the libraries that others write documents with.
fn follow(recipe: &Path, name: &str, target: &Path) {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/osworld/office-python");
    let mut command = Command::new(python);
    command.arg(recipe).arg(name).arg(target);
    assert!(command.status().expect("it starts").success() && target.exists(), "{name} is made");
}

fn make(place: &Place, name: &str, target: &Path) {
    if name.ends_with(".tar.gz") {
        let profile = place.path("profile.tar.gz");
        if !profile.exists() {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/osworld/mirror");
            let made = Command::new(script).arg("--profile").arg(&profile).status();
            assert!(made.expect("it starts").success(), "a profile is made");
        }
        fs::copy(&profile, target).expect("copied");
    } else if name.ends_with(".docx") {
        let text = "A paragraph about commands.".to_owned();
        fs::write(target, documents::document(&[text])).expect("written");
    } else if name.ends_with(".mp3") {
        // The sound of the film beside it, which the setup downloads.
        let film = target.with_extension("mp4");
        let mut command = Command::new("ffmpeg");
        command.args(["-nostdin", "-v", "error", "-y", "-i"]).arg(film).arg("-vn").arg(target);
        assert!(command.status().expect("it starts").success(), "{name} is made");
    } else if let Some((_, options)) = PATTERNS.iter().find(|(end, _)| name.ends_with(end)) {
        pattern(options, target);
    } else {
        fs::write(target, name).expect("written");
    }
}

/// A picture or a film that FFmpeg makes.
fn pattern(options: &[impl AsRef<OsStr>], target: &Path) {
    let pattern = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10"];
    let tune = ["-f", "lavfi", "-i", "aevalsrc=sin(660*t+20*sin(9*t))/2"];
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-v", "error", "-y"]).args(pattern).args(tune).args(options).arg(target);
    assert!(command.status().expect("it starts").success(), "{} is made", target.display());
}
