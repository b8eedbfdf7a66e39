//! Shares as the texts of a report show them.

/// Formats a difference of shares as signed percentage points.
pub(super) fn points(share: f64) -> String {
    // Rounded first, so that zero is never shown as minus zero.
    let points = (share * 1000.0).round() / 10.0 + 0.0;
    let sign = if points > 0.0 { "+" } else { "" };
    format!("{sign}{points}").replace('-', "−")
}

/// Formats a share as whole per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
