//! Encrypted connections to a PostgreSQL with a certificate of its own: known by the certificate that signed it, refused by any
//! other, and told at once.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use apprentice_fleet::{DatabaseError, Queue, SchemaError};

use crate::postgres::{Server, database, impatient};

/// Makes an authority and a certificate for `localhost` that it signs, with OpenSSL.
fn certificates(folder: &Path) {
    let openssl = |arguments: &str| {
        let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
        let output = output.expect("openssl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for name in ["authority", "stranger"] {
        openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN={name} \
             -addext basicConstraints=critical,CA:TRUE -keyout {name}.key -out {name}.crt"
        ));
    }
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key -out server.csr",
    );
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost\n").expect("writes");
    openssl(
        "x509 -req -in server.csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 2 -extfile names -out server.crt",
    );
}

async fn refused(address: &str) -> String {
    match Queue::open(impatient(address, Duration::from_secs(30))).await.map(drop).expect_err(address) {
        SchemaError::Database(error @ DatabaseError::Denied { .. }) => error.to_string(),
        other => panic!("{address}: {other:?}"),
    }
}

#[tokio::test]
async fn a_database_is_known_by_its_certificate_or_refused_at_once() {
    let made = tempfile::tempdir().expect("a folder");
    certificates(made.path());
    let mut server = Server::start().ready().await;
    let port = server.listen_encrypted(made.path());
    let root = |name: &str| made.path().join(name).display().to_string();
    let at = |host: &str, options: &str| format!("postgres://postgres@{host}:{port}/postgres?{options}");
    let good = at("localhost", &format!("sslmode=verify-full&sslrootcert={}", root("authority.crt")));
    let queue = Queue::open_and_migrate(database(&good)).await.expect("opens");
    drop(queue);
    let encrypted = "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE ssl AND application_name = 'apprentice'";
    let queue = Queue::open(database(&good)).await.expect("opens");
    queue.status().await.expect("a status");
    assert_eq!(server.psql(encrypted), "t", "the connection is encrypted");

    let stranger = at("localhost", &format!("sslrootcert={}", root("stranger.crt")));
    assert!(refused(&stranger).await.contains("sslrootcert"), "signed by somebody else");
    let system = at("localhost", "sslmode=require");
    assert!(refused(&system).await.contains("sslrootcert"), "unknown to the system");
    let other_name = at("127.0.0.1", &format!("sslrootcert={}", root("authority.crt")));
    assert!(
        refused(&other_name).await.contains("host of the address"),
        "the certificate is for another host"
    );
    let plain = refused(&at("localhost", "sslmode=disable")).await;
    assert!(plain.contains("encryption"), "{plain}");
    server.stop_encryption();
    let off = refused(&good).await;
    assert!(off.contains("sslmode=disable"), "{off}");
}
