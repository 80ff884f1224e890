//! Taking the port, and saying who has it when it is taken.

use std::io;
use std::net::SocketAddr;

use procfs::net::{TcpNetEntry, TcpState};
use procfs::process::{FDTarget, Process, all_processes};
use tokio::net::TcpListener;

use crate::error::StartError;

/// Listens on `address`.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::AddressTaken { address, by: holder(address) },
        _ => StartError::CannotListen { address, source },
    })
}

/// The process that listens there: `process 4711 (nginx)`. `None` where the kernel does not tell, as it does not of
/// other people's processes.
fn holder(address: SocketAddr) -> Option<String> {
    let tables = [procfs::net::tcp(), procfs::net::tcp6()];
    let mut entries = tables.into_iter().flatten().flatten();
    let socket = entries.find(|entry| is_in_the_way(entry, address))?.inode;
    let process = all_processes().ok()?.flatten().find(|process| has_socket(process, socket))?;
    let name = process.stat().map_or_else(|_| "unknown".to_owned(), |stat| stat.comm);
    Some(format!("process {} ({name})", process.pid()))
}

/// A listener on all addresses is in the way of one on any.
fn is_in_the_way(entry: &TcpNetEntry, wanted: SocketAddr) -> bool {
    let held = entry.local_address;
    let overlaps = held.ip() == wanted.ip() || held.ip().is_unspecified() || wanted.ip().is_unspecified();
    entry.state == TcpState::Listen && held.port() == wanted.port() && overlaps
}

fn has_socket(process: &Process, inode: u64) -> bool {
    let is_it = |target: FDTarget| matches!(target, FDTarget::Socket(socket) if socket == inode);
    process.fd().is_ok_and(|mut files| files.any(|file| file.is_ok_and(|file| is_it(file.target))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_has_the_port_is_named() {
        let first = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = first.local_addr().unwrap();
        let error = listen(address).await.unwrap_err();
        let StartError::AddressTaken { by: Some(by), .. } = &error else { panic!("{error:?}") };
        assert!(by.starts_with(&format!("process {} (", std::process::id())), "{error}");
    }
}
