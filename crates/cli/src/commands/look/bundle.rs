//! `apprentice bundle` and `apprentice verify`: pack a run or an experiment into one file, and verify it.

use apprentice_protocol::counted;
use std::path::{Path, PathBuf};

use apprentice_evaluator::verify::{CheckedClaim, Verification, verify, verify_folder};
use apprentice_runs::bundle::{Pictures, UnpackLimits, pack_with};
use apprentice_runs::{Wanted, check as check_place};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::signature;
use crate::failure::{Failure, Kind, WithKind as _};
use crate::runs::run_place::WholePlace;
use crate::terminal;

/// Number of contradictions of a claim that are printed; `--json` lists all.
const SHOWN: usize = 20;

/// Packs a run or an experiment into one file: plan, rows, evidence, traces, prompt hashes, skillbook, report.
#[derive(Debug, Args)]
pub(crate) struct Bundle {
    /// The folder of a run or an experiment; in builds with fleets also `queue:RUN`.
    folder: PathBuf,
    /// The file to write [default: the folder's name with `.tar.gz`, beside the folder; here for a run of a queue].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Sign the bundle with this SSH key; the signature is written beside it as `.sig`.
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// Leave out the pictures of screens, which are most of its size. The bundle names them, and `verify` says that it goes without.
    #[arg(long)]
    without_pictures: bool,
    /// Print the list of packed files as one JSON object (`apprentice.bundle/1`).
    #[arg(long)]
    json: bool,
}

/// Verifies a bundle on any machine, and believes none of it: rows are compared with the plan and with their traces, verdicts with
/// the stored evidence, the report and its pages with the rows, and files with their hashes. What nothing could be compared with
/// is named.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// A bundle, or the folder of a run or an experiment.
    bundle: PathBuf,
    /// Refuse a bundle whose unpacked size exceeds this limit.
    #[arg(long, alias = "most", value_name = "BYTES", default_value_t = UnpackLimits::default().bytes)]
    max_bytes: u64,
    /// Require a signature by this signer: a public SSH key, or a file of allowed signers as OpenSSH has it. The
    /// signature is read from beside the bundle.
    #[arg(long, value_name = "FILE")]
    signed_by: Option<PathBuf>,
    /// Print one JSON object (`apprentice.verify/1`).
    #[arg(long)]
    json: bool,
}

/// Runs `apprentice bundle`.
pub(crate) fn run(arguments: &Bundle) -> Result<(), Failure> {
    // What is brought lies on the disk of the bundle, which has about the same size.
    let near = arguments.out.as_deref().and_then(Path::parent).filter(|near| !near.as_os_str().is_empty());
    let place = WholePlace::of(&arguments.folder, near.unwrap_or(Path::new(".")))?;
    let out = arguments.out.clone().unwrap_or_else(|| beside(place.beside()));
    let pictures = if arguments.without_pictures { Pictures::LeftOut } else { Pictures::Kept };
    let list = pack_with(place.folder(), &out, env!("CARGO_PKG_VERSION"), pictures).kind(Kind::Config)?;
    let signed = arguments
        .sign
        .as_ref()
        .map(|key| signature::sign(signature::Purpose::Bundle, &out, key))
        .transpose()?;
    if arguments.json {
        return terminal::json(&list);
    }
    let bytes = std::fs::metadata(&out).map_or(0, |data| data.len());
    #[expect(clippy::cast_precision_loss, reason = "a size to be read by a person")]
    let megabytes = bytes as f64 / 1e6;
    terminal::line(format_args!(
        "{}, {megabytes:.1} MB: {}",
        counted(list.files.len(), "file"),
        out.display()
    ));
    if let Some(place) = signed {
        terminal::line(format_args!("signature: {}", place.display()));
    }
    Ok(())
}

/// The result of `apprentice verify`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct Checked<'a> {
    #[serde(flatten)]
    found: &'a Verification,
    /// Who signed the bundle; `None` if no signature was asked for.
    signed_by: Option<&'a str>,
}

/// Checks the signature that the command asks for. This comes before the bundle is unpacked.
fn signer(arguments: &Verify) -> Result<Option<String>, Failure> {
    let Some(signers) = &arguments.signed_by else { return Ok(None) };
    if arguments.bundle.is_dir() {
        return Err(Failure::say(Kind::Usage, "a folder has no signature: --signed-by needs a bundle"));
    }
    let beside = signature::beside(&arguments.bundle);
    signature::check(signature::Purpose::Bundle, &arguments.bundle, &beside, signers).map(Some)
}

fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or("bundle".as_ref()).to_owned();
    name.push(".tar.gz");
    folder.with_file_name(name)
}

/// Runs `apprentice verify`.
pub(crate) fn check(arguments: &Verify) -> Result<(), Failure> {
    let signer = signer(arguments)?;
    check_place(&arguments.bundle, Wanted::Verified).kind(Kind::Config)?;
    let found = if arguments.bundle.is_dir() {
        verify_folder(&arguments.bundle).kind(Kind::Config)?
    } else {
        let scratch = tempfile::tempdir().kind(Kind::Environment)?;
        verify(
            &arguments.bundle,
            scratch.path(),
            UnpackLimits { bytes: arguments.max_bytes, ..UnpackLimits::default() },
        )
        .kind(Kind::Config)?
    };
    if arguments.json {
        terminal::json(&Checked { found: &found, signed_by: signer.as_deref() })?;
    } else {
        match &signer {
            Some(name) => terminal::line(format_args!("signed by {name}")),
            None if signature::beside(&arguments.bundle).is_file() => {
                terminal::line(format_args!(
                    "signed, but by whom was not checked: name the signer with --signed-by"
                ));
            }
            None => {}
        }
        print(&found);
    }
    if found.holds { Ok(()) } else { Err(Failure::say(Kind::Config, "verification failed")) }
}

fn print(found: &Verification) {
    if let Some(program) = &found.packed_by {
        terminal::line(format_args!("packed by version {program}"));
    }
    let width = found.claims.iter().map(|claim| claim.checked.to_string().len()).max().unwrap_or(0);
    for CheckedClaim { claim, checked, contradicted } in &found.claims {
        let but = match contradicted {
            0 => String::new(),
            number => format!(", but for {}", counted(*number, "contradiction")),
        };
        terminal::line(format_args!("{checked:>width$} {}{but}", claim.words()));
        let of_claim = found.contradictions.iter().filter(|one| one.claim == *claim);
        for one in of_claim.take(SHOWN) {
            terminal::line(format_args!("  {}: {}", one.place, one.problem));
        }
        let more = usize::try_from(*contradicted).unwrap_or(usize::MAX).saturating_sub(SHOWN);
        if more > 0 {
            terminal::line(format_args!("  {more} more; --json lists all"));
        }
    }
    for one in found.report_differs.iter().flatten().filter(|one| one.wording).take(SHOWN) {
        let (at, stored, computed) = (&one.at, &one.stored, &one.computed);
        terminal::line(format_args!("  {at}: another wording, same numbers: {stored}, now {computed}"));
    }
    for what in &found.unchecked {
        terminal::line(format_args!("not checked: {what}"));
    }
    terminal::line(format_args!("{}", if found.holds { "verified" } else { "NOT verified" }));
}
