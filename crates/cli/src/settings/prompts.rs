//! Custom prompts: files in a folder that replace the built-in prompts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use apprentice_protocol::Prompt;

use crate::failure::{Failure, Kind, WithKind as _};

/// Returns all prompts, sorted by name.
pub(crate) fn all() -> Vec<Prompt> {
    let mut all = [
        &apprentice_harness::prompts()[..],
        &apprentice_models::prompts()[..],
        &apprentice_guidance::PROMPTS[..],
        &apprentice_learning::PROMPTS[..],
        &apprentice_screening::PROMPTS[..],
        &apprentice_evaluator::grading::answer_judge::PROMPTS[..],
    ]
    .concat();
    all.sort_by_key(|prompt| prompt.name);
    all
}

/// Returns the path of a prompt's file in a folder.
pub(crate) fn place(folder: &Path, prompt: &Prompt) -> PathBuf {
    folder.join(format!("{}.md", prompt.name))
}

/// Reads the prompts of a folder, by name. A file without a matching prompt is an error, so that a typo in its name
/// is noticed.
pub(crate) fn read(folder: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let all = all();
    let mut texts = BTreeMap::new();
    for path in files(folder)? {
        let inside = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
        let name = inside.strip_suffix(".md").unwrap_or(&inside);
        let Some(prompt) = all.iter().find(|prompt| prompt.name == name) else {
            let known = all.iter().map(|prompt| prompt.name);
            let told = format!("{}: there is no prompt {name:?}", path.display());
            return Err(Failure::say(Kind::Config, told).hint_nearest(name, known));
        };
        let text = apprentice_files::read_to_string(&path)
            .map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", path.display())))?;
        prompt
            .check(&text)
            .map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", path.display())))?;
        texts.insert(prompt.name.to_owned(), text);
    }
    Ok(texts)
}

/// Replaces the built-in prompts with those of a folder, for the rest of the process.
pub(crate) fn install(folder: &Path) -> Result<(), Failure> {
    apprentice_protocol::replace_prompts(read(folder)?).kind(Kind::Bug)
}

/// Returns the files of a folder and its subfolders, without hidden ones.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::say(Kind::Config, format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        match path.is_dir() {
            _ if hidden => {}
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort_unstable();
    Ok(found)
}
