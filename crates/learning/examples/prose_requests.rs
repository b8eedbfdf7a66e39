//! Prints the manager's requests for the held-out prose, one JSON object per line, for `scripts/book/prose-answers`: the second
//! note of each pair is a correction of a page, and the first one is the earlier report that may be cited.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "an example prints, and may panic")]

use std::path::Path;

use apprentice_learning::manage::{ManageOptions, WorkItem, item, manage_request};
use apprentice_learning::{HandlerOptions, LearningInput, apply_reviews, trajectory_by_name};
use apprentice_protocol::{Message, SkillId};
use apprentice_skillbook::review::{Checked, SkillReview};
use apprentice_skillbook::{Gateway, GatewayOptions};
use jiff::Timestamp;
use serde_json::{Value, json};

const PAGE: &str = "## Situation\n\nYou work with the program.\n\n## Guidance\n\n1. Look at the window.\n\n\
                    ## Annotations\n\nNone\n";

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/prose/pairs.jsonl");
    for line in std::fs::read_to_string(path).expect("pairs").lines() {
        let pair: Value = serde_json::from_str(line).expect("a pair");
        println!("{}", request(&pair));
    }
}

fn request(pair: &Value) -> Value {
    let folder = tempfile::TempDir::new().expect("a folder");
    std::fs::create_dir(folder.path().join("program")).expect("a folder");
    std::fs::write(folder.path().join("program/page.md"), PAGE).expect("a page");
    let options = GatewayOptions::at(Timestamp::UNIX_EPOCH);
    let (mut gateway, _) = Gateway::open(folder.path(), options).expect("opens");
    let skill = SkillId::parse("program/page").expect("an id");
    let review = |note: &Value| -> SkillReview {
        serde_json::from_value(json!({
            "skill_id": skill, "followed": "yes", "impact": "negative", "issue_type": "incomplete",
            "what_went_wrong": note["situation"], "corrected_guidance": note["guidance"],
        }))
        .expect("a review")
    };
    let first = trajectory_by_name("run/one/1");
    let input = LearningInput::new(&first, Timestamp::UNIX_EPOCH);
    let checked = Checked { reviews: vec![(skill.clone(), review(&pair["a"]))], ..Checked::default() };
    apply_reviews(&mut gateway, &input, &checked, &HandlerOptions::default()).expect("counted");
    let second = trajectory_by_name("run/two/1");
    let input = LearningInput::new(&second, Timestamp::UNIX_EPOCH);
    let review = review(&pair["b"]);
    let work_item = WorkItem::Review(&skill, &review);
    let item = item(gateway.state(), &input, &work_item, &ManageOptions::default()).expect("an item");
    let request = manage_request(&item).expect("a request");
    let Some(Message::User { content }) = request.messages.first() else { return Value::Null };
    let page = gateway.snapshot().skill(&skill).map(|page| page.text.clone());
    json!({
        "id": pair["id"],
        "system": request.system,
        "user": content.first().and_then(|part| part.as_text()),
        "tools": request.tools,
        "page": { "skill_id": skill, "version": 1, "text": page },
        "reports": item.earlier_reports.iter().map(|report| report.id.to_string()).collect::<Vec<_>>(),
    })
}
