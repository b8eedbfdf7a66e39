//! Files for file inputs. Only files of the world's home are given to a page.

use apprentice_cdp::domain::dom::{ResolveNode, SetFileInputFiles};
use apprentice_cdp::domain::runtime::{Argument, CallFunctionOn};
use apprentice_protocol::{Command, Machine, MachineError};
use serde::Deserialize;

use super::driver::{ActionError, Browser, lost};
use super::element::Element;
use super::page_state::FileChooser;

const FILE_INPUT: &str = include_str!("page/file_input.js");
const FILE_RULES: &str = include_str!("page/file_rules.js");
const NOT_ACCEPTED: &str = include_str!("page/not_accepted.js");

/// Most files in one upload.
const MOST_FILES: usize = 20;

/// The system's limit of a path, in bytes.
const LONGEST_PATH: usize = 4096;

/// What a file input takes.
#[derive(Deserialize)]
struct Rules {
    several: bool,
    folder: bool,
    disabled: bool,
}

/// The chosen files that the page does not ask for.
#[derive(Deserialize)]
struct NotAccepted {
    accept: String,
    files: Vec<String>,
    /// How many files the input holds.
    count: usize,
}

impl Browser {
    /// The file input that an element is, labels or holds.
    pub(super) async fn file_input(&self, element: &Element) -> Result<Option<Element>, ActionError> {
        let call = CallFunctionOn {
            function_declaration: FILE_INPUT.to_owned(),
            object_id: element.object.clone(),
            arguments: Vec::<Argument>::new(),
            await_promise: false,
            return_by_value: false,
        };
        let found = self.call(&element.session, &call).await?.result.object_id;
        Ok(found.map(|object| Element {
            session: element.session.clone(),
            object,
            frame: element.frame.clone(),
        }))
    }

    pub(super) async fn chooser_input(&self, chooser: &FileChooser) -> Result<Element, ActionError> {
        let session = self.session(&chooser.session);
        let resolved = self.call(&session, &ResolveNode { backend_node_id: chooser.node }).await?;
        let object = resolved.object.object_id;
        let object = object.ok_or_else(|| ActionError::refused("the page removed its file input"))?;
        Ok(Element { session, object, frame: None })
    }

    pub(super) async fn give(
        &self,
        input: &Element,
        files: Vec<String>,
    ) -> Result<Option<String>, ActionError> {
        let Element { session, object, .. } = input;
        let rules: Rules = self.apply(session, object, FILE_RULES, []).await?;
        let refuse = |why: &str| Err(ActionError::refused(why));
        match (files.as_slice(), rules) {
            (_, Rules { disabled: true, .. }) => return refuse("the file input is disabled"),
            (_, Rules { folder: true, .. }) => {
                return refuse("this file input takes a folder, and files alone are given");
            }
            ([_, _, ..], Rules { several: false, .. }) => {
                return refuse("this file input takes exactly one path");
            }
            _ => {}
        }
        let object_id = object.clone();
        self.call(session, &SetFileInputFiles { files, object_id }).await?;
        let outside: NotAccepted = self.apply(session, object, NOT_ACCEPTED, []).await?;
        let NotAccepted { accept, files, count } = outside;
        if count == 0 {
            return Ok(Some(
                "the file input is empty again: the page took the files, or does not want them".to_owned(),
            ));
        }
        Ok((!files.is_empty())
            .then(|| format!("the page asks for files of the kind {accept:?}, which {files:?} are not")))
    }
}

/// Returns the real paths of files, which must lie in the world's home: what lies elsewhere is none of the task.
pub(super) async fn inside_home(machine: &dyn Machine, files: &[String]) -> Result<Vec<String>, ActionError> {
    if files.is_empty() || files.len() > MOST_FILES {
        return Err(ActionError::refused(format!("give from one to {MOST_FILES} paths")));
    }
    let home = &machine.offers().home;
    let mut real = Vec::with_capacity(files.len());
    for file in files {
        if file.contains('\0') || file.len() > LONGEST_PATH {
            return Err(ActionError::refused(format!(
                "a path has at most {LONGEST_PATH} bytes, none of them zero, and this is none: {:?}",
                file.chars().take(80).collect::<String>()
            )));
        }
        let path = match file.strip_prefix("~/") {
            Some(rest) => format!("{home}/{rest}"),
            None if file.starts_with('/') => file.clone(),
            None => format!("{home}/{file}"),
        };
        let asked = |error: MachineError| match error {
            // What the path made of the command.
            MachineError::Refused { why, .. } => {
                ActionError::refused(format!("{file:?} was not looked for: {why}"))
            }
            error => lost(format!("a file could not be looked for: {error}")).into(),
        };
        let found =
            machine.run(&Command::new(["realpath", "-e", "-z", "--", &path, home])).await.map_err(asked)?;
        let text = found.stdout_text();
        let mut paths = text.split('\0');
        let (Some(path), Some(home), 0) = (paths.next(), paths.next(), found.code) else {
            return Err(ActionError::refused(format!("there is no file {file}")));
        };
        if !path.strip_prefix(home).is_some_and(|rest| rest.starts_with('/')) {
            return Err(ActionError::refused(format!("{file} is not in the home folder, {home}")));
        }
        let is_file = machine.run(&Command::new(["test", "-f", path])).await.map_err(asked)?;
        if is_file.code != 0 {
            return Err(ActionError::refused(format!("{file} is no file")));
        }
        real.push(path.to_owned());
    }
    Ok(real)
}
