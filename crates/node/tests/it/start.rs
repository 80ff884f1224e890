//! Starting and stopping: what is refused, and what survives.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use node::{Config, Node, StartError, StoreError};
use rusqlite::Connection;
use testkit::{PATIENCE, wait_until};

fn config(data_dir: &Path) -> Config {
    let listen: SocketAddr = "127.0.0.1:0".parse().unwrap();
    Config {
        listen,
        data_dir: Some(data_dir.to_owned()),
        step: std::time::Duration::from_millis(50),
        ..Config::default()
    }
}

async fn refusal(config: Config) -> StartError {
    match Node::start(config, Vec::new()).await {
        Err(error) => error,
        Ok(_) => panic!("the node started"),
    }
}

fn n_samples(directory: &Path) -> i64 {
    let store = Connection::open(directory.join("foretop.db")).unwrap();
    store.query_row("SELECT count(*) FROM sample", [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_are_in_a_file_that_any_sqlite_tool_opens() {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = directory.path().join("a/b");
    let node = Node::start(config(&data_dir), Vec::new()).await.unwrap();
    wait_until("samples are stored", PATIENCE, || (n_samples(&data_dir) > 0).then_some(()));
    node.stop().await;
    assert_eq!(fs::metadata(&data_dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!data_dir.join("foretop.db-wal").exists(), "the log was not worked in");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_serves_one_node_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(config(directory.path()), Vec::new()).await.unwrap();
    let error = refusal(config(directory.path())).await;
    let pid = std::process::id();
    assert!(error.to_string().contains(&format!("is in use by another node (process {pid})")), "{error}");
    node.stop().await;
    Node::start(config(directory.path()), Vec::new()).await.unwrap().stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_in_the_place_of_the_lock_or_the_store_is_refused_and_leads_nowhere() {
    for name in ["foretop.lock", "foretop.db", "foretop.db-wal"] {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("diary"), directory.path().join(name));
        fs::write(&target, "dear diary").unwrap();
        symlink(&target, &link).unwrap();
        let error = refusal(config(directory.path())).await;
        let why = std::error::Error::source(&error).expect("a reason").to_string();
        assert!(
            why.contains(&format!("{name}` is a symbolic link where a regular file is needed; move it away")),
            "{why}"
        );
        assert_eq!(fs::read_to_string(&target).unwrap(), "dear diary");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_its_owners_alone_in_whatever_folder() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(directory.path().join("foretop.lock"), "4711\n").unwrap();
    let node = Node::start(config(directory.path()), Vec::new()).await.unwrap();
    for name in ["foretop.db", "foretop.db-wal", "foretop.db-shm"] {
        let mode = fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_store_is_named_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foretop.db");
    let noise: Vec<u8> = (0..8192_u32).map(|i| ((i * 7919) >> 3) as u8).collect();
    for contents in [&b"not a database"[..], &noise] {
        fs::write(&path, contents).unwrap();
        let error = refusal(config(directory.path())).await;
        assert!(matches!(error, StartError::Store(StoreError::Damaged { .. })), "{error:?}");
        assert!(error.to_string().contains(path.to_str().unwrap()) && error.to_string().contains("move it away"));
        assert_eq!(fs::read(&path).unwrap(), contents);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_program_s_database_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("foretop.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let error = refusal(config(directory.path())).await;
    assert!(matches!(error, StartError::Store(StoreError::Damaged { .. })), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_a_later_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    Node::start(config(directory.path()), Vec::new()).await.unwrap().stop().await;
    let store = Connection::open(directory.path().join("foretop.db")).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let error = refusal(config(directory.path())).await;
    assert!(matches!(error, StartError::Store(StoreError::TooNew { given: 99, .. })), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_without_proc_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("empty");
    let error = refusal(Config { root, ..config(directory.path()) }).await;
    assert!(matches!(error, StartError::Sensors(_)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = refusal(config(&file.join("data"))).await;
    assert!(matches!(error, StartError::Store(StoreError::NotWritable { .. })), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_dropped_lets_go_of_its_data_directory_whoever_still_asks() {
    let directory = tempfile::tempdir().unwrap();
    let node = Node::start(config(directory.path()), Vec::new()).await.unwrap();
    wait_until("a sample was stored", PATIENCE, || (n_samples(directory.path()) > 0).then_some(()));
    // A request that is under way: its head is read, and its body never comes.
    let mut client = TcpStream::connect(node.address()).unwrap();
    let head = format!(
        "POST /api/v1/forecast HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\
         Expect: 100-continue\r\n\r\n",
        node.address()
    );
    client.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100");
    drop(node);
    Node::start(config(directory.path()), Vec::new()).await.unwrap().stop().await;
}
