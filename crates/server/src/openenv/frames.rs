//! The messages of OpenEnv's socket.

use apprentice_protocol::did_you_mean;
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use crate::pool::{Opening, Refusal, Reward, SessionStep, object};

/// The names of the requests.
const TYPES: [&str; 4] = ["reset", "step", "state", "close"];

/// A request of a client.
#[derive(Debug)]
pub(crate) enum Asked {
    Reset(Opening),
    Step(Box<SessionStep>),
    State,
    Close,
}

/// A frame that says what is wrong.
#[derive(Debug)]
pub(crate) struct ErrorFrame {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl ErrorFrame {
    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self { code: "VALIDATION_ERROR", message: message.into() }
    }

    pub(crate) fn execution(message: impl Into<String>) -> Self {
        Self { code: "EXECUTION_ERROR", message: message.into() }
    }

    /// What was not carried out: a fault of the world, or of the request.
    pub(crate) fn of(refusal: &Refusal) -> Self {
        match refusal.code {
            "void" => Self::execution(format!("void: {}", refusal.message)),
            "episode_ended" | "no_episode" | "ending" => {
                Self::execution(format!("{}: {}", refusal.code, refusal.message))
            }
            code => Self::validation(format!("{code}: {}", refusal.message)),
        }
    }

    pub(crate) fn text(&self) -> String {
        json!({ "type": "error", "data": { "message": self.message, "code": self.code } }).to_string()
    }
}

/// The parameters of a reset. One that is not here is refused: a seed that is misspelt must not be another world.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Reset {
    task: Option<String>,
    seed: Option<Number>,
    episode_id: Option<String>,
    max_steps: Option<u32>,
    max_seconds: Option<u64>,
    reward: Option<Reward>,
    screenshot: Option<bool>,
    outline: Option<bool>,
}

/// Reads a frame.
pub(crate) fn read(text: &str) -> Result<Asked, ErrorFrame> {
    let given: Value = serde_json::from_str(text).map_err(|error| ErrorFrame {
        code: "INVALID_JSON",
        message: format!("the frame is no JSON: {error}"),
    })?;
    let Value::Object(mut frame) = given else {
        return Err(ErrorFrame::validation("a frame is an object as {\"type\": \"reset\", \"data\": {}}"));
    };
    let Some(Value::String(kind)) = frame.remove("type") else {
        return Err(ErrorFrame::validation("the frame has no `type`, which is a text"));
    };
    if !TYPES.contains(&kind.as_str()) {
        let near = did_you_mean(&kind, TYPES);
        let message = format!("unknown type {kind:?}{near}: this server takes {}", TYPES.join(", "));
        return Err(ErrorFrame { code: "UNKNOWN_TYPE", message });
    }
    let data = frame.remove("data");
    if let Some(key) = frame.keys().next() {
        let message = format!("unknown key {key:?} beside `type` and `data`: parameters stand in `data`");
        return Err(ErrorFrame::validation(message));
    }
    match kind.as_str() {
        "reset" => reset(data).map(Asked::Reset),
        "step" => {
            let data = data.ok_or_else(|| ErrorFrame::validation("a step has its action in `data`"))?;
            let step = SessionStep::read(&data).map_err(|refusal| ErrorFrame::of(&refusal))?;
            Ok(Asked::Step(Box::new(step)))
        }
        "state" => empty(data).map(|()| Asked::State),
        _ => empty(data).map(|()| Asked::Close),
    }
}

fn reset(data: Option<Value>) -> Result<Opening, ErrorFrame> {
    let data = data.filter(|data| !data.is_null()).unwrap_or_else(|| Value::Object(Map::new()));
    let reset: Reset = object(&data).map_err(|error| ErrorFrame::validation(format!("reset: {error}")))?;
    Ok(Opening {
        task: reset.task,
        seed: reset.seed,
        max_steps: reset.max_steps,
        max_seconds: reset.max_seconds,
        reward: reset.reward,
        screenshot: reset.screenshot,
        outline: reset.outline,
        count: None,
        episode: reset.episode_id,
    })
}

/// Their client sends `data` with no request but `reset` and `step`.
fn empty(data: Option<Value>) -> Result<(), ErrorFrame> {
    match data {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(fields)) if fields.is_empty() => Ok(()),
        Some(_) => Err(ErrorFrame::validation("this request takes no `data`")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, read};

    #[test]
    fn frames_that_are_not_taken_say_so_by_code_and_name() {
        for (text, code, told) in [
            ("no JSON", "INVALID_JSON", "no JSON"),
            ("[]", "VALIDATION_ERROR", "is an object"),
            ("{\"data\": {}}", "VALIDATION_ERROR", "`type`"),
            ("{\"type\": 7}", "VALIDATION_ERROR", "`type`"),
            ("{\"type\": \"dance\"}", "UNKNOWN_TYPE", "dance"),
            ("{\"type\": \"mcp\", \"data\": {}}", "UNKNOWN_TYPE", "mcp"),
            ("{\"type\": \"rest\"}", "UNKNOWN_TYPE", "reset"),
            ("{\"type\": \"reset\", \"seed\": 1}", "VALIDATION_ERROR", "\"seed\""),
            ("{\"type\": \"reset\", \"data\": {\"sed\": 1}}", "VALIDATION_ERROR", "`sed`"),
            ("{\"type\": \"reset\", \"data\": {\"seed\": \"1\"}}", "VALIDATION_ERROR", "invalid type"),
            ("{\"type\": \"reset\", \"data\": []}", "VALIDATION_ERROR", "reset"),
            ("{\"type\": \"step\"}", "VALIDATION_ERROR", "`data`"),
            ("{\"type\": \"step\", \"data\": {}}", "VALIDATION_ERROR", "is empty"),
            ("{\"type\": \"step\", \"data\": \"click('12')\"}", "VALIDATION_ERROR", "BrowserGym"),
            ("{\"type\": \"state\", \"data\": {\"seed\": 1}}", "VALIDATION_ERROR", "no `data`"),
        ] {
            let refused = read(text).expect_err("refused");
            assert_eq!(refused.code, code, "{text}");
            assert!(refused.message.contains(told), "{text}: {}", refused.message);
        }
        assert!(matches!(read("{\"type\": \"close\"}"), Ok(Asked::Close)));
        assert!(matches!(read("{\"type\": \"reset\"}"), Ok(Asked::Reset(_))));
    }
}
