//! Seeded task variation: names, values, files and window size depend on the seed and are the same for all arms and
//! models.
//!
//! A task's `vary` object defines placeholders. `{{name}}` in its instruction, setup, check, solution and near miss
//! is replaced by the drawn value; `{{name.field}}` and `{{name.0}}` select from an object or a list. A string that
//! consists of a single placeholder takes the value with its JSON type. Each entry of `vary` is one of:
//!
//! - a list: draws one of its values;
//! - `{"pick": n, "of": [...]}`: draws a list of `n` entries of `of` without replacement;
//! - `{"integer": [low, high]}`: draws an integer from `low` to `high`, inclusive.
//!
//! The name `screen` also sets the screen: `{"width": …, "height": …}`, or monitors as in `"1920x1080+1280x1024"`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use apprentice_protocol::{EnvironmentKind, WorldSpec, did_you_mean};
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use regex::{Captures, Regex};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::task::Task;

/// A task with its placeholders replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskVariation {
    /// The task to run.
    pub task: Task,
    /// The world that the task needs.
    pub world: WorldSpec,
    /// The seed sent to models that accept one.
    pub seed: u64,
    /// Whether the task's world depends on the variation index.
    pub varies: bool,
}

/// The reason a task cannot be varied.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum VariationError {
    /// A placeholder that `vary` does not define.
    #[error("unknown placeholder {{{{{name}}}}} in {place}{hint}")]
    Unknown {
        /// The placeholder's name.
        name: String,
        /// The JSON path in the task file.
        place: String,
        /// A suffix of the message that suggests the nearest name; empty when no name is near.
        hint: String,
    },
    /// An entry of `vary` has an unknown form.
    #[error("vary.{name} must be a list, a pick or an integer range: {why}")]
    Form {
        /// The entry's name.
        name: String,
        /// The problem.
        why: String,
    },
    /// The task's world cannot have its screen.
    #[error("apprentice.screen: {0}")]
    Screen(String),
    /// The task is invalid once its placeholders are replaced.
    #[error("the task is invalid after its placeholders are filled in: {0}")]
    Broken(String),
}

#[derive(serde::Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum ValueSource {
    List(Vec<Value>),
    Pick { pick: usize, of: Vec<Value> },
    Integer { integer: (i64, i64) },
}

/// Returns the seed for one variation of a task.
pub fn variation_seed(suite: &str, task: &str, index: u32) -> u64 {
    let digest = digest(&[("suite", suite), ("task", task), ("index", &index.to_string())]);
    u64::from_be_bytes(std::array::from_fn(|at| digest[at]))
}

/// Draws the values of one variation, by placeholder.
///
/// # Errors
///
/// Fails if the task's `vary` is invalid.
pub fn drawn_values(
    task: &Task,
    suite_name: &str,
    index: u32,
) -> Result<BTreeMap<String, Value>, VariationError> {
    let seed = variation_seed(suite_name, task.id.as_str(), index);
    let sources = task.apprentice.iter().flat_map(|ours| &ours.vary);
    sources.map(|(name, source)| Ok((name.clone(), draw(name, source, seed)?))).collect()
}

/// Replaces a task's placeholders with the values of one variation.
///
/// # Errors
///
/// Fails if the task's `vary` is invalid, if a placeholder is unknown, or if the task is invalid once its placeholders are
/// replaced.
pub fn vary(task: &Task, suite_name: &str, index: u32) -> Result<TaskVariation, VariationError> {
    let seed = variation_seed(suite_name, task.id.as_str(), index);
    let values = drawn_values(task, suite_name, index)?;
    let varies = task.varies();
    let task = if task.apprentice.is_some() { fill_task(task, &values)? } else { task.clone() };
    let ours = task.apprentice.as_ref();
    let drawn = values.get("screen").map(|size| serde_json::from_value(size.clone()));
    let drawn = drawn
        .transpose()
        .map_err(|error| VariationError::Form { name: "screen".into(), why: error.to_string() })?;
    let world = WorldSpec {
        environment: task.environment(),
        screen: drawn.or(ours.and_then(|ours| ours.screen.clone())).unwrap_or_default(),
        url: ours.and_then(|ours| ours.url.clone()),
        scene: ours.and_then(|ours| ours.scene.clone()),
        network: ours.map(|ours| ours.network.clone()).unwrap_or_default(),
        folders: ours.map(|ours| ours.folders.clone()).unwrap_or_default(),
    };
    if matches!(world.environment, EnvironmentKind::Browser | EnvironmentKind::Scene) {
        world.only_monitor().map_err(|error| VariationError::Screen(error.to_string()))?;
    }
    Ok(TaskVariation { task, world, seed, varies })
}

/// Hashes labelled parts, each prefixed with its length, so that different part lists never hash the same input.
fn digest(parts: &[(&str, &str)]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in parts.iter().flat_map(|(label, text)| [label, text]) {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().into()
}

/// Draws the value of one name. Each name has its own random stream, so a new placeholder does not change the
/// others.
fn draw(name: &str, source: &Value, seed: u64) -> Result<Value, VariationError> {
    let wrong = |why: String| VariationError::Form { name: name.to_owned(), why };
    let source: ValueSource =
        serde_json::from_value(source.clone()).map_err(|_| wrong(format!("found {source}")))?;
    let mut rng = ChaCha12Rng::from_seed(digest(&[("seed", &seed.to_string()), ("name", name)]));
    match source {
        ValueSource::List(list) => {
            list.choose(&mut rng).cloned().ok_or_else(|| wrong("the list is empty".into()))
        }
        ValueSource::Pick { pick, of } => sample_without_replacement(&mut rng, pick, of)
            .ok_or_else(|| wrong(format!("cannot pick {pick} of so few"))),
        ValueSource::Integer { integer: (low, high) } if low <= high => {
            Ok(rng.random_range(low..=high).into())
        }
        ValueSource::Integer { integer: (low, high) } => Err(wrong(format!("{low} is above {high}"))),
    }
}

fn sample_without_replacement(rng: &mut impl Rng, pick: usize, mut of: Vec<Value>) -> Option<Value> {
    of.shuffle(rng);
    (pick <= of.len()).then(|| of.into_iter().take(pick).collect())
}

fn fill_task(task: &Task, values: &BTreeMap<String, Value>) -> Result<Task, VariationError> {
    let broken = |error: serde_json::Error| VariationError::Broken(error.to_string());
    let mut json = serde_json::to_value(task).map_err(broken)?;
    let kept = json.pointer_mut("/apprentice/vary").map(Value::take);
    fill(&mut json, values, "")?;
    if let (Some(slot), Some(kept)) = (json.pointer_mut("/apprentice/vary"), kept) {
        *slot = kept;
    }
    let mut filled: Task = serde_json::from_value(json).map_err(broken)?;
    filled.app.clone_from(&task.app);
    filled.group.clone_from(&task.group);
    Ok(filled)
}

/// Replaces the placeholders of a value, such as a list of arguments, by drawn values.
///
/// # Errors
///
/// Returns the first placeholder that has no value.
pub fn filled(value: &Value, values: &BTreeMap<String, Value>) -> Result<Value, VariationError> {
    let mut value = value.clone();
    fill(&mut value, values, "arguments")?;
    Ok(value)
}

fn fill(json: &mut Value, values: &BTreeMap<String, Value>, place: &str) -> Result<(), VariationError> {
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match json {
        Value::String(text) => {
            if let Some(filled) = fill_text(text, values, place)? {
                *json = filled;
            }
        }
        Value::Array(list) => {
            for (index, item) in list.iter_mut().enumerate() {
                fill(item, values, &below(&index.to_string()))?;
            }
        }
        Value::Object(map) => {
            for (name, item) in map.iter_mut() {
                fill(item, values, &below(name))?;
            }
            let keys: Vec<String> = map.keys().filter(|key| key.contains("{{")).cloned().collect();
            for key in keys {
                if let (Some(filled), Some(item)) = (fill_text(&key, values, place)?, map.remove(&key)) {
                    map.insert(plain(&filled), item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

static PLACEHOLDER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*\}\}").ok());

fn fill_text(
    text: &str,
    values: &BTreeMap<String, Value>,
    place: &str,
) -> Result<Option<Value>, VariationError> {
    let Some(pattern) = PLACEHOLDER.as_ref() else { return Ok(None) };
    let mut unknown = None;
    let whole = pattern.captures(text).filter(|found| found[0].len() == text.len());
    if let Some(found) = whole {
        return find(values, &found[1])
            .cloned()
            .map(Some)
            .ok_or_else(|| unknown_name(values, &found[1], place));
    }
    let filled = pattern.replace_all(text, |found: &Captures<'_>| {
        find(values, &found[1]).map_or_else(
            || {
                unknown.get_or_insert_with(|| found[1].to_owned());
                String::new()
            },
            plain,
        )
    });
    match unknown {
        Some(name) => Err(unknown_name(values, &name, place)),
        None => Ok(matches!(filled, std::borrow::Cow::Owned(_)).then(|| filled.into_owned().into())),
    }
}

fn unknown_name(values: &BTreeMap<String, Value>, name: &str, place: &str) -> VariationError {
    let first = name.split('.').next().unwrap_or(name);
    let hint = did_you_mean(first, values.keys().map(String::as_str).filter(|known| *known != first));
    VariationError::Unknown { name: name.to_owned(), place: place.to_owned(), hint }
}

fn find<'a>(values: &'a BTreeMap<String, Value>, name: &str) -> Option<&'a Value> {
    let mut parts = name.split('.');
    let mut value = values.get(parts.next()?)?;
    for part in parts {
        value = match value {
            Value::Array(list) => list.get(part.parse::<usize>().ok()?)?,
            other => other.get(part)?,
        };
    }
    Some(value)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use apprentice_protocol::EnvironmentKind;
    use serde_json::{Value, json};

    use super::{VariationError, variation_seed, vary};
    use crate::suite::load::read_task;
    use crate::task::Task;

    fn task(instruction: &str, vary: &Value, rules: &Value) -> Task {
        let text = json!({
            "id": "t", "instruction": instruction,
            "evaluator": {"func": "exact_match", "result": {"type": "rule", "rules": rules},
                "expected": {"type": "rule", "rules": {"expected": 1}}},
            "apprentice": {"environment": "desktop", "template": "t", "vary": vary},
        })
        .to_string();
        read_task(Path::new("t.json"), &text).expect("reads")
    }

    #[test]
    fn placeholders_take_text_fields_and_types() {
        let source = json!({"who": [{"name": "Ada", "age": 36}], "two": {"pick": 2, "of": ["x", "x"]},
            "screen": [{"width": 800, "height": 600}]});
        let rules =
            json!({"{{who.name}}": "{{who.age}}", "list": "{{two.0}}-{{ two.1 }}", "kept": "{{}} {a}"});
        let varied =
            vary(&task("Greet {{who.name}}, {{who.age}}.", &source, &rules), "s", 0).expect("varies");
        assert_eq!(varied.task.instruction, "Greet Ada, 36.");
        let result = serde_json::to_value(&varied.task.evaluator.result).expect("writes");
        assert_eq!(result["rules"], json!({"Ada": 36, "list": "x-x", "kept": "{{}} {a}"}));
        assert_eq!((varied.world.screen.screen().width, varied.varies), (800, true));
    }

    #[test]
    fn a_desktop_has_several_monitors_and_a_page_one() {
        let source = json!({"screen": ["800x600+640x480"]});
        let mut task = task("x", &source, &json!(1));
        let screen = vary(&task, "s", 0).expect("varies").world.screen;
        assert_eq!((screen.screen().width, screen.several().len()), (1440, 2));
        task.apprentice.as_mut().expect("ours").environment = EnvironmentKind::Browser;
        let error = vary(&task, "s", 0).expect_err("a page").to_string();
        assert!(
            error.starts_with("apprentice.screen: the screen 800x600+640x480 has several monitors"),
            "{error}"
        );
        let text = json!({"id": "t", "instruction": "x", "evaluator": {"func": "infeasible"},
            "apprentice": {"environment": "desktop", "template": "t", "screen": "800x600+640x"}});
        let error = read_task(Path::new("t.json"), &text.to_string()).expect_err("no size").to_string();
        assert!(error.contains("screen") && error.contains("monitor 2 is \"640x\""), "{error}");
    }

    #[test]
    fn an_unknown_placeholder_names_its_place() {
        let wrong = task("Open {{flie}}.", &json!({"file": ["a"]}), &json!(1));
        let expected = VariationError::Unknown {
            name: "flie".into(),
            place: "instruction".into(),
            hint: "; did you mean \"file\"?".into(),
        };
        assert_eq!(vary(&wrong, "s", 0), Err(expected));
        let deep = task("x", &json!({"file": ["a"]}), &json!({"a": ["{{file.name}}"]}));
        let message = vary(&deep, "s", 0).expect_err("no field").to_string();
        assert_eq!(message, "unknown placeholder {{file.name}} in evaluator.result.rules.a.0");
    }

    #[test]
    fn the_same_index_gives_the_same_world_and_indices_differ() {
        let task = task("Count {{n}}.", &json!({"n": {"integer": [1, 1_000_000]}}), &json!(1));
        let instructions: Vec<String> =
            (0..20).map(|index| vary(&task, "s", index).expect("varies").task.instruction).collect();
        let again: Vec<String> =
            (0..20).map(|index| vary(&task, "s", index).expect("varies").task.instruction).collect();
        assert_eq!(instructions, again);
        assert!(instructions.iter().collect::<BTreeSet<_>>().len() > 15);
        assert_ne!(variation_seed("ab", "c", 0), variation_seed("a", "bc", 0));
        assert_eq!(variation_seed("starter", "t", 0), 2_034_038_946_023_735_067);
    }

    #[test]
    fn wrong_sources_are_refused() {
        for source in [json!([]), json!({"pick": 3, "of": [1]}), json!({"integer": [2, 1]}), json!("x")] {
            let task = task("x", &json!({"n": source}), &json!(1));
            assert!(matches!(vary(&task, "s", 0), Err(VariationError::Form { .. })), "{source}");
        }
    }
}
