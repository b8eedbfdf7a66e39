//! The primary comparison over several books of one method: the result of each book, and the claim about the method.

use std::collections::{BTreeMap, BTreeSet};

use apprentice_protocol::{Usage, counted};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number_text::points;
use crate::compare::{CompareOptions, Comparison, Finding, PlannedCounts, compare};
use crate::stats::{self, Interval, MIN_BOOKS, OverBooks, mean, over_books, sign_flip};
use apprentice_runs::row::TrialRow;

/// The result of one book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BookResult {
    /// The book's number, from 1; the first is the subject of the rest of the report.
    pub book: u32,
    /// Number of skills in the book.
    pub skills: usize,
    /// The difference in the primary comparison with this book alone; `None` if it could not be made.
    pub difference: Option<f64>,
    /// The 95 % confidence interval.
    pub ci95: Option<Interval>,
    /// Two-sided p value.
    pub p: Option<f64>,
    /// The conclusion for this book.
    pub verdict: Finding,
    /// The folder of this book's own report, relative to this one; empty for the first.
    pub folder: String,
}

/// The primary comparison over several books learned with the same method, in other task orders and with other seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replicates {
    /// `treatment vs control`.
    pub name: String,
    /// Number of planned books.
    pub planned: u32,
    /// The measured books.
    pub books: Vec<BookResult>,
    /// Templates on which all books were measured.
    pub templates: usize,
    /// Mean difference over books and templates.
    pub difference: Option<f64>,
    /// The 95 % confidence interval, generalizing over books and templates.
    pub ci95: Option<Interval>,
    /// The larger p value of the sign-flip test over templates and the test over books and templates.
    pub p: Option<f64>,
    /// Estimated standard deviation of the books' true differences.
    pub between: Option<f64>,
    /// The conclusion about the method.
    pub finding: Finding,
    /// The conclusion in a sentence.
    pub sentence: String,
    /// Attempts for the books after the first, learning and measuring. The report's totals exclude them.
    pub attempts: usize,
    /// Tokens of these attempts.
    pub tokens: Usage,
    /// Cost of these attempts in US dollars, as far as priced; `None` if none is.
    pub cost_usd: Option<f64>,
}

/// One learned book with its measured trials.
pub struct MeasuredBook {
    /// The replicate's number, from 1.
    pub book: u32,
    /// Number of skills in the book.
    pub skills: usize,
    /// The replicate's folder below the experiment's.
    pub folder: String,
    /// Finished trials with the book.
    pub treatment: Vec<TrialRow>,
    /// Finished trials of the arm it is compared with.
    pub control: Vec<TrialRow>,
    /// Numbers of planned trials in both arms.
    pub planned: PlannedCounts,
    /// Every attempt made for this book, in learning and measuring.
    pub attempts: Vec<TrialRow>,
}

/// Compares treatment and control book by book, and over all of them.
pub fn replicates(name: String, planned: u32, measured: &[MeasuredBook]) -> Replicates {
    let compared: Vec<(&MeasuredBook, Option<Comparison>)> = measured
        .iter()
        .map(|book| {
            let options = CompareOptions { planned: Some(book.planned), ..CompareOptions::default() };
            (book, compare(&book.control, &book.treatment, options).ok())
        })
        .collect();
    let books: Vec<BookResult> = compared.iter().map(|(book, found)| of_book(book, found.as_ref())).collect();
    let (templates, table) = table(compared.iter().filter_map(|(_, found)| found.as_ref()));
    let over = over_books(&table, stats::ALPHA);
    let columns = (0..templates).filter_map(|at| mean(table.iter().filter_map(|book| book.get(at).copied())));
    let columns: Vec<f64> = columns.collect();
    let flipped = sign_flip(&columns, stats::ALPHA, 0).map(|test| test.p);
    let p = over.zip(flipped).map(|(over, flipped)| over.p.max(flipped));
    let complete = u32::try_from(books.len()).is_ok_and(|made| made == planned);
    let sound = complete && books.iter().all(|book| book.verdict != Finding::NoVerdict);
    let finding = match over.zip(p) {
        _ if !sound => Finding::NoVerdict,
        _ if books.len() < MIN_BOOKS || templates < stats::MIN_TEMPLATES => Finding::TooFew,
        Some((_, p)) if p > stats::ALPHA => Finding::Inconclusive,
        Some((over, _)) if over.mean > 0.0 => Finding::Better,
        Some(_) => Finding::Worse,
        None => Finding::NoVerdict,
    };
    let later = || measured.iter().skip(1).flat_map(|book| &book.attempts);
    let mut tokens = Usage::default();
    later().for_each(|row| tokens += row.tokens);
    let priced: Vec<f64> = later().filter_map(|row| row.cost_usd).collect();
    Replicates {
        sentence: sentence(BookCounts { made: books.len(), planned, templates }, over, finding),
        name,
        planned,
        books,
        templates,
        difference: over.map(|over| over.mean),
        ci95: over.map(|over| over.interval.within(-1.0, 1.0)),
        p,
        between: over.map(|over| over.between),
        finding,
        attempts: later().count(),
        tokens,
        cost_usd: (!priced.is_empty()).then(|| priced.iter().sum()),
    }
}

fn of_book(measured: &MeasuredBook, found: Option<&Comparison>) -> BookResult {
    BookResult {
        book: measured.book,
        skills: measured.skills,
        difference: found.and_then(|found| found.difference),
        ci95: found.and_then(|found| found.ci95),
        p: found.and_then(|found| found.p_signflip),
        verdict: found.map_or(Finding::NoVerdict, |found| found.verdict),
        folder: measured.folder.clone(),
    }
}

/// The differences of each book, on the templates that all books share.
fn table<'c>(found: impl Iterator<Item = &'c Comparison>) -> (usize, Vec<Vec<f64>>) {
    let books: Vec<BTreeMap<&str, f64>> = found
        .map(|one| one.by_template.iter().map(|line| (line.template.as_str(), line.difference)).collect())
        .collect();
    let names: BTreeSet<&str> = books.first().into_iter().flat_map(|book| book.keys().copied()).collect();
    let shared: Vec<&str> =
        names.into_iter().filter(|name| books.iter().all(|book| book.contains_key(name))).collect();
    let of_book =
        |book: &BTreeMap<&str, f64>| shared.iter().filter_map(|name| book.get(name).copied()).collect();
    (shared.len(), books.iter().map(of_book).collect())
}

/// The sizes of a comparison over several books.
#[derive(Clone, Copy)]
struct BookCounts {
    /// Books with a result.
    made: usize,
    /// Books that the plan asks for.
    planned: u32,
    /// Templates that all books were measured on.
    templates: usize,
}

fn sentence(counts: BookCounts, over: Option<OverBooks>, finding: Finding) -> String {
    let BookCounts { made, planned, templates } = counts;
    let all = if u32::try_from(made).is_ok_and(|made| made == planned) {
        format!("Over {}", counted(made, "book"))
    } else {
        format!("Over {made} of {planned} books")
    };
    let (means, why) = match finding {
        Finding::Better => ("the method helps", String::new()),
        Finding::Worse => ("the method does harm", String::new()),
        Finding::Inconclusive => ("no difference can be shown for the method", String::new()),
        Finding::TooFew => (
            "too few for a claim about the method",
            format!(": it takes {MIN_BOOKS} books and {} templates", stats::MIN_TEMPLATES),
        ),
        Finding::NoVerdict => {
            ("no verdict on the method", ": some planned books are missing or have no verdict".to_owned())
        }
    };
    let Some(over) = over else { return format!("{all}: {means}{why}.") };
    let interval = over.interval.within(-1.0, 1.0);
    format!(
        "{all}, each learned in another task order with other seeds: {} points (95 % interval {} to {} for other books \
         and templates, {templates} templates; the standard deviation between books is {} points): {means}{why}.",
        points(over.mean),
        points(interval.low),
        points(interval.high),
        points(over.between).trim_start_matches('+'),
    )
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::Verdict;

    use super::{MeasuredBook, Replicates, replicates};
    use crate::compare::{Finding, PlannedCounts};
    use crate::sample::row;
    use apprentice_runs::row::TrialRow;

    /// Books, given by the number of twelve templates that each gains with all three seeds.
    fn over(gained: &[usize], planned: u32) -> Replicates {
        let side = |arm: &str, passes: &dyn Fn(usize) -> bool| -> Vec<TrialRow> {
            let one = |at: usize| {
                let verdict = if passes(at / 3) { Verdict::Pass } else { Verdict::Fail };
                let name = format!("t{:02}", at / 3);
                row(arm, &name, &name, u32::try_from(at % 3).expect("few"), verdict)
            };
            (0..36).map(one).collect()
        };
        let measured = |(at, gained): (usize, &usize)| MeasuredBook {
            book: u32::try_from(at).expect("few") + 1,
            skills: 4,
            folder: String::new(),
            treatment: side("pull", &|template| template < *gained),
            control: side("placebo-inert", &|_| false),
            planned: PlannedCounts { a: 36, b: 36 },
            attempts: side("pull", &|_| true),
        };
        let books: Vec<MeasuredBook> = gained.iter().enumerate().map(measured).collect();
        replicates("pull vs placebo-inert".into(), planned, &books)
    }

    #[test]
    fn the_method_is_judged_by_all_its_books() {
        let good = over(&[9, 8, 10, 9], 4);
        assert_eq!((good.finding, good.templates, good.books.len()), (Finding::Better, 12, 4), "{good:#?}");
        assert_eq!(
            (good.attempts, good.tokens.input),
            (3 * 36, 3 * 36 * 9000),
            "the first is counted already"
        );
        // The first book alone would be judged better; the others gain nothing.
        let lucky = over(&[10, 0, 0], 3);
        assert_eq!(
            (lucky.books[0].verdict, lucky.finding),
            (Finding::Better, Finding::Inconclusive),
            "{lucky:#?}"
        );
        assert!(lucky.between.expect("a spread") > 0.4 && lucky.ci95.expect("an interval").contains(0.0));
        assert_eq!(over(&[9, 9], 2).finding, Finding::TooFew);
        assert_eq!(over(&[9, 9, 9], 4).finding, Finding::NoVerdict, "one of the books is missing");
        insta::assert_snapshot!(lucky.sentence, @"Over 3 books, each learned in another task order with other seeds: +27.8 points (95 % interval −88.8 to +100 for other books and templates, 12 templates; the standard deviation between books is 47.7 points): no difference can be shown for the method.");
        let missing = over(&[9, 9], 3).sentence;
        assert!(
            missing.starts_with("Over 2 of 3 books, ")
                && missing.ends_with("some planned books are missing or have no verdict."),
            "{missing}"
        );
    }
}
