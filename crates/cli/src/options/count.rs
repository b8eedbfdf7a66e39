//! Numbers on the command line, with a range that a person is told in words.

/// Reads a whole number from 1.
pub(crate) fn at_least_one<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    match text.parse::<u64>() {
        Ok(0) | Err(_) => Err("expected a whole number, 1 or more".to_owned()),
        Ok(number) => T::try_from(number).map_err(|_| "the number is too large".to_owned()),
    }
}

/// Reads a whole number from 0.
pub(crate) fn at_least_none<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.parse::<u64>().map_err(|_| "expected a whole number, 0 or more".to_owned())?;
    T::try_from(number).map_err(|_| "the number is too large".to_owned())
}

/// Reads an amount of dollars.
pub(crate) fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "expected an amount in US dollars, 0 or more".to_owned())
}

/// Reads a part of several, as `3/50`.
pub(crate) fn part_of(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    let parts = parts.filter(|(part, of): &(usize, usize)| (1..=*of).contains(part));
    parts.ok_or_else(|| "expected PART/PARTS, such as 3/50: the third of 50 parts".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{at_least_none, at_least_one, dollars, part_of};

    #[test]
    fn numbers_that_cannot_be_meant_are_refused() {
        assert_eq!(at_least_one::<u32>("3"), Ok(3));
        for wrong in ["0", "-1", "", "1.5", "99999999999"] {
            assert!(at_least_one::<u32>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(at_least_none::<usize>("0"), Ok(0));
        assert!(at_least_none::<usize>("-1").is_err());
        assert!(dollars("-1").is_err() && dollars("nan").is_err() && dollars("0").is_ok());
        assert_eq!(part_of("3/50"), Ok((3, 50)));
        for wrong in ["0/5", "6/5", "3", "a/b", "1/0"] {
            assert!(part_of(wrong).is_err(), "{wrong}");
        }
    }
}
