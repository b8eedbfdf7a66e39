//! Signs bundles and checks their signatures with OpenSSH's `ssh-keygen`: its keys, agents and hardware tokens are what
//! people have, and a signature can be checked without this program.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Failure, Kind, WithKind as _};
use crate::process_env;

/// The purpose that a signature is bound to, so that a signature of the same file for another purpose does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A bundle of a run or an experiment.
    Bundle,
    /// A certificate of a skill.
    Certificate,
}

impl Purpose {
    fn namespace(self) -> &'static str {
        match self {
            Self::Bundle => "apprentice-bundle",
            Self::Certificate => "apprentice-certificate",
        }
    }
}

/// Returns the place of a file's signature.
pub(super) fn beside(bundle: &Path) -> PathBuf {
    let mut name = bundle.as_os_str().to_owned();
    name.push(".sig");
    PathBuf::from(name)
}

/// Signs a bundle with a private key, or with the key of an agent whose public half the file holds. The signature is
/// written beside the bundle and replaces an earlier one.
pub(super) fn sign(purpose: Purpose, bundle: &Path, key: &Path) -> Result<PathBuf, Failure> {
    let place = beside(bundle);
    if place.exists() {
        fs::remove_file(&place).kind(Kind::Environment)?;
    }
    // The program may ask for a passphrase or for a touch, so it keeps the terminal.
    let output = program()?
        .args(["-Y", "sign", "-n", purpose.namespace(), "-f"])
        .args([key, bundle])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .kind(Kind::Environment)?;
    match output.status.success() && place.is_file() {
        true => Ok(place),
        false => {
            Err(Failure::say(Kind::Config, format!("ssh-keygen did not sign: {}", last_line(&output.stderr)))
                .hint("--sign takes a private key such as ~/.ssh/id_ed25519"))
        }
    }
}

/// Checks that one of the signers signed the bundle, and returns the signer's name. `signers` is a public key, or a file
/// of allowed signers as OpenSSH has it.
pub(super) fn check(
    purpose: Purpose,
    bundle: &Path,
    signature: &Path,
    signers: &Path,
) -> Result<String, Failure> {
    for (path, what) in [(signature, "signature"), (signers, "file of signers")] {
        if !path.is_file() {
            return Err(Failure::say(Kind::Config, format!("there is no {what} {}", path.display())));
        }
    }
    let text = apprentice_files::read_to_string(signers).kind(Kind::Config)?;
    let mut allowed = tempfile::NamedTempFile::new().kind(Kind::Environment)?;
    allowed.write_all(allowed_signers(&text, signers).as_bytes()).kind(Kind::Environment)?;
    let of = ["-s".as_ref(), signature, "-f".as_ref(), allowed.path()];
    let found = asked(purpose, "find-principals", &of, bundle)?;
    let refused = || {
        let told = format!("{} was not signed by a signer in {}", bundle.display(), signers.display());
        Failure::say(Kind::Config, told)
    };
    let name = found.and_then(|names| names.lines().next().map(str::to_owned)).ok_or_else(refused)?;
    let arguments =
        ["-s".as_ref(), signature, "-f".as_ref(), allowed.path(), "-I".as_ref(), Path::new(&name)];
    asked(purpose, "verify", &arguments, bundle)?.map(|_| name).ok_or_else(refused)
}

/// Checks that somebody signed a file, whoever it was.
pub(super) fn check_anyones(purpose: Purpose, file: &Path, signature: &Path) -> Result<(), Failure> {
    let told = || Failure::say(Kind::Config, "its signature is not one of what it says");
    asked(purpose, "check-novalidate", &["-s".as_ref(), signature], file)?.map(drop).ok_or_else(told)
}

/// Returns the text of a file of allowed signers: a lone public key allows its owner, under the file's name.
fn allowed_signers(text: &str, path: &Path) -> String {
    let is_key = |line: &str| ["ssh-", "ecdsa-", "sk-"].iter().any(|start| line.starts_with(start));
    let name =
        path.file_stem().map(|name| name.to_string_lossy().replace([' ', ',', '*', '?', '!', '"'], "_"));
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "signer".into());
    let line = |line: &str| if is_key(line) { format!("{name} {line}\n") } else { format!("{line}\n") };
    text.lines().map(line).collect()
}

/// Runs one of `ssh-keygen`'s signature operations over a file. Returns its output, or `None` when it says no.
fn asked(
    purpose: Purpose,
    operation: &str,
    arguments: &[&Path],
    file: &Path,
) -> Result<Option<String>, Failure> {
    let output = program()?
        .args(["-Y", operation, "-n", purpose.namespace()])
        .args(arguments)
        .stdin(apprentice_files::open(file).kind(Kind::Config)?)
        .output()
        .kind(Kind::Environment)?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn program() -> Result<Command, Failure> {
    let missing = || {
        Failure::say(Kind::Environment, "ssh-keygen is not installed, and signatures need it")
            .hint("apt install openssh-client")
    };
    process_env::find_program("ssh-keygen").map(Command::new).ok_or_else(missing)
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use tempfile::TempDir;

    use super::{Purpose, beside};

    fn check(bundle: &Path, signature: &Path, signers: &Path) -> Result<String, super::Failure> {
        super::check(Purpose::Bundle, bundle, signature, signers)
    }

    fn sign(bundle: &Path, key: &Path) -> Result<PathBuf, super::Failure> {
        super::sign(Purpose::Bundle, bundle, key)
    }

    fn key(folder: &TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"])
            .arg(&path)
            .status();
        assert!(made.expect("runs").success());
        path
    }

    fn public(key: &Path) -> PathBuf {
        key.with_extension("pub")
    }

    #[test]
    fn a_signature_holds_for_its_signer_and_its_bytes() {
        let folder = TempDir::new().expect("a folder");
        let (own, other) = (key(&folder, "anna"), key(&folder, "bert"));
        let bundle = folder.path().join("run.tar.gz");
        fs::write(&bundle, "the bytes of a bundle").expect("written");
        let signature = sign(&bundle, &own).expect("signs");
        assert_eq!(signature, beside(&bundle));
        assert_eq!(check(&bundle, &signature, &public(&own)).expect("holds"), "anna");
        let told = check(&bundle, &signature, &public(&other)).expect_err("another's key").to_string();
        assert!(told.contains("was not signed by a signer in"), "{told}");

        let allowed = folder.path().join("allowed_signers");
        let line =
            |name: &str, key: &Path| format!("{name} {}", fs::read_to_string(public(key)).expect("a key"));
        fs::write(&allowed, line("bert@example.org", &other) + line("anna@example.org", &own).as_str())
            .expect("written");
        assert_eq!(check(&bundle, &signature, &allowed).expect("holds"), "anna@example.org");

        fs::write(&bundle, "the bytes of a bundlf").expect("written");
        check(&bundle, &signature, &public(&own)).expect_err("changed bytes");
        // Signing again replaces the signature.
        sign(&bundle, &other).expect("signs");
        assert_eq!(check(&bundle, &signature, &public(&other)).expect("holds"), "bert");
    }

    #[test]
    fn a_signature_for_another_purpose_does_not_count() {
        let folder = TempDir::new().expect("a folder");
        let own = key(&folder, "anna");
        let bundle = folder.path().join("run.tar.gz");
        fs::write(&bundle, "bytes").expect("written");
        let signed = Command::new("ssh-keygen")
            .args(["-q", "-Y", "sign", "-n", "file", "-f"])
            .args([&own, &bundle])
            .status();
        assert!(signed.expect("runs").success());
        check(&bundle, &beside(&bundle), &public(&own)).expect_err("another purpose");
    }

    #[test]
    fn nothing_that_is_missing_counts_as_signed() {
        let folder = TempDir::new().expect("a folder");
        let own = key(&folder, "anna");
        let bundle = folder.path().join("run.tar.gz");
        fs::write(&bundle, "bytes").expect("written");
        let told = check(&bundle, &beside(&bundle), &public(&own)).expect_err("no signature").to_string();
        assert!(told.contains("there is no signature"), "{told}");
        let told = sign(&bundle, &folder.path().join("no-key")).expect_err("no key").to_string();
        assert!(told.contains("ssh-keygen did not sign"), "{told}");
        fs::write(beside(&bundle), "no signature").expect("written");
        check(&bundle, &beside(&bundle), &public(&own)).expect_err("no signature");
    }
}
