//! The one integration-test binary of the adapters: real ones against servers on the loopback.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod acp;
mod adapters;
mod batches;
#[cfg(feature = "bedrock")]
mod bedrock_streams;
mod catalogue;
mod compat;
mod embeddings;
mod platforms;
mod round;
mod secrets;
mod server;
mod streams;
mod timeouts;
mod vendor_streams;

use std::sync::Arc;
use std::time::Duration;

use apprentice_models::http::{Timeouts, Transport};
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
