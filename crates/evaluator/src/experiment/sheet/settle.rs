//! From a sheet to an experiment: suite, split, tasks, arms, models and book are looked up, and whatever is not
//! there is told at once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{ChatModel, TaskId};
use apprentice_skills::LearnOptions;
use apprentice_skills::book::{At, Snapshot};
use apprentice_skills::reflect::ReflectOptions;

use super::{Fault, Marked, Sheet, SheetError};
use crate::arm::apps_of;
use crate::experiment::{BookSource, Experiment, Lessons};
use crate::learn::CycleOptions;
use crate::servers::ToolBox;
use crate::split::SplitLock;
use crate::suppress::{Hiding, Suppressed};
use apprentice_results::arm::Arm;
use apprentice_results::row::Split;
use apprentice_tasks::suite::{self, Selection, Spot, Suite, nearest};

/// How a sheet's words lead to things.
pub struct Ways<'a> {
    /// The sheet, for messages; its paths start from its folder.
    pub sheet: &'a Path,
    /// The model of a name, as its full name, or why there is none.
    pub model: &'a dyn Fn(&str) -> Result<String, String>,
}

/// A sheet with all that it names.
#[derive(Debug)]
pub struct Draft {
    /// The sheet.
    pub sheet: Sheet,
    /// The suite.
    pub suite: Arc<Suite>,
    /// Its split, if one is locked.
    pub lock: Option<SplitLock>,
    /// The tasks that take part; all, if absent.
    pub tasks: Option<BTreeSet<TaskId>>,
    /// The book, if it is given.
    pub book: Option<Snapshot>,
    /// The arms.
    pub arms: Vec<Arm>,
    /// The students, by their full names.
    pub students: Vec<String>,
    /// The teacher, by its full name.
    pub teacher: Option<String>,
    /// Skills that are hidden from the tasks of some programs.
    pub suppress: Suppressed,
    /// Who learns, by its full name; none where a book is given.
    pub learner: Option<String>,
}

/// What an experiment takes from the program rather than from its sheet.
pub struct Setting {
    /// Reviews attempts and keeps the book; unused where a book is given.
    pub learner: Option<Arc<dyn ChatModel>>,
    /// Tries at one trial, if the sheet says nothing.
    pub attempts: u32,
    /// Epochs, if the sheet says nothing.
    pub epochs: u32,
    /// Trajectories between two cleanups, if the sheet says nothing.
    pub cleanup_every: usize,
    /// The tools that skills may bring.
    pub tools: ToolBox,
    /// The command as it was given.
    pub command: Vec<String>,
    /// The program's version.
    pub program: String,
}

impl Sheet {
    /// Looks up all that the sheet names. What is wrong with its form is told together with what is not there.
    pub fn settle(mut self, ways: &Ways<'_>) -> Result<Draft, SheetError> {
        let mut desk = Desk { ways, faults: std::mem::take(&mut self.form.faults) };
        let suite = Some(&self.suite).filter(|named| !named.value.as_os_str().is_empty());
        let suite = suite.and_then(|named| desk.suite(named));
        let lock = suite.as_ref().and_then(|suite| desk.lock(&self, suite));
        let tasks = suite.as_ref().and_then(|suite| desk.tasks(&self, suite));
        let arms = desk.arms(&self);
        let students: Vec<String> = self.students.iter().filter_map(|name| desk.model(name)).collect();
        let teacher = self.teacher.as_ref().and_then(|name| desk.model(name));
        let learner = match (&self.skillbook, &self.learning.learner) {
            (Some(_), _) => None,
            (None, Some(learner)) => desk.model(learner),
            (None, None) => teacher.clone(),
        };
        let book = self.skillbook.as_ref().and_then(|path| desk.book(path));
        desk.learning(&self, lock.as_ref());
        let suppress = desk.suppress(&self, (suite.as_ref(), book.as_ref()));
        match suite {
            Some(suite) if desk.faults.is_empty() => {
                let suite = Arc::new(suite);
                Ok(Draft {
                    sheet: self,
                    suite,
                    lock,
                    tasks,
                    book,
                    arms,
                    students,
                    teacher,
                    suppress,
                    learner,
                })
            }
            Some(_) | None => Err(SheetError::new(ways.sheet, desk.faults)),
        }
    }
}

struct Desk<'a> {
    ways: &'a Ways<'a>,
    faults: Vec<Fault>,
}

impl Desk<'_> {
    fn fault(&mut self, spot: Spot, what: String) {
        let spot = (spot.line > 0).then_some(spot);
        self.faults.push(Fault { spot, what });
    }

    fn keep<T>(&mut self, spot: Spot, found: Result<T, impl std::error::Error>) -> Option<T> {
        found.map_err(|error| self.fault(spot, story(&error))).ok()
    }

    fn path(&self, named: &Path) -> PathBuf {
        self.ways.sheet.parent().unwrap_or(Path::new("")).join(named)
    }

    fn suite(&mut self, named: &Marked<PathBuf>) -> Option<Suite> {
        let path = self.path(&named.value);
        if let Some(missing) = missing(&path, "no suite") {
            self.fault(named.spot, missing);
            return None;
        }
        let loaded = suite::load(&path);
        self.keep(named.spot, loaded)
    }

    fn lock(&mut self, sheet: &Sheet, suite: &Suite) -> Option<SplitLock> {
        let (path, spot) = match &sheet.split {
            Some(named) => (self.path(&named.value), named.spot),
            None => (suite.root.join("split.json"), sheet.suite.spot),
        };
        if sheet.split.is_none() && !path.is_file() {
            return None;
        }
        if let Some(missing) = missing(&path, "no split") {
            self.fault(spot, missing);
            return None;
        }
        let read = SplitLock::read(&path);
        let lock = self.keep(spot, read)?;
        let fits = lock.check_suite(&suite.hash);
        self.keep(spot, fits)?;
        Some(lock)
    }

    fn tasks(&mut self, sheet: &Sheet, suite: &Suite) -> Option<BTreeSet<TaskId>> {
        let selected = sheet.select.as_ref().and_then(|named| {
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
        for template in sheet.templates.iter().filter(|one| !known.contains(one.value.as_str())) {
            let like = nearest(&template.value, known.iter().copied());
            let hint = like.map_or_else(String::new, |like| format!("; did you mean {like:?}?"));
            self.fault(
                template.spot,
                format!("suite {:?} has no template {:?}{hint}", suite.name, template.value),
            );
        }
        if sheet.templates.is_empty() {
            return selected;
        }
        let named: BTreeSet<&str> = sheet.templates.iter().map(|one| one.value.as_str()).collect();
        let tasks = suite.tasks.iter().filter(|task| named.contains(task.template()));
        let tasks: BTreeSet<TaskId> = tasks.map(|task| task.id.clone()).collect();
        Some(match selected {
            Some(selected) => selected.intersection(&tasks).cloned().collect(),
            None => tasks,
        })
    }

    fn arms(&mut self, sheet: &Sheet) -> Vec<Arm> {
        let mut arms = Vec::new();
        for name in &sheet.arms {
            match Arm::parse(&name.value) {
                Ok(arm) => arms.push(arm),
                Err(error) => {
                    let like = nearest(&name.value, Arm::EVERY.map(Arm::as_str));
                    let what = match like {
                        Some(like) => format!("there is no arm {:?}; did you mean {like:?}?", name.value),
                        None => error.to_string(),
                    };
                    self.fault(name.spot, what);
                }
            }
        }
        let inline = sheet.arms.iter().find(|arm| arm.value == Arm::Inline.as_str());
        if let Some(inline) = inline.filter(|_| !arms.contains(&Arm::Pull)) {
            self.fault(inline.spot, "`inline` puts in what `pull` looked at: add \"pull\" to `arms`".into());
        }
        let Marked { value: further, spot } = sheet.further;
        for (wanted, needed, why) in [
            (further.unhelped().next().is_some(), Arm::None, "more steps and more tries are held against it"),
            (further.leave_one_out.is_some(), Arm::Pull, "what a skill is worth is told by it"),
        ] {
            let there = sheet.arms.iter().any(|arm| arm.value == needed.as_str());
            if wanted && !there && sheet.form.is_sound("arms") {
                self.fault(spot, format!("`[further]` needs the arm {:?}: {why}", needed.as_str()));
            }
        }
        let primary = &sheet.primary;
        let stated = Some(primary.spot).filter(|spot| spot.line > 0);
        let spot = stated.or(sheet.arms.first().map(|arm| arm.spot)).unwrap_or(primary.spot);
        let (treatment, control) = (&primary.value.treatment, &primary.value.control);
        if ["arms", "primary", "treatment", "control"].iter().any(|key| !sheet.form.is_sound(key)) {
            return arms;
        }
        for side in [treatment, control] {
            if !sheet.arms.iter().any(|arm| arm.value == *side) {
                let what = format!(
                    "the comparison that decides is {treatment} against {control}, and {side:?} is none of \
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

    fn model(&mut self, name: &Marked<String>) -> Option<String> {
        (self.ways.model)(&name.value).map_err(|what| self.fault(name.spot, what)).ok()
    }

    fn book(&mut self, named: &Marked<PathBuf>) -> Option<Snapshot> {
        let path = self.path(&named.value);
        if let Some(missing) = missing(&path, "no book") {
            self.fault(named.spot, missing);
            return None;
        }
        let opened = Snapshot::open(&path, At::Now).and_then(Snapshot::clean);
        let book = self.keep(named.spot, opened)?;
        if book.is_empty() {
            self.fault(named.spot, format!("the book {} holds no skill", path.display()));
        }
        Some(book)
    }

    /// Skills and programs that are to be kept apart. Of a book that is yet to be learned nobody knows the skills.
    fn suppress(&mut self, sheet: &Sheet, (suite, book): (Option<&Suite>, Option<&Snapshot>)) -> Suppressed {
        let programs: BTreeSet<String> =
            suite.iter().flat_map(|suite| &suite.tasks).flat_map(apps_of).collect();
        let skills: BTreeSet<String> =
            book.iter().flat_map(|book| book.skills()).map(|skill| skill.id.to_string()).collect();
        let mut found = Vec::new();
        for one in &sheet.suppress {
            let hiding = match Hiding::parse(&one.value) {
                Ok(hiding) => hiding,
                Err(error) => {
                    self.fault(one.spot, error.to_string());
                    continue;
                }
            };
            if sheet.skillbook.is_none() {
                let what =
                    "`suppress` names skills of a given book: those of one that is learned nobody knows yet";
                self.fault(one.spot, what.into());
            }
            let skill = hiding.skill.to_string();
            for (what, name, known) in [("skill", &skill, &skills), ("program", &hiding.program, &programs)] {
                if !known.is_empty() && !known.contains(name) {
                    let like = nearest(name, known.iter().map(String::as_str));
                    let hint = like.map_or_else(String::new, |like| format!("; did you mean {like:?}?"));
                    self.fault(one.spot, format!("there is no {what} {name:?} here{hint}"));
                }
            }
            found.push(hiding);
        }
        found.into_iter().collect()
    }

    /// What a learned book needs, and what a given one cannot use.
    fn learning(&mut self, sheet: &Sheet, lock: Option<&SplitLock>) {
        if let Some(book) = &sheet.skillbook {
            if sheet.learning.spot.is_some() {
                let what = "`skillbook` gives a book, so that [learning] has nothing to say: leave one away";
                self.fault(book.spot, what.into());
            }
            return;
        }
        if sheet.teacher.is_none() && sheet.form.is_sound("teacher") {
            let what = "a book is learned from a teacher's work: name a `teacher`, or give a `skillbook`";
            self.faults.push(Fault { spot: None, what: what.into() });
        }
        let unnamed = sheet.suite.value.as_os_str().is_empty();
        if unnamed || !sheet.form.is_sound("split") {
            return;
        }
        let trains = lock.is_some_and(|lock| lock.templates(Split::Train).next().is_some());
        if !trains && self.faults.iter().all(|fault| fault.spot != Some(sheet.suite.spot)) {
            let what =
                "a book is learned on training tasks, and no split says which they are: lock the suite";
            self.fault(sheet.suite.spot, what.into());
        }
    }
}

impl Draft {
    /// The experiment that the sheet describes.
    pub fn experiment(self, setting: Setting) -> Experiment {
        let Self { sheet, suite, lock, tasks, book, arms, students, teacher, suppress, learner: _ } = self;
        let mut students = students.into_iter();
        let student = students.next().unwrap_or_default();
        let learning = &sheet.learning;
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
                BookSource::Learned(Lessons { teacher: teacher.clone(), learner, cycle })
            }
            (book, _, _) => BookSource::Given(book.unwrap_or_else(Snapshot::empty)),
        };
        Experiment {
            suite,
            lock,
            tasks,
            book,
            teacher,
            student,
            others: students.collect(),
            arms,
            primary: sheet.primary.value,
            seeds: sheet.seeds,
            baselines: sheet.baselines,
            attempts: sheet.attempts.unwrap_or(setting.attempts).max(1),
            order_seed: sheet.order_seed,
            limits: sheet.limits,
            further: sheet.further.value,
            suppress,
            replicates: sheet.learning.replicates,
            tools: setting.tools,
            registered: None,
            command: setting.command,
            program: setting.program,
        }
    }
}

/// That nothing is at a path, with what is beside it and has nearly its name; none if something is.
fn missing(path: &Path, what: &str) -> Option<String> {
    if path.exists() {
        return None;
    }
    let beside = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let beside = beside.into_iter().flatten().flatten().map(|entry| entry.file_name());
    let beside: Vec<String> = beside.map(|name| name.to_string_lossy().into_owned()).collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let like = nearest(&name, beside.iter().map(String::as_str));
    let hint = like.map_or_else(String::new, |like| format!("; did you mean {like:?}?"));
    Some(format!("there is {what} {}{hint}", path.display()))
}

/// An error with its causes in one line.
fn story(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
