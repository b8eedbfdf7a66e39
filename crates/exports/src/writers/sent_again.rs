//! The conversation of an attempt in the very words in which its model's server got it: system text with the model's action
//! format, tools as declared, replies as they came. Only so can it be played back, and what is trained on it answers what the
//! program will ask.

use std::collections::BTreeMap;

use apprentice_protocol::{ChatRequest, Content, Image, ImageBytes, Message, RawContent};
use apprentice_runs::PlanHead;
use apprentice_trace::{BlobError, Blobs, PictureRef};
use serde_json::{Value, json};

use super::EpisodeError;
use super::openai::AddPicture;
use crate::as_sent::{AsSent, ForProfile, SentForm};
use crate::episode::Episode;
use crate::folder::PictureError;

/// Stands for a picture in a request: its bytes are its reference.
const MARK: &str = "picture of an export: ";

/// The profiles of a run's models, as its plan names them, and how a request is written by one.
pub(crate) struct SentForms<'a> {
    profiles: BTreeMap<String, String>,
    form: &'a AsSent,
}

impl<'a> SentForms<'a> {
    /// Reads the profiles in a plan.
    pub(crate) fn of(plan: &PlanHead, form: &'a AsSent) -> Self {
        let models = plan.models.as_array().map(Vec::as_slice).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let profiles =
            models.iter().filter_map(|one| Some((text(&one["model"])?, text(&one["profile"]["name"])?)));
        Self { profiles: profiles.collect(), form }
    }

    /// The profile of a model; `None` for one that needs none.
    pub(crate) fn profile(&self, model: &str) -> Option<&str> {
        self.profiles.get(model).map(String::as_str)
    }

    /// Returns the whole conversation of an episode as it was sent to a model of this profile. `None` if nothing is known of the
    /// profile, or no reply came.
    pub(crate) fn read(
        &self,
        profile: &str,
        episode: &Episode<'_>,
        blobs: &Blobs,
        add_picture: &mut AddPicture<'_>,
    ) -> Result<Option<SentForm>, EpisodeError> {
        let Some((request, pictures)) = whole(episode, blobs)? else { return Ok(None) };
        let Some(sent) = (self.form)(profile, &request) else { return Ok(None) };
        let sent = sent.map_err(EpisodeError::Form)?;
        with_pictures(sent, &pictures, add_picture).map(Some)
    }
}

/// Returns the whole conversation of an episode as a model of another profile would have had it.
pub(super) fn written_for(
    profile: &ForProfile,
    episode: &Episode<'_>,
    blobs: &Blobs,
    add_picture: &mut AddPicture<'_>,
) -> Result<SentForm, EpisodeError> {
    let Some((request, pictures)) = whole(episode, blobs)? else {
        return Err(EpisodeError::Unfit("its trace holds no conversation with a reply"));
    };
    let sent = (profile.write)(&episode.header.model, &request).map_err(EpisodeError::Form)?;
    with_pictures(sent, &pictures, add_picture)
}

/// The conversation of an episode with all replies, its pictures marked. `None` where no reply came.
fn whole(
    episode: &Episode<'_>,
    blobs: &Blobs,
) -> Result<Option<(ChatRequest, Vec<PictureRef>)>, EpisodeError> {
    let Some(request) = episode.request.as_ref().filter(|_| !episode.turns.is_empty()) else {
        return Ok(None);
    };
    let mut request = blobs.request(request)?;
    let mut pictures = Vec::new();
    for turn in &episode.turns {
        for hash in &turn.messages {
            request.messages.push(marked(blobs.message(hash)?, &mut pictures));
        }
        let block = |hash| Ok(String::from_utf8_lossy(&blobs.read(hash, "json")?).into_owned());
        let blocks: Result<Vec<String>, BlobError> = turn.raw.iter().map(block).collect();
        let raw = RawContent { blocks: blocks? };
        let (say, calls) = (turn.say.clone(), turn.calls.clone());
        request.messages.push(Message::Assistant { raw, say, calls });
    }
    Ok(Some((request, pictures)))
}

fn with_pictures(
    mut sent: SentForm,
    pictures: &[PictureRef],
    add_picture: &mut AddPicture<'_>,
) -> Result<SentForm, EpisodeError> {
    for message in &mut sent.messages {
        shown(message, pictures, add_picture)?;
    }
    Ok(sent)
}

/// Gives each picture of a message bytes that name it.
fn marked(mut message: Message, pictures: &mut Vec<PictureRef>) -> Message {
    let mut mark = |content: &mut Vec<Content>| {
        for part in content {
            if let Content::Image { image } = part {
                let bytes = format!("{MARK}{}", pictures.len());
                pictures.push(PictureRef::of(image));
                *image = Image { bytes: ImageBytes(bytes.as_bytes().into()), ..image.clone() };
            }
        }
    };
    match &mut message {
        Message::User { content } => mark(content),
        Message::Results { results, notices } => {
            results.iter_mut().for_each(|result| mark(&mut result.content));
            mark(notices);
        }
        Message::Assistant { .. } => {}
    }
    message
}

/// Puts the references of pictures in place of their marks; a picture that the export leaves out goes.
fn shown(
    message: &mut Value,
    pictures: &[PictureRef],
    add_picture: &mut AddPicture<'_>,
) -> Result<(), PictureError> {
    let Some(parts) = message["content"].as_array_mut() else { return Ok(()) };
    let mut kept = Vec::new();
    for part in std::mem::take(parts) {
        let Some(picture) = named(&part["image_url"]["url"], pictures) else {
            kept.push(part);
            continue;
        };
        let url = add_picture(picture)?;
        kept.extend(url.map(|url| json!({ "type": "image_url", "image_url": { "url": url } })));
    }
    *parts = kept;
    Ok(())
}

/// The picture whose mark stands in a data URL.
fn named<'a>(url: &Value, pictures: &'a [PictureRef]) -> Option<&'a PictureRef> {
    use base64::Engine as _;
    let (_, data) = url.as_str()?.split_once(";base64,")?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(data).ok()?;
    let place = std::str::from_utf8(&bytes).ok()?.strip_prefix(MARK)?;
    pictures.get(place.parse::<usize>().ok()?)
}
