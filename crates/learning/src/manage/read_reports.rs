//! Gives the manager whole reports, of those that its item cuts or only names. What was read can be cited.

use serde_json::{Value, json};

use super::item::ManageItem;

/// Largest number of reports that one call gives.
const MAX_READ_REPORTS: usize = 6;

/// Returns whole reports, and shows them in the item from then on.
pub(super) fn read_reports(item: &mut ManageItem, ids: &[String]) -> Value {
    let (mut read, mut missing) = (Vec::new(), Vec::new());
    for id in ids {
        let whole = item.whole_reports.iter().find(|report| report.id.to_string() == id.trim()).cloned();
        match whole.filter(|_| read.len() < MAX_READ_REPORTS) {
            Some(whole) => {
                match item.earlier_reports.iter_mut().find(|report| report.id == whole.id) {
                    Some(shown) => *shown = whole.clone(),
                    None => item.earlier_reports.push(whole.clone()),
                }
                item.farther_reports.retain(|farther| farther.id != whole.id);
                read.push(whole);
            }
            None => missing.push(id),
        }
    }
    let mut answer = json!({ "reports": read, "missing": missing });
    if read.len() == MAX_READ_REPORTS && !missing.is_empty() {
        answer["note"] =
            json!(format!("one call gives {MAX_READ_REPORTS} reports; ask for the others again"));
    }
    answer
}
