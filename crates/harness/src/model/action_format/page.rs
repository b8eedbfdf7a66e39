//! A function tool for the browser actions that native computer tools lack: addresses, tabs, dialogs, list boxes.

use apprentice_protocol::{Action, Prompt, ToolSpec};
use serde_json::{Value, json};

use super::ModelOutput;
use super::arguments::read_arguments;
use super::computer::read_browsing;

pub(crate) const PAGE: Prompt = Prompt::new("tool/page", include_str!("prompts/page.md"), &[]);

/// The tool's name.
pub(crate) const PAGE_TOOL: &str = "page";

/// The tool's definition for the model.
pub(crate) fn page_tool() -> ToolSpec {
    ToolSpec {
        name: PAGE_TOOL.into(),
        description: PAGE.text().trim_end().into(),
        schema: json!({
            "type": "object",
            "properties": {
                "action": { "type": "string", "enum": [
                    "navigate", "back", "forward", "reload", "open_tab", "switch_tab", "close_tab", "accept_dialog",
                    "dismiss_dialog", "select",
                ] },
                "url": { "type": "string", "description": "The address of `navigate` or `open_tab`." },
                "tab": { "type": "string", "description": "The tab's id." },
                "coordinate": { "type": "array", "items": { "type": "number" }, "description": "[x, y] of the list box of `select`." },
                "text": { "type": "string", "description": "The option of `select`, or the answer to a dialog." },
            },
            "required": ["action"],
            "additionalProperties": false,
        }),
    }
}

/// Reads one call of the tool.
pub(crate) fn read_page(input: &Value) -> Result<ModelOutput, String> {
    let named = input["action"].as_str().unwrap_or(PAGE_TOOL);
    let action = read_arguments(named, input, |given| match given.text("action")? {
        "select" => {
            let at = given.target("coordinate")?.ok_or("coordinate is missing")?;
            Ok(Action::Select { at, option: given.text("text")?.to_owned() })
        }
        member => read_browsing(member, given),
    })?;
    Ok(ModelOutput::Actions(vec![action]))
}
