//! A book in a temporary folder, with helpers to write it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use apprentice_protocol::SkillId;
use apprentice_skillbook::{
    Actor, Applied, At, Change, Gateway, GatewayOptions, NewDomain, OpenReport, Origin, SkillText, Snapshot,
    WriteRefusal, WriteRequest,
};
use jiff::Timestamp;
use tempfile::TempDir;

pub(crate) struct Shelf {
    folder: TempDir,
}

pub(crate) fn id(text: &str) -> SkillId {
    SkillId::parse(text).expect("an id")
}

pub(crate) fn text(description: &str, situation: &str, guidance: &str) -> SkillText {
    SkillText {
        description: description.to_owned(),
        situation: situation.to_owned(),
        guidance: guidance.to_owned(),
    }
}

/// Returns a change that creates a skill together with its domain.
pub(crate) fn creation(skill: &str, words: &str) -> Change {
    let skill = id(skill);
    let domain = Some(NewDomain {
        domain: skill.domain().to_owned(),
        description: format!("The program {}.", skill.domain()),
    });
    Change::SkillCreated {
        text: text(&format!("About {words}"), &format!("You need {words}."), &format!("1. Open {words}.")),
        annotations: Vec::new(),
        origin: Origin::Learned,
        domain: domain.filter(|domain| !matches!(domain.domain.as_str(), "os" | "general")),
        skill,
    }
}

pub(crate) fn request(actor: Actor, change: Change) -> WriteRequest {
    WriteRequest::of(actor, Timestamp::UNIX_EPOCH, change)
}

pub(crate) fn write(gateway: &mut Gateway, change: Change) -> Result<Applied, WriteRefusal> {
    gateway.apply(request(Actor::Manager, change))
}

/// Creates a skill, in a new or existing domain.
pub(crate) fn create(gateway: &mut Gateway, skill: &str, words: &str) {
    let mut change = creation(skill, words);
    if let Change::SkillCreated { skill, domain, .. } = &mut change
        && gateway.state().domains.contains_key(skill.domain())
    {
        *domain = None;
    }
    write(gateway, change).expect("written");
}

impl Shelf {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("a folder") }
    }

    /// Returns a shelf whose book contains the given skills.
    pub(crate) fn with(skills: &[(&str, &str)]) -> Self {
        let shelf = Self::new();
        let (mut gateway, _) = shelf.open();
        for (skill, words) in skills {
            create(&mut gateway, skill, words);
        }
        shelf
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn open(&self) -> (Gateway, OpenReport) {
        Gateway::open(self.path(), GatewayOptions::at(Timestamp::UNIX_EPOCH)).expect("opens")
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::open(self.path(), At::Now).expect("opens")
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).expect("a file")
    }

    /// Writes a file as a person would.
    pub(crate) fn edit(&self, path: &str, text: &str) {
        let place = self.path().join(path);
        fs::create_dir_all(place.parent().expect("a parent")).expect("a folder");
        fs::write(place, text).expect("writes");
    }
}

/// Returns every file of a folder except the generated ones, by path.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
            if name == ".meta/cache" || name == ".meta/lock" || name.starts_with(".meta/ops.torn-") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(name, fs::read(&path).expect("reads"));
            }
        }
    }
    files
}
