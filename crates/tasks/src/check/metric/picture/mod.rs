//! Metrics of the content of pictures, with Pillow's and scikit-image's arithmetic.

mod raster;

use raster::Raster;

/// Returns what Pillow's `tobytes` returns: the pixels of a picture, without its size.
pub(super) fn pixels(bytes: &[u8]) -> Result<Vec<u8>, String> {
    Raster::read(bytes).map(|raster| raster.bytes)
}
