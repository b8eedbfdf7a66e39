//! Getters for the sound and the background picture of a slide: a part of the presentation, or a linked file of the
//! machine.

use apprentice_metrics::{EvidenceValue, FileRef, MediumLocation, SlideMedium, medium_in_slide};
use apprentice_protocol::MachineError;
use serde_json::Value;

use super::output::{GetterOutput, machine_error, required_str};
use crate::check::collect_context::{CollectContext, CollectError};
use crate::world_io::at_home;

/// Returns a slide's sound or background picture.
pub(super) async fn medium(
    wanted: SlideMedium,
    spec: &Value,
    context: &CollectContext<'_>,
) -> Result<GetterOutput, CollectError> {
    let getter = wanted.getter();
    let path = required_str(spec, getter, "ppt_file_path")?;
    let name = required_str(spec, getter, "dest")?;
    let index = spec.get("slide_index").and_then(|index| match index {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_u64(),
    });
    let number = index.and_then(|index| index.checked_add(1)).ok_or_else(|| CollectError::Parameters {
        getter: getter.to_owned(),
        problem: "\"slide_index\" must be a number from 0 on".into(),
    })?;
    let book = match file(path, getter, context).await? {
        Ok(book) => book,
        Err(why) => return Ok(GetterOutput::absent(why).of(path)),
    };
    let found = match medium_in_slide(wanted, &book, number) {
        Ok(Some(MediumLocation::Embedded(bytes))) => Ok(bytes),
        Ok(Some(MediumLocation::Linked(linked))) => file(&linked, getter, context).await?,
        Ok(None) => Err(format!("slide {number} of {path} has none")),
        Err(why) => Err(why),
    };
    Ok(match found {
        Ok(bytes) => {
            let file = FileRef::new(name, bytes);
            GetterOutput::found(EvidenceValue::files_of(vec![Some(file)])).of(path)
        }
        Err(why) => GetterOutput::absent(why).of(path),
    })
}

/// Reads a file of the machine, or says why there is none to be read.
async fn file(
    path: &str,
    getter: &str,
    context: &CollectContext<'_>,
) -> Result<Result<Vec<u8>, String>, CollectError> {
    match context.machine.read(&at_home(context.machine, path)).await {
        Ok(bytes) => Ok(Ok(bytes)),
        Err(MachineError::NotFound(_)) => Ok(Err(format!("{path} does not exist"))),
        Err(MachineError::Refused { why, .. }) => Ok(Err(format!("{path} cannot be read: {why}"))),
        Err(source) => Err(machine_error(getter)(source)),
    }
}
