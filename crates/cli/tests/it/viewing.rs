//! `apprentice view` with a recorded run of a language model, and its exported page in a real Chromium in a cell: opened,
//! clicked through and steered by keys, with hostile words in the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::env::browser::{
    BrowserReuse, BrowserSandbox, BrowserSource, PagePictures, PageScripts,
};
use apprentice_protocol::{
    Action, Button, Chord, Environment, EnvironmentKind, EnvironmentSource as _, Machine, Observation, Size,
    Target, TreeBudget, Want, World, WorldSpec,
};
use apprentice_sandbox::{CellIsolation, CellLimits, CellSpec, SystemClock};

use crate::place::{PROGRAM, Place, Running, suite, worlds_can_start};
use crate::watching::first_told;

const HOME: &str = "/home/user";
/// Would change the title and the page if anything of it were markup.
const HOSTILE: &str =
    "</script><img src=x onerror=document.title='hacked'><script>document.title='hacked'</script>";

fn record() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/records/office-by-hand.tar.gz")
}

/// Unpacks the recorded run, and puts these words before each instruction, title and reply.
fn recorded_run(place: &Place, words: &str) -> PathBuf {
    let run = place.path(if words.is_empty() { "recorded/office" } else { "hostile/office" });
    fs::create_dir_all(&run).expect("a folder");
    let status = Command::new("tar").arg("-xzf").arg(record()).arg("-C").arg(&run).status().expect("tar");
    assert!(status.success());
    for trial in fs::read_dir(run.join("trials")).expect("trials").flatten() {
        let file = trial.path().join("attempt-01/events.jsonl");
        let text = fs::read_to_string(&file).expect("events");
        let text = text
            .replace("\"instruction\":\"", &format!("\"instruction\":\"{words}"))
            .replace("\"title\":\"", &format!("\"title\":\"{words}"))
            .replace("\"say\":[\"", &format!("\"say\":[\"{words}"));
        fs::write(file, text).expect("written");
    }
    if !words.is_empty() {
        let folder = run.join("book/general");
        fs::create_dir_all(&folder).expect("a folder");
        let page = format!(
            "## Situation\nWhen {words} is open.\n\n## Guidance\n1. {words}\n\n## Annotations\n\nNone\n"
        );
        fs::write(folder.join("hostile-words.md"), page).expect("written");
    }
    run
}

/// A browser that shows one page.
pub(crate) struct Browser {
    environment: Box<dyn Environment>,
    _state: tempfile::TempDir,
}

impl Browser {
    /// Opens a file in a browser that reaches nothing else.
    async fn open(page: &Path, screen: Size) -> Self {
        let (mut browser, machine) = Self::start(CellIsolation::Bubblewrap, screen).await;
        let path = format!("{HOME}/page.html");
        machine.write(&path, &fs::read(page).expect("the page")).await.expect("written");
        browser.act(Action::Navigate { url: format!("file://{path}") }).await;
        browser
    }

    /// Opens an address of this machine.
    pub(crate) async fn at(url: &str, screen: Size) -> Self {
        let (mut browser, _) = Self::start(CellIsolation::Plain, screen).await;
        browser.act(Action::Navigate { url: url.to_owned() }).await;
        browser
    }

    async fn start(isolation: CellIsolation, screen: Size) -> (Self, Arc<dyn Machine>) {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().expect("a folder");
        fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).expect("open");
        let cell = CellSpec {
            network: Vec::new(),
            folders: Vec::new(),
            screen: None,
            bare: false,
            isolation,
            program: PathBuf::from(PROGRAM),
            argument: "cell-supervisor".into(),
            state: state.path().to_owned(),
            golden: None,
            limits: CellLimits::default(),
        };
        let source = BrowserSource {
            network: apprentice_sandbox::NetworkPolicy::None,
            cell,
            program: "chromium".into(),
            // Without a cell, a browser of root has no sandbox of its own.
            sandbox: match isolation {
                CellIsolation::Bubblewrap => BrowserSandbox::On,
                CellIsolation::Container | CellIsolation::Plain => BrowserSandbox::Off,
            },
            pictures: PagePictures::Screen,
            reuse: BrowserReuse::off(),
            scripts: PageScripts::Off,
            clock: Arc::new(SystemClock::new()),
        };
        let spec = WorldSpec::new(EnvironmentKind::Browser, screen);
        let World { environment, machine, .. } = source.open(&spec).await.expect("a browser");
        (Self { environment, _state: state }, machine)
    }

    pub(crate) async fn close(self) {
        self.environment.close(Duration::from_secs(10)).await.expect("closed");
    }

    /// Whether a link, button or picture whose name begins so is there within some looks.
    pub(crate) async fn await_node(&mut self, role: &str, name: &str) -> bool {
        for _ in 0..100 {
            let tree = self.look().await.tree.expect("a tree");
            if tree.nodes.iter().any(|node| node.role.as_str() == role && node.name.starts_with(name)) {
                return true;
            }
        }
        false
    }

    async fn act(&mut self, action: Action<apprentice_protocol::ScreenPoint>) {
        self.environment.act(&action).await.expect("the world holds");
    }

    async fn look(&mut self) -> Observation {
        let want = Want { screenshot: true, tree: Some(TreeBudget::default()) };
        self.environment.observe(want).await.expect("the world holds")
    }

    pub(crate) async fn key(&mut self, chord: &str) {
        self.act(Action::Key { chord: Chord::parse(chord).expect("a chord"), hold_ms: None }).await;
    }

    /// Clicks the first link or button whose name begins so.
    pub(crate) async fn click(&mut self, role: &str, name: &str) {
        let tree = self.look().await.tree.expect("a tree");
        let found = tree.nodes.iter().find(|node| node.role.as_str() == role && node.name.starts_with(name));
        let id = found.unwrap_or_else(|| panic!("no {role} {name:?} in {tree:#?}")).id.clone();
        self.act(Action::Click { at: Target::Ref(id), button: Button::Left, count: 1, hold: None }).await;
    }

    /// The names of the grid's marks.
    async fn marks(&mut self) -> Vec<String> {
        let is_mark =
            |name: &str| ["passed: ", "failed: ", "void: "].iter().any(|word| name.starts_with(word));
        let tree = self.look().await.tree.expect("a tree");
        let links = tree.nodes.iter().filter(|node| node.role.as_str() == "link" && is_mark(&node.name));
        links.map(|node| node.name.clone()).collect()
    }

    /// Keeps a screenshot for the guide and returns the title.
    pub(crate) async fn shot(&mut self, name: &str) -> String {
        let seen = self.look().await;
        let title = seen.title().to_owned();
        let picture = seen.screenshot.expect("a screenshot");
        fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), &*picture.bytes.0).expect("written");
        assert!(!title.contains("hacked"), "{title}");
        title
    }
}

#[tokio::test]
async fn an_exported_page_is_clicked_through_in_a_browser_and_nothing_hostile_runs() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let run = recorded_run(&place, HOSTILE);
    let page = place.path("page.html");
    let output = place.output(&["view", &run.to_string_lossy(), "--export", &page.to_string_lossy()]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("3 attempts, 18 pictures"), "{output:?}");
    let mut browser = Browser::open(&page, Size::new(1280, 800)).await;
    assert_eq!(browser.shot("viewer-hostile.png").await, "office · Apprentice");
    browser.click("link", "passed: calc-line-totals").await;
    assert_eq!(
        browser.shot("viewer-hostile-attempt.png").await,
        "calc-line-totals · compat/teacher-b · Apprentice"
    );
    browser.key("j").await;
    browser.key("b").await;
    let tree = browser.look().await.tree.expect("a tree");
    let heading =
        tree.nodes.iter().find(|node| node.role.as_str() == "heading" && node.name.starts_with("Step 2"));
    assert!(heading.is_some(), "j shows the next step: {tree:#?}");
    browser.key("g").await;
    assert_eq!(browser.shot("viewer-again.png").await, "office · Apprentice");
    // A skill with markup in its text is words, too.
    browser.click("link", "Skillbook").await;
    browser.click("link", "general/hostile-words").await;
    assert_eq!(browser.shot("viewer-hostile-skill.png").await, "general/hostile-words · Apprentice");
    let tree = browser.look().await.tree.expect("a tree");
    assert!(tree.nodes.iter().any(|node| node.name.contains("onerror=document.title")), "{tree:#?}");
    browser.environment.close(Duration::from_secs(10)).await.expect("closed");
    pictures_for_the_guide(&place).await;
    let mut narrow = Browser::open(&page, Size::new(360, 740)).await;
    assert_eq!(narrow.shot("viewer-narrow.png").await, "office · Apprentice");
    narrow.environment.close(Duration::from_secs(10)).await.expect("closed");
}

/// Serves what was given, clicks each mark of the grid in a browser, and says whether its attempt was shown each time.
async fn click_each_mark(place: &Place, shown: &Path, title: &str) {
    let mut view = place.command(&["view", &shown.to_string_lossy(), "--json", "--no-open"]);
    let mut viewer = Running(view.stdout(Stdio::piped()).spawn().expect("it starts"));
    let served = first_told(&mut viewer, &["view", "--json"]);
    let url = served["url"].as_str().expect("an address").to_owned();
    let mut browser = Browser::at(&url, Size::new(1100, 760)).await;
    assert!(browser.await_node("link", "passed: ").await, "{}: the grid", shown.display());
    assert_eq!(browser.look().await.title(), format!("{title} · Apprentice"));
    let marks = browser.marks().await;
    assert!(marks.len() >= 3, "{marks:?}");
    for name in marks {
        browser.click("link", &name).await;
        assert!(browser.await_node("heading", "Step 1").await, "{}: {name}", shown.display());
        let task = name.split_once(": ").and_then(|(_, rest)| rest.split_once(',')).expect("a task").0;
        let title = browser.look().await.title().to_owned();
        assert!(title.starts_with(task), "{}: {name} leads to {title}", shown.display());
        browser.key("g").await;
        assert!(browser.await_node("link", "passed: ").await, "{}: the grid again", shown.display());
    }
    browser.close().await;
}

/// Browsers resolve `.` in the path of a URL, so only a real one shows that links lead somewhere.
#[tokio::test]
async fn each_mark_of_the_grid_opens_its_attempt_for_a_run_a_bundle_and_a_folder_of_runs() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let run = recorded_run(&place, "");
    click_each_mark(&place, &run, "office").await;
    click_each_mark(&place, run.parent().expect("a folder"), "recorded").await;
    click_each_mark(&place, &record(), "office-by-hand").await;
}

/// Takes the pictures of `docs/viewer.md`, of the run as it was recorded.
async fn pictures_for_the_guide(place: &Place) {
    let run = recorded_run(place, "");
    let page = place.path("recorded.html");
    let output = place.output(&["view", &run.to_string_lossy(), "--export", &page.to_string_lossy()]);
    assert!(output.status.success(), "{output:?}");
    let mut browser = Browser::open(&page, Size::new(1100, 560)).await;
    assert_eq!(browser.shot("viewer-results.png").await, "office · Apprentice");
    browser.click("link", "passed: calc-line-totals").await;
    browser.key("j").await;
    assert_eq!(browser.shot("viewer-attempt.png").await, "calc-line-totals · compat/teacher-b · Apprentice");
    browser.environment.close(Duration::from_secs(10)).await.expect("closed");
}

/// Runs a task that the rule-based student fails alone and passes with a skill, and looks at both.
#[tokio::test]
async fn the_task_that_a_skill_flipped_is_found_and_both_attempts_stand_side_by_side() {
    if !worlds_can_start() {
        return;
    }
    let place = Place::new();
    let (runs, suite) = (place.path("runs"), suite());
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rule_based_book");
    let [runs_text, suite_text, book_text] =
        [&runs, &suite, &book].map(|path| path.to_string_lossy().into_owned());
    for (arm, passes) in [("none", false), ("pull", true)] {
        let output = place.output(&[
            "run",
            &suite_text,
            "--task",
            "thunar-hidden-leftover",
            "--model",
            "builtin/novice",
            "--arm",
            arm,
            "--skillbook",
            &book_text,
            "--out",
            &runs_text,
        ]);
        assert_eq!(output.status.success(), passes, "{arm}: {output:?}");
    }
    let page = place.path("flipped.html");
    let output = place.output(&["view", &runs_text, "--export", &page.to_string_lossy()]);
    assert!(output.status.success(), "{output:?}");
    let mut browser = Browser::open(&page, Size::new(1100, 760)).await;
    browser.click("button", "Flipped (1)").await;
    assert_eq!(browser.shot("viewer-flipped.png").await, "runs · Apprentice");
    browser.click("link", "passed: thunar-hidden-leftover").await;
    browser.key("c").await;
    assert_eq!(
        browser.shot("viewer-side-by-side.png").await,
        "thunar-hidden-leftover, side by side · Apprentice"
    );
    let tree = browser.look().await.tree.expect("a tree");
    let says = |words: &str| tree.nodes.iter().any(|node| node.name.contains(words));
    assert!(says("They part at row"), "{tree:#?}");
    assert!(says("passed") && says("failed"), "{tree:#?}");
    browser.key("g").await;
    browser.click("link", "passed: thunar-hidden-leftover").await;
    browser.key("j").await;
    assert!(browser.shot("viewer-skill-step.png").await.starts_with("thunar-hidden-leftover"));
    let tree = browser.look().await.tree.expect("a tree");
    let skill =
        tree.nodes.iter().find(|node| node.role.as_str() == "link" && node.name.starts_with("thunar/"));
    assert!(skill.is_some(), "the second step names the skill that was read: {tree:#?}");
    browser.close().await;
}

#[test]
fn an_attempt_on_the_terminal_shows_its_task_and_its_verdict_with_the_reason() {
    let place = Place::new();
    let run = recorded_run(&place, HOSTILE);
    let trial = fs::read_dir(run.join("trials")).expect("trials").flatten().next().expect("one");
    let name = trial.file_name().to_string_lossy().into_owned();
    let id = name.rsplit_once('-').expect("an id").1.to_owned();
    let by_trial = place.output(&["view", &run.to_string_lossy(), "--trial", &id]);
    let by_folder = place.output(&["view", &trial.path().join("attempt-01").to_string_lossy()]);
    assert_eq!(by_trial.stdout, by_folder.stdout);
    let told = String::from_utf8_lossy(&by_trial.stdout).into_owned();
    assert!(told.starts_with("task "), "{told}");
    assert!(told.contains("passed, score 1.00: "), "{told}");
}

#[test]
fn what_cannot_be_shown_is_refused_with_the_remedy() {
    let place = Place::new();
    let folder = place.path("empty");
    fs::create_dir_all(&folder).expect("a folder");
    let file = place.path("no-bundle");
    fs::write(&file, "text").expect("written");
    let absent = place.path("absent");
    for (path, reason) in [(&folder, "is an empty folder"), (&file, "no-bundle"), (&absent, "does not exist")]
    {
        let output = place.output(&["view", &path.to_string_lossy()]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.contains(reason), "{told}");
    }
}
