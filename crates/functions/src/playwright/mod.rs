//! Translates Playwright functions in Python, as SkillWeaver publishes them, into this language: steps over locators of the
//! accessibility tree. What the language lacks is named with its line, and nothing is guessed.

mod docs;
mod function;
mod selector;
mod text;
mod values;

use tree_sitter::{Node, Parser};

/// A Python function that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaywrightFunction {
    /// Its name.
    pub name: String,
    /// What its comment says that it does.
    pub about: String,
    /// Its source in this language, or the reasons why it has none.
    pub translated: Result<String, Vec<Untranslated>>,
}

/// A part of a Python function that this language cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslated {
    /// The line of the Python file, from 1.
    pub line: usize,
    /// What it is, or the rule that the translation would break.
    pub reason: String,
}

/// The text is not Python.
#[derive(Debug, thiserror::Error)]
pub enum PlaywrightError {
    /// The parser could not be set up.
    #[error("the grammar of Python cannot be loaded")]
    Grammar(#[from] tree_sitter::LanguageError),
    /// The parser gave no tree.
    #[error("the text could not be read as Python")]
    NoTree,
}

/// Reads the functions of a Python file. `base` is the address of the site that relative addresses begin with.
pub fn translate(text: &str, base: Option<&str>) -> Result<Vec<PlaywrightFunction>, PlaywrightError> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_python::LANGUAGE.into())?;
    let tree = parser.parse(text, None).ok_or(PlaywrightError::NoTree)?;
    let root = tree.root_node();
    let mut cursor = root.walk();
    let definitions: Vec<Node<'_>> = root.named_children(&mut cursor).filter_map(definition).collect();
    Ok(definitions.into_iter().map(|node| function::translated(text, base, node)).collect())
}

/// Returns the function of a statement of the file, also behind a decorator.
fn definition(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "function_definition" => Some(node),
        "decorated_definition" => node.child_by_field_name("definition").and_then(definition),
        _ => None,
    }
}
