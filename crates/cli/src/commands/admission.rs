//! The skills of a book that a run may lend, by its admission policy.

use apprentice_evaluator::run::AdmissionCounts;
use apprentice_protocol::counted;
use apprentice_skills::book::Snapshot;
use apprentice_skills::verification::{Admission, AdmissionPolicy, admit};

use crate::failure::{Failure, Kind};
use crate::terminal;

/// Returns the skills that the admission policy accepts; prints a note if some are in quarantine.
pub(super) fn admitted(
    book: &Snapshot,
    policy: AdmissionPolicy,
) -> Result<(Snapshot, AdmissionCounts), Failure> {
    let (through, Admission { eligible, quarantined, .. }) = admit(book, policy);
    if !quarantined.is_empty() {
        terminal::note(format_args!(
            "{} admitted, {} in quarantine",
            counted(eligible, "skill"),
            quarantined.len()
        ));
    }
    if eligible == 0 && !quarantined.is_empty() {
        return Err(Failure::say(Kind::NothingMatched, "the admission policy accepts no skill").hint(
            "`apprentice learn` on training runs that used a skill verifies it; --admit auto accepts all",
        ));
    }
    let counts = AdmissionCounts { policy, eligible, quarantined: quarantined.len() };
    Ok((through, counts))
}
