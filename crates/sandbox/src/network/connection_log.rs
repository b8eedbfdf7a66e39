//! Connections that programs of a cell asked for, until somebody takes them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use apprentice_protocol::{ConnectionRecord, ConnectionReport};

/// Records that are kept until somebody takes them. A page asks for some hundred; the rest is counted.
const KEPT: usize = 2000;

/// Connections and bytes since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct ConnectionLog {
    asked: Mutex<ConnectionReport>,
    sent: AtomicU64,
    received: AtomicU64,
}

impl ConnectionLog {
    pub(super) fn add(&self, record: ConnectionRecord) {
        let mut requests = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.connections.len() < KEPT {
            requests.connections.push(record);
        } else {
            requests.left_out += 1;
        }
    }

    pub(super) fn add_sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn add_received(&self, bytes: usize) {
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What was asked for and carried since the last call.
    pub(crate) fn take(&self) -> ConnectionReport {
        let requests = std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner));
        ConnectionReport {
            sent: self.sent.swap(0, Ordering::Relaxed),
            received: self.received.swap(0, Ordering::Relaxed),
            ..requests
        }
    }
}

#[cfg(test)]
mod tests {
    use apprentice_protocol::{ConnectionOutcome, ConnectionRecord};

    use super::{ConnectionLog, KEPT};

    #[test]
    fn more_connections_than_are_kept_are_counted() {
        let log = ConnectionLog::default();
        let outcome = ConnectionOutcome::Refused { why: "not allowed".into() };
        let record =
            ConnectionRecord { host: "a.example".into(), port: 80, tunnel: false, outcome, took_ms: 0 };
        for _ in 0..KEPT + 3 {
            log.add(record.clone());
        }
        log.add_sent(7);
        let taken = log.take();
        assert_eq!((taken.connections.len(), taken.left_out, taken.sent), (KEPT, 3, 7));
        assert!(log.take().is_empty());
    }
}
