//! The sound and the background picture of a slide, found as upstream's getters find them: by the slide's own file and
//! its relationships.

use percent_encoding::percent_decode_str;

use crate::readers::xml;
use crate::readers::zip_reader::Archive;

const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const LINK: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Where a slide's sound or picture is.
pub enum MediumLocation {
    /// In the presentation.
    Embedded(Vec<u8>),
    /// At this path of the machine.
    Linked(String),
}

/// What is looked for in a slide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlideMedium {
    /// The first sound.
    Sound,
    /// The picture of the background.
    Background,
}

impl SlideMedium {
    /// Returns OSWorld's name of the getter.
    pub fn getter(self) -> &'static str {
        match self {
            Self::Sound => "audio_in_slide",
            Self::Background => "background_image_in_slide",
        }
    }
}

/// Returns a slide's first sound, or the picture of its background; slides count from 1.
///
/// # Errors
///
/// Fails if the presentation cannot be read or lacks a medium that its slide names. A slide without such a medium is no error.
pub fn medium_in_slide(
    wanted: SlideMedium,
    presentation: &[u8],
    number: u64,
) -> Result<Option<MediumLocation>, String> {
    let mut archive = Archive::open(presentation)?;
    let background = match wanted {
        SlideMedium::Sound => None,
        SlideMedium::Background => match background(&mut archive, number)? {
            Some(id) => Some(id),
            None => return Ok(None),
        },
    };
    let Some(text) = archive.text(&format!("ppt/slides/_rels/slide{number}.xml.rels"))? else {
        return Ok(None);
    };
    let relationships = xml::read(&text)?;
    let target = relationships
        .root_element()
        .children()
        .filter(|node| node.has_tag_name((RELATIONSHIPS, "Relationship")));
    let target = target
        .filter(|node| {
            let kind = node.attribute("Type").unwrap_or_default();
            match &background {
                None => kind.contains("audio"),
                Some(id) => kind.contains("image") && node.attribute("Id") == Some(id.as_str()),
            }
        })
        .find_map(|node| node.attribute("Target"));
    let Some(target) = target else { return Ok(None) };
    if let Some(path) = target.strip_prefix("file://") {
        let path = percent_decode_str(path).decode_utf8().map_err(|_| format!("{target} is no path"))?;
        return Ok(Some(MediumLocation::Linked(path.into_owned())));
    }
    let Some(place) = target.strip_prefix("../") else {
        return Err(format!("{target} is neither a part of the presentation nor a file"));
    };
    let name = format!("ppt/{place}");
    let bytes = archive.read(&name)?.ok_or_else(|| format!("the presentation lacks {name}"))?;
    Ok(Some(MediumLocation::Embedded(bytes)))
}

/// Returns the relationship that a slide's background names.
fn background(archive: &mut Archive<'_>, number: u64) -> Result<Option<String>, String> {
    let Some(text) = archive.text(&format!("ppt/slides/slide{number}.xml"))? else { return Ok(None) };
    let slide = xml::read(&text)?;
    let named = slide
        .descendants()
        .filter(|node| node.tag_name().name() == "bgPr")
        .flat_map(|node| node.descendants());
    let mut named = named.filter(|node| node.tag_name().name() == "blip");
    Ok(named.find_map(|node| node.attribute((LINK, "embed")).map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use proptest::prelude::*;

    use super::{MediumLocation, SlideMedium, medium_in_slide};

    fn presentation(target: &str, kind: &str) -> Vec<u8> {
        let relationships = format!(
            "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>\
             <Relationship Id='rId1' Type='x/slideLayout' Target='../slideLayouts/slideLayout1.xml'/>\
             <Relationship Id='rId2' Type='x/{kind}' Target='{target}'/></Relationships>"
        );
        let slide = "<p:sld xmlns:p='p' xmlns:a='a' \
             xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'><p:bg><p:bgPr><a:blipFill>\
             <a:blip r:embed='rId2'/></a:blipFill></p:bgPr></p:bg></p:sld>";
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in [
            ("ppt/slides/slide1.xml", slide),
            ("ppt/slides/_rels/slide1.xml.rels", &relationships),
            ("ppt/media/one.wav", "sound"),
        ] {
            archive.start_file(name, zip::write::SimpleFileOptions::default()).expect("begins");
            archive.write_all(text.as_bytes()).expect("is written");
        }
        archive.finish().expect("ends").into_inner()
    }

    proptest! {
        #[test]
        fn no_changed_presentation_breaks_the_reader(at in any::<prop::sample::Index>(), byte: u8, number in 0_u64..3) {
            let mut bytes = presentation("../media/one.wav", "audio");
            let at = at.index(bytes.len());
            bytes[at] = byte;
            for wanted in [SlideMedium::Sound, SlideMedium::Background] {
                drop(medium_in_slide(wanted, &bytes, number));
            }
        }
    }

    #[test]
    fn a_medium_is_a_part_or_a_file() {
        let found =
            |wanted, target: &str, kind: &str| medium_in_slide(wanted, &presentation(target, kind), 1);
        for (wanted, kind) in [(SlideMedium::Sound, "audio"), (SlideMedium::Background, "image")] {
            let part = found(wanted, "../media/one.wav", kind);
            assert!(matches!(part, Ok(Some(MediumLocation::Embedded(bytes))) if bytes == b"sound"));
            let linked = found(wanted, "file:///home/user/a%20b.wav", kind);
            assert!(matches!(linked, Ok(Some(MediumLocation::Linked(path))) if path == "/home/user/a b.wav"));
            assert!(matches!(found(wanted, "../media/one.wav", "other"), Ok(None)));
            assert!(found(wanted, "../media/none.wav", kind).is_err());
            assert!(found(wanted, "/media/one.wav", kind).is_err());
            assert!(matches!(medium_in_slide(wanted, &presentation("../media/one.wav", kind), 2), Ok(None)));
        }
        assert!(medium_in_slide(SlideMedium::Sound, b"no archive", 1).is_err());
    }
}
