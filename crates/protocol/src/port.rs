//! The return type of port methods.

use std::future::Future;
use std::pin::Pin;

/// The return type of port methods: a boxed `Send` future. Dropping it cancels the operation.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
