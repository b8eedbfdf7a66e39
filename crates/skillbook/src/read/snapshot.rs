//! An immutable book at one operation: the only form of a book that a trial gets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use apprentice_protocol::{EmbedError, Side, SkillId, Versions};
use apprentice_wording::{EmbeddingModel, Vector, cosine};
use jiff::Timestamp;

use crate::files::disk::{self, DiskChanges};
use crate::log::citation::Citation;
use crate::log::log_file::{self, Log};
use crate::log::operation::{OPERATION_VERSION, Operation};
use crate::read::known_versions::KnownVersions;
use crate::read::search::{Hit, Search, Searched, SimilarSkills, embedded_text, similar_skills};
use crate::replay::index::{domain_lines, index_file};
use crate::replay::state::State;
use crate::skill::attachment;
use crate::skill::function::SkillFunction;
use crate::skill::hash::hash;
use crate::skill::model::{Actor, FileChange, OpId};
use crate::skill::record::Skill;
use crate::{BookError, Problem};

/// A point in a book's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The current pages, including edits by people.
    Now,
    /// The state after this operation.
    Operation(OpId),
}

/// An immutable book.
#[derive(Clone)]
pub struct Snapshot {
    state: Arc<State>,
    log: Arc<[u8]>,
    pending: Vec<String>,
    problems: Vec<Problem>,
    torn_line: bool,
    search: Arc<OnceLock<Search>>,
    meaning: Option<Arc<EmbeddingModel>>,
    vectors: Arc<Mutex<Option<Arc<[Vector]>>>>,
    folder: Option<PathBuf>,
    app_versions: KnownVersions,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "book at {} with {} skills", self.state.last, self.state.skills.len())
    }
}

impl Snapshot {
    /// Returns a book without skills.
    pub fn empty() -> Self {
        Self::of(State::default(), Vec::new())
    }

    pub(crate) fn of(state: State, log: Vec<u8>) -> Self {
        Self {
            state: Arc::new(state),
            log: log.into(),
            pending: Vec::new(),
            problems: Vec::new(),
            torn_line: false,
            search: Arc::default(),
            meaning: None,
            vectors: Arc::default(),
            folder: None,
            app_versions: KnownVersions::default(),
        }
    }

    pub(crate) fn within(self, folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), ..self }
    }

    /// Returns the content of a package file, or `None` if the book lost it.
    pub fn attachment(&self, sha256: &str) -> Option<Vec<u8>> {
        attachment::read(self.folder.as_deref()?, sha256)
    }

    /// Returns a book with the same names and other texts, for placebo arms.
    pub fn with_skills(&self, skills: BTreeMap<SkillId, Arc<Skill>>) -> Self {
        let state = State { skills, ..(*self.state).clone() };
        let (folder, meaning, app_versions) =
            (self.folder.clone(), self.meaning.clone(), self.app_versions.clone());
        Self { folder, meaning, app_versions, ..Self::of(state, self.log.to_vec()) }
    }

    /// Returns the book without suspended skills, as agents get it.
    #[must_use]
    pub fn lendable(&self) -> Self {
        if !self.state.skills.keys().any(|id| self.state.is_suspended(id)) {
            return self.clone();
        }
        let kept = self.state.skills.iter().filter(|(id, _)| !self.state.is_suspended(id));
        let kept = kept.map(|(id, skill)| (id.clone(), Arc::clone(skill))).collect();
        Self { meaning: self.meaning.clone(), ..self.with_skills(kept) }
    }

    /// Returns the same book with search by meaning.
    #[must_use]
    pub fn with_embedding(self, meaning: Option<Arc<EmbeddingModel>>) -> Self {
        Self { meaning, vectors: Arc::default(), ..self }
    }

    /// Returns the same book for an agent whose programs have these versions.
    #[must_use]
    pub fn with_app_versions(&self, app_versions: &KnownVersions) -> Self {
        Self { app_versions: app_versions.clone(), ..self.clone() }
    }

    /// Returns the versions of the programs of the agent that the book is provided to.
    pub fn app_versions(&self) -> &KnownVersions {
        &self.app_versions
    }

    /// Returns the same book with additional domains that it does not describe itself.
    pub(crate) fn with_domains(&self, domains: &[(&str, &str)]) -> Self {
        let mut state = (*self.state).clone();
        for (domain, description) in domains {
            state.domains.entry((*domain).to_owned()).or_insert_with(|| (*description).to_owned());
        }
        Self { folder: self.folder.clone(), ..Self::of(state, self.log.to_vec()) }
    }

    /// Returns the same book without the hidden skills, as if they had never been learned.
    #[must_use]
    pub fn without(&self, hidden: &BTreeSet<SkillId>) -> Self {
        let kept = self.state.skills.iter().filter(|(id, _)| !hidden.contains(*id));
        self.with_skills(kept.map(|(id, skill)| (id.clone(), Arc::clone(skill))).collect())
    }

    /// Opens a book. A missing folder is an error. A folder without a log is a book of pages.
    ///
    /// # Errors
    ///
    /// The folder is missing, or its log cannot be read. A page that cannot be read is a problem of the snapshot instead.
    pub fn open(folder: &Path, at: At) -> Result<Self, BookError> {
        if !folder.is_dir() {
            return Err(BookError::Missing(folder.to_owned()));
        }
        let upto = match at {
            At::Now => None,
            At::Operation(id) => Some(id),
        };
        let ((log, mut state), on_disk) = Self::read(folder, upto)?;
        let mut problems = log.problems;
        let mut pending = Vec::new();
        if let Some(on_disk) = on_disk {
            let found = disk::compare(&log.operations, &state, on_disk)?;
            pending = overlay(&mut state, &found);
            problems.extend(found.problems);
        }
        let torn_line = !log.torn.is_empty();
        Ok(Self { pending, problems, torn_line, ..Self::of(state, log.bytes).within(folder) })
    }

    /// Reads the log up to an operation, or the whole log and the pages.
    fn read(folder: &Path, upto: Option<OpId>) -> Result<((Log, State), Option<disk::PageScan>), BookError> {
        let read_log = || -> Result<(Log, State), BookError> {
            let log = Log::read(folder, upto)?;
            let state = State::fold(&log.operations);
            Ok((log, state))
        };
        if upto.is_some() {
            return Ok((read_log()?, None));
        }
        // A large book has a long log and many pages, so both are read in parallel.
        let (log, on_disk) = std::thread::scope(|scope| {
            let on_disk = scope.spawn(|| disk::scan_pages(folder));
            (read_log(), on_disk.join())
        });
        let (log, on_disk) = (log?, on_disk.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        // The log must cover all pages, so that a concurrent write does not look like a person's edit.
        let log = if log.0.is_current(folder) { log } else { read_log()? };
        Ok((log, Some(on_disk)))
    }

    /// Returns the same book, or an error if edits by people are not recorded yet. Frozen runs require this.
    ///
    /// # Errors
    ///
    /// [`BookError::Pending`] names the pages that people changed.
    pub fn clean(self) -> Result<Self, BookError> {
        if self.pending.is_empty() { Ok(self) } else { Err(BookError::Pending(self.pending)) }
    }

    /// Returns the pages with unrecorded edits by people.
    pub fn pending(&self) -> &[String] {
        &self.pending
    }

    /// Returns the parts of the book that could not be read.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Returns whether the log ends in the middle of a line: a write is in progress or was interrupted.
    pub fn has_torn_line(&self) -> bool {
        self.torn_line
    }

    /// Returns the id of the last operation.
    pub fn last(&self) -> OpId {
        self.state.last
    }

    /// Returns the operations of the book, in order.
    pub fn operations(&self) -> Vec<Operation> {
        log_file::operations(&self.log)
    }

    /// Returns the complete state, for display.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the skills, sorted by id.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.state.skills.values().map(Arc::as_ref)
    }

    /// Returns a skill. A merged or renamed skill redirects to its successor.
    pub fn skill(&self, id: &SkillId) -> Option<&Skill> {
        self.state.resolve(id).map(Arc::as_ref)
    }

    /// Returns whether the book has no skills.
    pub fn is_empty(&self) -> bool {
        self.state.skills.is_empty()
    }

    /// Returns one line per domain that contains skills.
    pub fn domain_lines(&self) -> String {
        domain_lines(&self.state)
    }

    /// Returns the names of the domains that contain skills.
    pub fn domains(&self) -> Vec<&str> {
        let mut domains: Vec<&str> = self.state.skills.keys().map(SkillId::domain).collect();
        domains.dedup();
        domains
    }

    /// Returns a domain's index.
    pub fn index(&self, domain: &str) -> String {
        index_file(&self.state, domain)
    }

    /// Returns the embedder for search by meaning, if one is set.
    pub fn meaning(&self) -> Option<&EmbeddingModel> {
        self.meaning.as_deref()
    }

    /// Searches skills by words alone, best first.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        self.index_of_words().find(query, limit)
    }

    /// Searches skills by words and, if the book has an embedder, by meaning; best first. If the embedder fails, words
    /// decide alone, and the result says so.
    pub async fn find(&self, query: &str, limit: usize) -> Searched {
        let Some(meaning) = &self.meaning else {
            return Searched { hits: self.search(query, limit), embedding_error: None };
        };
        match self.similarities(meaning, Side::Query, query).await {
            Ok(similarities) => {
                let hits = self.index_of_words().find_by_both(query, &similarities, meaning.weight(), limit);
                Searched { hits, embedding_error: None }
            }
            Err(error) => {
                Searched { hits: self.search(query, limit), embedding_error: Some(error.to_string()) }
            }
        }
    }

    fn index_of_words(&self) -> &Search {
        self.search.get_or_init(|| Search::over(self.skills()))
    }

    /// Returns the similarity of each skill's embedding to a text's, in the order of the skills.
    async fn similarities(
        &self,
        meaning: &EmbeddingModel,
        side: Side,
        text: &str,
    ) -> Result<Vec<f64>, EmbedError> {
        let computed = self.vectors.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let vectors = match computed {
            Some(computed) => computed,
            None => {
                let texts: Vec<String> = self.skills().map(embedded_text).collect();
                let vectors: Arc<[Vector]> = meaning.vectors(Side::Passage, &texts).await?.into();
                *self.vectors.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&vectors));
                vectors
            }
        };
        let query = meaning.vectors(side, &[text.to_owned()]).await?;
        let Some(query) = query.first() else { return Ok(Vec::new()) };
        vectors.iter().map(|vector| cosine(query, vector)).collect()
    }

    /// Returns the skills that are similar to a text, most similar first.
    pub async fn similar_skills(&self, text: &str, limit: usize) -> SimilarSkills<'_> {
        let near = match &self.meaning {
            Some(meaning) => self.similarities(meaning, Side::Passage, text).await.map(Some),
            None => Ok(None),
        };
        let (near, embedding_error) = match near {
            Ok(near) => (near, None),
            Err(error) => (None, Some(error.to_string())),
        };
        SimilarSkills { skills: similar_skills(self.skills(), text, near.as_deref(), limit), embedding_error }
    }

    /// Returns a hash of everything that can reach a model.
    pub fn content_hash(&self) -> String {
        let mut text = self.domain_lines();
        for domain in self.domains() {
            text.push_str(&self.index(domain));
        }
        for skill in self.skills() {
            text.push_str(&skill.view());
            for (name, function) in &skill.functions {
                let SkillFunction { version, source, .. } = function;
                let verified = function.is_verified();
                let parts = [name.clone(), version.to_string(), verified.to_string(), source.clone()];
                text.push_str(&parts.join("\n"));
            }
        }
        for id in self.state.skills.keys().filter(|id| self.state.is_suspended(id)) {
            text.push_str("suspended ");
            text.push_str(id.as_str());
            text.push('\n');
        }
        hash(text.as_bytes())
    }

    /// Returns a hash of the operations.
    pub fn log_hash(&self) -> String {
        hash(&self.log)
    }

    pub(crate) fn log_bytes(&self) -> &[u8] {
        &self.log
    }
}

/// Applies edits by people on top of the log, without recording them.
fn overlay(state: &mut State, found: &DiskChanges) -> Vec<String> {
    let mut pending = Vec::new();
    for edit in &found.edits {
        let files = edit.files.iter().map(|(path, after)| FileChange {
            path: path.clone(),
            before: None,
            after: after.clone(),
        });
        let operation = Operation {
            version: OPERATION_VERSION,
            id: state.last,
            time: Timestamp::UNIX_EPOCH,
            actor: Actor::Human,
            cause: None,
            accepts: None,
            seen: Versions::new(),
            citation: Citation::default(),
            files: files.collect(),
            change: edit.change.clone(),
        };
        state.apply(&operation);
        pending.extend(edit.files.iter().map(|(path, _)| path.clone()));
    }
    pending
}
