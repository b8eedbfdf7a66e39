//! The switches of `scripts/mutation/skills`, in its copy of the crates only. `MUTANT` names the places that are changed, each as
//! `place:form`; `MUTANTS_SEEN` names a file that gets the places that were reached.

use apprentice_protocol::TextBudget;
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::sync::{LazyLock, Mutex};

static CHANGED: LazyLock<HashMap<u32, usize>> = LazyLock::new(|| {
    let named = std::env::var("MUTANT").unwrap_or_default();
    let read = |one: &str| one.split_once(':').and_then(|(place, form)| Some((place.parse().ok()?, form.parse().ok()?)));
    named.split(',').filter_map(read).collect()
});
// Each crate has switches of its own, and all of a process write to one file.
static SEEN: LazyLock<Option<Mutex<(HashSet<u32>, std::fs::File)>>> = LazyLock::new(|| {
    let name = std::env::var("MUTANTS_SEEN").ok().filter(|name| !name.is_empty())?;
    Some(Mutex::new((HashSet::new(), std::fs::File::options().create(true).append(true).open(name).ok()?)))
});

fn form(place: u32) -> Option<usize> {
    if let Some(seen) = &*SEEN
        && let Ok(mut seen) = seen.lock()
        && seen.0.insert(place)
    {
        let _ = writeln!(seen.1, "{place}");
    }
    CHANGED.get(&place).copied()
}

pub(crate) fn is_on(place: u32) -> bool {
    form(place).is_some()
}

pub(crate) trait Number: Sized {
    fn changed(self, form: usize) -> Self;
}

macro_rules! whole {
    ($($kind:ty),*) => { $(impl Number for $kind {
        fn changed(self, form: usize) -> Self {
            match form {
                0 => self / 2,
                1 => self.saturating_mul(2),
                2 => self.saturating_add(1),
                _ => self.saturating_sub(1),
            }
        }
    })* };
}
macro_rules! broken {
    ($($kind:ty),*) => { $(impl Number for $kind {
        fn changed(self, form: usize) -> Self {
            match form {
                0 => self / 2.0,
                1 => self * 2.0,
                2 => self * 1.02,
                _ => self * 0.98,
            }
        }
    })* };
}
whole!(usize, u8, u16, u32, u64, u128, i32, i64, i128);
broken!(f32, f64);

impl Number for TextBudget {
    fn changed(self, form: usize) -> Self {
        Self(self.0.changed(form))
    }
}

pub(crate) fn number<T: Number>(place: u32, value: T) -> T {
    match form(place) {
        Some(form) => value.changed(form),
        None => value,
    }
}

pub(crate) fn list<T: Copy>(place: u32, value: &'static [T]) -> &'static [T] {
    match form(place) {
        Some(form) => {
            let mut value = value.to_vec();
            value[form] = value[(form + 1) % value.len()];
            value.leak()
        }
        None => value,
    }
}

pub(crate) fn array<T: Copy, const N: usize>(place: u32, mut value: [T; N]) -> [T; N] {
    if let Some(form) = form(place) {
        value[form] = value[(form + 1) % N];
    }
    value
}

pub(crate) fn pattern(place: u32, value: &'static str) -> &'static str {
    let Some(form) = form(place) else { return value };
    let (mut depth, mut begin, mut parts) = (0, 0, Vec::new());
    for (at, letter) in value.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&value[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&value[begin..]);
    parts.remove(form);
    parts.join("|").leak()
}
