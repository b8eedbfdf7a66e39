//! Time limits of one request, and the words in which they are told.

use std::time::Duration;

use apprentice_protocol::{ModelError, ModelErrorKind, Retry};

/// The time limits of one request. Each must be above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands, with its encryption.
    pub connect: Duration,
    /// From the start of the request until the head of the response.
    pub first_byte: Duration,
    /// Between two pieces of the response, once it has begun.
    pub idle: Duration,
    /// Until the end of the response.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(600),
            idle: Duration::from_secs(120),
            whole: Duration::from_secs(600),
        }
    }
}

/// The limit that was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exceeded {
    Connect,
    FirstByte,
    Idle,
    Whole,
}

impl Timeouts {
    /// Returns the error for an exceeded limit: a fault of the world, and the same request may be sent again.
    pub(super) fn error(&self, exceeded: Exceeded) -> ModelError {
        let (missing, limit) = match exceeded {
            Exceeded::Connect => ("no connection within", self.connect),
            Exceeded::FirstByte => ("no first byte within", self.first_byte),
            Exceeded::Idle => ("no byte for", self.idle),
            Exceeded::Whole => ("no complete response within", self.whole),
        };
        let message = format!("timeout: {missing} {} s", limit.as_secs_f64());
        ModelError { fault: ModelErrorKind::Unavailable, retry: Retry::Now, message }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Exceeded, Timeouts};

    #[test]
    fn each_limit_is_told_by_its_own_number() {
        let seconds = Duration::from_secs;
        let limits = Timeouts {
            connect: seconds(1),
            first_byte: seconds(2),
            idle: Duration::from_millis(500),
            whole: seconds(4),
        };
        for (exceeded, words) in [
            (Exceeded::Connect, "timeout: no connection within 1 s"),
            (Exceeded::FirstByte, "timeout: no first byte within 2 s"),
            (Exceeded::Idle, "timeout: no byte for 0.5 s"),
            (Exceeded::Whole, "timeout: no complete response within 4 s"),
        ] {
            assert_eq!(limits.error(exceeded).message, words);
        }
    }
}
