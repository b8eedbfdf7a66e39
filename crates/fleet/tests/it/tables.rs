//! Databases that cannot be used as they are: each is told with its place and remedy, and nothing is changed.

use std::time::Duration;

use apprentice_fleet::{DatabaseError, Queue, SchemaError};

use apprentice_protocol::{Clock as _, Why};
use apprentice_sandbox::SystemClock;

use crate::postgres::{Server, database, impatient};

#[tokio::test]
async fn a_queue_that_is_missing_older_or_newer_is_told_and_an_older_one_is_brought_up() {
    let server = Server::start().ready().await;
    let open = async || Queue::open(database(&server.owner())).await.map(drop);
    assert!(matches!(open().await, Err(SchemaError::Missing(_))));
    server.queue().await;
    open().await.expect("opens");
    // As the first version left it.
    server.psql(&format!(
        "DROP SCHEMA apprentice_queue CASCADE; CREATE SCHEMA apprentice_queue; SET search_path TO apprentice_queue;
         CREATE TABLE queue_version (version integer PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT clock_timestamp());
         INSERT INTO queue_version (version) VALUES (1); {}",
        include_str!("../../src/migrations/0001_queue.sql")
    ));
    let error = open().await.expect_err("older");
    assert!(matches!(error, SchemaError::Older { found: 1, expected: 5, .. }), "{error}");
    assert!(error.to_string().contains("apprentice queue --migrate"), "{error}");
    server.psql("INSERT INTO apprentice_queue.runs (run, plan, plan_hash, build, artifacts, suite_list, suite_path, priority, attempts) VALUES ('kept', '', '', '', '', '', '', 0, 3)");
    // A result whose text holds a zero byte, as PostgreSQL keeps it and cannot read it.
    let zero = r#"{"verdict":"fail","why":"a \"verdict\":\"pass\" \u0000","void_cause":null,"cost_usd":0.5}"#;
    for (attempt, result) in [(1, zero), (2, r#"{"verdict":"void","void_cause":"setup","cost_usd":null}"#)] {
        server.psql(&format!(
            "INSERT INTO apprentice_queue.trials (run, trial, seq, ord, priority, spec, needs) VALUES ('kept', 't{attempt}', 0, 0, 0, '{{}}', '{{}}');
             INSERT INTO apprentice_queue.attempts (run, trial, attempt, worker, result) VALUES ('kept', 't{attempt}', 1, 'w', '{result}')"
        ));
    }
    let migrating =
        (0..6).map(|_| async { Queue::open_and_migrate(database(&server.owner())).await.map(drop) });
    for migrated in futures_util::future::join_all(migrating).await {
        migrated.expect("takes turns");
    }
    assert_eq!(server.psql("SELECT count(*) FROM apprentice_queue.buckets"), "0");
    assert_eq!(server.psql("SELECT run FROM apprentice_queue.runs"), "kept");
    let counted = "SELECT verdict, void_cause, cost_usd FROM apprentice_queue.attempts ORDER BY trial";
    assert_eq!(server.psql(counted), "fail||0.5\nvoid|setup|");

    server.psql("INSERT INTO apprentice_queue.queue_version (version) VALUES (6)");
    for opened in [open().await, Queue::open_and_migrate(database(&server.owner())).await.map(drop)] {
        let error = opened.expect_err("newer");
        assert!(matches!(error, SchemaError::Newer { found: 6, expected: 5, .. }), "{error}");
    }
}

#[tokio::test]
async fn somebody_elses_tables_are_left_alone() {
    let server = Server::start().ready().await;
    for (tables, number) in [
        ("CREATE TABLE runs (mine text)", "1"),
        ("CREATE TABLE queue_version (version text); INSERT INTO queue_version VALUES ('1')", "1"),
        ("CREATE TABLE queue_version (released date); CREATE TABLE trials (mine text)", "2"),
        ("CREATE TABLE queue_version (version integer); INSERT INTO queue_version VALUES (5)", "1"),
    ] {
        server
            .psql(&format!("CREATE SCHEMA apprentice_queue; SET search_path TO apprentice_queue; {tables}"));
        for opened in [
            Queue::open_and_migrate(database(&server.owner())).await.map(drop),
            Queue::open(database(&server.owner())).await.map(drop),
        ] {
            let error = opened.expect_err("foreign");
            assert!(matches!(error, SchemaError::Foreign(_)), "{tables}: {error}");
            assert!(error.to_string().contains("nothing was changed"), "{error}");
        }
        let counted = "SELECT count(*) FROM pg_tables WHERE schemaname = 'apprentice_queue'";
        assert_eq!(server.psql(counted), number);
        server.psql("DROP SCHEMA apprentice_queue CASCADE");
    }
}

#[tokio::test]
async fn a_user_without_rights_and_a_missing_database_are_told_at_once() {
    let server = Server::start().ready().await;
    server.psql("CREATE ROLE guest LOGIN; CREATE ROLE reader LOGIN");
    let opened = |address: String| async move {
        match Queue::open_and_migrate(database(&address)).await.map(drop).expect_err("is refused") {
            SchemaError::Database(error) => error,
            other => panic!("{other}"),
        }
    };
    let error = opened(server.address("guest", "postgres")).await;
    assert!(matches!(error, DatabaseError::Denied { .. }) && error.to_string().contains("GRANT"), "{error}");
    let error = opened(server.address("nobody", "postgres")).await;
    assert!(matches!(error, DatabaseError::Denied { .. }), "{error}");
    let error = opened(server.address("postgres", "missing")).await;
    assert!(error.to_string().contains("create the database"), "{error}");
    // The tables are there, but not for this user.
    server.queue().await;
    let error = opened(server.address("reader", "postgres")).await;
    assert!(matches!(error, DatabaseError::Denied { .. }), "{error}");
}

#[tokio::test]
async fn a_database_that_does_not_answer_is_told_after_its_patience() {
    let nowhere = "postgres://me:s3cret@127.0.0.1:1/none";
    let database = impatient(nowhere, Duration::from_secs(1));
    let error = Queue::open(database).await.map(drop).expect_err("nobody is there").to_string();
    assert!(error.contains("127.0.0.1:1") && !error.contains("s3cret"), "{error}");
}

#[tokio::test]
async fn a_full_database_is_waited_for_and_told_with_its_place() {
    let server = Server::start().ready().await;
    let queue = server.queue().await;
    // As PostgreSQL says it when its disk is full.
    let full = "CREATE SEQUENCE apprentice_queue.tries;
                CREATE FUNCTION apprentice_queue.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                  PERFORM nextval('apprentice_queue.tries'); RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
                CREATE TRIGGER no_room BEFORE INSERT ON apprentice_queue.workers EXECUTE FUNCTION apprentice_queue.no_room()";
    server.psql(full);
    let hasty = Queue::open(impatient(&server.owner(), Duration::from_millis(300))).await.expect("opens");
    let error = hasty.enter("w", "build", &[]).await.expect_err("is full");
    assert!(
        matches!(error, DatabaseError::Full { .. }) && error.to_string().contains("no room left"),
        "{error}"
    );
    // No rollback takes back what a sequence has counted.
    let tries =
        || server.psql("SELECT last_value FROM apprentice_queue.tries").parse::<i64>().expect("a number");
    let before = tries();
    let (entered, ()) = tokio::join!(queue.enter("w", "build", &[]), async {
        let clock = SystemClock::default();
        let begun = clock.mono();
        while tries() < before + 2 {
            assert!(clock.mono().saturating_sub(begun) < Duration::from_secs(60), "it is not tried again");
            clock.pause(Duration::from_millis(20), Why::PollFloor).await;
        }
        server.psql("DROP TRIGGER no_room ON apprentice_queue.workers");
    });
    entered.expect("goes on when there is room again");
    assert_eq!(server.psql("SELECT worker FROM apprentice_queue.workers"), "w");
}
