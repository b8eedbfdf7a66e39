//! A video of each attempt: what was seen before each step, for as long as the step took, and the model's words as subtitles.
//! `FFmpeg` makes it, as a program.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use apprentice_protocol::{BlobHash, Size};
use jiff::Timestamp;
use tempfile::TempDir;

use super::{EpisodeError, attempt_name};
use crate::episode::{Episode, Turn};
use crate::folder::{FolderError, OutFolder};
use crate::select::StepRange;
use apprentice_trace::{Blobs, PictureRef};

/// The program.
const FFMPEG: &str = "ffmpeg";
/// The shortest and the longest time that a picture shows: a model thinks longer than anyone wants to wait.
const SHOWN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(3));
/// The last picture.
const END: Duration = Duration::from_secs(2);
/// Most characters of a subtitle.
const WORDS: usize = 160;
/// Processor time after which `FFmpeg` ends itself, in seconds.
const LONGEST_S: &str = "1800";

/// Returns whether `FFmpeg` is here.
pub(crate) fn can_encode() -> bool {
    let command = Command::new(FFMPEG)
        .arg("-version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    command.is_ok_and(|status| status.success())
}

/// Makes videos.
pub(crate) struct Videos {
    steps: StepRange,
}

/// A picture, how long it shows, and what is said meanwhile.
#[derive(Debug, PartialEq, Eq)]
struct Frame<'a> {
    picture: &'a BlobHash,
    shown: Duration,
    words: String,
}

impl Videos {
    pub(super) fn new(steps: StepRange) -> Self {
        Self { steps }
    }

    pub(super) fn add(
        &self,
        episode: &Episode<'_>,
        out: &mut OutFolder,
        blobs: &Blobs,
    ) -> Result<String, EpisodeError> {
        let turns: Vec<&Turn> = episode.turns.iter().filter(|turn| self.steps.contains(turn.step)).collect();
        let frames = frames(&turns, &|text| out.redacted(text));
        if frames.is_empty() {
            return Err(EpisodeError::Unfit("nothing was seen in the chosen steps"));
        }
        let work = tempfile::tempdir().map_err(|error| FolderError::invalid("a temporary folder", error))?;
        let mut list = "ffconcat version 1.0\n".to_owned();
        for (number, frame) in frames.iter().enumerate() {
            let picture = PictureRef::screenshot(frame.picture);
            let bytes = out.bytes_of(&picture, blobs)?;
            let name = format!("{number}.{}", picture.extension());
            put(&work, &name, &bytes)?;
            let _ = write!(list, "file {name}\nduration {:.3}\n", frame.shown.as_secs_f64());
        }
        // The last one shows for its time only if it is named once more.
        if let Some(line) = list.lines().rev().nth(1).map(|line| format!("{line}\n")) {
            list.push_str(&line);
        }
        put(&work, "list", list.as_bytes())?;
        put(&work, "words.srt", subtitles(&frames).as_bytes())?;
        let path = format!("videos/{}.mp4", attempt_name(episode.row));
        let video = video(work.path(), episode.header.world.screen.screen())?;
        out.write_bytes(&path, &video)?;
        Ok(path)
    }
}

fn put(work: &TempDir, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
    fs::write(work.path().join(name), bytes).map_err(|error| FolderError::invalid(name, error))
}

/// What was seen before each turn, until the next one, and at the end.
fn frames<'a>(turns: &[&'a Turn], redacted: &dyn Fn(&str) -> String) -> Vec<Frame<'a>> {
    let mut frames: Vec<Frame<'a>> = Vec::new();
    for (place, turn) in turns.iter().enumerate() {
        let seen = turn.before.as_ref().and_then(|seen| seen.screenshot.as_ref());
        let ended = turns.get(place + 1).map_or(turn_end(turn), |next| next.asked);
        let took = Duration::try_from(ended.duration_since(turn.asked)).unwrap_or_default();
        let words = format!("{}: {}", turn.step, words(turn, redacted));
        match (seen, frames.last_mut()) {
            (Some(picture), _) => {
                frames.push(Frame { picture, shown: took.clamp(SHOWN.0, SHOWN.1), words });
            }
            // Nothing was seen in between, so the last picture stays.
            (None, Some(last)) => last.shown += took.clamp(SHOWN.0, SHOWN.1),
            (None, None) => {}
        }
    }
    let last = turns.last().and_then(|turn| turn.after.as_ref()).and_then(|seen| seen.screenshot.as_ref());
    frames.extend(last.map(|picture| Frame { picture, shown: END, words: String::new() }));
    frames
}

fn turn_end(turn: &Turn) -> Timestamp {
    turn.acts.last().map_or(turn.replied, |act| act.ended)
}

/// What the model said in a turn, or else what it asked for, in one line. Secrets are searched for in the whole text: a part of one
/// would not be found.
fn words(turn: &Turn, redacted: &dyn Fn(&str) -> String) -> String {
    let said = turn.say.join(" ");
    let asked = || {
        let acts = turn.acts.iter().map(|act| serde_json::to_string(&act.record.asked).unwrap_or_default());
        acts.collect::<Vec<_>>().join(" ")
    };
    let text = if said.trim().is_empty() { asked() } else { said };
    let line = redacted(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > WORDS { line.chars().take(WORDS - 1).chain(['…']).collect() } else { line }
}

/// Subtitles in the form of `SubRip`.
fn subtitles(frames: &[Frame<'_>]) -> String {
    let mut text = String::new();
    let mut from = Duration::ZERO;
    for (number, frame) in (1..).zip(frames) {
        let to = from + frame.shown;
        if !frame.words.is_empty() {
            // An arrow would be read as a time.
            let words = frame.words.replace("-->", "→");
            let _ = write!(text, "{number}\n{} --> {}\n{words}\n\n", stamp(from), stamp(to));
        }
        from = to;
    }
    text
}

fn stamp(at: Duration) -> String {
    let seconds = at.as_secs();
    format!("{:02}:{:02}:{:02},{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60, at.subsec_millis())
}

/// Makes the video of the pictures in a folder.
fn video(work: &Path, screen: Size) -> Result<Vec<u8>, EpisodeError> {
    // The format wants even sides.
    let (width, height) = ((screen.width / 2 * 2).max(2), (screen.height / 2 * 2).max(2));
    let fit = format!(
        "scale={width}:{height}:force_original_aspect_ratio=decrease,pad={width}:{height}:(ow-iw)/2:(oh-ih)/2,setsar=1"
    );
    let made = Command::new(FFMPEG)
        .current_dir(work)
        .args(["-nostdin", "-loglevel", "error", "-timelimit", LONGEST_S])
        .args(["-f", "concat", "-i", "list", "-i", "words.srt", "-map", "0:v", "-map", "1:s?"])
        .args(["-vf", &fit, "-r", "10", "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p"])
        .args(["-c:s", "mov_text", "-movflags", "+faststart", "video.mp4"])
        .stdin(Stdio::null())
        .output();
    let made = made.map_err(|error| match error.kind() {
        ErrorKind::NotFound => EpisodeError::Unfit("ffmpeg is not installed"),
        _ => FolderError::invalid(FFMPEG, error).into(),
    })?;
    if !made.status.success() {
        let output_text = String::from_utf8_lossy(&made.stderr);
        let last = output_text.lines().last().unwrap_or_default();
        return Err(EpisodeError::Video(format!("{}: {last}", made.status)));
    }
    apprentice_files::read(work.join("video.mp4"))
        .map_err(|error| FolderError::invalid("video.mp4", error).into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use apprentice_protocol::BlobHash;

    use super::{Frame, subtitles};

    #[test]
    fn subtitles_stand_below_their_pictures_and_hold_no_times_of_their_own() {
        let picture = BlobHash::new("00");
        let frame = |ms, words: &str| Frame {
            picture: &picture,
            shown: Duration::from_millis(ms),
            words: words.into(),
        };
        let frames = [frame(500, "1: from here --> there"), frame(3_599_750, ""), frame(2000, "3: done")];
        assert_eq!(
            subtitles(&frames),
            "1\n00:00:00,000 --> 00:00:00,500\n1: from here → there\n\n\
             3\n01:00:00,250 --> 01:00:02,250\n3: done\n\n"
        );
    }
}
