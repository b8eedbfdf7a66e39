//! Metrics of the content of pictures, with the arithmetic of Pillow, scikit-image and OpenCV.

mod content;
mod conversion;
mod raster;
mod resample;
mod similarity;
mod source;
mod structure;

pub(super) use content::{
    brightness_decreased, compare_images, compare_list, green_background, saturation_increased, sharper,
    text_on_the_left, triangle_in_the_middle,
};
pub(super) use raster::PictureError;
use raster::Raster;
pub(super) use structure::{
    brightness_decreased_alike, contrast_increased_alike, exported, mirrored, resized,
    saturation_increased_alike, similar, similar_by_threshold, with_palette,
};

/// Returns what Pillow's `tobytes` returns: the pixels of a picture, without its size.
pub(super) fn pixels(bytes: &[u8]) -> Result<Vec<u8>, PictureError> {
    Raster::read(bytes).map(|raster| raster.bytes)
}

/// Scales a picture in red, green and blue to a square in grey.
///
/// # Errors
///
/// Fails if the picture cannot be scaled to this size.
pub fn grey_thumbnail(width: usize, height: usize, pixels: Vec<u8>, side: usize) -> Result<Vec<u8>, String> {
    let picture = Raster {
        mode: raster::Mode::Rgb,
        width,
        height,
        bytes: pixels,
        palette: Vec::new(),
        transparent: None,
    };
    picture.to_grey().scaled(side, side, resample::Filter::Lanczos).map(|small| small.bytes)
}

#[cfg(test)]
mod tests;
