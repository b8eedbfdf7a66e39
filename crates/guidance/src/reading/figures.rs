//! The figures of a skill as a model gets them: pictures below its text, in the order of its captions.

use std::sync::Arc;

use apprentice_protocol::{BlobHash, Content, Image, ImageBytes, MediaType, Size};
use apprentice_skillbook::{Skill, Snapshot, check_png, figure_refs};

/// Returns a skill's pictures. A figure that the book has lost keeps its caption in the text.
pub(crate) fn pictures(book: &Snapshot, skill: &Skill) -> Vec<Content> {
    let mut contents = Vec::new();
    for (number, figure) in (1..).zip(figure_refs(&skill.text.guidance)) {
        let Some(bytes) = book.attachment(&figure.sha256) else { continue };
        // A book may come from elsewhere, so a picture is checked again before a model gets it.
        let Ok((width, height)) = check_png(&bytes) else { continue };
        let image = Image {
            hash: BlobHash::new(figure.sha256),
            size: Size::new(width, height),
            media: MediaType::Png,
            bytes: ImageBytes(Arc::from(bytes)),
        };
        contents.extend([Content::text(format!("Figure {number}:")), Content::Image { image }]);
    }
    contents
}
