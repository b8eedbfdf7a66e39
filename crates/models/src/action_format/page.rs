//! A function tool for the browser actions that native computer tools lack: addresses, tabs, dialogs, list boxes.

use apprentice_protocol::{Action, Prompt, ToolSpec};
use serde_json::{Value, json};

use super::ModelOutput;
use super::arguments::read_arguments;
use super::computer::{READING_AND_FILLING, describe_filling, read_browsing};

pub(crate) const PAGE: Prompt = Prompt::new("tool/page", include_str!("prompts/page.md"), &[]);

pub(crate) const DIALOG: Prompt = Prompt::new("tool/dialog", include_str!("prompts/dialog.md"), &[]);

/// The tool's name.
pub(crate) const PAGE_TOOL: &str = "page";

/// The tool's definition for the model.
pub(crate) fn page_tool() -> ToolSpec {
    let mut actions = vec![
        "navigate",
        "back",
        "forward",
        "reload",
        "open_tab",
        "switch_tab",
        "close_tab",
        "accept_dialog",
        "dismiss_dialog",
        "select",
    ];
    actions.extend(READING_AND_FILLING);
    let mut schema = json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": actions },
            "url": { "type": "string", "description": "The address of `navigate` or `open_tab`." },
            "tab": { "type": "string", "description": "The tab's id." },
            "coordinate": { "type": "array", "items": { "type": "number" }, "description": "[x, y] of the element of `select`, `fill` or `upload`." },
            "ref": { "type": "string", "description": "An element's reference, in place of `coordinate`; the part of the page for `read_page`." },
            "text": { "type": "string", "description": "The option of `select`, the value of `fill`, the words of `find`, or what `accept_dialog` enters in a dialog that asks for a text." },
        },
        "required": ["action"],
        "additionalProperties": false,
    });
    describe_filling(&mut schema);
    ToolSpec { name: PAGE_TOOL.into(), description: PAGE.text().trim_end().into(), schema }
}

/// The tool's definition for a model whose native tool lacks nothing but the answers to dialogs.
pub(crate) fn dialog_tool() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": ["accept_dialog", "dismiss_dialog"] },
            "text": { "type": "string", "description": "What `accept_dialog` enters in a dialog that asks for a text." },
        },
        "required": ["action"],
        "additionalProperties": false,
    });
    ToolSpec { name: PAGE_TOOL.into(), description: DIALOG.text().trim_end().into(), schema }
}

/// Reads one call of the tool.
pub(crate) fn read_page(input: &Value) -> Result<ModelOutput, String> {
    let named = input["action"].as_str().unwrap_or(PAGE_TOOL);
    let action = read_arguments(named, input, |given| match given.text("action")? {
        "select" => {
            let at = given.target("coordinate")?.ok_or("coordinate or ref is missing")?;
            Ok(Action::Select { at, option: given.text("text")?.to_owned() })
        }
        member => read_browsing(member, given),
    })?;
    Ok(ModelOutput::Actions(vec![action]))
}
