//! Collecting into maps and sets without sorting first.

/// Collects as `collect` does, by inserting one item after the other.
///
/// Where the standard library collects into a `BTreeMap` or a `BTreeSet`, it sorts the items before, and a program has that code
/// once for each type of them: 3 kB each, for collections of a few dozen items.
pub trait Gather: Iterator + Sized {
    /// Collects the items. Of equal keys, the last one's value stays.
    fn gather<C: Default + Extend<Self::Item>>(self) -> C {
        let mut all = C::default();
        all.extend(self);
        all
    }
}

impl<I: Iterator> Gather for I {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Gather as _;

    #[test]
    fn the_last_of_equal_keys_stays() {
        let pairs = [("b", 1), ("a", 2), ("b", 3)];
        let gathered: BTreeMap<&str, i32> = pairs.into_iter().gather();
        assert_eq!(gathered, BTreeMap::from(pairs));
    }
}
