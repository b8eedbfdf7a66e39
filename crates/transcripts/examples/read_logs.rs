//! Reads logs of other programs and says how long it took: `read_logs PATH...`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints, and times what it does"
)]

use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let began = Instant::now();
        let (mut logs, mut turns, mut calls) = (0, 0, 0);
        for found in apprentice_transcripts::find(Path::new(&path))? {
            apprentice_transcripts::read_each(&found, &mut |_, transcript| {
                turns += transcript.turns.len();
                calls += transcript.calls().count();
            })?;
            logs += 1;
        }
        println!("{logs} logs, {turns} replies, {calls} calls in {:.3} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}
