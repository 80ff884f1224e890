//! A near and a far end in folders of their own, and a program that they lead to.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tunnel::{Config, Far, Near, Status};

pub const TOKEN: &str = "a-token-of-sixteen-bytes-and-more";

/// Where files of both ends are.
pub struct Site {
    folder: tempfile::TempDir,
}

/// A running end.
pub struct Running {
    pub addresses: Vec<SocketAddr>,
    status: PathBuf,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// What a test asks for beside the usual.
#[derive(Clone, Copy, Default)]
pub struct Asked<'a> {
    /// Lines in `[security]`.
    pub security: &'a str,
    /// Lines in `[near]`.
    pub near: &'a str,
    /// Lines in `[transfer]`.
    pub transfer: &'a str,
    /// Lines in `[far]`.
    pub far: &'a str,
}

impl Site {
    pub fn new() -> Self {
        let site = Self { folder: tempfile::tempdir().unwrap() };
        site.token("near.token", TOKEN);
        site.token("far.token", TOKEN);
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn token(&self, name: &str, token: &str) {
        let path = self.path(name);
        fs::write(&path, token).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub async fn far(&self, allow: &str, asked: Asked<'_>) -> Running {
        self.far_at("127.0.0.1:0".parse().unwrap(), allow, asked).await
    }

    pub async fn far_at(&self, listen: SocketAddr, allow: &str, asked: Asked<'_>) -> Running {
        let text = format!("[far]\nlisten = \"{listen}\"\nallow = [\"{allow}\"]\n{}\n", asked.far);
        let config = self.config("far", asked, &text);
        let far = Far::start(&config).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let addresses = vec![far.address()];
        let task = tokio::spawn(far.run(async { drop(stopped.await) }));
        Running { addresses, status: config.status(), stop, task }
    }

    /// One with a forward to `target`, and a proxy.
    pub async fn near(&self, far: SocketAddr, target: &str, asked: Asked<'_>) -> Running {
        let text = format!(
            "[near]\nconnect = \"{far}\"\nproxy = \"127.0.0.1:0\"\n{}\n[[near.forward]]\nlisten = \"127.0.0.1:0\"\n\
             target = \"{target}\"\n",
            asked.near,
        );
        let config = self.config("near", asked, &text);
        let near = Near::start(&config).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let addresses = near.addresses();
        let task = tokio::spawn(near.run(async { drop(stopped.await) }));
        Running { addresses, status: config.status(), stop, task }
    }

    fn config(&self, end: &str, Asked { security, transfer, .. }: Asked<'_>, rest: &str) -> Config {
        let text = format!(
            "format = 1\n[transfer]\n{transfer}\n[security]\ntoken = \"{end}.token\"\n{security}\n[store]\nfolder = \"{end}\"\n{rest}"
        );
        let path = self.path(&format!("{end}.toml"));
        fs::write(&path, text).unwrap();
        Config::read(&path).unwrap()
    }
}

impl Running {
    pub async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }

    /// Drops it where it is.
    pub async fn abort(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    pub async fn status(&self) -> Status {
        status(&self.status).await
    }
}

pub async fn status(path: &Path) -> Status {
    let mut stream = tokio::net::UnixStream::connect(path).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// A server that says `data` to whoever connects and says something, and then its end.
pub async fn server(data: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let data = data.clone();
            tokio::spawn(async move {
                client.read_u8().await?;
                client.write_all(&data).await?;
                client.shutdown().await
            });
        }
    });
    address
}

/// A server that waits until clients end, and tells of each that came and of each that ended.
pub async fn listener() -> (SocketAddr, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let tell = tell.clone();
            tokio::spawn(async move {
                tell.send(())?;
                // An end or a reset.
                drop(client.read_to_end(&mut Vec::new()).await);
                tell.send(())
            });
        }
    });
    (address, told)
}

/// A server that repeats all that it is told, once its client has ended.
pub async fn echo() -> SocketAddr {
    echo_with(Arc::default()).await
}

/// An echo that notifies `called` of each program that connects.
pub async fn echo_with(called: Arc<Notify>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            called.notify_one();
            tokio::spawn(async move {
                let mut heard = Vec::new();
                client.read_to_end(&mut heard).await?;
                client.write_all(&heard).await?;
                client.shutdown().await
            });
        }
    });
    address
}

/// What a server says.
pub async fn fetch(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"?").await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

pub fn noise(seed: u64, n_bytes: usize) -> Vec<u8> {
    let mut bytes = vec![0; n_bytes];
    ChaCha8Rng::seed_from_u64(seed).fill(&mut bytes[..]);
    bytes
}
