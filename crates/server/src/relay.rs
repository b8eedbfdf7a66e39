//! Relays a port of this machine to a port inside the open world, for example of a browser's DevTools.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::served_world::ServedWorld;

/// Relays each connection to a port inside the world that is open at that moment. Ends when the listener fails.
pub async fn relay(listener: TcpListener, world: Arc<ServedWorld>, port: u16) -> std::io::Error {
    loop {
        let client = match listener.accept().await {
            Ok((client, _)) => client,
            Err(error) => return error,
        };
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            if let Err(why) = pass(client, &world, port).await {
                tracing::debug!(port, why, "a relayed connection ended");
            }
        });
    }
}

async fn pass(mut client: TcpStream, world: &ServedWorld, port: u16) -> Result<(), String> {
    let machine = world.machine().await.map_err(|_| "no world is open".to_owned())?;
    let way = machine.dial(port).await.map_err(|error| error.to_string())?;
    let mut inside = TcpStream::connect(way.address).await.map_err(|error| error.to_string())?;
    copy_bidirectional(&mut client, &mut inside).await.map(drop).map_err(|error| error.to_string())
}
