//! Resolves a config file to an experiment: looks up suite, split, tasks, arms, models and book, and reports everything
//! that is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_learning::LearnOptions;
use apprentice_learning::reflect::ReflectOptions;
use apprentice_protocol::{ChatModel, TaskId, did_you_mean};
use apprentice_skillbook::{At, Snapshot};

use super::{ConfigIssue, ExperimentConfig, ExperimentConfigError, Located};
use crate::arms::function_scope::FunctionScope;
use crate::arms::hidden_skills::{HiddenSkill, HiddenSkills};
use crate::arms::tool_servers::ToolSettings;
use crate::experiment::{BookSource, Experiment, LearningPlan};
use crate::learn::CycleOptions;
use crate::split::SplitLock;
use crate::task_apps::apps_of;
use apprentice_results::arm::Arm;
use apprentice_runs::layout::PLAN_FILE;
use apprentice_runs::row::Split;
use apprentice_tasks::suite::{self, Selection, SourcePos, Suite};

/// The context for resolving names in a config file.
pub struct ResolveContext<'a> {
    /// Path of the config file; its paths are relative to its folder. Used in messages.
    pub file: &'a Path,
    /// Resolves a model name to its full name, or returns the reason it is unknown.
    pub model: &'a dyn Fn(&str) -> Result<String, String>,
}

/// A config file with all references resolved.
#[derive(Clone, Debug)]
pub struct ResolvedConfig {
    /// The config.
    pub config: ExperimentConfig,
    /// The suite.
    pub suite: Arc<Suite>,
    /// The locked split, if there is one.
    pub lock: Option<SplitLock>,
    /// The tasks that take part; `None` means all.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// The given book, if there is one.
    pub book: Option<Snapshot>,
    /// The arms.
    pub arms: Vec<Arm>,
    /// Full names of the students.
    pub students: Vec<String>,
    /// Full name of the teacher.
    pub teacher: Option<String>,
    /// Skills hidden from the tasks of certain apps.
    pub suppress: HiddenSkills,
    /// Runs whose training attempts the arm `raw-trace` shows.
    pub demonstrations: Vec<PathBuf>,
    /// Full name of the learning model; `None` for a given book.
    pub learner: Option<String>,
}

/// Settings of an experiment that come from the program, not from its config file.
pub struct ProgramDefaults {
    /// The model that reviews attempts and manages the book; unused for a given book.
    pub learner: Option<Arc<dyn ChatModel>>,
    /// The model that compares answers with references.
    pub judge: Option<String>,
    /// Default for the maximum attempts per trial.
    pub attempts: u32,
    /// Default number of epochs.
    pub epochs: u32,
    /// Default number of trajectories between two cleanups.
    pub cleanup_every: usize,
    /// The tool servers that skills may use.
    pub tools: ToolSettings,
    /// The command line that started the experiment.
    pub command: Vec<String>,
    /// The version of the `apprentice` program.
    pub program: String,
}

impl ExperimentConfig {
    /// Resolves all references. Structural errors are reported together with unresolved references.
    pub fn resolve(mut self, context: &ResolveContext<'_>) -> Result<ResolvedConfig, ExperimentConfigError> {
        let mut resolver = Resolver { context, faults: std::mem::take(&mut self.syntax.faults) };
        let suite = Some(&self.suite).filter(|named| !named.value.as_os_str().is_empty());
        let suite = suite.and_then(|named| resolver.suite(named));
        let lock = suite.as_ref().and_then(|suite| resolver.lock(&self, suite));
        let tasks = suite.as_ref().and_then(|suite| resolver.tasks(&self, suite));
        let arms = resolver.arms(&self);
        let students: Vec<String> = self.students.iter().filter_map(|name| resolver.model(name)).collect();
        let teacher = self.teacher.as_ref().and_then(|name| resolver.model(name));
        // It is named in the settings by now; here a wrong name gets its place in the file.
        let _ = self.judge.as_ref().and_then(|name| resolver.model(name));
        let learner = match (&self.skillbook, &self.learning.learner) {
            (Some(_), _) => None,
            (None, Some(learner)) => resolver.model(learner),
            (None, None) => teacher.clone(),
        };
        let book = self.skillbook.as_ref().and_then(|path| resolver.book(path));
        resolver.learning(&self, lock.as_ref());
        let suppress = resolver.suppress(&self, suite.as_ref(), book.as_ref());
        let demonstrations = resolver.demonstrations(&self, lock.as_ref());
        match suite {
            Some(suite) if resolver.faults.is_empty() => {
                let suite = Arc::new(suite);
                Ok(ResolvedConfig {
                    config: self,
                    suite,
                    lock,
                    tasks,
                    book,
                    arms,
                    students,
                    teacher,
                    suppress,
                    demonstrations,
                    learner,
                })
            }
            Some(_) | None => Err(ExperimentConfigError::new(context.file, resolver.faults)),
        }
    }
}

struct Resolver<'a> {
    context: &'a ResolveContext<'a>,
    faults: Vec<ConfigIssue>,
}

impl Resolver<'_> {
    fn fault(&mut self, spot: SourcePos, what: String) {
        let spot = (spot.line > 0).then_some(spot);
        self.faults.push(ConfigIssue { spot, what });
    }

    fn keep<T>(&mut self, spot: SourcePos, found: Result<T, impl std::error::Error>) -> Option<T> {
        found.map_err(|error| self.fault(spot, error_chain(&error))).ok()
    }

    fn path(&self, named: &Path) -> PathBuf {
        self.context.file.parent().unwrap_or(Path::new("")).join(named)
    }

    fn suite(&mut self, named: &Located<PathBuf>) -> Option<Suite> {
        let path = self.path(&named.value);
        if let Some(missing) = missing(&path, "no suite") {
            self.fault(named.spot, missing);
            return None;
        }
        let loaded = suite::load(&path);
        self.keep(named.spot, loaded)
    }

    fn lock(&mut self, config: &ExperimentConfig, suite: &Suite) -> Option<SplitLock> {
        let (path, spot) = match &config.split {
            Some(named) => (self.path(&named.value), named.spot),
            None => (suite.root.join("split.json"), config.suite.spot),
        };
        if config.split.is_none() && !path.is_file() {
            return None;
        }
        if let Some(missing) = missing(&path, "no split") {
            self.fault(spot, missing);
            return None;
        }
        let read = SplitLock::read(&path);
        let lock = self.keep(spot, read)?;
        let fits = lock.check_suite(suite);
        self.keep(spot, fits)?;
        Some(lock)
    }

    fn tasks(&mut self, config: &ExperimentConfig, suite: &Suite) -> Option<BTreeSet<TaskId>> {
        let selected = config.select.as_ref().and_then(|named| {
            let path = self.path(&named.value);
            if let Some(missing) = missing(&path, "no selection") {
                self.fault(named.spot, missing);
                return None;
            }
            let read = Selection::read(&path, suite);
            self.keep(named.spot, read)
        });
        let selected = selected.map(|selection| selection.chosen());
        let known: BTreeSet<&str> = suite.tasks.iter().map(|task| task.template()).collect();
        for template in config.templates.iter().filter(|one| !known.contains(one.value.as_str())) {
            let hint = did_you_mean(&template.value, known.iter().copied());
            self.fault(
                template.spot,
                format!("suite {:?} has no template {:?}{hint}", suite.name, template.value),
            );
        }
        if config.templates.is_empty() {
            return selected;
        }
        let named: BTreeSet<&str> = config.templates.iter().map(|one| one.value.as_str()).collect();
        let tasks = suite.tasks.iter().filter(|task| named.contains(task.template()));
        let tasks: BTreeSet<TaskId> = tasks.map(|task| task.id.clone()).collect();
        Some(match selected {
            Some(selected) => selected.intersection(&tasks).cloned().collect(),
            None => tasks,
        })
    }

    fn arms(&mut self, config: &ExperimentConfig) -> Vec<Arm> {
        let mut arms = Vec::new();
        for name in &config.arms {
            match Arm::parse(&name.value) {
                Ok(arm) => arms.push(arm),
                Err(error) => {
                    let hint = did_you_mean(&name.value, Arm::ALL.map(Arm::as_str));
                    let what = match hint.is_empty() {
                        false => format!("there is no arm {:?}{hint}", name.value),
                        true => error.to_string(),
                    };
                    self.fault(name.spot, what);
                }
            }
        }
        let inline = config.arms.iter().find(|arm| arm.value == Arm::Inline.as_str());
        if let Some(inline) = inline.filter(|_| !arms.contains(&Arm::Pull)) {
            self.fault(
                inline.spot,
                "`inline` inserts the guidance that `pull` retrieved: add \"pull\" to `arms`".into(),
            );
        }
        let Located { value: ablations, spot } = config.ablations;
        for (wanted, needed, why) in [
            (
                ablations.without_book().next().is_some(),
                Arm::None,
                "more_steps and best_of are compared with it",
            ),
            (ablations.leave_one_out.is_some(), Arm::Pull, "leave_one_out is compared with it"),
            (ablations.wordings.is_some(), Arm::None, "wordings is compared with it"),
        ] {
            let there = config.arms.iter().any(|arm| arm.value == needed.as_str());
            if wanted && !there && config.syntax.is_sound("arms") {
                self.fault(spot, format!("`[ablations]` needs the arm {:?}: {why}", needed.as_str()));
            }
        }
        let primary = &config.primary;
        let stated = Some(primary.spot).filter(|spot| spot.line > 0);
        let spot = stated.or(config.arms.first().map(|arm| arm.spot)).unwrap_or(primary.spot);
        let (treatment, control) = (&primary.value.treatment, &primary.value.control);
        if ["arms", "primary", "treatment", "control"].iter().any(|key| !config.syntax.is_sound(key)) {
            return arms;
        }
        for side in [treatment, control] {
            if !config.arms.iter().any(|arm| arm.value == *side) {
                let what = format!(
                    "the primary comparison is {treatment} vs {control}, but {side:?} is not among \
                     the arms: add it to `arms`, or name two others under [primary]"
                );
                self.fault(spot, what);
            }
        }
        if treatment == control {
            self.fault(spot, format!("{treatment:?} cannot be compared with itself"));
        }
        arms
    }

    fn model(&mut self, name: &Located<String>) -> Option<String> {
        (self.context.model)(&name.value).map_err(|what| self.fault(name.spot, what)).ok()
    }

    fn book(&mut self, named: &Located<PathBuf>) -> Option<Snapshot> {
        let path = self.path(&named.value);
        if let Some(missing) = missing(&path, "no book") {
            self.fault(named.spot, missing);
            return None;
        }
        let opened = Snapshot::open(&path, At::Now).and_then(Snapshot::clean);
        let book = self.keep(named.spot, opened)?;
        if book.is_empty() {
            self.fault(named.spot, format!("the book {} contains no skills", path.display()));
        }
        Some(book)
    }

    /// Resolves the hidden skills and programs. For a book that is yet to be learned, its skills are unknown.
    fn suppress(
        &mut self,
        config: &ExperimentConfig,
        suite: Option<&Suite>,
        book: Option<&Snapshot>,
    ) -> HiddenSkills {
        let programs: BTreeSet<String> =
            suite.iter().flat_map(|suite| &suite.tasks).flat_map(apps_of).collect();
        let skills: BTreeSet<String> =
            book.iter().flat_map(|book| book.skills()).map(|skill| skill.id.to_string()).collect();
        let mut found = Vec::new();
        for one in &config.suppress {
            let hiding = match HiddenSkill::parse(&one.value) {
                Ok(hiding) => hiding,
                Err(error) => {
                    self.fault(one.spot, error.to_string());
                    continue;
                }
            };
            if config.skillbook.is_none() {
                let what =
                    "`suppress` needs a given `skillbook`: the skills of a learned book are not known yet";
                self.fault(one.spot, what.into());
            }
            let skill = hiding.skill.to_string();
            for (what, name, known) in [("skill", &skill, &skills), ("program", &hiding.program, &programs)] {
                if !known.is_empty() && !known.contains(name) {
                    let hint = did_you_mean(name, known.iter().map(String::as_str));
                    self.fault(one.spot, format!("there is no {what} {name:?} here{hint}"));
                }
            }
            found.push(hiding);
        }
        found.into_iter().collect()
    }

    /// Finds the runs whose attempts are shown as demonstrations. Only training attempts may be, so a split must say which.
    fn demonstrations(&mut self, config: &ExperimentConfig, lock: Option<&SplitLock>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for one in &config.demonstrations {
            let path = self.path(Path::new(&one.value));
            if !path.join(PLAN_FILE).is_file() {
                let what = format!("{} is no folder of a run; name one, as `runs/ID`", path.display());
                self.fault(one.spot, what);
            } else if lock.is_none() {
                let what = "`demonstrations` needs a locked split, which names the training tasks";
                self.fault(one.spot, what.into());
            } else {
                found.push(path);
            }
        }
        found
    }

    /// Checks what a learned book needs and what a given one cannot use.
    fn learning(&mut self, config: &ExperimentConfig, lock: Option<&SplitLock>) {
        if let Some(book) = &config.skillbook {
            if config.learning.spot.is_some() {
                let what = "`skillbook` and [learning] exclude each other: remove one";
                self.fault(book.spot, what.into());
            }
            return;
        }
        if config.teacher.is_none() && config.syntax.is_sound("teacher") {
            let what = "learning needs a teacher: name a `teacher`, or give a `skillbook`";
            self.faults.push(ConfigIssue { spot: None, what: what.into() });
        }
        let unnamed = config.suite.value.as_os_str().is_empty();
        if unnamed || !config.syntax.is_sound("split") {
            return;
        }
        let trains = lock.is_some_and(|lock| lock.templates(Split::Train).next().is_some());
        if !trains && self.faults.iter().all(|fault| fault.spot != Some(config.suite.spot)) {
            let what = "learning needs training tasks, and no locked split names them: `apprentice split draw SUITE` makes one";
            self.fault(config.suite.spot, what.into());
        }
    }
}

impl ResolvedConfig {
    /// Builds the experiment that the config file describes.
    pub fn experiment(self, setting: ProgramDefaults) -> Experiment {
        let Self { config, suite, lock, tasks, book, .. } = self;
        let Self { arms, students, teacher, suppress, demonstrations, .. } = self;
        let mut students = students.into_iter();
        let student = students.next().unwrap_or_default();
        let learning = &config.learning;
        let every = learning.cleanup_interval.unwrap_or(setting.cleanup_every);
        let reflect = ReflectOptions { mode: learning.reflection, ..ReflectOptions::default() };
        let clean = learning.cleanup.options(every);
        let learn = LearnOptions { reflect, clean, ..LearnOptions::default() };
        let cycle = CycleOptions {
            epochs: learning.epochs.unwrap_or(setting.epochs),
            batch: learning.batch,
            rehearse: learning.rehearsal,
            learn,
            ..CycleOptions::default()
        };
        let book = match (book, setting.learner, &teacher) {
            (None, Some(learner), Some(teacher)) => {
                BookSource::Learned(LearningPlan { teacher: teacher.clone(), learner, cycle })
            }
            (book, _, _) => BookSource::Given(book.unwrap_or_else(Snapshot::empty)),
        };
        Experiment {
            suite,
            lock,
            tasks,
            book,
            teacher,
            judge: setting.judge,
            student,
            others: students.collect(),
            arms,
            primary: config.primary.value,
            seeds: config.seeds,
            baselines: config.baselines,
            attempts: config.attempts.unwrap_or(setting.attempts).max(1),
            order_seed: config.order_seed,
            limits: config.limits,
            student_limits: config.student_limits,
            ablations: config.ablations.value,
            suppress,
            functions: FunctionScope::with_unverified(config.unverified_functions),
            demonstrations,
            replicates: config.learning.replicates,
            tools: setting.tools,
            registered: None,
            command: setting.command,
            program: setting.program,
        }
    }
}

/// Reports a missing path, with a similarly named neighbour if there is one; `None` if the path exists.
fn missing(path: &Path, what: &str) -> Option<String> {
    if path.exists() {
        return None;
    }
    let beside = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let beside = beside.into_iter().flatten().flatten().map(|entry| entry.file_name());
    let beside: Vec<String> = beside.map(|name| name.to_string_lossy().into_owned()).collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let hint = did_you_mean(&name, beside.iter().map(String::as_str));
    Some(format!("there is {what} {}{hint}", path.display()))
}

/// Formats an error and its causes in one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
