//! Calls to the programs of the accessibility bus: directly where a program listens, as a call that does not pass through
//! the bus takes two thirds of the time.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use atspi::zbus::address::Transport;
use atspi::zbus::connection::Builder;
use atspi::zbus::message::Message;
use atspi::zbus::zvariant::DynamicType;
use atspi::zbus::{self, Address as BusAddress, Connection};
use serde::Serialize;

use super::address::Address;

/// Deadline of one call: a busy program does not answer.
pub(super) const CALL: Duration = Duration::from_secs(2);
const APPLICATION: &str = "org.a11y.atspi.Application";

/// A method of an object.
#[derive(Clone, Copy)]
pub(super) struct Method<'a> {
    pub(super) interface: &'a str,
    pub(super) name: &'a str,
}

/// The accessibility bus and the direct connections to its programs.
#[derive(Clone)]
pub(super) struct Peers {
    bus: Connection,
    /// By bus name; `None` for programs that do not listen.
    direct: Rc<RefCell<HashMap<String, Option<Connection>>>>,
}

impl Peers {
    pub(super) fn new(bus: Connection) -> Self {
        Self { bus, direct: Rc::default() }
    }

    /// Connects to these programs, and forgets others, which have ended.
    pub(super) async fn meet(&self, programs: &[Address]) {
        let is_known = |name: &String| self.direct.borrow().contains_key(name);
        let new = programs.iter().filter(|program| !is_known(&program.name));
        let met = futures_util::future::join_all(new.map(|program| self.connect(program))).await;
        let mut direct = self.direct.borrow_mut();
        direct.retain(|name, _| programs.iter().any(|program| program.name == *name));
        direct.extend(met.into_iter().flatten());
    }

    /// Returns the connection to a program, `None` in it where the program does not listen, and nothing where it did not answer
    /// in time: it is asked again.
    async fn connect(&self, program: &Address) -> Option<(String, Option<Connection>)> {
        let connected = async {
            let asked = Method { interface: APPLICATION, name: "GetApplicationBusAddress" };
            let told: String = self.call(program, asked, &()).await.ok()?.body().deserialize().ok()?;
            Builder::address(socket(&told)?).ok()?.p2p().build().await.ok()
        };
        let connection = tokio::time::timeout(CALL, connected).await.ok()?;
        Some((program.name.clone(), connection))
    }

    /// The process of a program, as the bus tells.
    pub(super) async fn process(&self, program: &Address) -> Option<u32> {
        let name = (program.name.as_str(),);
        let asked = self.bus.call_method(
            Some("org.freedesktop.DBus"),
            "/org/freedesktop/DBus",
            Some("org.freedesktop.DBus"),
            "GetConnectionUnixProcessID",
            &name,
        );
        tokio::time::timeout(CALL, asked).await.ok()?.ok()?.body().deserialize().ok()
    }

    /// Calls a method of an object.
    pub(super) async fn call<B: Serialize + DynamicType + Sync>(
        &self,
        at: &Address,
        method: Method<'_>,
        body: &B,
    ) -> zbus::Result<Message> {
        let direct = self.direct.borrow().get(&at.name).cloned().flatten();
        let Method { interface, name } = method;
        let path = at.path.as_str();
        if let Some(program) = direct {
            match program.call_method(None::<&str>, path, Some(interface), name, body).await {
                // The bus knows whether the program is still there.
                Err(zbus::Error::InputOutput(_)) => self.direct.borrow_mut().insert(at.name.clone(), None),
                told => return told,
            };
        }
        self.bus.call_method(Some(at.name.as_str()), path, Some(interface), name, body).await
    }
}

/// The address of a socket. A program of the cell may tell any other, such as one that starts a program.
fn socket(told: &str) -> Option<BusAddress> {
    let address: BusAddress = told.parse().ok()?;
    matches!(address.transport(), Transport::Unix(_)).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::socket;

    #[test]
    fn programs_are_met_at_sockets_alone() {
        for told in ["unix:path=/run/user/1000/at-spi2-IW7AZ3/socket", "unix:abstract=/tmp/dbus-4f"] {
            assert!(socket(told).is_some(), "{told}");
        }
        let others = [
            "unixexec:path=/bin/sh,argv1=-c,argv2=id",
            "tcp:host=127.0.0.1,port=9",
            "autolaunch:",
            "",
            "unix:",
        ];
        for told in others {
            assert!(socket(told).is_none(), "{told}");
        }
    }
}
