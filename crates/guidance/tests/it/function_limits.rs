//! Limits of the tools that call functions, at their edges.

use apprentice_guidance::{ArmPolicy, SKILL_CALL, TaskView, build_guidance};
use apprentice_skillbook::{Actor, Change};

use crate::shelf::{Shelf, id, request};

#[test]
fn up_to_twelve_functions_have_a_tool_each_and_more_share_one() {
    let shelf = Shelf::with(&[("tabs/rename", "renaming tabs"), ("tabs/name", "naming tabs")]);
    let (mut gateway, _) = shelf.open();
    let policy = ArmPolicy::Code { pull: false, unverified: true, own_tools: true };
    for (number, letter) in (1..).zip('a'..='m') {
        let function = format!("rename_{letter}");
        let source = format!(
            "/// Renames the open tab.\n/// - name (text): the new name\n/// Example: {function}(\"Draft\")\n\
             fn {function}(page, name) {{\n    page.get_by_label(\"Name\").fill(name);\n    page.press(\"enter\");\n}}\n"
        );
        let skill = id(if number <= 6 { "tabs/rename" } else { "tabs/name" });
        let change = Change::FunctionWritten { skill, function, source, references: Vec::new() };
        gateway.apply(request(Actor::Manager, change)).expect("written");
        if number < 11 {
            continue;
        }
        let guidance = build_guidance(&gateway.snapshot(), &policy, &TaskView::default()).expect("lends");
        let names: Vec<&str> = guidance.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        match number {
            13 => assert_eq!(names, [SKILL_CALL]),
            _ => assert!(names.len() == number && names.contains(&"run_rename_a"), "{names:?}"),
        }
    }
}
