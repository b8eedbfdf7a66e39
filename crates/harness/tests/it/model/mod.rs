//! Real adapters against servers on the loopback.

mod batches;
#[cfg(feature = "bedrock")]
mod bedrock_streams;
mod browser_sets;
mod catalogue;
mod compat;
mod desktop_sets;
mod embeddings;
mod grounded;
mod matrix;
mod platforms;
mod points;
mod round;
mod secrets;
mod streams;
mod strict;
mod timeouts;
mod turns;
mod vendor_streams;

use std::sync::Arc;
use std::time::Duration;

use apprentice_harness::model::http::{Timeouts, Transport};
use apprentice_protocol::VirtualClock;
use apprentice_trace::Redactor;

/// A key that must never be seen again.
pub(crate) const PLANTED: &str = "planted-key-7731";

/// Short deadlines.
pub(crate) fn limits() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_secs(5),
        idle: Duration::from_millis(200),
        whole: Duration::from_secs(5),
    }
}

/// A transport with short deadlines that knows the planted key.
pub(crate) fn transport() -> Transport {
    within(limits())
}

pub(crate) fn within(deadlines: Timeouts) -> Transport {
    let redactor = Arc::new(Redactor::new([PLANTED]).expect("builds"));
    Transport::new(Arc::new(VirtualClock::default()), redactor, deadlines).expect("a client")
}
