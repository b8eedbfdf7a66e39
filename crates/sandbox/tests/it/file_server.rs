//! A server of files on a port of this machine, as the tests of networks use it: Python's own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A server of one file, which ends with this value.
pub(crate) struct FileServer {
    child: Child,
    pub(crate) port: u16,
    _files: tempfile::TempDir,
}

impl FileServer {
    pub(crate) fn start(name: &str, text: &str) -> Self {
        let files = tempfile::tempdir().expect("a folder");
        std::fs::write(files.path().join(name), text).expect("a file");
        let mut child = Command::new("python3")
            .args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "0", "--directory"])
            .arg(files.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("output")).read_line(&mut line).expect("a line");
        let port =
            line.split_whitespace().find_map(|word| word.parse().ok()).expect("Serving HTTP on … port N");
        Self { child, port, _files: files }
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        // It may have ended; nothing else is left to clean up.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
