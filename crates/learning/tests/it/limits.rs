//! Limits at their edges, as a writer, a person or a model meets them: what just fits, and what is one over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use apprentice_guidance::{ArmPolicy, SKILL_FILE, SKILL_SEARCH, SKILL_VIEW, TaskView, build_guidance};
use apprentice_learning::cleanup::{CleanupOptions, SkillEmbeddings};
use apprentice_learning::foreground::{
    Budgets, BundleBudget, Counters, CoveredEvents, Gate, Limits, Reason, SummarizedEvent, bundle, gate,
};
use apprentice_learning::manage::ManageOptions;
use apprentice_learning::reflect::ReflectOptions;
use apprentice_learning::{HandlerOptions, author_tools};
use apprentice_protocol::{
    BoxFuture, Clock, EmbedError, Embedder, Guidance, Side, StepId, StepRef, ToolOutcome, Why,
};
use apprentice_skillbook::package::{
    ImportOptions, Package, SKILL_FILE as PACKAGE_PAGE, check, export, import,
};
use apprentice_skillbook::{
    Actor, Change, NewDomain, Origin, Snapshot, WriteMode, WriteRefusal, history, is_same_release,
};
use apprentice_wording::EmbeddingModel;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clerk::run;
use crate::shelf::{Shelf, create, creation, id, request, text, write};

/// Returns a text of so many characters, in words.
fn long(characters: usize) -> String {
    "word ".repeat(characters).chars().take(characters - 1).chain(['.']).collect()
}

fn created(skill: &str, [description, situation, guidance]: [&str; 3], origin: Origin) -> Change {
    let text = text(description, situation, guidance);
    Change::SkillCreated { skill: id(skill), text, annotations: Vec::new(), origin, domain: None }
}

fn code<T: std::fmt::Debug>(answer: Result<T, WriteRefusal>) -> String {
    match answer {
        Ok(_) => "taken".to_owned(),
        Err(WriteRefusal::Refused { code, .. }) => code.to_owned(),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_part_of_a_page_is_taken_up_to_its_length() {
    let shelf = Shelf::with(&[("os/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let mut number = 0;
    let mut put = |place: usize, length: usize, origin: Origin| {
        let whole = long(length);
        let mut parts = ["D", "S.", "1. G."];
        parts[place] = &whole;
        number += 1;
        let change = created(&format!("os/n{number}"), parts, origin);
        code(gateway.apply(request(Actor::Human, change)))
    };
    for (place, most) in [(0, 160), (1, 1500), (2, 3600)] {
        assert_eq!(put(place, most, Origin::Learned), "taken", "{most}");
        assert_eq!(put(place, most + 1, Origin::Learned), "too_long", "{most}");
    }
    assert_eq!(put(2, 10_500, Origin::Imported), "taken");
    assert_eq!(put(2, 10_501, Origin::Imported), "too_long");
    let mut note =
        |length| code(write(&mut gateway, Change::SkillAnnotated { skill: id("os/a"), note: long(length) }));
    assert_eq!((note(500).as_str(), note(501).as_str()), ("taken", "too_long"));
}

#[test]
fn an_index_shows_a_hundred_skills_and_lines_of_180_characters() {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    for number in 0..100 {
        create(&mut gateway, &format!("os/n{number:03}"), "alpha");
    }
    assert_eq!(shelf.read("os/INDEX.md").matches("- os/").count(), 100);
    assert!(!shelf.read("os/INDEX.md").contains("more; skill_search"));
    create(&mut gateway, "os/n100", "alpha");
    let index = shelf.read("os/INDEX.md");
    assert!(
        index.matches("- os/").count() == 100 && index.ends_with("- and 1 more; skill_search finds them\n")
    );

    let name = format!("gimp/{}", "n".repeat(30));
    let head = format!("- {name}: ").chars().count();
    for (line, cut) in [(180, false), (181, true)] {
        let shelf = Shelf::with(&[("gimp/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        let description = long(line - head);
        write(&mut gateway, created(&name, [&description, "S.", "1. G."], Origin::Learned)).expect("written");
        let index = shelf.read("gimp/INDEX.md");
        let shown = index.lines().find(|line| line.contains("nnn")).expect("listed");
        assert_eq!(shown.ends_with(" …"), cut, "{shown}");
        assert!(shown.chars().count() <= 180);
    }
}

#[test]
fn the_list_of_domains_ends_before_2400_characters_and_counts_the_rest() {
    for (last, whole) in [(9, true), (10, false)] {
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        // Thirteen lines of 178 characters with their ends, and one that leaves 60 for the line that counts the rest.
        for number in 0..14 {
            let mut change = creation(&format!("d{number:02}/a"), "alpha");
            if let Change::SkillCreated { domain, .. } = &mut change {
                let description = long(if number == 13 { last } else { 160 });
                *domain = Some(NewDomain { domain: format!("d{number:02}"), description });
            }
            write(&mut gateway, change).expect("written");
        }
        let domains = gateway.snapshot().domain_lines();
        assert_eq!(domains.contains("- d13 "), whole, "{domains}");
        assert_eq!(domains.contains("- and 1 more; skill_search finds their skills"), !whole);
        assert!(domains.chars().count() <= 2400);
    }
}

#[test]
fn a_line_of_history_has_at_most_120_characters() {
    for (length, cut) in [(120, false), (121, true)] {
        let shelf = Shelf::with(&[("os/a", "alpha")]);
        let (mut gateway, _) = shelf.open();
        write(&mut gateway, Change::SkillAnnotated { skill: id("os/a"), note: "n".repeat(length) })
            .expect("written");
        let entries = history(&gateway.snapshot().operations(), Some(&id("os/a")));
        let summary = &entries.last().expect("an entry").summary;
        assert_eq!((summary.chars().count(), summary.ends_with('…')), (120, cut), "{summary}");
    }
}

#[test]
fn a_page_by_hand_is_read_up_to_200_000_bytes_and_described_by_160_characters() {
    let shelf = Shelf::new();
    let page = |situation: &str, guidance: &str| {
        format!("## Situation\n\n{situation}\n\n## Guidance\n\n{guidance}\n\n## Annotations\n\nNone\n")
    };
    let bare = page("S.", "").len();
    shelf.edit("os/fits.md", &page("S.", &"g".repeat(200_000 - bare)));
    shelf.edit("os/over.md", &page("S.", &"g".repeat(200_001 - bare)));
    shelf.edit("os/wordy.md", &page(&"s".repeat(161), "1. G."));
    let book = shelf.snapshot();
    let problem = |path: &str| {
        book.problems().iter().find(|one| one.path == path).map_or("", |one| one.what.as_str()).to_owned()
    };
    assert!(!problem("os/fits.md").contains("bytes"), "{}", problem("os/fits.md"));
    assert_eq!(problem("os/over.md"), "200001 bytes; a page has at most 200000");
    let described = &book.skill(&id("os/wordy")).expect("read").text.description;
    assert_eq!(described.len(), 160);
}

#[test]
fn releases_are_told_apart_by_their_second_number() {
    assert!(is_same_release("3.0.2", "3.0.4") && !is_same_release("3.0.2", "3.1.2"));
}

/// A clock that counts its pauses and lets none pass.
#[derive(Default)]
struct Counting {
    pauses: AtomicU32,
    waited_ms: AtomicU32,
}

impl Clock for Counting {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn mono(&self) -> Duration {
        Duration::ZERO
    }

    fn pause(&self, time: Duration, _: Why) -> BoxFuture<'_, ()> {
        self.pauses.fetch_add(1, Ordering::Relaxed);
        self.waited_ms.fetch_add(u32::try_from(time.as_millis()).expect("short"), Ordering::Relaxed);
        Box::pin(std::future::ready(()))
    }
}

fn authored(shelf: &Shelf, clock: &Arc<Counting>, name: &str, arguments: &Value) -> String {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
    let tools = author_tools(shelf.path(), &clock, WriteMode::Auto);
    let tool = tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
    said(&run(tool.call(arguments, StepRef { step: StepId(1) })))
}

fn said(outcome: &ToolOutcome) -> String {
    outcome.content[0].as_text().expect("text").to_owned()
}

#[test]
fn a_writer_waits_five_seconds_for_another_and_no_longer() {
    let shelf = Shelf::with(&[("os/a", "alpha")]);
    let other = shelf.open();
    let clock = Arc::new(Counting::default());
    let answer = authored(&shelf, &clock, "skill_delete", &json!({"id": "os/a"}));
    assert!(answer.contains("os/a") || !answer.is_empty(), "{answer}");
    assert_eq!(clock.pauses.load(Ordering::Relaxed), 49, "fifty tries");
    assert_eq!(clock.waited_ms.load(Ordering::Relaxed), 4900);
    drop(other);
    assert!(authored(&shelf, &clock, "skill_delete", &json!({"id": "os/a"})).contains("taken out"));
}

#[test]
fn an_authors_texts_have_64_kib_and_3600_characters_are_much_to_read() {
    let shelf = Shelf::with(&[("os/a", "alpha")]);
    let clock = Arc::new(Counting::default());
    let put = |bytes: usize| {
        let (name, summary) = ("os/b", "Sorting leads");
        let body = "x".repeat(bytes - name.len() - summary.len());
        authored(&shelf, &clock, "skill_create", &json!({"id": name, "summary": summary, "body": body}))
    };
    assert_eq!(put(64 * 1024 + 1), "too_long: 65537 bytes; a page has at most 65536");
    assert!(!put(64 * 1024).contains("65536"), "read, and then refused for another reason");
    for (characters, much) in [(3600, false), (3601, true)] {
        let name = format!("os/n{characters}");
        let (mut gateway, _) = shelf.open();
        let guidance = long(characters - 100);
        write(&mut gateway, created(&name, ["D", &long(100), &guidance], Origin::Learned)).expect("written");
        drop(gateway);
        let answer = authored(&shelf, &clock, "skill_validate", &json!({ "id": name }));
        assert_eq!(answer.contains("are much to read"), much, "{answer}");
    }
    let refused = authored(&shelf, &clock, "skill_delete", &json!({"id": format!("{}/b", "A".repeat(5000))}));
    assert!((590..=600).contains(&refused.chars().count()), "{refused}");
}

fn call(guidance: &Guidance, name: &str, arguments: &Value) -> String {
    let tool = guidance.tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
    said(&run(tool.call(arguments, StepRef { step: StepId(1) })))
}

fn pulled(book: &Snapshot) -> Guidance {
    build_guidance(book, &ArmPolicy::Pull { figures: false }, &TaskView::default()).expect("lends")
}

#[test]
fn a_search_shows_five_skills_or_up_to_twenty_and_reads_a_thousand_characters() {
    let names: Vec<String> = (0..22).map(|number| format!("os/n{number:02}")).collect();
    let skills: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "gradient")).collect();
    let guidance = pulled(&Shelf::with(&skills).snapshot());
    let hits = |arguments: &Value| call(&guidance, SKILL_SEARCH, arguments).matches("- os/").count();
    assert_eq!(hits(&json!({"query": "gradient"})), 5);
    assert_eq!(hits(&json!({"query": "gradient", "limit": 20})), 20);
    assert_eq!(hits(&json!({"query": "gradient", "limit": 22})), 20);
    assert_eq!(hits(&json!({"query": "gradient", "limit": 0})), 1);
    let after = |filler: usize| hits(&json!({ "query": format!("{} gradient", "x".repeat(filler)) }));
    assert_eq!((after(1000 - 9), after(1001 - 9)), (5, 0), "what stands later is not read");
}

#[test]
fn a_name_is_repeated_up_to_120_characters() {
    let guidance = pulled(&Shelf::with(&[("os/a", "alpha")]).snapshot());
    let answer = call(&guidance, SKILL_VIEW, &json!({ "skill": "z".repeat(121) }));
    assert_eq!(answer.matches('z').count(), 120, "{answer}");
}

#[test]
fn a_skills_text_is_shown_up_to_12_000_characters() {
    for (length, cut) in [(12_000, false), (12_001, true)] {
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        let mut put = |name: &str, guidance: usize| {
            let change = created(name, ["D", &long(1500), &long(guidance)], Origin::Imported);
            gateway.apply(request(Actor::Human, change)).expect("written");
            gateway.snapshot().skill(&id(name)).expect("there").view().chars().count()
        };
        let rest = put("os/a", 9000) - 9000;
        assert_eq!(put("os/b", length - rest), length);
        drop(gateway);
        let book = shelf.snapshot();
        let part = |from: usize| {
            let shown = call(&pulled(&book), SKILL_VIEW, &json!({"skill": "os/b", "from": from}));
            let inside = shown.split_once(">\n").and_then(|(_, text)| text.strip_suffix("\n</note>\n"));
            inside.unwrap_or(&shown).to_owned()
        };
        let first = part(0);
        assert!(first.contains("more characters]") == cut && first.chars().count() <= 12_000);
        let Some((begin, remark)) = first.split_once("\n[`from`: ") else { continue };
        let from = remark.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
        let whole = book.skill(&id("os/b")).expect("there").view();
        assert_eq!(format!("{begin}{}", part(from)).trim_end(), whole.trim_end(), "the parts are the whole");
        assert_eq!(part(length), format!("os/b has {length} characters; `from` lies behind its end."));
    }
}

#[test]
fn a_given_text_has_at_most_24_000_characters() {
    let opening = |length: usize| {
        let policy = ArmPolicy::Inline { text: "t".repeat(length) };
        let guidance = build_guidance(&Snapshot::empty(), &policy, &TaskView::default()).expect("lends");
        guidance.opening.as_str().to_owned()
    };
    let head = opening(1).chars().count() - 1;
    assert!(!opening(24_000 - head).contains("more characters]"));
    let over = opening(24_001 - head);
    assert!(over.ends_with("more characters]") && over.chars().count() <= 24_000);
}

fn imported(files: &[(String, String)]) -> (Shelf, Snapshot) {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let options = ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "gimp".into(), accept_effects: false };
    let page = "---\nname: batch\ndescription: Converting many pictures.\n---\n\n1. See the files.\n";
    let page = (PACKAGE_PAGE.to_owned(), page.to_owned());
    let files = files.iter().cloned().chain([page]).map(|(path, text)| (path, text.into_bytes()));
    let package = Package { name: "batch".into(), files: files.collect() };
    assert_eq!(import(&mut gateway, &package, &options).expect("imports").refused, None);
    let book = gateway.snapshot();
    drop(gateway);
    (shelf, book)
}

#[test]
fn twenty_files_of_a_package_are_listed_and_each_is_shown_up_to_12_000_characters() {
    let files = |count: usize| -> Vec<(String, String)> {
        (0..count).map(|number| (format!("references/n{number:02}.md"), "A page.".to_owned())).collect()
    };
    let view = |count| call(&pulled(&imported(&files(count)).1), SKILL_VIEW, &json!({"skill": "gimp/batch"}));
    assert_eq!((view(20).matches("- references/").count(), view(20).contains(" more\n")), (20, false));
    assert_eq!(view(21).matches("- references/").count(), 20);
    assert!(view(21).contains("- and 1 more\n"), "{}", view(21));

    let head = "# gimp/batch, references/a.md\n\n".chars().count();
    for (length, cut) in [(12_000, false), (12_001, true)] {
        let (_shelf, book) = imported(&[("references/a.md".to_owned(), long(length - head))]);
        let asked = json!({"skill": "gimp/batch", "path": "references/a.md"});
        let shown = call(&pulled(&book), SKILL_FILE, &asked);
        assert!(shown.contains("more characters]") == cut && shown.chars().count() <= 12_000, "{shown}");
        assert!(
            shown.chars().count() > 11_980 && (cut || shown.chars().count() == 12_000),
            "as much as fits"
        );
        let unknown = json!({"skill": "gimp/batch", "path": "z".repeat(121)});
        assert_eq!(call(&pulled(&book), SKILL_FILE, &unknown).matches('z').count(), 120);
    }
}

fn review_due(change: impl FnOnce(&mut Counters)) -> bool {
    let mut counters = Counters::default();
    change(&mut counters);
    let now: Timestamp = "2026-01-02T12:00:00Z".parse().expect("a time");
    gate(&counters, &Limits::default(), &Budgets::default(), now) != Gate::NotDue
}

#[test]
fn a_review_is_due_after_40_actions_or_12_turns_and_held_back_by_time_number_and_money() {
    assert!(!review_due(|all| all.tool_iters_since_review = 39));
    assert!(review_due(|all| all.tool_iters_since_review = 40));
    assert!(!review_due(|all| all.turns_since_review = 11) && review_due(|all| all.turns_since_review = 12));
    let hint = Counters { skill_issue_hints_since_review: 1, ..Default::default() };
    let held = |last: Option<&str>, reviews_today: u32, spent_today_usd: f64| {
        let now: Timestamp = "2026-01-02T12:00:00Z".parse().expect("a time");
        let last_review_at = last.map(|text| text.parse().expect("a time"));
        let counters = Counters { last_review_at, ..hint };
        let budgets = Budgets { reviews_today, spent_today_usd, ..Default::default() };
        matches!(gate(&counters, &Limits::default(), &budgets, now), Gate::HeldBack(_))
    };
    assert!(held(Some("2026-01-02T11:30:00.001Z"), 0, 0.0) && !held(Some("2026-01-02T11:30:00Z"), 0, 0.0));
    assert!(held(None, 12, 0.0) && !held(None, 11, 0.0));
    // A review costs a quarter of a dollar, and a day has two dollars.
    assert!(held(None, 0, 1.751) && !held(None, 0, 1.75));
}

fn event(number: usize, reason: Reason, length: usize) -> SummarizedEvent {
    SummarizedEvent {
        id: format!("e{number}"),
        kind: "action".into(),
        tool: None,
        reason,
        detail: "d".repeat(length),
    }
}

/// Returns how many events a review sees, how many are named, and the length of the first.
fn bundled(events: &[SummarizedEvent]) -> (usize, usize, usize) {
    let time = Timestamp::UNIX_EPOCH;
    let scope = CoveredEvents {
        kind: "invocation".into(),
        session_id: "s".into(),
        invocation_id: "i".into(),
        started_at: time,
        finished_at: time,
    };
    let made = bundle(scope, None, events, &BundleBudget::default());
    // A detail that is not cut has no mark.
    let whole = |event: &&apprentice_learning::foreground::IncludedEvent| !event.detail.ends_with('…');
    let whole_ones = made.included_events.iter().filter(whole).count();
    assert_eq!(
        whole_ones == made.included_events.len(),
        events.iter().all(|event| event.detail.len() <= 600)
    );
    let first = made.included_events.first().map_or(0, |event| event.detail.chars().count());
    (made.included_events.len(), made.timeline_index.len(), first)
}

#[test]
fn a_review_sees_60_events_of_600_characters_24_000_in_all_and_the_names_of_400() {
    let ordinary = |count: usize, length: usize| -> Vec<SummarizedEvent> {
        (0..count).map(|number| event(number, Reason::Ordinary, length)).collect()
    };
    let errors = |count: usize, length: usize| -> Vec<SummarizedEvent> {
        (0..count).map(|number| event(number, Reason::Error, length)).collect()
    };
    assert_eq!(bundled(&ordinary(60, 1)).0, 60, "what fits is shown whole");
    assert_eq!(bundled(&ordinary(61, 1)).0, 0, "of more, ordinary events are left out");
    assert_eq!(bundled(&ordinary(60, 400)).0, 60, "24,000 characters");
    let mut over = ordinary(60, 400);
    over[0].detail.push('d');
    assert_eq!(bundled(&over).0, 0);
    assert_eq!(bundled(&errors(61, 1)).0, 60);
    assert_eq!(bundled(&errors(60, 400)).0, 60);
    let mut over = errors(60, 400);
    over[0].detail.push('d');
    assert_eq!(bundled(&over).0, 59, "the last one has no room");
    assert_eq!(bundled(&ordinary(1, 600)).2, 600);
    assert_eq!(bundled(&ordinary(1, 601)).2, 600);
    assert_eq!((bundled(&ordinary(400, 1)).1, bundled(&ordinary(401, 1)).1), (400, 400));
}

#[test]
fn a_package_is_valid_up_to_the_formats_caps() {
    let codes = |name: &str, description: usize, compatibility: usize, body: &str| -> Vec<String> {
        let text = format!(
            "---\nname: {name}\ndescription: {}\ncompatibility: {}\n---\n\n{body}",
            "d".repeat(description),
            "c".repeat(compatibility)
        );
        let files = [(PACKAGE_PAGE.to_owned(), text.into_bytes())].into();
        let findings = check(&Package { name: name.into(), files });
        findings.into_iter().map(|one| one.code.to_owned()).collect()
    };
    let body = "# Do\n\n1. Go.\n";
    let has = |found: Vec<String>, code: &str| found.iter().any(|one| one == code);
    for (over, expected) in [(0, false), (1, true)] {
        assert_eq!(has(codes(&"n".repeat(64 + over), 9, 9, body), "name_too_long"), expected);
        assert_eq!(has(codes("n", 1024 + over, 9, body), "description_too_long"), expected);
        assert_eq!(has(codes("n", 9, 500 + over, body), "compatibility_too_long"), expected);
        let lines = format!("# Do\n{}", "Go.\n".repeat(499 + over));
        assert_eq!(has(codes("n", 9, 9, &lines), "long_body"), expected);
    }
    let text = format!("---\nname: n\ndescription: d\ncompatibility: {}\n---\n\n{body}", "c".repeat(501));
    let findings =
        check(&Package { name: "n".into(), files: [(PACKAGE_PAGE.to_owned(), text.into_bytes())].into() });
    assert!(
        findings.iter().any(|one| one.what == "compatibility has more than 500 characters"),
        "{findings:?}"
    );
    let whole = |length: usize| {
        let head = "---\nname: n\ndescription: d\n---\n\n# Do\n\n";
        let text = format!("{head}{}\n", "g".repeat(length - head.len() - 1));
        let files = [(PACKAGE_PAGE.to_owned(), text.into_bytes())].into();
        check(&Package { name: "n".into(), files }).iter().any(|one| one.code == "long_body")
    };
    assert!(!whole(100_000) && whole(100_001));
}

/// Returns the package that a book of one skill becomes, as its name and the line of its description.
fn exported(skill: &str, description: usize, situation: usize) -> (String, String) {
    let shelf = Shelf::with(&[("gimp/a", "alpha")]);
    let (mut gateway, _) = shelf.open();
    let texts = [&*"d".repeat(description), &*"s".repeat(situation), "1. Go."];
    write(&mut gateway, created(skill, texts, Origin::Learned)).expect("written");
    let mut packages = export(&shelf.snapshot());
    packages.retain(|package| package.name != "gimp-a");
    let package = packages.remove(0);
    let page = String::from_utf8(package.files[PACKAGE_PAGE].clone()).expect("text");
    let line = page.lines().find(|line| line.starts_with("description:")).expect("a description").to_owned();
    (package.name, line)
}

#[test]
fn an_exported_name_is_whole_up_to_64_characters_and_a_description_up_to_1024() {
    let slug = |length: usize| "n".repeat(length);
    // The name begins with the domain and a hyphen.
    assert_eq!(exported(&format!("gimp/{}", slug(59)), 9, 9).0, format!("gimp-{}", slug(59)));
    let cut = exported(&format!("gimp/{}", slug(60)), 9, 9).0;
    assert!(cut.len() == 64 && !cut.ends_with(&slug(7)), "{cut}: a hash tells it from others");
    let between = ". Use when: ".len();
    let is_cut = |length: usize| exported("gimp/b", 100, length - 100 - between).1.contains('…');
    assert!(!is_cut(1024) && is_cut(1025));
}

#[test]
fn an_imported_text_keeps_10_000_characters_of_guidance() {
    let taken = |length: usize| {
        let shelf = Shelf::new();
        let (mut gateway, _) = shelf.open();
        let options =
            ImportOptions { time: Timestamp::UNIX_EPOCH, domain: "gimp".into(), accept_effects: false };
        let text = format!("---\nname: batch\ndescription: Converting.\n---\n\n{}", long(length));
        let files = [(PACKAGE_PAGE.to_owned(), text.into_bytes())].into();
        let package = Package { name: "batch".into(), files };
        assert_eq!(import(&mut gateway, &package, &options).expect("imports").refused, None);
        let skill = gateway.snapshot().skill(&id("gimp/batch")).expect("there").text.guidance.clone();
        skill.contains("(The whole text is in the package's SKILL.md.)")
    };
    assert!(!taken(10_000) && taken(10_001));
}

#[test]
fn meaning_needs_two_skills_to_compare() {
    struct Broken;
    impl Embedder for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        fn embed<'a>(&'a self, _: Side, _: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
            Box::pin(std::future::ready(Err(EmbedError("asked".into()))))
        }
    }
    let meaning = EmbeddingModel::new(Arc::new(Broken));
    let asked = |skills: &[(&str, &str)]| {
        let (gateway, _) = Shelf::with(skills).open();
        run(SkillEmbeddings::of(gateway.state(), &meaning)).is_err()
    };
    assert!(!asked(&[("os/a", "alpha")]), "one skill is compared with none, and no server is asked");
    assert!(asked(&[("os/a", "alpha"), ("os/b", "beta")]));
}

/// The guide states the defaults of learning in words. What it says is what holds.
#[test]
fn the_defaults_are_those_of_the_guide() {
    let guide = include_str!("../../../../docs/skillbook.md");
    let (_, defaults) = guide.split_once("## Defaults").expect("a section");
    let defaults = defaults.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = CleanupOptions::default();
    let reflect = ReflectOptions::default();
    let handle = HandlerOptions::default();
    let manage = ManageOptions::default();
    for sentence in [
        format!("Corroboration {}", manage.corroboration),
        format!("credit for following in part {}", handle.positive_partial_credit),
        format!(
            "negative-heavy from {} negative and less than {} positive",
            clean.negative_threshold, clean.positive_ratio
        ),
        format!("duplicates from {}", clean.similarity),
        format!("follow rate below {} from {} reviewed requests", clean.follow_rate, clean.min_requests),
        format!("cleanup every {} trajectories", clean.every),
        format!("{} learnings per trajectory", reflect.max_learnings),
        format!("{} replies per item", manage.turns),
        format!("{} tries per review", reflect.tries),
    ] {
        assert!(defaults.contains(&sentence), "{sentence:?} is not in: {defaults}");
    }
}
