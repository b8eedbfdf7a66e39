//! The proofs that what helps is what the skills say, on the real programs of the starter suite: a book is
//! learned once, and a student is measured with it, without it, and with what was made of it.
//!
//! It takes minutes, and so is a lane of its own: `scripts/test` runs it by name.
#![expect(clippy::print_stdout, reason = "a table of the numbers is printed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_evaluator::arms::GuidanceProvider;
use apprentice_evaluator::arms::function_scope::FunctionScope;
use apprentice_evaluator::arms::guidance::ArmGuidance;
use apprentice_evaluator::arms::hidden_skills::HiddenSkills;
use apprentice_evaluator::experiment::{
    BookSource, Experiment, ExperimentDeps, ExperimentResult, LearningPlan, PrimaryComparison, run_experiment,
};
use apprentice_evaluator::learn::CycleOptions;
use apprentice_evaluator::run::{
    Contender, Conversations, ModelSource, PlanRequest, Progress, RunControl, RunDeps, TrialSpec, start,
};
use apprentice_evaluator::split::SplitLock;
use apprentice_evaluator::task_apps::apps_of;
use apprentice_harness::env::desktop::{DesktopConfig, DesktopSource};
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::{ChatModel, Clock, TaskId, Verdict};
use apprentice_results::ablations::Ablations;
use apprentice_results::arm::Arm;
use apprentice_results::report::Stratum;
use apprentice_runs::row::{Role, TrialRow};
use apprentice_sandbox::SystemClock;
use apprentice_sandbox::{CellIsolation, CellLimits};
use apprentice_screening::effect::EffectRule;
use apprentice_skillbook::{At, Page, Snapshot};
use apprentice_tasks::suite::{Suite, load};
use apprentice_trace::Redactor;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::starter::{NEEDED, is_installed};

const NOVICE: &str = "builtin/novice";
const TEACHER: &str = "builtin/explorer";
/// Fewer templates than this could gain by chance.
const LEAST: usize = 3;

struct Models;

impl ModelSource for Models {
    fn model(&self, trial: &TrialSpec) -> Result<Arc<dyn ChatModel>, String> {
        let policy = Policy::named(&trial.model).ok_or("no such model")?;
        Ok(Arc::new(BuiltInModel::new(policy)))
    }
}

/// The folder of the proofs, and what is found in it.
struct Studio {
    folder: TempDir,
    suite: Arc<Suite>,
    lock: SplitLock,
}

type Results = BTreeMap<TaskId, bool>;

impl Studio {
    fn open() -> Self {
        let suite = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tasks/starter")).expect("loads");
        let lock = SplitLock::read(&suite.root.join("split.json")).expect("a lock");
        let folder = tempfile::tempdir().expect("a folder");
        // Cells that root starts run as another user, who has to reach their state.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("open");
        Self { folder, suite: Arc::new(suite), lock }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn deps(&self, guidance: apprentice_evaluator::run::GuidanceFactory) -> RunDeps {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let config = DesktopConfig {
            network: apprentice_sandbox::NetworkPolicy::None,
            isolation: CellIsolation::Bubblewrap,
            program: PathBuf::from(env!("CARGO_BIN_EXE_apprentice")),
            argument: "cell-supervisor".into(),
            state: self.place("state"),
            golden: None,
            limits: CellLimits::default(),
            sight: apprentice_harness::env::desktop::Sight::default(),
        };
        RunDeps {
            models: Arc::new(Models),
            worlds: Arc::new(DesktopSource::new(config, clock.clone())),
            clock,
            guidance,
            redactor: Arc::new(Redactor::new([]).expect("builds")),
            reading: apprentice_tasks::suite::SuiteOptions::default(),
            cpu: 2,
        }
    }

    /// Learns a book on all training tasks, and measures the novice on all test tasks.
    async fn learn(&self) -> ExperimentResult {
        let experiment = Experiment {
            suite: self.suite.clone(),
            lock: Some(self.lock.clone()),
            tasks: None,
            book: BookSource::Learned(LearningPlan {
                teacher: TEACHER.into(),
                learner: Arc::new(BuiltInModel::new(Policy::Explorer)),
                cycle: CycleOptions { batch: 2, ..CycleOptions::default() },
            }),
            teacher: None,
            judge: None,
            student: NOVICE.into(),
            others: Vec::new(),
            arms: vec![Arm::None, Arm::Pull, Arm::PlaceboWrong],
            primary: PrimaryComparison::default(),
            seeds: 1,
            baselines: false,
            attempts: 3,
            order_seed: 1,
            limits: None,
            student_limits: None,
            ablations: Ablations::default(),
            suppress: HiddenSkills::default(),
            functions: FunctionScope::default(),
            demonstrations: Vec::new(),
            replicates: 1,
            tools: apprentice_evaluator::arms::tool_servers::ToolSettings::default(),
            registered: None,
            command: vec!["proofs".into()],
            program: "test".into(),
        };
        let (records, _receiver) = unbounded_channel();
        let deps = ExperimentDeps {
            elsewhere: None,
            embedding: None,
            readers: Vec::new(),
            effects: EffectRule::Allow,
            measures_empty_book: true,
            run: self.deps(Arc::new(|_: &TrialSpec| Ok(ArmGuidance::unaided()))),
            jobs: 2,
            control: RunControl::new(tell(), CancellationToken::new()),
            records,
        };
        run_experiment(&experiment, &deps, &self.place("experiment")).await.expect("the experiment runs")
    }

    fn learned(&self) -> Snapshot {
        Snapshot::open(&self.place("experiment/skillbook"), At::Now).expect("opens")
    }

    /// The learned pages as a person might have left them: every one passed through `change`, no log beside.
    fn remade(&self, name: &str, change: impl Fn(&str, Page) -> Page) -> Snapshot {
        let folder = self.place(name);
        fs::create_dir_all(&folder).expect("makes");
        for skill in self.learned().skills() {
            let path = folder.join(format!("{}.md", skill.id));
            fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
            fs::write(path, change(skill.id.as_str(), skill.page()).render()).expect("writes");
        }
        Snapshot::open(&folder, At::Now).expect("opens")
    }

    /// Runs models on tasks, each with a book of its own.
    async fn run(&self, lots: Vec<Lot<'_>>) -> BTreeMap<&'static str, Results> {
        let contenders = lots.iter().filter(|lot| !lot.tasks.is_empty()).map(|lot| Contender {
            role: Role::Student,
            model: lot.model.into(),
            arm: lot.name.into(),
            tasks: Some(lot.tasks.clone()),
            seeds: None,
        });
        let contenders: Vec<Contender> = contenders.collect();
        let tasks: BTreeSet<TaskId> = lots.iter().flat_map(|lot| lot.tasks.clone()).collect();
        let providers: BTreeMap<&str, Option<GuidanceProvider>> = lots
            .iter()
            .map(|lot| {
                (lot.name, lot.book.clone().map(|book| GuidanceProvider::new(self.suite.clone(), book, None)))
            })
            .collect();
        let providers: BTreeMap<String, Option<GuidanceProvider>> =
            providers.into_iter().map(|(name, provider)| (name.to_owned(), provider)).collect();
        let guidance = move |trial: &TrialSpec| match providers.get(&trial.arm) {
            Some(Some(provider)) => provider.arm_guidance(Arm::Pull, &trial.task, trial.seed),
            Some(None) | None => Ok(ArmGuidance::unaided()),
        };
        let request = PlanRequest {
            suite: &self.suite,
            split: Some(&self.lock),
            tasks: Some(tasks),
            contenders,
            seeds: 1,
            limits: None,
            attempts: 3,
            order_seed: 1,
            conversations: Conversations::Dropped,
            command: vec!["proofs".into()],
            program: "test".into(),
            books: Vec::new(),
        };
        let runs = self.place("runs");
        let control = RunControl::new(tell(), CancellationToken::new());
        let summary = start(&request, &runs, 2, self.deps(Arc::new(guidance)), control).await;
        let rows = summary.expect("the run runs").results;
        lots.iter().map(|lot| (lot.name, results(&rows, lot.model, lot.name))).collect()
    }
}

/// One model with one book on some tasks.
struct Lot<'a> {
    name: &'static str,
    model: &'a str,
    book: Option<Snapshot>,
    tasks: BTreeSet<TaskId>,
}

/// Prints each attempt as it ends, so that whoever waits sees what goes on.
fn tell() -> UnboundedSender<Progress> {
    let (progress, mut heard) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = heard.recv().await {
            if let Progress::Finished { row, message } = event {
                let (task, model, arm) = (&row.task, &row.model, &row.arm);
                println!("{:?} {task} {model} {arm} {:.1} s {message:?}", row.verdict, row.wall_s);
            }
        }
    });
    progress
}

fn results(rows: &[TrialRow], model: &str, arm: &str) -> Results {
    let own = rows.iter().filter(|row| row.model == model && row.arm == arm);
    let judged = own.filter(|row| row.verdict != Verdict::Void);
    judged.map(|row| (row.task.clone(), row.verdict == Verdict::Pass)).collect()
}

fn passed(results: &Results) -> BTreeSet<TaskId> {
    results.iter().filter(|(_, passed)| **passed).map(|(task, _)| task.clone()).collect()
}

/// Bodies handed round between domains: each page gets the body of one of another program.
fn shuffled(studio: &Studio) -> Snapshot {
    let book = studio.learned();
    let pages: Vec<(String, String, Page)> = book
        .skills()
        .map(|skill| (skill.id.to_string(), skill.id.domain().to_owned(), skill.page()))
        .collect();
    studio.remade("shuffled", |id, page| {
        let at = pages.iter().position(|(known, ..)| known == id).expect("a page");
        let strangers = pages.iter().cycle().skip(at + 1).take(pages.len());
        let stranger = strangers.into_iter().find(|(_, domain, _)| *domain != pages[at].1);
        // Names and situations stay: what is found is the same, what it says to do is not.
        stranger.map_or(page.clone(), |(.., other)| Page { guidance: other.guidance.clone(), ..page })
    })
}

/// The first leg of every path is another menu than the right one.
fn misled(studio: &Studio) -> Snapshot {
    studio.remade("misled", |_, page| {
        let wrong = |line: &str| match line.split_once(" > ") {
            Some((before, after)) => {
                let (verb, _) = before.rsplit_once(' ').unwrap_or(("Open", ""));
                format!("{verb} Help > {after}")
            }
            None => line.to_owned(),
        };
        let guidance = page.guidance.lines().map(wrong).collect::<Vec<_>>().join("\n");
        Page { guidance, ..page }
    })
}

#[derive(Default)]
struct Ledger {
    broken: Vec<String>,
}

impl Ledger {
    fn claim(&mut self, holds: bool, what: String) {
        println!("{} {what}", if holds { "holds: " } else { "BROKEN:" });
        if !holds {
            self.broken.push(what);
        }
    }
}

fn share(part: usize, of: usize) -> f64 {
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if of == 0 { 0.0 } else { count(part) / count(of) }
}

/// What was measured.
struct Evidence {
    alone: Results,
    with: Results,
    wrong: Results,
    made: BTreeMap<&'static str, Results>,
    /// Tasks whose knowledge training could teach.
    seen: BTreeSet<TaskId>,
    /// Tasks whose knowledge it could not.
    unseen: BTreeSet<TaskId>,
}

impl Evidence {
    /// Measures the novice with and without the learned book, and then with what is made of it.
    async fn gather(studio: &Studio) -> Self {
        let outcome = studio.learn().await;
        let rows = &outcome.measured.results;
        let [alone, with, wrong] = ["none", "pull", "placebo-wrong"].map(|arm| results(rows, NOVICE, arm));
        let of = |stratum: Stratum| -> BTreeSet<TaskId> {
            let lines = outcome.report.templates.iter().filter(|line| line.stratum == Some(stratum));
            let templates: BTreeSet<&str> = lines.map(|line| line.template.as_str()).collect();
            let inside = |task: &&TaskId| {
                let task = studio.suite.task(task.as_str());
                task.is_some_and(|task| templates.contains(task.template()))
            };
            alone.keys().filter(inside).cloned().collect()
        };
        let (seen, unseen) = (of(Stratum::Seen), of(Stratum::Unseen));
        let mut evidence = Self { alone, with, wrong, made: BTreeMap::new(), seen, unseen };
        evidence.made = studio.run(evidence.lots(studio)).await;
        evidence
    }

    fn lots(&self, studio: &Studio) -> Vec<Lot<'static>> {
        let mine = self.gained();
        let novice = |name, book, tasks: &BTreeSet<TaskId>| Lot {
            name,
            model: NOVICE,
            book: Some(book),
            tasks: tasks.clone(),
        };
        vec![
            novice("deleted", Snapshot::empty(), &mine),
            novice("shuffled", shuffled(studio), &mine),
            novice("misled", misled(studio), &self.by_path(studio)),
        ]
    }

    /// Tasks that training could teach, and that are passed with the book alone.
    fn gained(&self) -> BTreeSet<TaskId> {
        passed(&self.with)
            .difference(&passed(&self.alone))
            .filter(|task| self.seen.contains(task))
            .cloned()
            .collect()
    }

    /// Tasks of [`Self::gained`] whose program's skills name menu paths.
    fn by_path(&self, studio: &Studio) -> BTreeSet<TaskId> {
        let book = studio.learned();
        let has_path = |app: &String| {
            book.skills().any(|skill| skill.id.domain() == app && skill.text.guidance.contains(" > "))
        };
        let inside = |id: &TaskId| {
            studio.suite.task(id.as_str()).is_some_and(|task| apps_of(task).iter().any(has_path))
        };
        self.gained().into_iter().filter(inside).collect()
    }

    fn tell(&self, studio: &Studio) {
        println!("\n{:22} {:>6} {:>6}", "", "passed", "of");
        let measured = [("alone", &self.alone), ("with the book", &self.with), ("mislabelled", &self.wrong)];
        let made = self.made.iter().map(|(name, results)| (*name, results));
        for (name, results) in measured.into_iter().chain(made) {
            println!("{name:22} {:6} {:6}", passed(results).len(), results.len());
        }
        for skill in studio.learned().skills() {
            println!("{}: {:?}", skill.id, skill.text.guidance);
        }
        println!("gained: {:?}\n", self.gained());
    }

    /// Every claim, held or broken.
    fn judge(&self) -> Ledger {
        let mut ledger = Ledger::default();
        let (seen, mine) = (self.seen.len(), self.gained().len());
        let rate = share(passed(&self.alone).len(), self.alone.len());
        ledger.claim((0.1..=0.6).contains(&rate), format!("alone the novice passes {:.0} %", rate * 100.0));
        ledger.claim(mine >= LEAST, format!("the book adds {mine} of {seen} templates"));
        for name in ["deleted", "shuffled", "misled"] {
            let kept = passed(&self.made[name]);
            ledger.claim(kept.is_empty(), format!("nothing of the gain is left, {name}: {kept:?}"));
        }
        let gained = passed(&self.with).difference(&passed(&self.alone)).cloned().collect::<BTreeSet<_>>();
        let strange: Vec<&TaskId> = gained.intersection(&self.unseen).collect();
        ledger.claim(
            strange.is_empty(),
            format!("knowledge never seen in training gains nothing: {strange:?}"),
        );
        let turned: Vec<TaskId> = passed(&self.wrong).difference(&passed(&self.alone)).cloned().collect();
        ledger
            .claim(turned.is_empty(), format!("mislabelled skills turn no failure into a pass: {turned:?}"));
        ledger
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `scripts/test` runs it as a lane of its own"]
async fn what_helps_is_what_the_skills_say() {
    let programs = ["mousepad", "thunar", "xfce4-terminal", "galculator", "chromium"];
    let missing: Vec<&&str> =
        NEEDED.iter().chain(&programs).filter(|program| !is_installed(program)).collect();
    assert!(missing.is_empty(), "not installed: {missing:?}; scripts/setup installs them");
    let studio = Studio::open();
    let evidence = Box::pin(Evidence::gather(&studio)).await;
    evidence.tell(&studio);
    let ledger = evidence.judge();
    if !ledger.broken.is_empty() {
        let kept = studio.folder.keep();
        panic!("{} claims are broken; everything is kept in {}", ledger.broken.len(), kept.display());
    }
}
