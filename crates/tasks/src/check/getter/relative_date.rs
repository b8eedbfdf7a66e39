//! Resolves rules whose expected text names a day relative to today, such as "next Monday".

use apprentice_metrics::Compat;
use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan as _};
use serde_json::Value;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Returns the rules with their templates resolved to the days that they name.
pub(super) fn with_dates(rules: &Value, today: Date, compat: Compat) -> Result<Value, String> {
    let phrase = |name: &str| rules.pointer(&format!("/relativeTime/{name}")).and_then(Value::as_str);
    let from = phrase("from").ok_or("`relativeTime` has no `from`")?;
    let start = day(from, today, None, compat)?;
    let mut filled = rules.clone();
    let mut fill = |fields: &[&str], day: Date| -> Result<(), String> {
        for field in fields {
            let place = filled.pointer_mut(&format!("/expected/{field}"));
            let place = place.ok_or_else(|| format!("`expected` has no {field:?}"))?;
            let text = place.as_str().ok_or_else(|| format!("{field:?} is not a string"))?;
            *place = template(text, day).into();
        }
        Ok(())
    };
    let Some(to) = phrase("to") else {
        fill(&["time"], start)?;
        return Ok(filled);
    };
    let end = day(to, today, Some((from, start)), compat)?;
    fill(if from == "next Monday split" { &["puDay", "puMonth", "puYear"] } else { &["from"] }, start)?;
    fill(if to == "next Friday split" { &["doDay", "doMonth", "doYear"] } else { &["to"] }, end)?;
    Ok(filled)
}

/// Resolves a phrase to a day. The end of a date range may depend on its start.
fn day(phrase: &str, today: Date, start: Option<(&str, Date)>, compat: Compat) -> Result<Date, String> {
    let weekday = i64::from(today.weekday().to_monday_zero_offset());
    let plus = |days: i64| move_by(today, days.days());
    // If the range starts with one of these phrases, it ends in the start day's week.
    let after = |phrases: &[&str]| start.filter(|(from, _)| phrases.contains(from)).map(|(_, day)| day);
    let coming = |wanted: i64| if weekday < wanted { wanted - weekday } else { 7 + wanted - weekday };
    match phrase {
        "tomorrow" => plus(1),
        "this month" => Ok(today),
        "5th next month" => next_month(today, 5),
        "10th next month" => next_month(today, 10),
        "11th next month" => next_month(today, 11),
        "this Saturday" => plus(5 - weekday),
        "this Sunday" => plus(6 - weekday),
        "next Monday" | "next Monday split" => plus(7 - weekday),
        "next Friday" | "next Friday split" => match after(&["next Monday", "next Monday split"]) {
            Some(monday) => move_by(monday, 4.days()),
            None => plus(coming(4)),
        },
        "next Saturday" => plus(coming(5)),
        "next Sunday" => match after(&["next Friday", "next Saturday"]) {
            Some(day) => end_of_week(day),
            None => plus(coming(6)),
        },
        "next week Friday" => plus(7 - weekday + 4),
        "next week Saturday" => plus(7 - weekday + 5),
        "next week Sunday" => match after(&["next week Friday", "next week Saturday"]) {
            Some(day) => end_of_week(day),
            None => plus(7 - weekday + 6),
        },
        "first monday four months later" => first_monday(today, 4, compat),
        "first monday eight months later" => first_monday(today, 8, compat),
        other => Err(format!("unknown day {other:?}")),
    }
}

fn move_by(day: Date, by: Span) -> Result<Date, String> {
    day.checked_add(by).map_err(|error| error.to_string())
}

fn end_of_week(day: Date) -> Result<Date, String> {
    move_by(day, (6 - i64::from(day.weekday().to_monday_zero_offset())).days())
}

fn next_month(today: Date, day: i8) -> Result<Date, String> {
    let first = move_by(today.first_of_month(), 1.months())?;
    first.with().day(day).build().map_err(|error| error.to_string())
}

/// Returns the first Monday of a later month. Upstream computes months modulo twelve and fails for December;
/// [`Compat::Fixed`] handles it.
fn first_monday(today: Date, months: i64, compat: Compat) -> Result<Date, String> {
    let first = move_by(today.first_of_month(), months.months())?;
    if compat == Compat::Exact && first.month() == 12 {
        return Err("upstream fails on month 0".into());
    }
    first.nth_weekday_of_month(1, Weekday::Monday).map_err(|error| error.to_string())
}

/// Fills in the first occurrence of each placeholder in a template.
fn template(text: &str, day: Date) -> String {
    let (month, weekday) = (
        usize::from(day.month().unsigned_abs()),
        usize::from(day.weekday().to_monday_zero_offset().unsigned_abs()),
    );
    let name = MONTHS.get(month.wrapping_sub(1)).copied().unwrap_or_default();
    let marks = [
        ("{DoW}", DAYS.get(weekday).copied().unwrap_or_default().to_owned()),
        ("{Month}", name.chars().take(3).collect()),
        ("{DayD}", day.day().to_string()),
        ("{Year}", day.year().to_string()),
        ("{Month0D}", format!("{month:02}")),
        ("{month}", name.to_lowercase()),
        ("{MonthFull}", name.to_owned()),
        ("{Day0D}", format!("{:02}", day.day())),
        ("{MonthD}", month.to_string()),
    ];
    marks.iter().fold(text.to_owned(), |text, (mark, value)| text.replacen(mark, value, 1))
}

#[cfg(test)]
mod tests {
    use apprentice_metrics::Compat;
    use jiff::civil::{Date, date};
    use serde_json::json;

    use super::with_dates;

    fn check(today: Date, from: &str, to: Option<&str>, expected: &[&str]) {
        let mut rules = json!({"relativeTime": {"from": from}, "expected": {"time": "{Year}-{Month0D}-{Day0D}", "from": "{DoW}, {Month} {DayD}", "to": "{DoW} {DayD} {month} {MonthFull} {MonthD}"}});
        if let Some(to) = to {
            rules["relativeTime"]["to"] = to.into();
        }
        let found = with_dates(&rules, today, Compat::Fixed).expect("fills");
        let fields = if to.is_some() { vec!["from", "to"] } else { vec!["time"] };
        let found: Vec<&str> = fields.iter().filter_map(|field| found["expected"][field].as_str()).collect();
        assert_eq!(found, expected, "{from} {to:?} from {today}");
    }

    #[test]
    fn days_are_counted_as_upstream_counts_them() {
        // A Wednesday, a Friday and a Sunday.
        let (wednesday, friday, sunday) = (date(2026, 11, 18), date(2026, 11, 20), date(2026, 12, 27));
        check(wednesday, "tomorrow", None, &["2026-11-19"]);
        check(wednesday, "next Monday", None, &["2026-11-23"]);
        check(sunday, "next Monday", None, &["2026-12-28"]);
        check(sunday, "5th next month", None, &["2027-01-05"]);
        check(wednesday, "first monday four months later", None, &["2027-03-01"]);
        check(wednesday, "first monday eight months later", None, &["2027-07-05"]);
        check(wednesday, "next Monday", Some("next Friday"), &["Mon, Nov 23", "Fri 27 november November 11"]);
        check(friday, "next Friday", Some("next Sunday"), &["Fri, Nov 27", "Sun 29 november November 11"]);
        check(sunday, "next Saturday", Some("next Sunday"), &["Sat, Jan 2", "Sun 3 january January 1"]);
        check(
            sunday,
            "next week Friday",
            Some("next week Sunday"),
            &["Fri, Jan 1", "Sun 3 january January 1"],
        );
    }

    #[test]
    fn december_is_lost_where_faults_are_kept() {
        let rules = json!({"relativeTime": {"from": "first monday four months later"}, "expected": {"time": "{MonthD}"}});
        let august = date(2026, 8, 1);
        assert!(with_dates(&rules, august, Compat::Exact).is_err());
        assert_eq!(
            with_dates(&rules, august, Compat::Fixed).map(|rules| rules["expected"]["time"].clone()),
            Ok(json!("12"))
        );
        assert!(with_dates(&json!({"relativeTime": {"from": "someday"}}), august, Compat::Fixed).is_err());
    }
}
