//! Tests what a model must be able to do, with one short request each: call a tool, and where its profile says so, see a
//! picture, point at something in it, and answer in a JSON form.

use std::sync::Arc;

use apprentice_pixels::{Frame, PixelError, encode_png};
use apprentice_protocol::{
    BlobHash, CallBody, ChatModel, ChatReply, ChatRequest, Content, Image, ImageBytes, ImageRule, MediaType,
    Message, ModelError, ModelErrorKind, NamedSchema, Prompt, Purpose, ScreenPoint, Size, View, WorldTool,
};
use apprentice_trace::hex;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::calibrate::{CalibrateError, aim_at};

pub(crate) const PICTURE: Prompt =
    Prompt::new("probe/picture", include_str!("prompts/probe_picture.md"), &[]);
pub(crate) const FORM: Prompt = Prompt::new("probe/form", include_str!("prompts/probe_form.md"), &[]);
pub(crate) const CALL: Prompt = Prompt::new("probe/call", include_str!("prompts/probe_call.md"), &[]);
/// A point may be off by this share of the picture's width. In another coordinate space it is farther.
const POINT_SHARE: f64 = 0.06;
/// The two halves of the picture: name and RGB value.
const HALVES: [(&str, [u8; 3]); 2] = [("yellow", [250, 225, 30]), ("blue", [30, 70, 220])];
/// The picture's size, before it is scaled to the model's rule.
const SIZE: Size = Size::new(640, 360);
/// Enough tokens for a few words, and for the model's reasoning before them.
const MAX_OUTPUT_TOKENS: u32 = 1024;

/// The result of one probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The model has the capability.
    Can,
    /// The model answered something else, or its server refused the request. Holds that text.
    Cannot(String),
}

/// A probe that could not run.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The picture could not be encoded.
    #[error("cannot create the test picture")]
    Picture(#[from] PixelError),
    /// The request to the model failed.
    #[error("the request that tests the model failed")]
    Model(#[from] ModelError),
}

/// Returns the size of the picture sent to the model, or `None` when the model takes no pictures.
pub fn shown(rule: &ImageRule) -> Option<Size> {
    rule.fit(SIZE)
}

/// Tests whether a model sees a picture. Returns `None`, without a request, for a model that takes no pictures.
pub async fn sees(model: &dyn ChatModel) -> Result<Option<ProbeResult>, ProbeError> {
    let Some(size) = shown(&model.profile().images) else { return Ok(None) };
    let content = vec![Content::text(PICTURE.text().trim_end()), Content::Image { image: picture(size)? }];
    let tried = ask(model, content, None).await?;
    Ok(Some(tried.map_or_else(ProbeResult::Cannot, |words| match names_both(&words) {
        true => ProbeResult::Can,
        false => ProbeResult::Cannot(words),
    })))
}

/// Tests whether a model answers in the JSON form that a request names.
pub async fn probe_structured_output(model: &dyn ChatModel) -> Result<ProbeResult, ProbeError> {
    let schema = json!({
        "type": "object",
        "properties": { "word": { "type": "string" }, "letters": { "type": "integer" } },
        "required": ["word", "letters"],
        "additionalProperties": false,
    });
    let schema = NamedSchema { name: "probe".into(), schema };
    let tried = ask(model, vec![Content::text(FORM.text().trim_end())], Some(schema)).await?;
    Ok(tried.map_or_else(ProbeResult::Cannot, |words| match serde_json::from_str::<Form>(unfenced(&words)) {
        Ok(_) => ProbeResult::Can,
        Err(_) => ProbeResult::Cannot(words),
    }))
}

/// Tests whether a model calls its tool for the world, and its server hands the call over.
pub async fn calls(model: &dyn ChatModel) -> Result<ProbeResult, ProbeError> {
    let request = ChatRequest {
        purpose: Purpose::Check,
        messages: vec![Message::User { content: vec![Content::text(CALL.text().trim_end())] }],
        world: Some(WorldTool { browser: false, display: SIZE }),
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    };
    let reply = match model.reply(&request).await {
        Ok(reply) => reply,
        Err(error) if error.fault == ModelErrorKind::Refused => {
            return Ok(ProbeResult::Cannot(error.message));
        }
        Err(error) => return Err(error.into()),
    };
    let problem = reply.calls.iter().find_map(|call| match &call.body {
        CallBody::Unusable { problem } => Some(problem.clone()),
        CallBody::World { .. } | CallBody::Tool { .. } | CallBody::Finish(_) => None,
    });
    Ok(match problem {
        None if !reply.calls.is_empty() => ProbeResult::Can,
        Some(problem) => ProbeResult::Cannot(problem),
        None => ProbeResult::Cannot(reply.say.join("\n")),
    })
}

/// Tests whether a model points where it should, in the coordinate space of its profile. Returns `None`, without a request,
/// for a model that takes no pictures.
pub async fn points(model: &dyn ChatModel) -> Result<Option<ProbeResult>, CalibrateError> {
    let profile = model.profile();
    let Some(size) = shown(&profile.images) else { return Ok(None) };
    let sample = aim_at(model, size, 2).await?;
    let view = View { image: size, space: profile.space, ..View::whole(size) };
    let found = sample.point.and_then(|point| view.to_screen(point).ok());
    let middle = sample.middle;
    let near = |found: ScreenPoint| {
        f64::from(found.x - middle.x).hypot(f64::from(found.y - middle.y))
            <= f64::from(size.width) * POINT_SHARE
    };
    Ok(Some(match (found, sample.point) {
        (Some(found), _) if near(found) => ProbeResult::Can,
        (_, Some(point)) => ProbeResult::Cannot(format!(
            "({}, {}) for a target at ({}, {}) of a picture of {}x{}",
            point.x, point.y, middle.x, middle.y, size.width, size.height
        )),
        (_, None) => ProbeResult::Cannot("no point".into()),
    }))
}

/// Removes a code fence around an answer, which models add and readers of answers accept.
fn unfenced(words: &str) -> &str {
    let words = words.trim();
    let Some(inner) = words.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else {
        return words;
    };
    inner.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[expect(dead_code, reason = "that it is a text is what counts")]
    word: String,
    #[expect(dead_code, reason = "that it is a number is what counts")]
    letters: i64,
}

/// Returns the answer's text, or the text of the refusal as the inner error.
async fn ask(
    model: &dyn ChatModel,
    content: Vec<Content>,
    schema: Option<NamedSchema>,
) -> Result<Result<String, String>, ModelError> {
    let request = ChatRequest {
        purpose: Purpose::Check,
        messages: vec![Message::User { content }],
        schema,
        max_output_tokens: MAX_OUTPUT_TOKENS,
        ..ChatRequest::default()
    };
    match model.reply(&request).await {
        Ok(ChatReply { say, .. }) => Ok(Ok(say.join("\n"))),
        Err(error) if error.fault == ModelErrorKind::Refused => Ok(Err(error.message)),
        Err(error) => Err(error),
    }
}

/// Returns whether the colours are named in order.
fn names_both(words: &str) -> bool {
    let words = words.to_lowercase();
    let [left, right] = HALVES.map(|(name, _)| words.find(name));
    left.zip(right).is_some_and(|(left, right)| left < right)
}

fn picture(size: Size) -> Result<Image, PixelError> {
    let half = size.width / 2;
    let pixel = |x: u32| HALVES[usize::from(x >= half)].1;
    let row: Vec<u8> = (0..size.width).flat_map(pixel).collect();
    let png = encode_png(&Frame::from_rgb(size.width, size.height, row.repeat(size.height as usize))?)?;
    let hash = hex(&Sha256::digest(&png));
    Ok(Image { hash: BlobHash::new(hash), size, media: MediaType::Png, bytes: ImageBytes(Arc::from(png)) })
}

#[cfg(test)]
mod tests {
    use super::{CALL, FORM, Form, PICTURE, names_both, unfenced};

    #[test]
    fn the_questions_read_as_intended() {
        insta::assert_snapshot!(PICTURE.text(), @"Look at the picture. Its left half has one colour and its right half another. Answer with the two colours, the left one first, and nothing else.");
        insta::assert_snapshot!(CALL.text(), @"Call your tool for the computer once, to wait for one second. Do nothing else.");
        insta::assert_snapshot!(FORM.text(), @"Answer with one JSON object and nothing else: `word` is the word ready, and `letters` is the number of letters in it.");
    }

    #[test]
    fn a_form_counts_by_its_form_alone_and_may_stand_in_a_fence() {
        for words in [
            "{\"word\":\"ready\",\"letters\":5}",
            " {\"letters\": 2, \"word\": \"word\"}\n",
            "```json\n{\"word\":\"x\",\"letters\":1}\n```",
            "```\n{\"word\":\"x\",\"letters\":1}\n```",
        ] {
            assert!(serde_json::from_str::<Form>(unfenced(words)).is_ok(), "{words}");
        }
        for words in
            ["ready", "{\"word\":\"x\"}", "{\"word\":\"x\",\"letters\":\"1\"}", "```json\nready\n```"]
        {
            assert!(serde_json::from_str::<Form>(unfenced(words)).is_err(), "{words}");
        }
    }

    #[test]
    fn only_both_colours_in_order_tell_that_it_saw() {
        for seen in ["yellow, blue", "Yellow and blue.", "Left: YELLOW\nRight: BLUE"] {
            assert!(names_both(seen), "{seen}");
        }
        for blind in ["blue, yellow", "yellow", "I see no picture.", ""] {
            assert!(!names_both(blind), "{blind}");
        }
    }
}
