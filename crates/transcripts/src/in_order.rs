//! Works on several things at once, and hands out what comes of them in their order.

use std::num::NonZero;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

/// Maximum number of things at once. Each may hold a log's texts.
const MAX_AT_ONCE: usize = 4;
/// Messages that wait for those of the things before, of each thread.
const QUEUED: usize = 64;

/// Where the work on a thing leaves its messages.
#[derive(Debug)]
pub struct Out<M>(SyncSender<Option<M>>);

impl<M> Out<M> {
    /// Leaves a message. It waits while many messages of this thread are not taken.
    pub fn put(&self, message: M) {
        // Whoever takes them ends after all threads, unless it panics.
        let _ = self.0.send(Some(message));
    }
}

/// Calls `work` for each thing, on several threads, and `take` with its messages, here: all of the first, then all of the second.
pub fn in_order<T: Sync, M: Send>(
    things: &[T],
    work: impl Fn(&T, &Out<M>) + Sync,
    mut take: impl FnMut(&T, M),
) {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cores.min(MAX_AT_ONCE).min(things.len());
    thread::scope(|scope| {
        let begin = |first: usize| {
            let (sender, receiver) = sync_channel(QUEUED);
            let (out, work) = (Out(sender), &work);
            scope.spawn(move || {
                for thing in things.iter().skip(first).step_by(threads) {
                    work(thing, &out);
                    let _ = out.0.send(None);
                }
            });
            receiver
        };
        let receivers: Vec<_> = (0..threads).map(begin).collect();
        for (thing, receiver) in things.iter().zip(receivers.iter().cycle()) {
            while let Ok(Some(message)) = receiver.recv() {
                take(thing, message);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{MAX_AT_ONCE, QUEUED, in_order};

    #[test]
    fn messages_come_in_the_order_of_the_things_however_many_there_are() {
        let things: Vec<usize> = (0..MAX_AT_ONCE * 3 + 1).collect();
        let mut taken = Vec::new();
        in_order(
            &things,
            |thing, out| (0..thing * QUEUED / 2).for_each(|at| out.put((*thing, at))),
            |thing, (of, at)| {
                assert_eq!(*thing, of);
                taken.push((of, at));
            },
        );
        let all: usize = things.iter().map(|thing| thing * QUEUED / 2).sum();
        assert!(taken.is_sorted() && taken.len() == all);
        in_order(&[] as &[usize], |_, _| {}, |_, (): ()| unreachable!());
    }
}
