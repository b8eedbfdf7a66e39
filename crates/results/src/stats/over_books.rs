//! Inference over several books of the same method: the uncertainty of the mean when other templates and other books
//! could have been drawn.
//!
//! Books and templates are crossed and both are random, so the variance of the mean is that of the book means plus that
//! of the template means. Both include the noise of single cells, so the sum overestimates rather than underestimates;
//! the degrees of freedom are Satterthwaite's. With few books there are few degrees of freedom and the interval is
//! accordingly wide, as a simulation in this module's tests verifies.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::mean::mean;
use super::signflip::Interval;

/// Minimum number of books for a claim about other books.
pub const MIN_BOOKS: usize = 3;

/// The result of [`over_books`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverBooks {
    /// Mean over books and templates.
    pub mean: f64,
    /// Two-sided p value of "the mean is zero".
    pub p: f64,
    /// Confidence interval of the mean.
    pub interval: Interval,
    /// Estimated standard deviation of the books' true means; 0 where they differ by no more than noise.
    pub between: f64,
}

/// Estimates the mean of `books[b][t]`, the difference of book `b` on template `t`, generalizing to other books and
/// templates. `None` with fewer than two books or two templates, or if a book lacks a template.
pub fn over_books(books: &[Vec<f64>], alpha: f64) -> Option<OverBooks> {
    let width = books.first()?.len();
    if books.len() < 2 || width < 2 || books.iter().any(|book| book.len() != width) {
        return None;
    }
    let of_books: Vec<f64> = books.iter().filter_map(|book| mean(book.iter().copied())).collect();
    let column = |at: usize| mean(books.iter().filter_map(|book| book.get(at).copied()));
    let of_templates: Vec<f64> = (0..width).filter_map(column).collect();
    let middle = mean(of_books.iter().copied())?;
    let (book_var, template_var) = (variance(&of_books, middle), variance(&of_templates, middle));
    #[expect(clippy::cast_precision_loss, reason = "books and templates are few")]
    let (books_n, templates_n) = (of_books.len() as f64, width as f64);
    let parts = [(book_var / books_n, books_n - 1.0), (template_var / templates_n, templates_n - 1.0)];
    let square: f64 = parts.iter().map(|(part, _)| part).sum();
    let doubt: f64 = parts.iter().map(|(part, free)| part * part / free).sum();
    let cells = books.iter().zip(&of_books).flat_map(|(book, own)| {
        book.iter().zip(&of_templates).map(move |(value, column)| value - own - column + middle)
    });
    let noise = cells.map(|rest| rest * rest).sum::<f64>() / ((books_n - 1.0) * (templates_n - 1.0));
    let between = (book_var - noise / templates_n).max(0.0).sqrt();
    if square <= f64::EPSILON {
        let p = if middle.abs() <= f64::EPSILON { 1.0 } else { 0.0 };
        return Some(OverBooks {
            mean: middle,
            p,
            interval: Interval { low: middle, high: middle },
            between,
        });
    }
    let student = StudentsT::new(0.0, 1.0, square * square / doubt).ok()?;
    let reach = student.inverse_cdf(1.0 - alpha / 2.0) * square.sqrt();
    let interval = Interval { low: middle - reach, high: middle + reach };
    Some(OverBooks { mean: middle, p: 2.0 * student.sf(middle.abs() / square.sqrt()), interval, between })
}

fn variance(values: &[f64], middle: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "books and templates are few")]
    let free = (values.len() - 1) as f64;
    values.iter().map(|value| (value - middle) * (value - middle)).sum::<f64>() / free
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::over_books;
    use crate::stats::sign_flip;

    /// A standard normal number, by the Box-Muller transform.
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let (one, two): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
    }

    /// Draws books whose effects vary by `between` around `effect`, on varying templates with three pairs each.
    fn drawn(
        (books, templates): (usize, usize),
        (effect, between): (f64, f64),
        random: &mut ChaCha8Rng,
    ) -> Vec<Vec<f64>> {
        let bases: Vec<(f64, f64)> =
            (0..templates).map(|_| (0.3 + 0.4 * random.random::<f64>(), 0.1 * normal(random))).collect();
        let book = |random: &mut ChaCha8Rng| {
            let own = effect + between * normal(random);
            let cell = |(base, turn): &(f64, f64), random: &mut ChaCha8Rng| {
                let share = |rate: f64, random: &mut ChaCha8Rng| {
                    let passed = (0..3).filter(|_| random.random_bool(rate.clamp(0.0, 1.0))).count();
                    f64::from(u32::try_from(passed).expect("three")) / 3.0
                };
                share(base + (own + turn) / 2.0, random) - share(base - (own + turn) / 2.0, random)
            };
            bases.iter().map(|base| cell(base, random)).collect()
        };
        (0..books).map(|_| book(random)).collect()
    }

    /// Shares of experiments in which a gain is claimed, and in which the interval contains the truth.
    fn shares(size: (usize, usize), truth: (f64, f64)) -> (f64, f64) {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let (mut claims, mut holds) = (0, 0);
        for _ in 0..600 {
            let found = over_books(&drawn(size, truth, &mut random), 0.05).expect("a result");
            claims += u32::from(found.p <= 0.05 && found.mean > 0.0);
            holds += u32::from(found.interval.contains(truth.0));
        }
        (f64::from(claims) / 600.0, f64::from(holds) / 600.0)
    }

    #[test]
    fn a_lucky_book_is_no_method() {
        for (size, between) in [((3, 12), 0.15), ((3, 12), 0.0), ((5, 12), 0.15), ((4, 30), 0.1)] {
            let (claims, holds) = shares(size, (0.0, between));
            assert!(claims <= 0.05, "{size:?}, books apart by {between}: a gain is claimed in {claims}");
            assert!(holds >= 0.92, "{size:?}, books apart by {between}: {holds} of the intervals hold");
        }
        // A single one of these books can look like a gain of the method by luck.
        let mut random = ChaCha8Rng::seed_from_u64(12);
        let lucky = (0..300).filter(|_| {
            let books = drawn((1, 30), (0.0, 0.15), &mut random);
            sign_flip(&books[0], 0.05, 0).is_some_and(|found| found.p <= 0.05 && found.mean > 0.0)
        });
        assert!(lucky.count() > 45, "the simulation would not catch it");
    }

    #[test]
    fn a_method_that_helps_is_found() {
        let (claims, holds) = shares((5, 24), (0.3, 0.05));
        assert!(claims >= 0.8 && holds >= 0.92, "{claims} {holds}");
    }

    #[test]
    fn simple_cases_come_out_as_by_hand() {
        let same = over_books(&[vec![0.5, 0.5], vec![0.5, 0.5]], 0.05).expect("a result");
        assert_eq!((same.mean, same.p, same.between), (0.5, 0.0, 0.0));
        let none = over_books(&[vec![0.0, 0.0], vec![0.0, 0.0]], 0.05).expect("a result");
        assert_eq!((none.p, none.interval.low, none.interval.high), (1.0, 0.0, 0.0));
        // Two books one unit apart on every template: one degree of freedom, t = 12.706, standard error 0.5.
        let apart = over_books(&[vec![0.0; 4], vec![1.0; 4]], 0.05).expect("a result");
        assert!((apart.interval.high - (0.5 + 12.706_204_736 * 0.5)).abs() < 1e-6, "{apart:?}");
        assert!((apart.between - 0.5_f64.sqrt()).abs() < 1e-9 && (apart.p - 0.5).abs() < 1e-6, "{apart:?}");
        assert_eq!(over_books(&[vec![0.5, 0.5]], 0.05), None);
        assert_eq!(over_books(&[vec![0.5, 0.5], vec![0.5]], 0.05), None);
    }
}
