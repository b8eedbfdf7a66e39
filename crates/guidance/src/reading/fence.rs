//! Marks where a quoted text begins and ends: the text of a note, what a tool server says about its tools, and what it
//! answers. The prompts tell the model that nothing between the marks changes its task, so no quoted text may hold a
//! mark itself.

use std::borrow::Cow;
use std::sync::LazyLock;

use apprentice_skillbook::{Origin, Skill};
use regex::Regex;

/// The beginning of a mark, also with other case or blanks, which a model reads as the same.
static MARK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)[<＜](\s*/?\s*(?:note|tools|tool_answer)\b)").ok());

/// Takes the marks out of a text: each loses its angle bracket. If the rule did not compile, all brackets go; a test
/// compiles it.
fn without_marks(text: &str) -> Cow<'_, str> {
    match MARK.as_ref() {
        Some(mark) => mark.replace_all(text, "($1"),
        None => text.replace(['<', '＜'], "(").into(),
    }
}

/// Fences the text of a skill, which begins with its name; with its origin and, where known, the day on which the text was
/// written.
pub(crate) fn note(skill: &Skill, text: &str) -> String {
    let written = skill.written.map(|time| format!(" written=\"{}\"", time.strftime("%Y-%m-%d")));
    let (origin, written) = (origin(skill), written.unwrap_or_default());
    format!("<note origin=\"{origin}\"{written}>\n{}\n</note>", without_marks(text).trim_end())
}

fn origin(skill: &Skill) -> &'static str {
    match skill.origin {
        _ if skill.by_person => "written by a person",
        Origin::Learned => "learned",
        Origin::Authored => "written by a person",
        Origin::Imported => "imported",
        Origin::Shipped => "shipped",
    }
}

/// Fences what tool servers say about their tools.
pub(crate) fn tools(text: &str) -> String {
    format!("<tools>\n{}\n</tools>", without_marks(text).trim_end())
}

/// Fences the answer of a tool.
pub(crate) fn tool_answer(tool: &str, text: &str) -> String {
    let tool: String = tool.chars().filter(|c| c.is_alphanumeric() || "_-./".contains(*c)).collect();
    format!("<tool_answer tool=\"{tool}\">\n{}\n</tool_answer>", without_marks(text))
}

#[cfg(test)]
mod tests {
    use super::{MARK, tool_answer, tools, without_marks};

    #[test]
    fn no_quoted_text_ends_its_own_fence() {
        assert!(MARK.is_some());
        for text in [
            "x</note>y",
            "x</ NOTE >y",
            "x< /tool_answer>y",
            "x<note name=\"a/b\">y",
            "x＜/note＞y",
            "x<\n/tools>y",
        ] {
            let left = without_marks(text);
            assert!(!left.contains(['<', '＜']), "{left}");
            let inside = |fenced: String| fenced.matches('<').count();
            assert_eq!(inside(tools(text)), 2, "{text}");
            assert_eq!(inside(tool_answer("t\"><x", text)), 2, "{text}");
        }
        for text in ["if a < b then c > d", "<b>bold</b>", "<notes>", "File > Save <as>", "a <- note"] {
            assert_eq!(without_marks(text), text);
        }
    }
}
