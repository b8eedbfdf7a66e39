//! `apprentice skills certificate`: makes, checks and shows the certificate of a measured skill.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use apprentice_evaluator::verify::verify;
use apprentice_measure::certificate::{Certificate, MAX_CERTIFICATE_BYTES, SignedCertificate};
use apprentice_measure::{PageSource, skill_page};
use apprentice_runs::bundle::{UnpackLimits, hash_of, pack};
use apprentice_runs::layout::BUNDLE_EXTENSION;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use super::measure::{EXPERIMENT, page_of};
use super::measure_plan::package_digest;
use super::package::packages_at;
use crate::commands::signature::{self, Purpose};
use crate::failure::{Failure, Kind, WithKind as _};
use crate::terminal;

/// Makes and checks certificates of measured skills.
#[derive(Clone, Debug, Args)]
pub(crate) struct CertificateCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    Make(Make),
    Verify(VerifyCertificate),
    /// Prints a certificate's line for a README.
    Badge {
        /// The certificate.
        file: PathBuf,
    },
}

/// Makes the certificate of a measurement: one signed file of at most 20 kB, a page of text, and the bundle from which
/// anybody can make it again. A measurement without a verdict gets none.
#[derive(Clone, Debug, Args)]
struct Make {
    /// The folder of a measured skill, below that of `skills measure`.
    run: PathBuf,
    /// The file to write; the text stands beside it as `.md`, and the bundle as `.tar.gz`.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The SSH key that signs it.
    #[arg(long, value_name = "KEY")]
    sign: PathBuf,
}

/// Checks a certificate: its form, its numbers against each other, its signature, and with the bundle everything that it
/// says.
#[derive(Clone, Debug, Args)]
struct VerifyCertificate {
    /// The certificate.
    file: PathBuf,
    /// The bundle of the measurement, from which it is made again.
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Require a signature by this signer: a public SSH key, or a file of allowed signers as OpenSSH has it.
    #[arg(long, value_name = "FILE")]
    signed_by: Option<PathBuf>,
    /// The package that it is said to be of.
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
    /// The version of a program today, such as `terminal=1.1.3`. With another release than the measured one the
    /// certificate has expired.
    #[arg(long = "on", value_name = "PROGRAM=VERSION", value_parser = program)]
    programs: Vec<(String, String)>,
}

/// The output of `skills certificate verify --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct CheckedCertificate {
    schema: &'static str,
    /// Whether nothing speaks against it.
    holds: bool,
    /// What speaks against it.
    faults: Vec<String>,
    /// What was not checked.
    unchecked: Vec<String>,
    /// Who signed it; null where that was not asked.
    signed_by: Option<String>,
    certificate: Certificate,
}

/// The output of `skills certificate make --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct MadeCertificate {
    schema: &'static str,
    file: PathBuf,
    text: PathBuf,
    bundle: PathBuf,
    badge: String,
    certificate: Certificate,
}

/// The output of `skills certificate badge --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Badge {
    schema: &'static str,
    badge: String,
}

fn program(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, version)| !name.is_empty() && !version.is_empty());
    parts
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .ok_or_else(|| "expected PROGRAM=VERSION".to_owned())
}

pub(super) fn run(arguments: &CertificateCommand, json: bool) -> Result<(), Failure> {
    match &arguments.what {
        What::Make(make) => made(make, json),
        What::Verify(verify) => verified(verify, json),
        What::Badge { file } => {
            let badge = read(file)?.certificate.badge(&name_of(file));
            if json {
                return terminal::json(&Badge { schema: "apprentice.skills.certificate-badge/1", badge });
            }
            terminal::verbatim(&badge);
            Ok(())
        }
    }
}

fn name_of(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn read(file: &Path) -> Result<SignedCertificate, Failure> {
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", file.display()));
    let size = fs::metadata(file).map_err(failed)?.len();
    if size > MAX_CERTIFICATE_BYTES as u64 {
        let told = format!("{}: a certificate has at most {MAX_CERTIFICATE_BYTES} bytes", file.display());
        return Err(Failure::say(Kind::Config, told));
    }
    let bytes = apprentice_files::read(file).map_err(failed)?;
    SignedCertificate::read(&bytes)
        .map_err(|error| Failure::say(Kind::Config, format!("{}: {error}", file.display())))
}

fn made(arguments: &Make, json: bool) -> Result<(), Failure> {
    let out = &arguments.out;
    let (text, bundle) = (beside(out, ".md"), beside(out, BUNDLE_EXTENSION));
    if let Some(there) = [out, &text, &bundle].into_iter().find(|path| path.exists()) {
        let told = format!("{}: it is there already, and is not overwritten", there.display());
        return Err(Failure::say(Kind::Config, told));
    }
    let page = page_of(&arguments.run)?;
    // Asked for before anything is written.
    Certificate::of(&page, String::new()).kind(Kind::NothingMatched)?;
    pack(&arguments.run.join(EXPERIMENT), &bundle, env!("CARGO_PKG_VERSION")).kind(Kind::Config)?;
    let certificate = Certificate::of(&page, hash_of(&bundle).kind(Kind::Environment)?);
    let written = certificate.kind(Kind::NothingMatched).and_then(|certificate| {
        let signature = signed(&certificate, &arguments.sign)?;
        let file = SignedCertificate { certificate, signature };
        let bytes = file.to_bytes().kind(Kind::Config)?;
        fs::write(&text, file.certificate.text()).kind(Kind::Environment)?;
        fs::write(out, bytes).kind(Kind::Environment)?;
        // Read back: what was written is what holds.
        read(out)
    });
    let certificate = match written {
        Ok(file) => file.certificate,
        Err(failure) => {
            // Without a certificate, its bundle and its text are of no use.
            for path in [&bundle, &text, out].into_iter().filter(|path| path.exists()) {
                fs::remove_file(path).kind(Kind::Environment)?;
            }
            return Err(failure);
        }
    };
    let badge = certificate.badge(&name_of(out));
    if json {
        let (schema, file) = ("apprentice.skills.certificate/1", out.clone());
        return terminal::json(&MadeCertificate { schema, file, text, bundle, badge, certificate });
    }
    terminal::line(format_args!("certificate: {}", out.display()));
    terminal::line(format_args!("text: {}", text.display()));
    terminal::line(format_args!("bundle: {}", bundle.display()));
    terminal::line(format_args!("for a README:"));
    terminal::verbatim(&badge);
    Ok(())
}

fn beside(out: &Path, ending: &str) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Signs what a certificate says.
fn signed(certificate: &Certificate, key: &Path) -> Result<String, Failure> {
    let scratch = tempfile::tempdir().kind(Kind::Environment)?;
    let file = scratch.path().join("certificate");
    fs::write(&file, certificate.to_signed_bytes().kind(Kind::Bug)?).kind(Kind::Environment)?;
    let place = signature::sign(Purpose::Certificate, &file, key)?;
    fs::read_to_string(place).kind(Kind::Environment)
}

fn verified(arguments: &VerifyCertificate, json: bool) -> Result<(), Failure> {
    let SignedCertificate { certificate, signature } = read(&arguments.file)?;
    let (mut faults, mut unchecked) = (Vec::new(), Vec::new());
    let signed_by = check_signature(arguments, &certificate, &signature, &mut faults)?;
    if arguments.signed_by.is_none() {
        unchecked.push("who signed it: name the signer with --signed-by".to_owned());
    }
    match &arguments.bundle {
        Some(bundle) => check_bundle(&certificate, bundle, &mut faults)?,
        None => unchecked.push("what it says: name the bundle with --bundle".to_owned()),
    }
    match &arguments.package {
        Some(place) => check_package(&certificate, place, &mut faults)?,
        None => unchecked.push("that a package is the measured one: name it with --package".to_owned()),
    }
    let today: BTreeMap<String, String> = arguments.programs.iter().cloned().collect();
    if let Some(unknown) = today.keys().find(|name| !certificate.programs.contains_key(*name)) {
        let told = format!("the certificate says nothing of the program {unknown:?}");
        let known = certificate.programs.keys().map(String::as_str);
        return Err(Failure::say(Kind::Usage, told).hint_nearest(unknown, known));
    }
    faults.extend(certificate.expired(&today).into_iter().map(|what| format!("expired: {what}")));
    if today.is_empty() {
        unchecked.push("whether it has expired: name versions of today with --on PROGRAM=VERSION".to_owned());
    }
    let holds = faults.is_empty();
    let checked = CheckedCertificate {
        schema: "apprentice.skills.certificate-verify/1",
        holds,
        faults,
        unchecked,
        signed_by,
        certificate,
    };
    match json {
        true => terminal::json(&checked)?,
        false => tell(&checked),
    }
    match holds {
        true => Ok(()),
        false => Err(Failure::say(Kind::Config, "the certificate does not hold")),
    }
}

fn tell(checked: &CheckedCertificate) {
    if let Some(name) = &checked.signed_by {
        terminal::line(format_args!("signed by {name}"));
    }
    for fault in &checked.faults {
        terminal::line(format_args!("{fault}"));
    }
    for what in &checked.unchecked {
        terminal::line(format_args!("not checked: {what}"));
    }
    terminal::line(format_args!("{}", if checked.holds { "it holds" } else { "it does NOT hold" }));
}

/// Checks the signature, and who signed where that is asked.
fn check_signature(
    arguments: &VerifyCertificate,
    certificate: &Certificate,
    signature: &str,
    faults: &mut Vec<String>,
) -> Result<Option<String>, Failure> {
    let scratch = tempfile::tempdir().kind(Kind::Environment)?;
    let (file, place) = (scratch.path().join("certificate"), scratch.path().join("certificate.sig"));
    fs::write(&file, certificate.to_signed_bytes().kind(Kind::Bug)?).kind(Kind::Environment)?;
    fs::write(&place, signature).kind(Kind::Environment)?;
    let found = match &arguments.signed_by {
        Some(signers) if !signers.is_file() => {
            return Err(Failure::say(
                Kind::Config,
                format!("there is no file of signers {}", signers.display()),
            ));
        }
        Some(signers) => signature::check(Purpose::Certificate, &file, &place, signers).map(Some),
        None => signature::check_anyones(Purpose::Certificate, &file, &place).map(|()| None),
    };
    match found {
        Ok(name) => Ok(name),
        Err(failure) if failure.kind == Kind::Config => {
            let by = arguments.signed_by.as_ref().map(|path| format!(" by a signer in {}", path.display()));
            faults.push(format!("signature: it is not signed{} as it stands", by.unwrap_or_default()));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// Makes the certificate again from the bundle, and names what differs.
fn check_bundle(certificate: &Certificate, bundle: &Path, faults: &mut Vec<String>) -> Result<(), Failure> {
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", bundle.display()));
    let hash = hash_of(bundle).map_err(failed)?;
    if hash != certificate.bundle {
        faults
            .push(format!("bundle: its SHA-256 is {hash}, and the certificate names {}", certificate.bundle));
    }
    let scratch = tempfile::tempdir().kind(Kind::Environment)?;
    let found = match verify(bundle, scratch.path(), UnpackLimits::default()) {
        Ok(found) => found,
        Err(error) => {
            faults.push(format!("bundle: {error}"));
            return Ok(());
        }
    };
    if !found.holds {
        let first = found.contradictions.first().map(|one| format!(": {}: {}", one.place, one.problem));
        faults.push(format!("bundle: it does not verify{}", first.unwrap_or_default()));
    }
    let again = skill_page(PageSource { experiment: scratch.path(), triggers: None })
        .map_err(|error| error.to_string())
        .and_then(|page| Certificate::of(&page, hash).map_err(|error| error.to_string()));
    match again {
        Ok(again) => {
            let own = certificate.differing(&again);
            let named = own.into_iter().filter(|name| name != "bundle");
            faults.extend(named.map(|name| format!("{name}: the bundle says something else")));
        }
        Err(why) => faults.push(format!("bundle: {why}")),
    }
    Ok(())
}

fn check_package(certificate: &Certificate, place: &Path, faults: &mut Vec<String>) -> Result<(), Failure> {
    let packages = packages_at(place)?;
    let [(_, package)] = packages.as_slice() else {
        let told = format!("{}: one package is needed, and there are {}", place.display(), packages.len());
        return Err(Failure::say(Kind::Config, told));
    };
    let digest = package_digest(package);
    if certificate.package.as_deref() != Some(digest.as_str()) {
        faults.push(format!("package: its digest is {digest}, and another was measured"));
    }
    Ok(())
}
