//! `apprentice skills export`: a book, or one page of it, where skills live: packages, a plugin of Claude Code, a section of an
//! `AGENTS.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use apprentice_measure::certificate::SignedCertificate;
use apprentice_protocol::{SkillId, counted};
use apprentice_skillbook::package::{self, Package, agents_md, parse_package, plugin};
use apprentice_skillbook::{Skill, Snapshot};
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

use super::measure_plan::CERTIFICATES;
use super::{id, open, unknown};
use crate::failure::{Failure, Kind};
use crate::terminal;

/// Writes every skill, or some, as Agent Skills packages, as a plugin of Claude Code, or into an `AGENTS.md`.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The output folder, which must be new or empty; with `--as agents-md` the file, whose other text stays as it is.
    #[arg(value_name = "DIR|FILE")]
    folder: PathBuf,
    /// The form.
    #[arg(long = "as", value_enum, default_value = "packages")]
    form: ExportForm,
    /// Export only this skill; may be given several times.
    #[arg(long = "skill", value_name = "DOMAIN/NAME")]
    skills: Vec<String>,
    /// The name of the plugin [default: the name of the folder].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Put this certificate into the package of each skill that it is of. Packages that were imported with one keep it.
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportForm {
    /// A folder for each skill, with a `SKILL.md`.
    Packages,
    /// `.claude-plugin/plugin.json` and a folder `skills`.
    Plugin,
    /// A section of an `AGENTS.md`, which the next export replaces.
    AgentsMd,
}

/// The output of `skills export --json`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Exported<'a> {
    schema: &'static str,
    folder: &'a Path,
    content_hash: String,
    /// The names of the packages; of skills in an `AGENTS.md` their ids.
    packages: Vec<String>,
}

pub(super) fn export(arguments: &Export, book: &Path, as_json: bool) -> Result<(), Failure> {
    let book = open(book)?;
    let chosen = chosen(&book, &arguments.skills)?;
    if arguments.name.is_some() && arguments.form != ExportForm::Plugin {
        return Err(Failure::say(Kind::Usage, "--name names a plugin: add --as plugin"));
    }
    let names = match arguments.form {
        ExportForm::AgentsMd => into_agents_md(arguments, &chosen)?,
        ExportForm::Packages | ExportForm::Plugin => as_folders(arguments, &book, &chosen)?,
    };
    let folder = &*arguments.folder;
    if as_json {
        let (schema, content_hash) = ("apprentice.skills.export/1", book.content_hash());
        return terminal::json(&Exported { schema, folder, content_hash, packages: names });
    }
    let what = if arguments.form == ExportForm::AgentsMd { "skill" } else { "package" };
    terminal::line(format_args!("{}: {}", folder.display(), counted(names.len(), what)));
    Ok(())
}

/// The skills that are exported.
fn chosen<'a>(book: &'a Snapshot, names: &[String]) -> Result<Vec<&'a Skill>, Failure> {
    if names.is_empty() {
        return Ok(book.skills().collect());
    }
    let one = |name: &String| book.skill(&id(name)?).ok_or_else(|| unknown(book, name));
    names.iter().map(one).collect()
}

/// Puts a certificate into the package of each skill that it is of.
fn add_certificate(file: &Path, packages: &mut [Package]) -> Result<(), Failure> {
    let failed = |why: String| Failure::say(Kind::Config, format!("{}: {why}", file.display()));
    let bytes = apprentice_files::read(file).map_err(|error| failed(error.to_string()))?;
    let read = SignedCertificate::read(&bytes).map_err(|error| failed(error.to_string()))?;
    let path = format!("{CERTIFICATES}{}.json", read.certificate.skill);
    let mut found = false;
    for package in packages {
        // What was just made of a skill reads as that skill.
        let (skill, _, _) = parse_package(package, "general").map_err(&failed)?;
        if read.certificate.skills.contains(&skill) {
            found = true;
            package.files.insert(path.clone(), bytes.clone());
        }
    }
    match found {
        true => Ok(()),
        false => Err(Failure::say(Kind::NothingMatched, "the certificate is of none of the exported skills")),
    }
}

fn as_folders(arguments: &Export, book: &Snapshot, chosen: &[&Skill]) -> Result<Vec<String>, Failure> {
    let folder = &arguments.folder;
    let place = folder.display();
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let failure = Failure::say(Kind::Config, format!("{place}: the folder is not empty"));
        return Err(failure.hint("give a new folder; existing files are not overwritten"));
    }
    let kept: BTreeMap<SkillId, _> =
        chosen.iter().map(|skill| (skill.id.clone(), std::sync::Arc::new((*skill).clone()))).collect();
    let mut packages = package::export(&book.with_skills(kept));
    if let Some(file) = &arguments.certificate {
        add_certificate(file, &mut packages)?;
    }
    let files = match arguments.form {
        ExportForm::Plugin => {
            let own =
                folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
            let name = arguments.name.clone().unwrap_or(own);
            plugin::plugin(&name, &packages)
                .map_err(|why| Failure::say(Kind::Usage, why).hint("name it with --name"))?
        }
        ExportForm::Packages | ExportForm::AgentsMd => {
            let files = packages.iter().flat_map(|package| {
                package.files.iter().map(|(path, bytes)| (format!("{}/{path}", package.name), bytes.clone()))
            });
            files.collect()
        }
    };
    for (path, bytes) in &files {
        let target = folder.join(path);
        let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", target.display()));
        fs::create_dir_all(target.parent().unwrap_or(folder)).map_err(failed)?;
        fs::write(&target, bytes).map_err(failed)?;
    }
    Ok(packages.into_iter().map(|package| package.name).collect())
}

/// Puts the skills into a file, with their certificates beside it.
fn into_agents_md(arguments: &Export, chosen: &[&Skill]) -> Result<Vec<String>, Failure> {
    let file = &arguments.folder;
    if file.is_dir() {
        let failure = Failure::say(Kind::Usage, format!("{}: this is a folder", file.display()));
        return Err(failure.hint(format!("name the file: {}", file.join("AGENTS.md").display())));
    }
    if arguments.certificate.is_some() {
        let told = "a section of an AGENTS.md keeps no files; export packages or a plugin with --certificate";
        return Err(Failure::say(Kind::Usage, told));
    }
    let failed = |error| Failure::say(Kind::Config, format!("{}: {error}", file.display()));
    let before = match apprentice_files::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let text = agents_md::with_skills(&before, chosen)
        .map_err(|why| Failure::say(Kind::Config, format!("{}: {why}", file.display())))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let draft = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    fs::write(draft.path(), &text).map_err(failed)?;
    draft.persist(file).map_err(|error| failed(error.error))?;
    if text.len() > agents_md::READ_BYTES {
        terminal::note(format_args!(
            "{}: {} bytes; Codex CLI reads the first {} without a setting",
            file.display(),
            text.len(),
            agents_md::READ_BYTES
        ));
    }
    for skill in chosen.iter().filter(|skill| has_certificate(skill)) {
        terminal::note(format_args!(
            "{}: its certificate is not in the section, which keeps no files; a plugin keeps it",
            skill.id
        ));
    }
    Ok(chosen.iter().map(|skill| skill.id.to_string()).collect())
}

fn has_certificate(skill: &Skill) -> bool {
    let mut files = skill.package.iter().flat_map(|package| &package.files);
    files.any(|file| file.path.starts_with(CERTIFICATES))
}
