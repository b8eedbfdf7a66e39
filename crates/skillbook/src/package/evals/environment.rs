//! The world in which an evaluation is done: a terminal, a page in a browser, or a program of a desktop.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::EvalFile;
use super::words::{clipped, kind_of};
use apprentice_protocol::SkillId;

/// Fields of an evaluation that say which world it needs.
pub(super) const FIELDS: [&str; 3] = ["environment", "open", "program"];

/// The world in which an evaluation is done. Each is a fresh cell without a network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "environment", rename_all = "snake_case")]
pub enum EvalEnvironment {
    /// A desktop with an open terminal.
    #[default]
    Terminal,
    /// A browser that shows one of the files.
    Browser {
        /// The file, by its path below the folder in which the agent works.
        open: String,
    },
    /// A desktop with a program.
    Desktop {
        /// The program, by the name that a skillbook has for it, such as `mousepad` or `libreoffice-calc`.
        program: String,
        /// The file that is open in it, by its path below the folder in which the agent works.
        open: Option<String>,
    },
}

/// Reads which world an evaluation needs; `Err` says why it cannot be had.
pub(super) fn environment_of(
    fields: &Map<String, Value>,
    files: &[EvalFile],
) -> Result<EvalEnvironment, String> {
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim())),
        Some(other) => Err(format!("{name} is {}, and no text", kind_of(other))),
    };
    let (kind, open, program) = (text("environment")?, text("open")?, text("program")?);
    let open = open.map(|path| opened(path, files)).transpose()?;
    match (kind, open, program) {
        (None | Some("terminal"), None, None) => Ok(EvalEnvironment::Terminal),
        (None | Some("terminal"), ..) => {
            Err("it names \"open\" or \"program\", and no environment that shows it: \
             \"browser\" or \"desktop\""
                .to_owned())
        }
        (Some("browser"), Some(open), None) => Ok(EvalEnvironment::Browser { open }),
        (Some("browser"), None, _) => {
            Err("its browser shows nothing: name one of its files in \"open\" (there is no network)"
                .to_owned())
        }
        (Some("browser"), _, Some(_)) => Err("a browser has no \"program\"".to_owned()),
        (Some("desktop"), open, Some(program)) if SkillId::is_slug(program) => {
            Ok(EvalEnvironment::Desktop { program: program.to_owned(), open })
        }
        (Some("desktop"), _, Some(program)) => {
            Err(format!("{:?} is no name of a program, such as mousepad", clipped(program)))
        }
        (Some("desktop"), _, None) => {
            Err("its desktop is empty: name what is open in \"program\"".to_owned())
        }
        (Some(other), ..) => {
            Err(format!("the environment {:?} is none of terminal, browser, desktop", clipped(other)))
        }
    }
}

/// The file that is open, by its path in the package or where the agent works.
fn opened(path: &str, files: &[EvalFile]) -> Result<String, String> {
    let path = path.trim_start_matches("./");
    let is_it = |file: &&EvalFile| file.path == path || file.target == path;
    match files.iter().find(is_it) {
        Some(file) => Ok(file.target.clone()),
        None => Err(format!("{:?}, which should be open, is none of its files", clipped(path))),
    }
}
