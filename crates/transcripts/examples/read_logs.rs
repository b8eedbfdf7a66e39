//! Reads logs of other programs and says how long it took: `read_logs PATH...`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints, and times what it does"
)]

use std::path::Path;
use std::time::Instant;

use apprentice_transcripts::{Found, Out, find, in_order, read_each};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let began = Instant::now();
        let (mut logs, mut turns, mut calls) = (0, 0, 0);
        let mut failed = None;
        let count = |found: &Found, out: &Out<_>| {
            let (mut turns, mut calls) = (0, 0);
            let read = read_each(found, &mut |_, transcript| {
                turns += transcript.turns.len();
                calls += transcript.calls().count();
            });
            out.put(read.map(|_| (turns, calls)));
        };
        in_order(&find(Path::new(&path))?, count, |_, read| match read {
            Ok((more_turns, more_calls)) => {
                (logs, turns, calls) = (logs + 1, turns + more_turns, calls + more_calls);
            }
            Err(error) => failed = Some(error),
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        println!("{logs} logs, {turns} replies, {calls} calls in {:.3} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}
