//! FFmpeg as a reader: what it may open, and how.

use super::program::INPUT;

/// Forms of sounds and films, by FFmpeg's names. Without a list FFmpeg finds a form for almost any bytes: it takes text for recorded
/// speech, and a playlist for the files that the list names.
pub(super) const RECORDINGS: &str = "aac,ac3,aiff,amr,ape,asf,au,avi,caf,eac3,flac,flv,gif,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,\
    mp3,mpeg,mpegts,ogg,tta,w64,wav,wv";
/// Forms of pictures, of which the last is a dump of a screen of X11.
pub(super) const PICTURES: &str = "bmp_pipe,dds_pipe,gif,gif_pipe,ico,j2k_pipe,jpeg_pipe,jpegls_pipe,pam_pipe,pbm_pipe,pcx_pipe,\
    pgm_pipe,png_pipe,ppm_pipe,psd_pipe,qoi_pipe,sgi_pipe,sunrast_pipe,tiff_pipe,webp_pipe,xbm_pipe,xpm_pipe,xwd_pipe";
/// Most pixels of one picture.
pub(super) const PIXELS: usize = 16_777_216;
const PIXELS_OPTION: &str = "16777216";

/// Returns FFmpeg's arguments: it opens the file if it has one of these forms, and makes of it what the others say. One thread
/// each, as the bounds of processor time and memory would otherwise depend on the machine.
pub(super) fn arguments(forms: &'static str, made: &[&'static str]) -> Vec<&'static str> {
    let opened = [
        "-nostdin",
        "-v",
        "error",
        "-max_pixels",
        PIXELS_OPTION,
        "-protocol_whitelist",
        "file,pipe",
        "-format_whitelist",
        forms,
        "-threads",
        "1",
        "-i",
        INPUT,
    ];
    opened.iter().chain(made).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{PIXELS, PIXELS_OPTION};

    #[test]
    fn the_bound_of_a_picture_is_told_as_it_is_checked() {
        assert_eq!(PIXELS_OPTION, PIXELS.to_string());
    }
}
