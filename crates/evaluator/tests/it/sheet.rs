//! Experiment configurations: their valid content, their errors, and a plan's forecast.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use apprentice_evaluator::estimates::cost::Pricing;
use apprentice_evaluator::experiment::{
    BookSource, Definition, Experiment, ExperimentConfig, ExperimentConfigError, LearningModels, Prereg,
    ProgramDefaults, ResolveContext, ResolvedConfig, forecast, plan_measurement, report,
};
use apprentice_evaluator::run::RunPlan;
use apprentice_models::price::{Price, Tariff};
use apprentice_policies::{BuiltInModel, Policy};
use apprentice_protocol::{
    CoordinateSpace, HistoryRule, ImageRule, Limits, ModelProfile, ToolRule, ViewRule,
};
use apprentice_results::arm::Arm;
use apprentice_results::report::{Family, PrimaryComparison};
use apprentice_runs::row::{Role, Split};
use apprentice_skillbook::Snapshot;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::experiment::{experiment, finished, learned, work};

const STARTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tasks/starter");

fn model(name: &str) -> Result<String, String> {
    match name {
        "builtin/explorer" | "builtin/novice" | "paid/one" => Ok(name.to_owned()),
        other => Err(format!("there is no model {other:?}")),
    }
}

fn settled(text: &str) -> Result<ResolvedConfig, ExperimentConfigError> {
    let path = Path::new(STARTER).join("experiment.toml");
    let name = Path::new("experiment.toml");
    let told = |error: ExperimentConfigError| ExperimentConfigError { path: name.to_owned(), ..error };
    ExperimentConfig::read(name, text)?.resolve(&ResolveContext { file: &path, model: &model }).map_err(told)
}

fn carried(draft: ResolvedConfig) -> Experiment {
    draft.experiment(ProgramDefaults {
        learner: Some(Arc::new(BuiltInModel::new(Policy::Explorer))),
        judge: None,
        attempts: 2,
        epochs: 1,
        cleanup_every: 7,
        tools: apprentice_evaluator::arms::tool_servers::ToolSettings::default(),
        command: Vec::new(),
        program: "0.0.0".into(),
    })
}

fn shipped() -> String {
    fs::read_to_string(Path::new(STARTER).join("experiment.toml")).expect("the shipped sheet")
}

#[test]
fn the_shipped_sheet_is_the_demo() {
    let draft = settled(&shipped()).expect("settles");
    assert_eq!(draft.learner.as_deref(), Some("builtin/explorer"), "the teacher keeps the book itself");
    let experiment = carried(draft);
    assert!(experiment.lock.is_some(), "the split beside the suite");
    assert_eq!(
        (experiment.student.as_str(), experiment.seeds, experiment.attempts),
        ("builtin/novice", 3, 2)
    );
    let definition = Definition::of(&experiment).expect("a definition");
    assert_eq!(definition.arms, ["none", "pull", "placebo-inert"]);
    assert_eq!(definition.primary, PrimaryComparison::default());
    let json = serde_json::to_string(&definition).expect("json");
    assert!(json.contains(r#""epochs":2,"batch":2,"rehearse":true,"cleanup_interval":10"#), "{json}");
    assert!(!json.contains(r#""cleanup":{"#), "it cleans with the usual thresholds: {json}");
}

/// A configuration with invalid fields and with unknown names.
const BROKEN: &str = r#"
suite = "."
student = "builtin/novice"
students = ["builtin/novise", "builtin/novice", "builtin/novice"]
arms = ["none", "pul", 3]
seeds = 0
baselines = "yes"

[learning]
epoch = 2
[learning.cleanup]
request = 4
follow_share = 2
"#;

/// A misspelt, mistyped or missing value causes no second error; valid values beside it are still looked up.
const MIXED: &str = r#"
suite = "../startr"
teachers = "builtin/explorer"
students = ["builtin/novise"]
arms = ["none", 3]
select = "demo.jsn"
seed = 3
"#;

/// A well-formed configuration with unknown names.
const ASTRAY: &str = r#"
suite = "."
split = "demo.json"
students = ["builtin/novise"]
teacher = "builtin/explorer"
templates = ["mousepad-ad-line", "no such thing"]
arms = ["none", "pul", "inline"]
skillbook = "nowhere"
suppress = ["mousepad/tabs@thunr", "x"]
"#;

#[test]
fn all_faults_of_a_sheet_are_told_at_once_with_their_places() {
    let both = shipped().replace("seeds = 3", "seeds = 3\nskillbook = \"inert\"");
    let alone = "suite = \".\"\nstudents = [\"builtin/novice\"]\narms = [\"pull\"]\n[further]\nbest_of = 2";
    let cases =
        [BROKEN, MIXED, ASTRAY, "suite = \".\"\nstudents = [\"builtin/novice\"", "seeds = 2", &both, alone];
    let told: Vec<String> =
        cases.iter().map(|text| settled(text).expect_err("is refused").to_string()).collect();
    insta::assert_snapshot!(told.join("\n\n").replace(STARTER, "STARTER"), @r#"
    experiment.toml:3:1: there is no key `student`; did you mean `students`?
    experiment.toml:4:13: there is no model "builtin/novise"
    experiment.toml:4:49: `students` names "builtin/novice" twice
    experiment.toml:5:17: there is no arm "pul"; did you mean "pull"?
    experiment.toml:5:24: `arms` must be a string: write it in quotes
    experiment.toml:6:9: `seeds` must be a whole number from 1 to 1000
    experiment.toml:7:13: `baselines` must be true or false
    experiment.toml:10:1: there is no key `learning.epoch`; did you mean `learning.epochs`?
    experiment.toml:12:1: there is no key `cleanup.request`; did you mean `cleanup.requests`?
    experiment.toml:13:16: `follow_share` must be a number from 0 to 1
    experiment.toml: learning needs a teacher: name a `teacher`, or give a `skillbook`

    experiment.toml:2:9: there is no suite STARTER/../startr; did you mean "starter"?
    experiment.toml:3:1: there is no key `teachers`; did you mean `teacher`?
    experiment.toml:4:13: there is no model "builtin/novise"
    experiment.toml:5:17: `arms` must be a string: write it in quotes
    experiment.toml:7:1: there is no key `seed`; did you mean `seeds`?

    experiment.toml:3:9: STARTER/demo.json: not a split lock (field rule): unknown field `rule`, expected one of `schema`, `suite`, `suite_hash`, `salt`, `templates`, `tasks`, `instructions` at line 4 column 8
    experiment.toml:4:13: there is no model "builtin/novise"
    experiment.toml:6:14: suite "starter" has no template "mousepad-ad-line"; did you mean "mousepad-add-line"?
    experiment.toml:6:34: suite "starter" has no template "no such thing"
    experiment.toml:7:9: the primary comparison is pull vs placebo-inert, but "pull" is not among the arms: add it to `arms`, or name two others under [primary]
    experiment.toml:7:9: the primary comparison is pull vs placebo-inert, but "placebo-inert" is not among the arms: add it to `arms`, or name two others under [primary]
    experiment.toml:7:17: there is no arm "pul"; did you mean "pull"?
    experiment.toml:7:24: `inline` inserts the guidance that `pull` retrieved: add "pull" to `arms`
    experiment.toml:8:13: there is no book STARTER/nowhere
    experiment.toml:9:13: there is no program "thunr" here; did you mean "thunar"?
    experiment.toml:9:36: "x" is not a skill to hide: write it as domain/skill@program

    experiment.toml:2:29: unclosed array, expected `]`

    experiment.toml: `suite` is missing: the folder of the tasks
    experiment.toml: `students` is missing: the models to measure, `students = ["provider/name"]`
    experiment.toml: learning needs a teacher: name a `teacher`, or give a `skillbook`

    experiment.toml:10:13: pages changed by hand are not recorded yet: chromium/home-button.md, galculator/paper-mode.md, mousepad/colour-scheme.md, terminal/more-tabs.md, thunar/sort-entries.md; run `apprentice skills sync`
    experiment.toml:10:13: `skillbook` and [learning] exclude each other: remove one

    experiment.toml:3:9: the primary comparison is pull vs placebo-inert, but "placebo-inert" is not among the arms: add it to `arms`, or name two others under [primary]
    experiment.toml:4:2: `[ablations]` needs the arm "none": more_steps and best_of are compared with it
    experiment.toml: learning needs a teacher: name a `teacher`, or give a `skillbook`
    "#);
}

#[test]
fn a_judge_is_named_in_the_file_and_a_wrong_name_has_its_place() {
    let named = |judge: &str| shipped().replacen("teacher =", &format!("judge = \"{judge}\"\nteacher ="), 1);
    let read = ExperimentConfig::read(Path::new("x.toml"), &named("paid/one")).expect("reads");
    assert_eq!(read.judge.expect("a judge").value, "paid/one");
    let told = settled(&named("nobody")).expect_err("no model").to_string();
    assert!(told.contains("there is no model \"nobody\""), "{told}");
}

#[test]
fn templates_and_a_selection_narrow_what_takes_part() {
    let all = carried(settled(&shipped()).expect("settles"));
    let test = Definition::of(&all).expect("a definition").test;
    let template = test.values().next().expect("a template").clone();
    let narrow = shipped().replace("seeds = 3", &format!("seeds = 3\ntemplates = [{template:?}]"));
    let narrow = carried(settled(&narrow).expect("settles"));
    let kept = Definition::of(&narrow).expect("a definition").test;
    assert!(!kept.is_empty() && kept.values().all(|one| *one == template), "{kept:?}");
    assert!(test.len() > kept.len());
}

#[test]
fn the_students_limits_hold_for_the_student_alone() {
    let capped =
        format!("{}\n[limits]\nturns = 40\n[student_limits]\nworld_steps = 15\nturns = 20\n", shipped());
    let experiment = carried(settled(&capped).expect("settles"));
    let definition = Definition::of(&experiment).expect("a definition");
    let students = definition.student_limits.expect("limits of the student");
    assert_eq!((students.world_steps, students.turns, students.working_s), (Some(15), Some(20), None));
    let given =
        Experiment { book: BookSource::Given(Snapshot::empty()), arms: vec![Arm::None], ..experiment };
    let plan = plan_measurement(&given, Timestamp::UNIX_EPOCH).expect("a plan").expect("of a given book");
    let turns = |role: Role| -> BTreeSet<u32> {
        let of_role = plan.trials.iter().filter(|trial| trial.role == role);
        of_role.map(|trial| plan.limits_of(trial, Limits::default()).turns).collect()
    };
    assert_eq!((turns(Role::Student), turns(Role::Teacher)), ([20].into(), [40].into()));
    let free = RunPlan { limits: None, student_limits: None, ..plan };
    let own = Limits { turns: 7, ..Limits::default() };
    assert!(free.trials.iter().all(|trial| free.limits_of(trial, own) == own));
}

/// A plan of the shipped experiment whose student is a paid model.
fn paid_draft() -> String {
    shipped()
        .replace("\"builtin/novice\"]", "\"paid/one\"]\n[limits]\nturns = 10")
        .replace("arms = [\"none\", \"pull\", \"placebo-inert\"]\nseeds = 3\n", "")
}

fn paid_model(images: ImageRule) -> Pricing {
    Pricing {
        tariff: Some(Tariff::Tokens(Price { input: 1.0, output: 10.0, ..Price::default() })),
        profile: Some(ModelProfile {
            name: "paid/one".into(),
            consumer: "c".into(),
            space: CoordinateSpace::Unit,
            images,
            outline: true,
            views: ViewRule::Whole,
            history: HistoryRule::AppendOnly { max_request_bytes: 1, uploads: false, context: None },
            tools: ToolRule::Fixed,
            max_output_tokens: 1000,
        }),
        attempt_cap: None,
    }
}

#[test]
fn a_forecast_counts_pictures_and_what_safety_readers_read() {
    let draft = settled(&paid_draft()).expect("settles");
    let design = draft.config.design;
    let experiment = carried(draft);
    let learning = LearningModels { learner: Some("paid/one".into()), readers: vec!["paid/two".into()] };
    let seeing = paid_model(ImageRule::AsIs);
    let quote = |model: &str| if model.starts_with("paid/") { seeing.clone() } else { Pricing::free() };
    let told = forecast(&experiment, design, &learning, &quote, &[]).expect("a forecast");
    let of = |name: &str| told.cost.iter().find(|one| one.model == name).expect("its cost").clone();
    let (reviewer, reader) = (of("paid/one"), of("paid/two"));
    let learned: usize = told.parts.iter().filter(|part| part.learning).map(|part| part.trials).sum();
    assert_eq!(reviewer.reviews, learned, "each attempt that learning makes is reviewed");
    assert_eq!(reviewer.pictures.most, reviewer.reviews * 24 * 3, "{reviewer:?}");
    assert!(reader.trials == 0 && reader.readings.most > 0 && reader.least_usd == Some(0.0), "{reader:?}");
    assert!(
        reader.most_usd > Some(0.0) && told.notes.iter().any(|note| note.contains("reads up to")),
        "{told:?}"
    );
}

#[test]
fn a_plan_counts_trials_money_and_power() {
    let draft = settled(&paid_draft()).expect("settles");
    let design = draft.config.design;
    let experiment = carried(draft);
    let paid_model = paid_model(ImageRule::None);
    let quote = |model: &str| if model == "paid/one" { paid_model.clone() } else { Pricing::free() };
    let learning = LearningModels { learner: Some("builtin/explorer".into()), readers: Vec::new() };
    let found = forecast(&experiment, design, &learning, &quote, &[]).expect("a forecast");
    let lock = experiment.lock.as_ref().expect("a lock");
    let tests = Definition::of(&experiment).expect("a definition").test;
    assert_eq!((found.test_tasks, found.power.templates), (tests.len(), found.test_templates));
    let student = |learning: bool| -> usize {
        let parts = found.parts.iter().filter(|part| part.model == "paid/one" && part.learning == learning);
        parts.map(|part| part.trials).sum()
    };
    assert_eq!(student(true), found.train_tasks, "one rehearsal of each training task");
    // Three arms by three seeds, where a task varies and an arm has a skill; and two arms in one other wording.
    assert!(student(false) <= tests.len() * (3 * 3 + 2) && student(false) > tests.len() * (3 + 2));
    let paid = found.cost.iter().find(|one| one.model == "paid/one").expect("its cost");
    let trials = (student(true) + student(false)) as f64;
    // At least one turn of 9,000 and 150 tokens; at most ten, each with 4,000 more, and 1,000 each.
    assert!((paid.least_usd.expect("priced") - trials * 0.0105).abs() < 1e-9, "{paid:?}");
    assert!((paid.most_usd.expect("priced") - trials * 0.37).abs() < 1e-9, "{paid:?}");
    assert_eq!(found.most_usd, paid.most_usd, "the others cost nothing");
    let reviewer = found.cost.iter().find(|one| one.model == "builtin/explorer").expect("its reviews");
    assert!(reviewer.reviews > 0 && reviewer.review_requests.least == reviewer.reviews, "{reviewer:?}");
    assert!(reviewer.review_requests.most > reviewer.reviews && reviewer.readings.is_none(), "{reviewer:?}");
    assert!(
        found.power.smallest_effect.is_some_and(|effect| (0.1..0.9).contains(&effect)),
        "{:?}",
        found.power
    );
    assert!(found.power.found.is_some() && found.power.templates_needed.is_some());

    let unknown = Pricing { tariff: None, ..Pricing::free() };
    let unknown = forecast(&experiment, design, &LearningModels::default(), &|_| unknown.clone(), &[])
        .expect("a forecast");
    assert!(unknown.most_usd.is_none() && unknown.notes.iter().any(|note| note.contains("no known price")));
    let few: Vec<String> = lock.templates(Split::Test).take(3).map(|name| format!("{name:?}")).collect();
    let few = format!("{}\ntemplates = [{}]", "suite = \".\"", few.join(","));
    let few = shipped().replace("select = \"demo.json\"\n", "").replace("suite = \".\"", &few);
    let few = few.replace("templates = [", &train(&experiment));
    let draft = settled(&few).expect("settles");
    let found =
        forecast(&carried(draft), design, &LearningModels::default(), &quote, &[]).expect("a forecast");
    assert_eq!(found.power.smallest_effect, None);
    assert!(found.notes.iter().any(|note| note.contains("too few")), "{:?}", found.notes);
}

/// Moves the training templates to the front of a list of templates.
fn train(experiment: &Experiment) -> String {
    let lock = experiment.lock.as_ref().expect("a lock");
    let names: Vec<String> = lock.templates(Split::Train).map(|name| format!("{name:?}, ")).collect();
    format!("templates = [{}", names.concat())
}

#[tokio::test]
async fn what_is_registered_is_told_beside_what_was_done() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("prereg.lock");
    let plain = experiment(learned());
    let definition = Definition::of(&plain).expect("a definition");
    let other = Definition { seeds: 9, arms: vec!["none".into(), "pull".into()], ..definition };
    let other = Definition {
        primary: PrimaryComparison { control: "none".into(), ..PrimaryComparison::default() },
        ..other
    };
    let registered = Prereg::new(other, Some(0.35), Timestamp::UNIX_EPOCH);
    registered.write(&place).expect("writes");
    assert!(registered.write(&place).is_err(), "a registration is never replaced");
    assert_eq!(Prereg::read(&place).expect("reads"), Some(registered.clone()));

    let out = folder.path().join("out");
    let outcome =
        work(&Experiment { registered: Some(registered), ..plain }, &out, None).await.expect("works");
    let told = outcome.report.registration.as_ref().expect("a registration");
    let deviations: Vec<String> =
        told.deviations.iter().map(|one| format!("{}: {}", one.field, one.what)).collect();
    insta::assert_snapshot!(deviations.join("\n"), @"
    arms: added placebo-inert
    primary: control registered none, carried out placebo-inert
    seeds: registered 9, carried out 2
    ");
    // The registered comparison is confirmatory; one with an added arm is exploratory.
    let family =
        |name: &str| outcome.report.comparisons.iter().find(|one| one.name == name).map(|one| one.family);
    assert_eq!(family("pull vs none"), Some(Family::Primary));
    assert_eq!(family("pull vs placebo-inert"), Some(Family::Exploratory));
    assert!(outcome.report.notes.iter().any(|note| note.contains("deviations from the registration")));

    // Without a preregistration, the experiment itself is registered when it begins, so there are no deviations.
    let told = report(&finished().await.0).expect("a report").registration.expect("a registration");
    assert_eq!((told.primary, told.deviations), (PrimaryComparison::default(), Vec::new()));
}

#[test]
fn ablations_are_read_under_their_old_name_too_but_not_under_both() {
    let head = "suite = \".\"\nstudents = [\"builtin/novice\"]\narms = [\"pull\"]\n";
    let told = |tables: &str| settled(&format!("{head}{tables}")).expect_err("is refused").to_string();
    for name in ["ablations", "further"] {
        let found = told(&format!("[{name}]\nbest_of = 2"));
        assert!(found.contains("4:2: `[ablations]` needs the arm \"none\""), "{found}");
    }
    let both = told("[ablations]\nbest_of = 2\n[further]\nbest_of = 2");
    assert!(both.contains("`[further]` is the old name of `[ablations]`"), "{both}");
}

#[test]
fn a_file_in_another_format_is_told_in_few_lines() {
    let json = format!("{{\n{}}}\n", "  \"suite\": \".\",\n".repeat(40));
    let told = settled(&json).expect_err("no TOML").to_string();
    assert!(told.starts_with("experiment.toml:1:1: "), "{told}");
    assert_eq!(told.lines().count(), 6, "{told}");
    assert!(told.lines().any(|line| line.ends_with("more places")), "{told}");
}
