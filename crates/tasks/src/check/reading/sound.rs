//! How a sound goes: FFmpeg decodes it to one channel of 22,050 samples a second, and 20 mel-frequency cepstral
//! coefficients tell each 512 of them, as the library `librosa` does.

use apprentice_metrics::{MEDIA_READER, ReadingContent};

use super::program::{ProgramError, ProgramRun, output};
use super::{media, spectrum};

/// Bytes of decoded sound: about 12 minutes.
const LIMIT: u64 = 64 << 20;

pub(super) async fn read(bytes: &[u8]) -> Result<ReadingContent, ProgramError> {
    // The mean of the channels, then the resampler and quality that the library uses.
    let filter = "aformat=sample_fmts=fltp,aresample=22050:resampler=soxr:precision=20";
    let made = ["-map", "0:a:0", "-ac", "1", "-af", filter, "-f", "f32le", "-"];
    let arguments = media::arguments(media::RECORDINGS, &made);
    let run = ProgramRun { program: MEDIA_READER, arguments: &arguments, input: bytes, output_limit: LIMIT };
    let printed = output(&run).await?;
    let samples: Vec<f32> =
        printed.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    drop(printed);
    if samples.is_empty() {
        return Err(ProgramError::Refused("it holds no sound".into()));
    }
    // Seconds of arithmetic for a long one.
    let coefficients = tokio::task::spawn_blocking(move || spectrum::coefficients(&samples)).await;
    let coefficients = coefficients.map_err(|error| ProgramError::Start(error.to_string()))?;
    Ok(ReadingContent::Sound { coefficients })
}
