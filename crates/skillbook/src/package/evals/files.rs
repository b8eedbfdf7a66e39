//! The files that an evaluation starts with.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::words::{clipped, inner_path, kind_of};
use super::{EVALS_FILE, EVALS_FOLDER, EvalFile, MAX_EVAL_FILES};
use crate::package::{Package, SKILL_FILE};

/// Folders of a skill, by the specification of Agent Skills, and that of functions. What lies in them, an agent gets with the skill.
const OF_SKILL: [&str; 4] = ["scripts/", "references/", "assets/", "functions/"];
/// Folders whose name is left out where the agent works: they only say that these are inputs.
const INPUTS: [&str; 4] = ["files/", "fixtures/", "tests/fixtures/", "cases/"];

/// The files that the person has. The skill's own files are not given: the agent without the skill would have it. A folder stands for
/// all files below it.
pub(super) fn files_of(
    fields: &Map<String, Value>,
    package: &Package,
    remarks: &mut BTreeSet<String>,
) -> Result<Vec<EvalFile>, String> {
    let list = match fields.get("files") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(other) => return Err(format!("files is {}, and no list", kind_of(other))),
    };
    let mut files: Vec<EvalFile> = Vec::new();
    for value in list {
        let named =
            value.as_str().ok_or_else(|| format!("one of its files is {}, and no path", kind_of(value)))?;
        for path in named_by(named, package)? {
            if is_of_skill(&path) {
                remarks.insert(format!(
                    "{path} is a part of the skill, or its evaluation, and is not put into the folder of an agent: the one without \
                     the skill would have it"
                ));
                continue;
            }
            let target = target_of(&path);
            if files.iter().any(|file| file.target == target && file.path != path) {
                return Err(format!("two of its files would be {target}"));
            }
            if !files.iter().any(|file| file.path == path) {
                files.push(EvalFile { path, target });
            }
        }
    }
    match files.len() > MAX_EVAL_FILES {
        true => Err(format!("it has {} files; at most {MAX_EVAL_FILES} are given", files.len())),
        false => Ok(files),
    }
}

/// The paths in the package that a path of an evaluation names: a file, or the files below a folder.
fn named_by(named: &str, package: &Package) -> Result<Vec<String>, String> {
    let path = inner_path(named)?;
    for path in [path.clone(), format!("{EVALS_FOLDER}{path}")] {
        if package.files.contains_key(&path) {
            return Ok(vec![path]);
        }
        let below: Vec<String> =
            package.files.keys().filter(|file| file.starts_with(&format!("{path}/"))).cloned().collect();
        if !below.is_empty() {
            return Ok(below);
        }
    }
    Err(format!("its file {:?} is not in the package", clipped(named)))
}

fn is_of_skill(path: &str) -> bool {
    path == EVALS_FILE
        || path.eq_ignore_ascii_case(SKILL_FILE)
        || OF_SKILL.iter().any(|folder| path.starts_with(folder))
}

/// Where a file of the package lies for the agent.
fn target_of(path: &str) -> String {
    let below = path.strip_prefix(EVALS_FOLDER).unwrap_or(path);
    INPUTS.iter().find_map(|folder| below.strip_prefix(folder)).unwrap_or(below).to_owned()
}
