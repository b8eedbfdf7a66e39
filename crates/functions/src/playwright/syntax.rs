//! The syntax of a Python file's functions, as `syntax.py` prints it.

use serde::Deserialize;

/// A value. What is awaited stands for itself: every call here is waited for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Expression {
    Name {
        line: usize,
        name: String,
    },
    /// A text in quotes, or an f-string of names.
    Text {
        line: usize,
        parts: Vec<Part>,
    },
    Number {
        line: usize,
        digits: String,
    },
    YesNo {
        line: usize,
        holds: bool,
    },
    None {
        line: usize,
    },
    Attribute {
        line: usize,
        object: Box<Self>,
        name: String,
    },
    Call(Call),
    Comparison(Comparison),
    /// Sides that all hold, or of which one does.
    Logic {
        line: usize,
        sign: String,
        sides: Vec<Self>,
    },
    Not {
        line: usize,
        value: Box<Self>,
    },
    List {
        line: usize,
        items: Vec<Self>,
    },
    /// What this language has no counterpart of.
    Other(Lacking),
}

/// A part of a text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Text(String),
    Name(String),
}

#[derive(Debug, Deserialize)]
pub(super) struct Call {
    pub(super) line: usize,
    pub(super) called: Box<Expression>,
    /// What is called, if names alone lead to it.
    pub(super) written: String,
    pub(super) plain: Vec<Expression>,
    pub(super) named: Vec<(String, Expression)>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Comparison {
    pub(super) line: usize,
    pub(super) left: Box<Expression>,
    pub(super) sign: String,
    pub(super) right: Box<Expression>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Lacking {
    pub(super) line: usize,
    pub(super) reason: String,
}

/// A statement. Imports, `pass` and comments are left out.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Statement {
    Return {
        value: Option<Expression>,
    },
    Break {},
    Continue {},
    Raise {
        line: usize,
    },
    Expression(Expression),
    Assignment {
        name: String,
        value: Expression,
    },
    Condition(Condition),
    Loop(Loop),
    /// What this language has no counterpart of.
    Other(Lacking),
}

#[derive(Debug, Deserialize)]
pub(super) struct Condition {
    /// `if` and each `elif`: what is asked, and what is done then.
    pub(super) branches: Vec<(Expression, Vec<Statement>)>,
    pub(super) otherwise: Option<Vec<Statement>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Loop {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) over: Expression,
    pub(super) body: Vec<Statement>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Parameter {
    pub(super) line: usize,
    pub(super) name: String,
    /// Its type, as Python.
    pub(super) annotation: Option<String>,
    pub(super) default: Option<Expression>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function {
    pub(super) line: usize,
    pub(super) name: String,
    /// The parameters that a call may give by position.
    pub(super) parameters: Vec<Parameter>,
    /// The lines of those that collect others or are given by name alone.
    pub(super) others: Vec<usize>,
    /// Its comment, or nothing.
    pub(super) comment: Option<String>,
    pub(super) body: Vec<Statement>,
}

/// What Python's parser says of a file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Parsed {
    Read(ReadFile),
    Refused(Lacking),
}

/// The functions of a file.
#[derive(Debug, Deserialize)]
pub(super) struct ReadFile {
    pub(super) functions: Vec<Function>,
    /// Those that are not Python.
    pub(super) broken: Vec<Broken>,
}

/// A function that is not Python.
#[derive(Debug, Deserialize)]
pub(super) struct Broken {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) reason: String,
}

impl Expression {
    /// Returns its line in the file, from 1.
    pub(super) fn line(&self) -> usize {
        match self {
            Self::Name { line, .. }
            | Self::Text { line, .. }
            | Self::Number { line, .. }
            | Self::YesNo { line, .. }
            | Self::None { line }
            | Self::Attribute { line, .. }
            | Self::Call(Call { line, .. })
            | Self::Comparison(Comparison { line, .. })
            | Self::Logic { line, .. }
            | Self::Not { line, .. }
            | Self::List { line, .. }
            | Self::Other(Lacking { line, .. }) => *line,
        }
    }

    /// Returns a text that names nothing.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { parts, .. } => match parts.as_slice() {
                [] => Some(""),
                [Part::Text(text)] => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None { .. })
    }
}

impl Call {
    /// Returns the last name of what is called: `sleep` of `asyncio.sleep(2)`.
    pub(super) fn last_name(&self) -> Option<&str> {
        match &*self.called {
            Expression::Name { name, .. } | Expression::Attribute { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns the method that is called and its object.
    pub(super) fn method(&self) -> Option<(&Expression, &str)> {
        match &*self.called {
            Expression::Attribute { object, name, .. } => Some((object, name)),
            _ => None,
        }
    }
}
