//! Looks up skills in the skillbook that the attempt offers: picks a domain, lists its index, and reads the best
//! matches.
//!
//! The policy knows the skillbook only from the text of the opening message and of tool results.

use serde_json::json;

use super::goal::Goal;
use super::policy::Move;
use super::transcript::{Transcript, Turn};
use super::words::{Fit, content};

const LIST: &str = "skill_list";
const SEARCH: &str = "skill_search";
const VIEW: &str = "skill_view";

/// A skillbook lookup that makes one tool call per turn.
#[derive(Clone, Debug, Default)]
pub(super) struct SkillLookup {
    to_list: Vec<String>,
    to_view: Vec<String>,
    lines: Vec<(String, String)>,
    can: [bool; 3],
    searched: bool,
    chosen: bool,
    started: bool,
    /// Domains named after the program in front. When there are any, skills of other domains are ignored.
    own: Vec<String>,
    /// Word stems of the window titles and of the instruction.
    here: Vec<String>,
    /// The skills read so far.
    pub(super) notes: Vec<String>,
}

/// Parses an index line of the form `- id: description`. Counts in brackets are ignored.
fn index_line(line: &str) -> Option<(String, String)> {
    let body = line.trim().strip_prefix("- ").or_else(|| line.trim().strip_prefix("* "))?;
    let (head, description) = body.split_once(':').unwrap_or((body, ""));
    let id = head.split_whitespace().next()?.trim_matches(['`', '*']).to_owned();
    (!id.is_empty()).then(|| (id, description.trim().to_owned()))
}

impl SkillLookup {
    /// Selects the domains to list first.
    fn start(&mut self, transcript: &Transcript, goal: &Goal, turn: &Turn) {
        self.started = true;
        self.can = [LIST, SEARCH, VIEW].map(|tool| transcript.tools.iter().any(|known| known == tool));
        let places: Vec<String> = turn.scene.places().iter().flat_map(|place| content(place)).collect();
        let mut here = places.clone();
        here.extend(goal.stems());
        let mut domains: Vec<(usize, String)> = transcript
            .opening
            .lines()
            .filter_map(index_line)
            .filter(|(id, _)| !id.contains('/'))
            .map(|(id, description)| {
                let named = content(&id).iter().filter(|word| here.contains(word)).count();
                let told = content(&description).iter().filter(|word| here.contains(word)).count();
                (named * 3 + told, id)
            })
            .filter(|(score, _)| *score > 0)
            .collect();
        domains.sort_by_key(|domain| std::cmp::Reverse(domain.0));
        // A domain named after the program in front rules out all others.
        let own = |id: &str| content(id).iter().any(|word| places.contains(word));
        if domains.iter().any(|(_, id)| own(id)) {
            domains.retain(|(_, id)| own(id));
            self.own = domains.iter().map(|(_, id)| id.clone()).collect();
        }
        self.here = here;
        self.to_list = domains.into_iter().take(2).map(|(_, id)| id).rev().collect();
    }

    fn record_results(&mut self, turn: &Turn) {
        for answer in turn.answers.iter().filter(|answer| !answer.is_error) {
            match answer.tool.as_str() {
                LIST | SEARCH => {
                    let found = answer.text.lines().filter_map(index_line);
                    self.lines.extend(found.filter(|(id, _)| id.contains('/')));
                }
                VIEW => self.notes.push(answer.text.clone()),
                _ => {}
            }
        }
    }

    /// Returns the next tool call, or `None` when the lookup is complete.
    pub(super) fn next(&mut self, transcript: &Transcript, goal: &Goal, turn: &Turn) -> Option<Move> {
        if !self.started {
            self.start(transcript, goal, turn);
        }
        let [can_list, can_search, can_view] = self.can;
        if !can_view {
            return None;
        }
        self.record_results(turn);
        if can_list && let Some(domain) = self.to_list.pop() {
            return Some(Move::Ask {
                say: format!("The notes on {domain} may help."),
                tool: LIST.into(),
                arguments: json!({ "domain": domain }),
            });
        }
        if !self.chosen {
            self.choose(&goal.stems());
            if self.to_view.is_empty() && can_search && !self.searched {
                self.searched = true;
                return Some(Move::Ask {
                    say: "Perhaps a note speaks of this.".into(),
                    tool: SEARCH.into(),
                    arguments: json!({ "query": goal.text }),
                });
            }
            self.chosen = true;
        }
        let skill = self.to_view.pop()?;
        Some(Move::Ask {
            say: format!("{skill} speaks of what is asked."),
            tool: VIEW.into(),
            arguments: json!({ "skill": skill }),
        })
    }

    /// Returns whether a skill's description names a program other than the ones on screen.
    fn is_elsewhere(&self, id: &str, description: &str) -> bool {
        let domain = content(id.split('/').next().unwrap_or_default());
        let said = content(description);
        domain.iter().any(|word| said.contains(word)) && !domain.iter().any(|word| self.here.contains(word))
    }

    /// Selects the index lines that match the instruction best: at most two, the second only when its score is close.
    fn choose(&mut self, words: &[String]) {
        let mut scored: Vec<(f32, String)> = Vec::new();
        let is_own = |id: &str| {
            let domain = id.split('/').next().unwrap_or_default();
            self.own.is_empty() || self.own.iter().any(|own| own == domain)
        };
        for (id, description) in self.lines.iter().filter(|(id, _)| is_own(id)) {
            let name = id.rsplit('/').next().unwrap_or(id).replace('-', " ");
            let fit = Fit::of(words, &format!("{name} {description}"));
            let score = fit.matched + fit.share;
            // A skill of another program needs more than one word in common with the task.
            let least = if self.is_elsewhere(id, description) { 2.0 } else { 1.0 };
            if fit.matched >= least && !scored.iter().any(|(_, known)| known == id) {
                scored.push((score, id.clone()));
            }
        }
        scored.sort_by(|one, other| other.0.total_cmp(&one.0));
        let best = scored.first().map_or(0.0, |(score, _)| *score);
        scored.retain(|(score, _)| *score >= best * 0.6);
        scored.truncate(2);
        self.to_view = scored.into_iter().rev().map(|(_, id)| id).collect();
    }
}
