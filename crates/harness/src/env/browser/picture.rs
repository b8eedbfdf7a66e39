//! Screenshots as the browser sends them.

use apprentice_protocol::{BlobHash, Image, ImageBytes, MediaType, Size};
use apprentice_trace::hex;
use sha2::{Digest as _, Sha256};

/// Wraps the bytes of a PNG. `None` if they are not one.
pub(super) fn of_png(bytes: Vec<u8>) -> Option<Image> {
    // The signature, the length and name of the header chunk, then width and height.
    let head = bytes.get(..24).filter(|head| head.starts_with(b"\x89PNG\r\n\x1a\n"))?;
    let number = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let size = Size::new(number(16)?, number(20)?);
    let hash = hex(&Sha256::digest(&bytes));
    let bytes = ImageBytes(bytes.into());
    Some(Image { hash: BlobHash::new(hash), size, media: MediaType::Png, bytes })
}

#[cfg(test)]
mod tests {
    use super::of_png;

    #[test]
    fn only_a_png_is_a_picture() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x07\x80\0\0\x04\x38".to_vec();
        let image = of_png(png.clone()).expect("a picture");
        assert_eq!((image.size.width, image.size.height), (1920, 1080));
        assert_eq!(image.hash.as_str().len(), 64);
        assert!(of_png(png[..23].to_vec()).is_none());
        assert!(of_png(b"GIF89a and twenty more bytes".to_vec()).is_none());
    }
}
