//! Parses the config file: rejects unknown keys and values of the wrong type or range.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use apprentice_protocol::{CapOverrides, counted, nearest};
use apprentice_skillbook::review::ReflectMode;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{
    ConfigIssue, ExperimentConfig, ExperimentConfigError, LearningConfig, Located, PowerQuestion,
    SyntaxIssues,
};
use crate::experiment::{CleanupRule, PrimaryComparison};
use apprentice_results::ablations::Ablations;
use apprentice_results::arm::Arm;
use apprentice_results::stats::PowerAssumptions;
use apprentice_tasks::suite::SourcePos;

const KEYS: [&str; 25] = [
    "ablations",
    "arms",
    "attempts",
    "baselines",
    "demonstrations",
    "design",
    "further",
    "judge",
    "learning",
    "limits",
    "max_usd",
    OLD_MAX_USD,
    "order_seed",
    "primary",
    "seeds",
    "select",
    "skillbook",
    "split",
    "student_limits",
    "students",
    "suite",
    "suppress",
    "teacher",
    "templates",
    "unverified_functions",
];
const LEARNING: [&str; 8] =
    ["batch", "cleanup", "cleanup_interval", "epochs", "learner", "reflection", "rehearsal", "replicates"];
const CLEANUP: [&str; 5] = ["follow_share", "likeness", "negatives", "positive_share", "requests"];
/// The old name of `max_usd`, read for one release.
const OLD_MAX_USD: &str = "most_usd";
/// The old name of `[ablations]`, still read.
const OLD_ABLATIONS: &str = "further";
const ABLATIONS: [&str; 4] = ["best_of", "leave_one_out", "more_steps", "wordings"];
const LIMITS: [&str; 6] = ["cost_usd", "repeats", "tokens", "turns", "working_s", "world_steps"];
const PRIMARY: [&str; 2] = ["control", "treatment"];
const DESIGN: [&str; 2] = ["base", "effect"];

/// How many syntax errors are named: a file in another format has one on each line.
const MAX_BROKEN: usize = 5;
/// Larger numbers are rejected as typing errors.
const MAX_NUMBER: i64 = 1_000_000_000;

impl ExperimentConfig {
    /// Parses a config file. Invalid TOML is rejected at once; structural errors are kept and reported by
    /// [`ExperimentConfig::resolve`] together with unresolved references.
    pub fn read(path: &Path, text: &str) -> Result<Self, ExperimentConfigError> {
        let (root, broken) = DeTable::parse_recoverable(text);
        let mut reader = Reader { text, faults: Vec::new(), keys: BTreeSet::new() };
        let more = broken.len().saturating_sub(MAX_BROKEN);
        for error in broken.into_iter().take(MAX_BROKEN) {
            let spot = error.span().map(|span| SourcePos::at(text, span.start));
            reader.faults.push(ConfigIssue { spot, what: error.message().to_owned() });
        }
        if more > 0 {
            let what = format!("is not TOML in {}", counted(more, "more place"));
            reader.faults.push(ConfigIssue { spot: None, what });
        }
        // A syntax error may hide the keys after it, so missing keys are not reported.
        if !reader.faults.is_empty() {
            return Err(ExperimentConfigError::new(path, reader.faults));
        }
        let config = config(&mut reader, root.get_ref());
        Ok(Self { syntax: SyntaxIssues { faults: reader.faults, keys: reader.keys }, ..config })
    }
}

fn config(reader: &mut Reader<'_>, root: &DeTable<'_>) -> ExperimentConfig {
    reader.check(root, "", &KEYS);
    let suite = reader.path(root, "suite");
    let students = reader.strings(root, "students");
    let skillbook = reader.path(root, "skillbook");
    let teacher = reader.text(root, "teacher");
    let judge = reader.text(root, "judge");
    let arms = if root.contains_key("arms") { reader.strings(root, "arms") } else { default_arms() };
    let found = ExperimentConfig {
        split: reader.path(root, "split"),
        select: reader.path(root, "select"),
        templates: reader.strings(root, "templates"),
        learning: learning(reader, root),
        primary: primary(reader, root),
        seeds: reader.count(root, "seeds", 1..=1000).unwrap_or(3),
        attempts: reader.count(root, "attempts", 1..=100),
        order_seed: reader.whole(root, "order_seed", 0..=i64::MAX).map_or(0, i64::unsigned_abs),
        baselines: reader.boolean(root, "baselines").unwrap_or(false),
        limits: limits(reader, root, "limits"),
        student_limits: limits(reader, root, "student_limits"),
        max_usd: max_usd(reader, root),
        ablations: ablations(reader, root),
        suppress: reader.strings(root, "suppress"),
        unverified_functions: reader.boolean(root, "unverified_functions").unwrap_or(false),
        demonstrations: reader.strings(root, "demonstrations"),
        design: design(reader, root),
        suite: suite.unwrap_or(Located { value: PathBuf::new(), spot: NO_POSITION }),
        students,
        teacher,
        judge,
        skillbook,
        arms,
        renamed: renamed(root),
        syntax: SyntaxIssues::default(),
    };
    reader.require(root, "suite", "`suite` is missing: the folder of the tasks");
    reader.require(
        root,
        "students",
        "`students` is missing: the models to measure, `students = [\"provider/name\"]`",
    );
    found
}

const NO_POSITION: SourcePos = SourcePos { line: 0, column: 0 };

fn default_arms() -> Vec<Located<String>> {
    let arms = [Arm::None, Arm::Pull, Arm::PlaceboInert];
    arms.map(|arm| Located { value: arm.to_string(), spot: NO_POSITION }).into()
}

fn learning(reader: &mut Reader<'_>, root: &DeTable<'_>) -> LearningConfig {
    let spot = root.get_key_value("learning").map(|(key, _)| reader.spot(key.span().start));
    let empty = DeTable::new();
    let table = reader.table(root, "learning", &LEARNING).unwrap_or(&empty);
    LearningConfig {
        spot,
        epochs: reader.count(table, "epochs", 1..=1000),
        batch: reader.count(table, "batch", 1..=1000).map_or(2, |batch| batch as usize),
        rehearsal: reader.boolean(table, "rehearsal").unwrap_or(true),
        cleanup_interval: reader.count(table, "cleanup_interval", 1..=MAX_NUMBER).map(|every| every as usize),
        cleanup: cleanup(reader, table),
        replicates: reader.count(table, "replicates", 1..=100).unwrap_or(1),
        learner: reader.text(table, "learner"),
        reflection: reflection(reader, table),
    }
}

fn reflection(reader: &mut Reader<'_>, table: &DeTable<'_>) -> ReflectMode {
    let Some(named) = reader.text(table, "reflection") else { return ReflectMode::Fresh };
    match named.value.as_str() {
        "fresh" => ReflectMode::Fresh,
        "in_context" => ReflectMode::InContext,
        other => {
            let what = format!(
                "`reflection` is {other:?}; it is \"fresh\" (a separate reviewer) or \"in_context\" (the model that \
                 acted, in its own conversation)"
            );
            reader.faults.push(ConfigIssue { spot: Some(named.spot), what });
            ReflectMode::Fresh
        }
    }
}

fn cleanup(reader: &mut Reader<'_>, learning: &DeTable<'_>) -> CleanupRule {
    let usual = CleanupRule::default();
    let Some(table) = reader.table(learning, "cleanup", &CLEANUP) else { return usual };
    let share = 0.0..=1.0;
    CleanupRule {
        negatives: reader.count(table, "negatives", 1..=MAX_NUMBER).unwrap_or(usual.negatives),
        positive_share: reader.real(table, "positive_share", share.clone()).unwrap_or(usual.positive_share),
        likeness: reader.real(table, "likeness", share.clone()).unwrap_or(usual.likeness),
        requests: reader.count(table, "requests", 1..=MAX_NUMBER).unwrap_or(usual.requests),
        follow_share: reader.real(table, "follow_share", share).unwrap_or(usual.follow_share),
    }
}

fn primary(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Located<PrimaryComparison> {
    let standard = PrimaryComparison::default();
    let spot = root.get_key_value("primary").map_or(NO_POSITION, |(key, _)| reader.spot(key.span().start));
    let Some(table) = reader.table(root, "primary", &PRIMARY) else {
        return Located { value: standard, spot };
    };
    let treatment = reader.text(table, "treatment").map_or(standard.treatment, |marked| marked.value);
    let control = reader.text(table, "control").map_or(standard.control, |marked| marked.value);
    Located { value: PrimaryComparison { treatment, control }, spot }
}

fn limits(reader: &mut Reader<'_>, root: &DeTable<'_>, key: &str) -> Option<CapOverrides> {
    let table = reader.table(root, key, &LIMITS)?;
    let large =
        |reader: &mut Reader<'_>, key| reader.whole(table, key, 1..=MAX_NUMBER).map(i64::unsigned_abs);
    Some(CapOverrides {
        world_steps: reader.count(table, "world_steps", 1..=MAX_NUMBER),
        turns: reader.count(table, "turns", 1..=MAX_NUMBER),
        tokens: large(reader, "tokens"),
        cost_usd: reader.real(table, "cost_usd", 0.0..=1e9),
        working_s: large(reader, "working_s"),
        repeats: reader.count(table, "repeats", 2..=MAX_NUMBER),
    })
}

/// Returns a hint for each key that stands under its old name.
fn renamed(root: &DeTable<'_>) -> Vec<String> {
    let old = [(OLD_MAX_USD, "`max_usd`"), (OLD_ABLATIONS, "`[ablations]`")];
    let used = old.into_iter().filter(|(old, _)| root.contains_key(*old));
    used.map(|(old, new)| format!("`{old}` is now {new}; the next release drops `{old}`")).collect()
}

fn max_usd(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Option<f64> {
    let old = root.get_key_value(OLD_MAX_USD).map(|(key, _)| key.span().start);
    if let (true, Some(old)) = (root.contains_key("max_usd"), old) {
        reader.fault(
            OLD_MAX_USD,
            old,
            "`most_usd` is the old name of `max_usd`: keep one of them".to_owned(),
        );
    }
    let name = if root.contains_key("max_usd") { "max_usd" } else { OLD_MAX_USD };
    reader.real(root, name, 0.0..=1e9)
}

fn ablations(reader: &mut Reader<'_>, root: &DeTable<'_>) -> Located<Ablations> {
    let place = |name| root.get_key_value(name).map(|(key, _)| key.span().start);
    let (new, old) = (place("ablations"), place(OLD_ABLATIONS));
    if let (Some(_), Some(old)) = (new, old) {
        let what = "`[further]` is the old name of `[ablations]`: keep one of them".to_owned();
        reader.fault(OLD_ABLATIONS, old, what);
    }
    let name = if new.is_none() && old.is_some() { OLD_ABLATIONS } else { "ablations" };
    let spot = new.or(old).map_or(NO_POSITION, |start| reader.spot(start));
    let empty = DeTable::new();
    let table = reader.table(root, name, &ABLATIONS).unwrap_or(&empty);
    let value = Ablations {
        more_steps: reader.count(table, "more_steps", 2..=100),
        best_of: reader.count(table, "best_of", 2..=20),
        leave_one_out: reader.count(table, "leave_one_out", 1..=1000),
        wordings: reader.count(table, "wordings", 1..=20),
    };
    Located { value, spot }
}

fn design(reader: &mut Reader<'_>, root: &DeTable<'_>) -> PowerQuestion {
    let standard = PowerQuestion { effect: None, base: PowerAssumptions::default().base };
    let Some(table) = reader.table(root, "design", &DESIGN) else { return standard };
    PowerQuestion {
        effect: reader.real(table, "effect", 0.01..=1.0),
        base: reader.real(table, "base", 0.0..=1.0).unwrap_or(standard.base),
    }
}

/// Reads values and records errors.
struct Reader<'t> {
    text: &'t str,
    faults: Vec<ConfigIssue>,
    /// Keys with errors.
    keys: BTreeSet<String>,
}

impl Reader<'_> {
    fn spot(&self, offset: usize) -> SourcePos {
        SourcePos::at(self.text, offset)
    }

    /// Records an error in the value of a key.
    fn fault(&mut self, key: &str, offset: usize, what: String) {
        let spot = Some(self.spot(offset));
        self.faults.push(ConfigIssue { spot, what });
        self.keys.insert(key.to_owned());
    }

    /// Reports a missing key, unless it is present but invalid or misspelled.
    fn require(&mut self, root: &DeTable<'_>, key: &str, what: &str) {
        if !root.contains_key(key) && !self.keys.contains(key) {
            self.faults.push(ConfigIssue { spot: None, what: what.to_owned() });
        }
    }

    fn check(&mut self, table: &DeTable<'_>, above: &str, known: &[&str]) {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let like = nearest(name, known.iter().copied());
            let hint = match like {
                Some(like) => format!("did you mean `{above}{like}`?"),
                None => format!("the keys here are {}", known.join(", ")),
            };
            let what = format!("there is no key `{above}{name}`; {hint}");
            self.fault(like.unwrap_or(name), key.span().start, what);
        }
    }

    /// Reads a table and checks its keys.
    fn table<'t, 'i>(
        &mut self,
        table: &'t DeTable<'i>,
        key: &str,
        known: &[&str],
    ) -> Option<&'t DeTable<'i>> {
        let value = table.get(key)?;
        let Some(found) = value.get_ref().as_table() else {
            self.fault(
                key,
                value.span().start,
                format!("`{key}` is a table: write `[{key}]` and its keys below"),
            );
            return None;
        };
        self.check(found, &format!("{key}."), known);
        Some(found)
    }

    fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<Located<String>> {
        let value = table.get(key)?;
        self.word(value, key)
    }

    fn path(&mut self, table: &DeTable<'_>, key: &str) -> Option<Located<PathBuf>> {
        let Located { value, spot } = self.text(table, key)?;
        Some(Located { value: value.into(), spot })
    }

    /// A list of strings; a single string is a list of one.
    fn strings(&mut self, table: &DeTable<'_>, key: &str) -> Vec<Located<String>> {
        let Some(value) = table.get(key) else { return Vec::new() };
        let found: Vec<Located<String>> = match value.get_ref().as_array() {
            Some(list) => list.iter().filter_map(|value| self.word(value, key)).collect(),
            None => self.word(value, key).into_iter().collect(),
        };
        if value.get_ref().as_array().is_some_and(|list| list.is_empty()) {
            self.fault(
                key,
                value.span().start,
                format!("`{key}` is empty: name at least one, or remove the key"),
            );
        }
        for (place, one) in found.iter().enumerate() {
            if found[..place].iter().any(|other| other.value == one.value) {
                let what = format!("`{key}` names {:?} twice", one.value);
                self.faults.push(ConfigIssue { spot: Some(one.spot), what });
            }
        }
        found
    }

    fn word(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<Located<String>> {
        let spot = self.spot(value.span().start);
        match value.get_ref().as_str() {
            Some(text) if !text.trim().is_empty() => Some(Located { value: text.to_owned(), spot }),
            Some(_) | None => {
                self.fault(key, value.span().start, format!("`{key}` must be a string: write it in quotes"));
                None
            }
        }
    }

    fn boolean(&mut self, table: &DeTable<'_>, key: &str) -> Option<bool> {
        let value = table.get(key)?;
        let truth = value.get_ref().as_bool();
        if truth.is_none() {
            self.fault(key, value.span().start, format!("`{key}` must be true or false"));
        }
        truth
    }

    fn whole(&mut self, table: &DeTable<'_>, key: &str, range: RangeInclusive<i64>) -> Option<i64> {
        let value = table.get(key)?;
        let number = value.get_ref().as_integer();
        let number = number.and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (low, high) = range.into_inner();
            let reach =
                if high < MAX_NUMBER { format!("from {low} to {high}") } else { format!("of {low} or more") };
            self.fault(key, value.span().start, format!("`{key}` must be a whole number {reach}"));
        }
        number
    }

    fn count(&mut self, table: &DeTable<'_>, key: &str, range: RangeInclusive<i64>) -> Option<u32> {
        self.whole(table, key, range).and_then(|number| u32::try_from(number).ok())
    }

    fn real(&mut self, table: &DeTable<'_>, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let value = table.get(key)?;
        let whole = value.get_ref().as_integer().and_then(|number| number.as_str().parse().ok());
        let number: Option<f64> =
            value.get_ref().as_float().and_then(|number| number.as_str().parse().ok()).or(whole);
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let (low, high) = range.into_inner();
            self.fault(key, value.span().start, format!("`{key}` must be a number from {low} to {high}"));
        }
        number
    }
}
