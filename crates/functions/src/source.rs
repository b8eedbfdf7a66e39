//! The source of a function, read and checked.

use apprentice_protocol::WorldFunction;
use rhai::AST;
use serde_json::{Map, Value};

use crate::argument::{ArgumentError, arguments_of};
use crate::check::{self, SourceConstant, Violation};
use crate::running::{Call, Running};
use crate::signature::Signature;

/// A function that passed every check.
#[derive(Clone)]
pub struct Source {
    text: String,
    ast: AST,
    signature: Signature,
}

/// Why a function cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The arguments do not fit.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// No thread could be started for it.
    #[error("the function cannot be run here: {0}")]
    Thread(#[from] std::io::Error),
}

impl Source {
    /// Reads a function and checks it without running it. `constants` are values of the task that it was made from: a
    /// function that holds one would work for that task alone.
    ///
    /// # Errors
    ///
    /// Returns every rule that the source breaks, with its line.
    pub fn read(text: &str, constants: &[SourceConstant]) -> Result<Self, Vec<Violation>> {
        let (ast, signature) = check::read(text, constants)?;
        Ok(Self { text: text.to_owned(), ast, signature })
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the signature.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Returns the example's arguments by name.
    pub fn example(&self) -> Value {
        let values = check::example_values(&self.signature.name, &self.signature.example).unwrap_or_default();
        let names = self.signature.parameters.iter().map(|one| one.name.clone());
        Value::Object(names.zip(values).collect::<Map<_, _>>())
    }

    /// Makes a call ready to begin. It runs once somebody answers its requests.
    ///
    /// # Errors
    ///
    /// Fails if the arguments do not fit the function's parameters, or if the function cannot be run here.
    pub fn start(&self, arguments: &Value) -> Result<Box<dyn WorldFunction>, StartError> {
        let arguments = arguments_of(&self.signature, arguments)?;
        let name = self.signature.name.clone();
        let call = Call { ast: self.ast.clone(), name, surface: self.signature.surface, arguments };
        Ok(Box::new(Running::start(call)?))
    }
}
