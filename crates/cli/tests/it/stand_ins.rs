//! Small files in the place of those that OSWorld's tasks download: a mirror of what a task needs to be set up, solved
//! and judged, made here by real programs or, for documents, from descriptions (`documents.rs`). What the makers' files
//! hold is not known; the structure is the task's own.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::documents;
use crate::place::Place;

/// Scripts by the start of a task's id and by name: they prepare folders, or say whether the task is done.
const SCRIPTS: &[(&str, &str, &str)] = &[
    (
        "4d117223",
        "setup.sh",
        "mkdir -p ~/testDir/below && cd ~/testDir && for f in one below/two; do echo x > $f && chmod 755 $f; done",
    ),
    (
        "4d117223",
        "eval.sh",
        "[ -z \"$(find ~/testDir -type f ! -perm 644)\" ] && echo 'All files have the correct permissions.'",
    ),
    ("6f56bf42", "setup.sh", "cd ~ && echo x > file1 && mkdir -p dir1 dir2 dir3"),
    (
        "6f56bf42",
        "eval.sh",
        "for d in dir1 dir2 dir3; do [ -f ~/$d/file1 ] && echo \"Success: file1 exists in $d.\"; done; true",
    ),
    (
        "5ced85fc",
        "eval.sh",
        "[ \"$(cat ~/output.txt)\" = \"$(printf '1<br/>\\n2<br/>\\n3<br/>')\" ] && echo 'Success: The task has been completed correctly.'",
    ),
    (
        "37887e8c",
        "setup.sh",
        "mkdir -p /tmp/test_files && cd /tmp/test_files && touch -d '31 days ago' old1.txt old2.txt && touch new1.txt new2.txt",
    ),
    (
        "37887e8c",
        "eval_20250703.sh",
        "cd /tmp/test_files && [ \"$(ls old_files)\" = \"$(printf 'old1.txt.gz\\nold2.txt.gz')\" ] && \
         [ \"$(ls new_files)\" = \"$(printf 'new1.txt\\nnew2.txt')\" ] && echo 'SUCCESS: The task was completed correctly.'",
    ),
];

/// Options of FFmpeg by the end of a file's name: a pattern of its own, and what is done to it.
const PATTERNS: &[(&str, &[&str])] = &[
    ("flipped_1984_Apple_Macintosh_Commercial.mp4", &["-t", "3", "-vf", "hflip,vflip"]),
    // A photo in pale colours, which can become stronger.
    ("woman_sitting_by_the_tree2.png", &["-frames:v", "1", "-vf", "eq=saturation=0.5"]),
    // The task opens it as a PNG file; as a JPEG file it could not be told from itself by its contrast.
    ("file_1X42_kOanL74vu_p6QdcZuiyzDQi3kA7F.jpg", &["-frames:v", "1", "-c:v", "png"]),
    (".mp4", &["-t", "3"]),
    (".jpeg", &["-frames:v", "1"]),
    (".jpg", &["-frames:v", "1"]),
    (".png", &["-frames:v", "1"]),
];

/// Puts a file into the mirror for each one that the task, or its check, downloads.
pub(crate) fn put(place: &Place, id: &str, task: &Value) {
    let mut addresses = Vec::new();
    collect(task, &mut addresses);
    for address in addresses {
        let (_, below) = address.split_once("/resolve/main/").expect("its place");
        let target = place.path("mirror").join(below);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        make(place, id, address.rsplit('/').next().expect("a name"), &target);
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

fn make(place: &Place, id: &str, name: &str, target: &Path) {
    if let Some((.., script)) =
        SCRIPTS.iter().find(|(start, known, _)| id.starts_with(start) && *known == name)
    {
        fs::write(target, format!("#!/bin/bash\n{script}\n")).expect("written");
    } else if let Some(bytes) = documents::described(id, name) {
        fs::write(target, bytes).expect("written");
    } else if name.ends_with(".tar.gz") {
        let profile = place.path("profile.tar.gz");
        if !profile.exists() {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/osworld-mirror");
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
        let pattern = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=10"];
        let tune = ["-f", "lavfi", "-i", "aevalsrc=sin(660*t+20*sin(9*t))/2"];
        let mut command = Command::new("ffmpeg");
        command.args(["-nostdin", "-v", "error", "-y"]).args(pattern).args(tune).args(*options).arg(target);
        assert!(command.status().expect("it starts").success(), "{name} is made");
    } else {
        fs::write(target, name).expect("written");
    }
}
