//! Writes at random, as a strategy: each changes a book, or is refused.

use apprentice_skillbook::{Actor, Change, Gateway};
use proptest::prelude::{Strategy, prop_oneof};

use crate::shelf::{creation, id, request, text};

const NAMES: [&str; 4] = ["gimp/a", "gimp/b", "os/c", "calc/d"];

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Create(usize, u8),
    Update(usize, u8),
    Annotate(usize, u8),
    Merge(usize, usize),
    Delete(usize),
}

pub(crate) fn deed() -> impl Strategy<Value = Deed> {
    let name = 0..NAMES.len();
    prop_oneof![
        3 => (name.clone(), 0u8..9).prop_map(|(name, word)| Deed::Create(name, word)),
        1 => (name.clone(), 0u8..9).prop_map(|(name, word)| Deed::Update(name, word)),
        1 => (name.clone(), 0u8..9).prop_map(|(name, word)| Deed::Annotate(name, word)),
        1 => (name.clone(), 0..NAMES.len()).prop_map(|(from, to)| Deed::Merge(from, to)),
        1 => name.prop_map(Deed::Delete),
    ]
}

/// Applies a change. Refusals are acceptable here.
pub(crate) fn act(gateway: &mut Gateway, deed: &Deed) {
    let change = match deed {
        Deed::Create(name, word) => {
            let known = gateway.state().domains.contains_key(id(NAMES[*name]).domain());
            let mut change = creation(NAMES[*name], &format!("word{word}"));
            if let Change::SkillCreated { domain, .. } = &mut change
                && known
            {
                *domain = None;
            }
            change
        }
        Deed::Update(name, word) => Change::SkillUpdated {
            skill: id(NAMES[*name]),
            description: None,
            situation: None,
            guidance: Some(format!("Do {word}.")),
        },
        Deed::Annotate(name, word) => {
            Change::SkillAnnotated { skill: id(NAMES[*name]), note: format!("note {word}") }
        }
        Deed::Merge(from, to) => Change::SkillMerged {
            source: id(NAMES[*from]),
            target: id(NAMES[*to]),
            text: text("joined", "Both.", "Do both."),
        },
        Deed::Delete(name) => Change::SkillDeleted { skill: id(NAMES[*name]) },
    };
    let _ = gateway.apply(request(Actor::Manager, change));
}
