//! Encoded pictures: each is encoded once and shared by every request that shows it again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use apprentice_protocol::{BlobHash, Image, MediaType, ModelError, ModelErrorKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::Json;

/// Encoded pictures by hash. An entry lives as long as a conversation holds the picture's bytes.
#[derive(Debug, Default)]
pub(crate) struct PictureCache {
    kept: Mutex<HashMap<BlobHash, EncodedPicture>>,
}

#[derive(Debug)]
struct EncodedPicture {
    bytes: Weak<[u8]>,
    plain: Option<Arc<RawValue>>,
    url: Option<Arc<RawValue>>,
}

/// Returns the MIME type.
pub(crate) fn media_type(media: MediaType) -> &'static str {
    match media {
        MediaType::Png => "image/png",
        MediaType::Webp => "image/webp",
        MediaType::Jpeg => "image/jpeg",
    }
}

impl PictureCache {
    /// Returns the picture as a JSON string of base64.
    pub(crate) fn base64(&self, image: &Image) -> Result<Json, ModelError> {
        self.get(image, "", |kept| &mut kept.plain)
    }

    /// Returns the picture as a JSON string with a data URL.
    pub(crate) fn data_url(&self, image: &Image) -> Result<Json, ModelError> {
        let head = format!("data:{};base64,", media_type(image.media));
        self.get(image, &head, |kept| &mut kept.url)
    }

    fn get(
        &self,
        image: &Image,
        head: &str,
        form: impl Fn(&mut EncodedPicture) -> &mut Option<Arc<RawValue>>,
    ) -> Result<Json, ModelError> {
        if image.bytes.0.is_empty() {
            let story = format!("the picture {} has no bytes; it was loaded from a trace", image.hash);
            return Err(ModelError::never(ModelErrorKind::Request, story));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.contains_key(&image.hash) {
            kept.retain(|_, one| one.bytes.strong_count() > 0);
        }
        let fresh = || EncodedPicture { bytes: Arc::downgrade(&image.bytes.0), plain: None, url: None };
        let place = form(kept.entry(image.hash.clone()).or_insert_with(fresh));
        if let Some(raw) = place {
            return Ok(Json::Raw(Arc::clone(raw)));
        }
        let mut text = String::with_capacity(image.bytes.0.len() / 3 * 4 + head.len() + 8);
        text.push('"');
        text.push_str(head);
        STANDARD.encode_string(&image.bytes.0, &mut text);
        text.push('"');
        let raw: Arc<RawValue> = RawValue::from_string(text)
            .map_err(|error| ModelError::never(ModelErrorKind::Request, format!("a picture: {error}")))?
            .into();
        *place = Some(Arc::clone(&raw));
        Ok(Json::Raw(raw))
    }

    /// Returns the number of cached pictures.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.kept.lock().expect("unpoisoned").len()
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{BlobHash, Image, ImageBytes, MediaType, Size};

    use super::PictureCache;

    fn image(name: &str) -> Image {
        let bytes = ImageBytes(name.as_bytes().into());
        Image { hash: BlobHash::new(name), size: Size::new(1, 1), media: MediaType::Png, bytes }
    }

    #[test]
    fn a_picture_is_encoded_once_and_forgotten_with_its_conversation() {
        let fragments = PictureCache::default();
        let first = image("one");
        let text = |json: super::Json| String::from_utf8(json.to_bytes(0).expect("writes")).expect("UTF-8");
        assert_eq!(text(fragments.base64(&first).expect("encodes")), "\"b25l\"");
        assert_eq!(text(fragments.data_url(&first).expect("encodes")), "\"data:image/png;base64,b25l\"");
        assert_eq!(fragments.len(), 1);
        drop(first);
        fragments.base64(&image("two")).expect("encodes");
        assert_eq!(fragments.len(), 1);
        let mut empty = image("three");
        empty.bytes = ImageBytes::default();
        assert!(fragments.base64(&empty).is_err());
    }
}
