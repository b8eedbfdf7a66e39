//! Search by meaning: its benefit over words, the report of a failed embedder, and pairs that share no word.

use std::collections::BTreeMap;
use std::sync::Arc;

use apprentice_guidance::{ArmPolicy, SKILL_SEARCH, TaskView, build_guidance};
use apprentice_learning::cleanup::{CleanupOptions, CleanupTask, SkillEmbeddings, find_cleanup_tasks};
use apprentice_learning::manage::{ManageOptions, WorkItem, manage};
use apprentice_learning::{LearnOptions, LearnerModels, LearningInput, clean_book, trajectory_by_name};
use apprentice_protocol::{
    BoxFuture, ChatModel, EmbedError, Embedder, EventKind, Side, SkillEventKind, SkillId, StepId, StepRef,
    Verdict,
};
use apprentice_skillbook::review::Learning;
use apprentice_skillbook::{Change, Origin, Snapshot};
use apprentice_wording::EmbeddingModel;
use jiff::Timestamp;
use serde_json::json;

use crate::clerk::{Written, attempt, run};
use crate::shelf::{Shelf, id, text, write};

/// Embeds texts by their letter pairs: `colour` is near `colours` and `discolored`, which share no word.
struct Letters;

impl Embedder for Letters {
    fn name(&self) -> &str {
        "letters"
    }

    fn embed<'a>(
        &'a self,
        _side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        let one = |text: &String| {
            let mut counts = vec![0f32; 26 * 26];
            let letters: Vec<usize> = text
                .to_lowercase()
                .bytes()
                .filter(u8::is_ascii_lowercase)
                .map(|byte| usize::from(byte - b'a'))
                .collect();
            letters.windows(2).for_each(|pair| counts[pair[0] * 26 + pair[1]] += 1.0);
            counts
        };
        Box::pin(std::future::ready(Ok(texts.iter().map(one).collect())))
    }
}

/// Answers every request with the same few vectors, whatever the number of texts.
struct Nonsense(Vec<Vec<f32>>);

impl Embedder for Nonsense {
    fn name(&self) -> &str {
        "nonsense"
    }

    fn embed<'a>(
        &'a self,
        _side: Side,
        _texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

fn by(embedder: impl Embedder + 'static) -> Option<Arc<EmbeddingModel>> {
    Some(Arc::new(EmbeddingModel::new(Arc::new(embedder))))
}

fn shelf() -> Shelf {
    Shelf::with(&[
        ("gimp/decolorize", "decolorizing photographs"),
        ("gimp/layers", "raising a layer above another"),
        ("mousepad/wrap", "wrapping long lines"),
    ])
}

fn ids(book: &Snapshot, query: &str) -> Vec<String> {
    run(book.find(query, 3)).hits.iter().map(|hit| hit.id.to_string()).collect()
}

#[test]
fn meaning_finds_what_shares_no_word_and_words_keep_their_part() {
    let words = shelf().snapshot();
    assert_eq!(ids(&words, "decolorationists"), [""; 0], "no word is shared");
    let book = words.with_embedding(by(Letters));
    assert_eq!(ids(&book, "decolorationists")[0], "gimp/decolorize");
    let found = run(book.find("layer", 1));
    assert_eq!((found.hits[0].id.as_str(), found.embedding_error), ("gimp/layers", None));
    assert_eq!(found.hits[0].matched, ["layer"]);
    assert!(found.hits[0].similarity.is_some_and(|near| near > 0.0 && near <= 1.0), "{:?}", found.hits);
}

#[test]
fn a_book_with_skills_left_out_is_understood_by_those_that_are_left() {
    let book = shelf().snapshot().with_embedding(by(Letters));
    assert_eq!(ids(&book, "decolorizing")[0], "gimp/decolorize");
    let rest = book.without(&[id("gimp/decolorize")].into());
    assert_eq!(ids(&rest, "wrapped line")[0], "mousepad/wrap");
    assert!(!ids(&rest, "decolorizing").contains(&"gimp/decolorize".to_owned()));
}

#[test]
fn without_a_usable_answer_words_decide_and_the_trace_says_so() {
    let cases: [(Vec<Vec<f32>>, &str); 3] = [
        (vec![], "answered 3 texts with 0"),
        (vec![vec![0.0, 0.0]; 3], "no direction"),
        (vec![vec![1.0], vec![1.0, 2.0], vec![1.0]], "answered 1 texts with 3"),
    ];
    for (answer, expected) in cases {
        let book = shelf().snapshot().with_embedding(by(Nonsense(answer)));
        let guidance =
            build_guidance(&book, &ArmPolicy::Pull { figures: false }, &TaskView::default()).expect("lends");
        let tool = guidance.tools.iter().find(|tool| tool.spec().name == SKILL_SEARCH).expect("the tool");
        let outcome = run(tool.call(&json!({ "query": "layer" }), StepRef { step: StepId(1) }));
        assert!(outcome.content[0].as_text().expect("text").starts_with("- gimp/layers: "));
        let EventKind::Skill(first) = &outcome.events[0] else { panic!("{:?}", outcome.events) };
        let detail = first.detail.clone().unwrap_or_default();
        assert!(
            first.happening == SkillEventKind::Searched && first.skill.is_none() && detail.contains(expected),
            "{first:?}"
        );
        assert_eq!(outcome.events.len(), 2, "the hit is told, too");
    }
}

/// A book whose first two skills are paraphrases.
fn alike() -> Shelf {
    let shelf = Shelf::new();
    let (mut gateway, _) = shelf.open();
    let skills: BTreeMap<&str, [&str; 3]> = [
        ("os/one", ["Colorized thumbnails", "Thumbnails discolored", "Recolorizes thumbnailing wholly"]),
        ("os/other", ["Colorize thumbnail", "Thumbnail discolor", "Recolorize thumbnailed whole"]),
        ("os/third", ["Zip files", "Archives pile up", "Pack by hand"]),
    ]
    .into();
    for (skill, [description, situation, guidance]) in skills {
        let text = text(description, situation, guidance);
        let change = Change::SkillCreated {
            skill: id(skill),
            text,
            annotations: Vec::new(),
            origin: Origin::Learned,
            domain: None,
        };
        write(&mut gateway, change).expect("written");
    }
    drop(gateway);
    shelf
}

#[test]
fn pairs_that_say_the_same_in_other_words_are_found_by_meaning_alone() {
    let shelf = alike();
    let (gateway, _) = shelf.open();
    let options = CleanupOptions { similarity: 0.99, ..CleanupOptions::default() };
    assert_eq!(find_cleanup_tasks(gateway.state(), &options, None), [], "by words they are no pair");
    let meaning = EmbeddingModel::new(Arc::new(Letters));
    let threshold = run(meaning.threshold()).expect("measured");
    assert!(threshold > 0.5 && threshold < 1.0, "{threshold}");
    let sense = run(SkillEmbeddings::of(gateway.state(), &meaning)).expect("asked");
    let tasks = find_cleanup_tasks(gateway.state(), &options, Some(&sense));
    let [CleanupTask::Duplicates { skill_ids, similarity, .. }] = tasks.as_slice() else {
        panic!("{tasks:?}")
    };
    assert_eq!(skill_ids, &[id("os/one"), id("os/other")]);
    assert!(*similarity >= threshold, "{similarity}");
}

/// Cleans up a book with a manager that changes nothing. Returns what the log gained, in order.
fn log_of_cleaning(embedder: impl Embedder + 'static) -> Vec<Change> {
    let shelf = alike();
    let (mut gateway, _) = shelf.open();
    let before = gateway.state().last;
    gateway.set_embedding(by(embedder));
    let manager: Arc<dyn ChatModel> = Arc::new(Written::turns(vec![vec![]]));
    let staff = LearnerModels { reflector: manager.clone(), manager };
    let clean = CleanupOptions { similarity: 0.99, ..CleanupOptions::default() };
    let options = LearnOptions { clean, ..LearnOptions::default() };
    let trajectory = trajectory_by_name("cleaning");
    run(clean_book(&mut gateway, &staff, &LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH), &options))
        .expect("cleans");
    let log = gateway.snapshot().operations();
    log.into_iter().filter(|operation| operation.id > before).map(|operation| operation.change).collect()
}

/// Returns the log entries about a cleaning, in order.
fn cleaned(embedder: impl Embedder + 'static) -> Vec<(&'static str, Vec<SkillId>)> {
    let told = log_of_cleaning(embedder).into_iter().map(|change| match change {
        Change::CleanupFlagged { skills, .. } => ("flagged", skills),
        Change::CleanupByWords { why } => {
            assert!(why.contains("answered"), "{why}");
            ("by words", Vec::new())
        }
        Change::PairKept { skills, .. } => ("kept", skills.into()),
        Change::CleanupFinished => ("finished", Vec::new()),
        other => panic!("{other:?}"),
    });
    told.collect()
}

#[test]
fn a_cleaning_asks_for_meaning_and_says_what_it_found_before_it_decides() {
    let pair = vec![id("os/one"), id("os/other")];
    assert_eq!(cleaned(Letters), [("flagged", pair.clone()), ("kept", pair), ("finished", Vec::new())]);
}

#[test]
fn a_cleaning_without_an_answer_goes_by_words_and_the_log_says_so() {
    assert_eq!(cleaned(Nonsense(Vec::new())), [("by words", Vec::new()), ("finished", Vec::new())]);
}

#[test]
fn the_manager_looks_for_like_skills_by_meaning_too() {
    let shelf = shelf();
    let (mut gateway, _) = shelf.open();
    gateway.set_embedding(by(Letters));
    let look = ("fetch_similar_skills", json!({ "situation": "photographic discoloring" }));
    let model = Written::turns(vec![vec![look], vec![]]);
    let learning: Learning = serde_json::from_value(json!({
        "type": "discovered", "scope": "gimp", "situation": "s", "guidance": "g", "confidence": "low"
    }))
    .expect("a learning");
    let trajectory = attempt("t", "goal", Verdict::Pass, &[]);
    let input = LearningInput::new(&trajectory, Timestamp::UNIX_EPOCH);
    let work_item = WorkItem::Learning(0, &learning);
    run(manage(&model, &mut gateway, &input, &work_item, &ManageOptions::default())).expect("decides");
    let (answer, is_error) = model.answers().remove(0);
    let first = &answer["skills"][0];
    assert!(!is_error && first["skill_id"] == "gimp/decolorize", "no word is shared: {answer}");
    assert!(first["similarity_of_meaning"].as_f64().is_some_and(|near| near > 0.3), "{answer}");
}

/// Fails with so many characters.
struct Failing(usize);

impl Embedder for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn embed<'a>(
        &'a self,
        _side: Side,
        _texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(std::future::ready(Err(EmbedError("x".repeat(self.0)))))
    }
}

#[test]
fn the_log_keeps_200_characters_of_why_an_embedder_failed() {
    let why = |length: usize| match log_of_cleaning(Failing(length)).remove(0) {
        Change::CleanupByWords { why } => why,
        other => panic!("{other:?}"),
    };
    let around = why(9).chars().count() - 9;
    assert_eq!(why(200 - around).strip_prefix("embedding failed: "), Some(&*"x".repeat(200 - around)));
    let cut = why(201 - around);
    assert!(cut.chars().count() <= 200 && cut.ends_with("more characters]"), "{cut}");
}

/// Finds every text equally near.
struct Same;

impl Embedder for Same {
    fn name(&self) -> &str {
        "same"
    }

    fn embed<'a>(
        &'a self,
        _side: Side,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(std::future::ready(Ok(vec![vec![1.0, 0.0]; texts.len()])))
    }
}

#[test]
fn words_alone_reach_three_tenths_beside_a_server_and_seven_beside_the_builtin_vectors() {
    // No vector of a piece says anything about this word, so meaning adds nothing.
    let book = Shelf::with(&[("gimp/export", "写真"), ("gimp/layers", "raising a layer")]).snapshot();
    let score = |model: EmbeddingModel| {
        let found = run(book.clone().with_embedding(Some(Arc::new(model))).find("写真", 3));
        assert_eq!((found.hits[0].id.as_str(), found.embedding_error), ("gimp/export", None));
        found.hits[0].score
    };
    let (server, builtin) = (score(EmbeddingModel::new(Arc::new(Same))), score(EmbeddingModel::builtin()));
    assert!((server - 0.3).abs() < 1e-3 && (builtin - 0.7).abs() < 1e-3, "{server} {builtin}");
}
