//! What the call of a function costs above its actions: from the start of the call to its end, where everything that it asks of
//! its world is answered at once.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a benchmark prints, and may panic")]

use std::sync::Arc;
use std::time::Duration;

use apprentice_functions::Source;
use apprentice_protocol::{FunctionAnswer, FunctionEnd, FunctionRequest, Observation, UiNode, UiTree};
use serde_json::json;

const ROUNDS: usize = 201;
/// Elements of the screen, as a window with its menus has them. The one that is asked for is the last.
const ELEMENTS: u32 = 300;

/// A function that presses a button so many times.
fn source(times: usize) -> Source {
    let press = "    desktop.get_by_role(\"button\", name).click();\n".repeat(times);
    let text = format!(
        "/// Presses the button again and again.\n/// - name (text): the button's name\n/// Example: press_all(\"Next\")\n\
         fn press_all(desktop, name) {{\n{press}}}\n"
    );
    Source::read(&text, &[]).expect("a function")
}

fn screen() -> Observation {
    let nodes = (0..ELEMENTS).map(|place| {
        UiNode::new(
            format!("n{place}"),
            (place > 0).then_some(0),
            if place == 0 { "window" } else { "button" },
            if place + 1 == ELEMENTS { "Next".to_owned() } else { format!("Entry {place}") },
        )
    });
    Observation { tree: Some(UiTree { nodes: nodes.collect(), truncated: None }), ..Observation::default() }
}

/// Runs a call to its end, and returns the number of its acts.
async fn call(source: &Source, seen: &Arc<Observation>) -> usize {
    let mut function = source.start(&json!({ "name": "Next" })).expect("the arguments fit");
    let (mut answer, mut acts) = (FunctionAnswer::Begin, 0);
    loop {
        answer = match function.next(answer).await {
            FunctionRequest::Observe => FunctionAnswer::Seen(Arc::clone(seen)),
            FunctionRequest::Act { .. } => {
                acts += 1;
                FunctionAnswer::Acted
            }
            FunctionRequest::AwaitChange(time) => FunctionAnswer::Waited(time),
            FunctionRequest::End(FunctionEnd::Returned { .. }) => return acts,
            FunctionRequest::End(end) => panic!("{end:?}"),
        };
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let seen = Arc::new(screen());
    for times in [1, 5, 20] {
        let source = source(times);
        let mut took: Vec<Duration> = Vec::new();
        for _ in 0..ROUNDS {
            let begun = now();
            assert_eq!(runtime.block_on(call(&source, &seen)), times);
            took.push(begun.elapsed());
        }
        took.sort();
        let (least, median) = (took[0].as_micros(), took[ROUNDS / 2].as_micros());
        println!("a call of {times} actions: {median} µs, at least {least} µs");
    }
}
