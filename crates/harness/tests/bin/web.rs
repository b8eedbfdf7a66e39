//! A minimal web server for page tests: serves the files of one folder, one per connection.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Serves until killed. Prints `ready` once it listens.
pub(crate) fn serve(port: u16, folder: &str) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    io::stdout().write_all(b"ready\n")?;
    io::stdout().flush()?;
    for stream in listener.incoming() {
        let stream = stream?;
        let folder = folder.to_owned();
        // One thread per connection, because browsers open connections before they have a request.
        std::thread::spawn(move || answer(stream, &folder));
    }
    Ok(())
}

fn answer(mut stream: TcpStream, folder: &str) -> io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or("/");
    let (status, body) = match std::fs::read(format!("{folder}{path}")) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}
