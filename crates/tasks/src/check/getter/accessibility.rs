//! Getters that read the accessibility tree.

use std::fmt::Write as _;

use apprentice_metrics::SYNTHETIC_TREE;
use apprentice_protocol::{HiddenNodes, Machine, MachineError, State, TreeBudget, UiNode, UiTree};
use serde_json::Value;

use super::output::{GetterOutput, machine_error};
use crate::check::collect_context::{CollectContext, CollectError};

/// Upstream reads at most this deep; the rest bounds the answer.
const BUDGET: TreeBudget = TreeBudget { nodes: 10_000, depth: 50, ms: 10_000, hidden: HiddenNodes::Read };
const NAMESPACE: &str = "https://accessibility.ubuntu.example.org/ns";

/// Returns the tree in OSWorld's XML format.
pub(super) async fn accessibility_tree(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    match tree_document(context.machine).await {
        Ok(document) => Ok(GetterOutput::value(document)),
        Err(error) => unread("accessibility_tree", error),
    }
}

/// What is known of an interface that was not read. One that is not told in time, each part of it having a time limit of its own,
/// is what programs made of it.
fn unread(getter: &str, error: MachineError) -> Result<GetterOutput, CollectError> {
    match error {
        MachineError::TimedOut(_) => Ok(GetterOutput::absent(error.to_string())),
        source => Err(machine_error(getter)(source)),
    }
}

/// Returns the text of the focused terminal, or of the first one.
pub(super) async fn terminal_output(context: &CollectContext<'_>) -> Result<GetterOutput, CollectError> {
    match terminal_text(context.machine).await {
        Ok(Some(text)) => Ok(GetterOutput::value(text)),
        Ok(None) => Ok(GetterOutput::absent("no terminal is open")),
        Err(error) => unread("vm_terminal_output", error),
    }
}

/// Returns a machine's accessibility tree in OSWorld's XML format.
///
/// # Errors
///
/// Fails if the machine has no accessibility tree, or is lost.
pub async fn tree_document(machine: &dyn Machine) -> Result<String, MachineError> {
    match machine.tree_document().await? {
        Some(document) => Ok(document),
        None => Ok(to_xml(&machine.tree(&BUDGET).await?)),
    }
}

/// Returns the text of a machine's focused terminal, or of the first one; `None` where none is open.
///
/// # Errors
///
/// Fails if the machine has no accessibility tree, or is lost.
pub async fn terminal_text(machine: &dyn Machine) -> Result<Option<String>, MachineError> {
    let tree = machine.tree(&BUDGET).await?;
    let mut terminals: Vec<&UiNode> =
        tree.nodes.iter().filter(|node| node.role.as_str() == "terminal").collect();
    terminals.sort_by_key(|node| !node.is(State::Focused));
    let text = terminals.first().and_then(|node| node.value.as_deref());
    Ok(text.map(|text| text.trim_end().to_owned()))
}

/// Returns the address bar's text with the scheme that browsers hide.
pub(super) async fn active_url(
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let tree = tree("active_url_from_accessTree", context).await?;
    let bar = tree.nodes.iter().find(|node| node.name == "Address and search bar");
    let prefix = spec.get("goto_prefix").and_then(Value::as_str).unwrap_or("https://");
    Ok(match bar.and_then(|node| node.value.as_deref()) {
        Some(text) if text.contains("://") => GetterOutput::value(text),
        Some(text) => GetterOutput::value(format!("{prefix}{text}")),
        None => GetterOutput::absent("no address bar is open"),
    })
}

async fn tree(getter: &str, context: &CollectContext<'_>) -> Result<UiTree, CollectError> {
    context.machine.tree(&BUDGET).await.map_err(machine_error(getter))
}

fn to_xml(tree: &UiTree) -> String {
    let mut xml = format!(
        "<desktop-frame xmlns:st=\"{NAMESPACE}/state\" xmlns:cp=\"{NAMESPACE}/component\" xmlns:val=\"{NAMESPACE}/value\" \
         {}=\"{}\">",
        SYNTHETIC_TREE.0, SYNTHETIC_TREE.1
    );
    let depths = tree.depths();
    let mut program = "";
    let mut open: Vec<String> = Vec::new();
    for (node, depth) in tree.nodes.iter().zip(depths) {
        close_to(&mut xml, &mut open, depth as usize);
        if depth == 0 {
            program = &node.name;
        }
        let tag = tag(node.role.as_str(), &node.name, program);
        let _ = write!(xml, "<{tag} name=\"{}\"", escape(&node.name));
        for state in &node.states {
            if let Some(name) = state_name(*state) {
                let _ = write!(xml, " st:{name}=\"true\"");
            }
        }
        if let Some(bounds) = node.bounds.filter(|bounds| bounds.centre().is_some()) {
            let _ = write!(
                xml,
                " st:visible=\"true\" st:showing=\"true\" cp:screencoord=\"({}, {})\"",
                bounds.x, bounds.y
            );
            let _ = write!(xml, " cp:size=\"({}, {})\"", bounds.width, bounds.height);
        }
        xml.push('>');
        xml.push_str(&escape(node.value.as_deref().unwrap_or_default()));
        open.push(tag);
    }
    close_to(&mut xml, &mut open, 0);
    xml.push_str("</desktop-frame>");
    xml
}

fn close_to(xml: &mut String, open: &mut Vec<String>, depth: usize) {
    while open.len() > depth {
        if let Some(tag) = open.pop() {
            let _ = write!(xml, "</{tag}>");
        }
    }
}

/// Returns AT-SPI's name of a role, as an XML tag.
fn tag(role: &str, name: &str, program: &str) -> String {
    let name = match role {
        "document" => document(name, program),
        "button" => "push-button",
        "menuitem" => "menu-item",
        "menuitemcheckbox" => "check-menu-item",
        "menuitemradio" => "radio-menu-item",
        "menubar" => "menu-bar",
        "checkbox" => "check-box",
        "radio" => "radio-button",
        "textbox" => "entry",
        "combobox" => "combo-box",
        "tab" => "page-tab",
        "tablist" => "page-tab-list",
        "window" => "frame",
        "cell" | "gridcell" => "table-cell",
        "row" => "table-row",
        "listitem" => "list-item",
        "treeitem" => "tree-item",
        "spinbutton" => "spin-button",
        "progressbar" => "progress-bar",
        "scrollbar" => "scroll-bar",
        "toolbar" => "tool-bar",
        "switch" => "toggle-button",
        other => other,
    };
    let name: String = name.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '-' }).collect();
    if name.starts_with(|c: char| c.is_alphabetic()) { name } else { format!("role-{name}") }
}

/// Returns the kind of document that the application is known to report. [`UiTree`] keeps only the common role.
fn document(name: &str, program: &str) -> &'static str {
    let program = program.to_lowercase();
    if ["chrome", "chromium", "firefox", "thunderbird"].iter().any(|browser| program.contains(browser)) {
        return "document-web";
    }
    let kinds = [
        ("LibreOffice Spreadsheets", "document-spreadsheet"),
        ("LibreOffice Presentation", "document-presentation"),
        ("LibreOffice Document", "document-text"),
    ];
    kinds.iter().find(|(end, _)| name.ends_with(end)).map_or("document-frame", |(_, kind)| kind)
}

fn state_name(state: State) -> Option<&'static str> {
    Some(match state {
        State::Focused => "focused",
        State::Active => "active",
        State::Checked => "checked",
        State::Selected => "selected",
        State::Expanded => "expanded",
        State::Editable => "editable",
        State::Modal => "modal",
        State::Default => "is_default",
        State::Unchecked | State::Collapsed | State::Disabled | State::Hidden => return None,
    })
}

/// Escapes a text for an attribute's value in XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {

    use apprentice_protocol::{Rect, State, UiNode, UiTree};

    #[test]
    fn texts_are_escaped() {
        assert_eq!(super::escape("a<b>&'\"\r\n\té"), "a&lt;b&gt;&amp;&apos;&quot;&#13;\n\té");
    }

    #[test]
    fn a_tree_is_written_in_osworlds_form() {
        let node = |id: &str, parent, role: &str, name: &str| UiNode::new(id, parent, role, name);
        let mut button = node("n3", Some(1), "button", "A & B");
        button.states.insert(State::Focused);
        button.bounds = Some(Rect::new(1, 2, 3, 4));
        let nodes = vec![node("n1", None, "application", "x"), node("n2", Some(0), "window", ""), button];
        for (program, name, kind) in [
            ("soffice", "Slides View", "document-frame"),
            ("soffice", "Untitled 1 - LibreOffice Presentation", "document-presentation"),
            ("Google Chrome", "News", "document-web"),
        ] {
            assert_eq!(super::tag("document", name, program), kind, "{name}");
        }
        let xml = super::to_xml(&UiTree { nodes, truncated: None });
        assert!(xml.ends_with(
            "<application name=\"x\"><frame name=\"\"><push-button name=\"A &amp; B\" st:focused=\"true\" \
             st:visible=\"true\" st:showing=\"true\" cp:screencoord=\"(1, 2)\" cp:size=\"(3, 4)\"></push-button>\
             </frame></application></desktop-frame>"
        ), "{xml}");
    }
}
