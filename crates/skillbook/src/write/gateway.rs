//! The gateway: the only way to write a book, for every writer. It validates, scans, checks for leaks, checks read
//! versions, appends, writes the pages and regenerates the indexes, in this order, for one writer at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apprentice_protocol::{ChatModel, SkillId, Versions};
use apprentice_screening::effect::{Assessment, EffectRule, Reading};
use apprentice_screening::leak::{HeldOutHashes, HeldOutIndex, NoHeldOutTasks, indexes_of_book};
use apprentice_wording::EmbeddingModel;
use jiff::Timestamp;

use super::request::{Applied, WriteRefusal, WriteRequest};
use super::revert;
use super::validate::validate;
use super::write_mode::{AuthoredPages, WriteMode};
use crate::files::disk::{self, Edit};
use crate::log::change::Change;
use crate::log::citation::Citation;
use crate::log::log_file::{self, Log};
use crate::log::operation::{OPERATION_VERSION, Operation};
use crate::log::proposal::{Proposal, fingerprint, shows};
use crate::read::snapshot::Snapshot;
use crate::replay::index::{domains_file, index_file};
use crate::replay::state::State;
use crate::skill::attachment::{self, AttachedFile};
use crate::skill::hash::hash;
use crate::skill::model::{Actor, FileChange, OpId};
use crate::skill::page::page_path;
use crate::{BookError, Problem};

/// Options for opening a book for writing.
#[derive(Clone)]
pub struct GatewayOptions {
    /// Timestamp for recorded edits by people.
    pub time: Timestamp,
    /// Index of sealed material that skills must not repeat.
    pub leaks: Arc<dyn HeldOutIndex>,
    /// The time at which writes of models take effect.
    pub mode: WriteMode,
    /// Treatment of changes by learning to a page that a person wrote.
    pub authored: AuthoredPages,
    /// Treatment of a text of a model, or of a package, that would make an agent do harm.
    pub effects: EffectRule,
}

impl GatewayOptions {
    /// Returns options for this time, without sealed tasks.
    pub fn at(time: Timestamp) -> Self {
        Self {
            time,
            leaks: Arc::new(NoHeldOutTasks),
            mode: WriteMode::Auto,
            authored: AuthoredPages::Propose,
            effects: EffectRule::Wait,
        }
    }
}

/// The result of opening a book for writing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// Pages of an interrupted write that were completed.
    pub completed: Vec<String>,
    /// Pages with edits by people that were recorded.
    pub recorded: Vec<String>,
    /// Files that could not be read.
    pub problems: Vec<Problem>,
    /// File that now contains the torn last line of the log. That line was never committed.
    pub set_aside: Option<String>,
}

/// The only type that writes a book. Holds the book's lock for its lifetime. The lock of a dead process is released.
pub struct Gateway {
    folder: PathBuf,
    _lock: File,
    log: File,
    bytes: Vec<u8>,
    state: State,
    leaks: Arc<dyn HeldOutIndex>,
    /// Held-out tasks of the suites that the book is locked to, whoever writes.
    locked: Vec<HeldOutHashes>,
    meaning: Option<Arc<EmbeddingModel>>,
    unreadable: BTreeSet<String>,
    mode: WriteMode,
    authored: AuthoredPages,
    pub(crate) effects: EffectRule,
    pub(crate) holds_orders: bool,
    pub(crate) readers: Vec<Arc<dyn ChatModel>>,
    /// Findings of the readers, by the hash of the text that they read.
    pub(crate) readings: BTreeMap<String, Reading>,
    broken: bool,
}

impl Gateway {
    /// Opens a book for writing. Creates it if it does not exist, and waits for another writer to finish. Completes an
    /// interrupted write and records edits by people.
    ///
    /// # Errors
    ///
    /// The folder cannot be read or written, or an index of held-out tasks cannot be read.
    pub fn open(folder: &Path, options: GatewayOptions) -> Result<(Self, OpenReport), BookError> {
        let lock = lock_file(folder)?;
        lock.lock().map_err(|source| BookError::Io { path: folder.to_owned(), source })?;
        Self::load(folder, lock, options)
    }

    /// Opens a book like [`Gateway::open`], but returns an error if another process is writing.
    ///
    /// # Errors
    ///
    /// As [`Gateway::open`], and [`BookError::Locked`].
    pub fn try_open(folder: &Path, options: GatewayOptions) -> Result<(Self, OpenReport), BookError> {
        let lock = lock_file(folder)?;
        match lock.try_lock() {
            Ok(()) => Self::load(folder, lock, options),
            Err(TryLockError::WouldBlock) => Err(BookError::Locked(folder.to_owned())),
            Err(TryLockError::Error(source)) => Err(BookError::Io { path: folder.to_owned(), source }),
        }
    }

    fn load(folder: &Path, lock: File, options: GatewayOptions) -> Result<(Self, OpenReport), BookError> {
        let read = Log::read(folder, None)?;
        let (log, set_aside) = log_file::open(folder, &read)?;
        let state = State::fold(&read.operations);
        let mut gateway = Self {
            folder: folder.to_owned(),
            _lock: lock,
            log,
            bytes: read.bytes,
            state,
            leaks: options.leaks,
            locked: indexes_of_book(folder)?,
            meaning: None,
            unreadable: BTreeSet::new(),
            mode: options.mode,
            authored: options.authored,
            effects: options.effects,
            holds_orders: false,
            readers: Vec::new(),
            readings: BTreeMap::new(),
            broken: false,
        };
        let found = disk::compare(&read.operations, &gateway.state, disk::scan_pages(folder)?)?;
        let mut opened = OpenReport { problems: read.problems, set_aside, ..OpenReport::default() };
        for skill in found.unfinished {
            gateway.write_page(&skill)?;
            opened.completed.push(page_path(&skill));
        }
        for edit in found.edits {
            opened.recorded.extend(edit.files.iter().map(|(path, _)| path.clone()));
            gateway.record(edit, options.time)?;
        }
        gateway.unreadable = found.problems.iter().map(|problem| problem.path.clone()).collect();
        opened.problems.extend(found.problems);
        gateway.write_indexes(&gateway.state.domains.keys().map(String::as_str).collect())?;
        disk::mark_applied(folder, gateway.state.last)?;
        disk::remember(folder, &found.stamps)?;
        Ok((gateway, opened))
    }

    /// Returns what a text repeats of a held-out task: of the suite at hand, or of a suite that the book is locked to.
    pub(crate) fn held_out(&self, text: &str) -> Option<String> {
        self.leaks.find(text).or_else(|| self.locked.iter().find_map(|suite| suite.find(text)))
    }

    /// Returns the current state of the book.
    pub fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns a snapshot of the current book.
    pub fn snapshot(&self) -> Snapshot {
        let book = Snapshot::of(self.state.clone(), self.bytes.clone()).within(&self.folder);
        book.with_embedding(self.meaning.clone())
    }

    /// Sets the embedder that the manager and the cleaner use to compare skills by meaning.
    pub fn set_embedding(&mut self, meaning: Option<Arc<EmbeddingModel>>) {
        self.meaning = meaning;
    }

    /// Returns the embedder that compares skills by meaning, if one is set.
    pub fn meaning(&self) -> Option<&EmbeddingModel> {
        self.meaning.as_deref()
    }

    /// Writes one change, or returns the reason for refusing it.
    ///
    /// # Errors
    ///
    /// [`WriteRefusal`]: the change breaks a rule, which the code names, or the book cannot be written.
    pub fn apply(&mut self, request: WriteRequest) -> Result<Applied, WriteRefusal> {
        if self.broken {
            return Err(BookError::Broken(self.folder.clone()).into());
        }
        let acted = request.cause.as_ref().and_then(|cause| self.state.causes.get(cause));
        if let Some(earlier) = acted {
            return Ok(Applied::AlreadyThere(*earlier));
        }
        let refused = |(code, why)| WriteRefusal::Refused { code, why };
        validate(&self.state, request.actor, &request.change).map_err(refused)?;
        self.inspect(request.actor, &request.change).map_err(refused)?;
        self.check_read(&request.read).map_err(refused)?;
        self.check_pages(&request.change)?;
        let assessment = self.gate(&request).map_err(refused)?;
        if self.must_wait(request.actor, &request.change, &assessment).map_err(refused)? {
            return self.propose(request, assessment);
        }
        let WriteRequest { time, actor, cause, seen, citation, change, .. } = request;
        let id = self.commit(Operation {
            version: OPERATION_VERSION,
            id: OpId(self.state.last.0 + 1),
            time,
            actor,
            cause,
            accepts: None,
            seen: change.relevant_versions(&seen),
            citation,
            files: Vec::new(),
            change,
        })?;
        Ok(Applied::Written(id))
    }

    /// Returns whether a change must wait for approval. Refuses a change that a person refused before or that is
    /// already waiting.
    fn must_wait(
        &self,
        actor: Actor,
        change: &Change,
        assessment: &Assessment,
    ) -> Result<bool, (&'static str, String)> {
        let state = &self.state;
        if actor == Actor::Human || !shows(change) {
            return Ok(false);
        }
        if !state.refused.is_empty()
            && let Some(by) = state.refused.get(&fingerprint(change, &state.base_versions(change)))
        {
            return Err((
                "refused_before",
                format!("a person refused exactly this ({by}); leave it, or change it"),
            ));
        }
        let is_free = self.mode == WriteMode::Auto && assessment.is_empty();
        if is_free && !self.changes_a_persons_page(actor, change) {
            return Ok(false);
        }
        let same = |proposal: &Proposal| match (&proposal.change, change) {
            // Only one proposal per new skill name may wait, whatever its text.
            (Change::SkillCreated { skill: proposed, .. }, Change::SkillCreated { skill: other, .. }) => {
                proposed == other
            }
            (proposed, other) => proposed == other,
        };
        match state.proposals.values().find(|proposal| same(proposal)) {
            Some(proposal) => Err((
                "waits",
                format!("{} proposes that already, and waits for a person's word", proposal.id),
            )),
            None => Ok(true),
        }
    }

    /// Returns whether learning would replace, merge away or delete a text that a person wrote. A note is no such
    /// change. Agents with the authoring tools follow the write mode that they were given.
    fn changes_a_persons_page(&self, actor: Actor, change: &Change) -> bool {
        let replaces = matches!(
            change,
            Change::SkillUpdated { .. } | Change::SkillMerged { .. } | Change::SkillDeleted { .. }
        );
        let by_person = |id: &&SkillId| self.state.skills.get(*id).is_some_and(|skill| skill.by_person);
        self.authored == AuthoredPages::Propose
            && matches!(actor, Actor::Manager | Actor::Cleaner)
            && replaces
            && change.skills().iter().any(by_person)
    }

    /// Writes a proposal to the log without changing pages.
    fn propose(&mut self, request: WriteRequest, assessment: Assessment) -> Result<Applied, WriteRefusal> {
        let WriteRequest { time, actor, cause, seen, citation, change, .. } = request;
        let (seen, read) = (change.relevant_versions(&seen), self.state.base_versions(&change));
        let change = Change::WriteProposed { change: Box::new(change), read, assessment };
        let id = OpId(self.state.last.0 + 1);
        let (version, files) = (OPERATION_VERSION, Vec::new());
        Ok(Applied::Proposed(self.commit(Operation {
            version,
            id,
            time,
            actor,
            cause,
            accepts: None,
            seen,
            citation,
            files,
            change,
        })?))
    }

    /// Checks a change against the current state without writing it. Returns the refusal, if any.
    ///
    /// # Errors
    ///
    /// The code and the reason of the refusal.
    pub fn check_change(&self, actor: Actor, change: &Change) -> Result<(), (&'static str, String)> {
        validate(&self.state, actor, change)?;
        self.inspect(actor, change)
    }

    /// Stores the files of a package, each once by its hash. Refuses the package if a file contains text that no page
    /// may contain.
    ///
    /// # Errors
    ///
    /// A file holds text that no page may hold, or cannot be written.
    pub fn keep_files(
        &self,
        actor: Actor,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Vec<AttachedFile>, WriteRefusal> {
        self.inspect_files(actor, files).map_err(|(code, why)| WriteRefusal::Refused { code, why })?;
        Ok(attachment::keep(&self.folder, files)?)
    }

    /// Reverts one operation on a person's behalf. Later changes stay. If they cannot be separated from the operation,
    /// the refusal names the later operation.
    ///
    /// # Errors
    ///
    /// The operation is unknown, cannot be reverted, or a later one stands in the way.
    pub fn revert(&mut self, operation: OpId, time: Timestamp) -> Result<Applied, WriteRefusal> {
        let operations = log_file::operations(&self.bytes);
        let change = revert::change(&operations, operation)
            .map_err(|(code, why)| WriteRefusal::Refused { code, why })?;
        self.apply(WriteRequest::of(Actor::Human, time, change))
    }

    /// Reverts several operations on a person's behalf, as one change: all of them, or none. A later change that stands in
    /// the way of one of them is named.
    ///
    /// # Errors
    ///
    /// As [`Gateway::revert`], for any of the operations.
    pub fn revert_all(
        &mut self,
        operations: &BTreeSet<OpId>,
        time: Timestamp,
    ) -> Result<Applied, WriteRefusal> {
        let change = revert::change_of_all(&log_file::operations(&self.bytes), operations)
            .map_err(|(code, why)| WriteRefusal::Refused { code, why })?;
        self.apply(WriteRequest::of(Actor::Human, time, change))
    }

    /// Brings every skill back to what it was at an operation, as one change on a person's behalf.
    ///
    /// # Errors
    ///
    /// Nothing has changed since, or the gateway refuses the change.
    pub fn revert_to(&mut self, moment: OpId, time: Timestamp) -> Result<Applied, WriteRefusal> {
        let Some(change) = revert::change_to(&log_file::operations(&self.bytes), moment) else {
            let why = format!("no skill has changed since {moment}");
            return Err(WriteRefusal::Refused { code: "nothing_to_revert", why });
        };
        self.apply(WriteRequest::of(Actor::Human, time, change))
    }

    pub(crate) fn check_read(&self, read: &BTreeMap<SkillId, u32>) -> Result<(), (&'static str, String)> {
        for (skill, version) in read {
            let now = self.state.skills.get(skill).map(|skill| skill.version);
            if now != Some(*version) {
                let why = format!("{skill} has changed since it was read; read it again");
                return Err(("stale_read", why));
            }
        }
        Ok(())
    }

    /// Refuses a change to a page that a person has edited in the meantime.
    pub(crate) fn check_pages(&self, change: &Change) -> Result<(), WriteRefusal> {
        for skill in change.written_skills() {
            let path = page_path(skill);
            let recorded = self.state.files.get(&path).cloned().flatten();
            let now = disk::hash_of(&self.folder.join(&path))?;
            if now != recorded || self.unreadable.contains(&path) || self.unreadable.contains(skill.domain())
            {
                let why = format!("{path} was changed by hand meanwhile; it is left as it is");
                return Err(WriteRefusal::Refused { code: "edited_by_hand", why });
            }
        }
        Ok(())
    }

    /// Appends an operation to the log, then writes pages and indexes. After a failure in between, the committed prefix
    /// of the log is valid and the next opening completes the write.
    pub(crate) fn commit(&mut self, mut operation: Operation) -> Result<OpId, BookError> {
        let skills: Vec<SkillId> = operation.change.written_skills().into_iter().cloned().collect();
        let before: Vec<Option<String>> = skills.iter().map(|skill| self.known_hash(skill)).collect();
        let mut after = self.state.part(&skills);
        after.apply(&operation);
        for (skill, before) in skills.iter().zip(before) {
            let page = after.skills.get(skill).map(|skill| skill.page().render());
            let hash = page.map(|text| hash(text.as_bytes()));
            operation.files.push(FileChange { path: page_path(skill), before, after: hash });
        }
        self.append(&operation)?;
        for skill in &skills {
            self.write_page(skill)?;
        }
        if !skills.is_empty() || matches!(operation.change, Change::DomainCreated(_)) {
            let domains: BTreeSet<&str> = skills.iter().map(SkillId::domain).collect();
            self.write_indexes(&domains)?;
            disk::mark_applied(&self.folder, operation.id)?;
        }
        Ok(operation.id)
    }

    fn known_hash(&self, skill: &SkillId) -> Option<String> {
        self.state.files.get(&page_path(skill)).cloned().flatten()
    }

    fn append(&mut self, operation: &Operation) -> Result<(), BookError> {
        let line = operation.to_line()?;
        if let Err(source) = log_file::append(&mut self.log, &line) {
            self.broken = true;
            return Err(BookError::Io { path: log_file::path(&self.folder), source });
        }
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.push(b'\n');
        self.state.apply(operation);
        Ok(())
    }

    /// Records an edit by a person. The page stays as the person wrote it.
    fn record(&mut self, edit: Edit, time: Timestamp) -> Result<(), BookError> {
        let files = edit.files.into_iter().map(|(path, after)| FileChange {
            before: self.state.files.get(&path).cloned().flatten(),
            path,
            after,
        });
        let operation = Operation {
            version: OPERATION_VERSION,
            id: OpId(self.state.last.0 + 1),
            time,
            actor: Actor::Human,
            cause: None,
            accepts: None,
            seen: Versions::new(),
            citation: Citation::default(),
            files: files.collect(),
            change: edit.change,
        };
        self.append(&operation)
    }

    fn write_page(&mut self, skill: &SkillId) -> Result<(), BookError> {
        let page = self.state.skills.get(skill).map(|skill| skill.page().render());
        let written = disk::put(&self.folder, &page_path(skill), page.as_deref());
        self.broken |= written.is_err();
        written
    }

    /// Regenerates `DOMAINS.md` and the domain indexes. Leaves files that are already up to date untouched.
    fn write_indexes(&self, domains: &BTreeSet<&str>) -> Result<(), BookError> {
        let mut wanted = BTreeMap::from([("DOMAINS.md".to_owned(), Some(domains_file(&self.state)))]);
        for domain in domains.iter().filter(|domain| !self.unreadable.contains(**domain)) {
            let used = self.state.skills_of(domain).next().is_some();
            wanted.insert(format!("{domain}/INDEX.md"), used.then(|| index_file(&self.state, domain)));
        }
        for (path, text) in wanted {
            let now = disk::hash_of(&self.folder.join(&path))?;
            if now != text.as_deref().map(|text| hash(text.as_bytes())) {
                disk::put(&self.folder, &path, text.as_deref())?;
            }
        }
        Ok(())
    }
}

fn lock_file(folder: &Path) -> Result<File, BookError> {
    let meta = folder.join(".meta");
    let failed = |source| BookError::Io { path: meta.clone(), source };
    fs::create_dir_all(&meta).map_err(failed)?;
    // Closing the file releases the lock, so the lock file itself can stay.
    apprentice_files::open_lock(meta.join("lock")).map_err(failed)
}
