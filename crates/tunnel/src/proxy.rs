//! Requests of programs to be connected: SOCKS5 (RFC 1928) without authentication, or HTTP CONNECT (RFC 9110), told
//! apart by the first byte.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Time limit for a program to name its target.
pub(crate) const ASKING_LIMIT: Duration = Duration::from_secs(10);
/// The head of a CONNECT is not longer.
const HEAD_BYTES_MAX: usize = 8 << 10;

const SOCKS_VERSION: u8 = 5;

/// The protocol of the request, so that the answer is of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Socks,
    Http,
}

/// Reads where a program wants to go.
pub(crate) async fn asked(client: &mut TcpStream) -> io::Result<(Manner, String)> {
    match client.read_u8().await? {
        SOCKS_VERSION => socks(client).await.map(|target| (Manner::Socks, target)),
        first => http(client, first).await.map(|target| (Manner::Http, target)),
    }
}

/// Answers it: connected, or not.
pub(crate) async fn answer(client: &mut TcpStream, manner: Manner, is_connected: bool) -> io::Result<()> {
    let said: &[u8] = match (manner, is_connected) {
        (Manner::Socks, true) => &[SOCKS_VERSION, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        (Manner::Socks, false) => &[SOCKS_VERSION, 5, 0, 1, 0, 0, 0, 0, 0, 0],
        (Manner::Http, true) => b"HTTP/1.1 200 Connection established\r\n\r\n",
        (Manner::Http, false) => b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    };
    client.write_all(said).await
}

async fn socks(client: &mut TcpStream) -> io::Result<String> {
    let n_methods = client.read_u8().await?;
    let mut methods = vec![0; usize::from(n_methods)];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&0) {
        client.write_all(&[SOCKS_VERSION, 0xff]).await?;
        return Err(refused("it wants to log in"));
    }
    client.write_all(&[SOCKS_VERSION, 0]).await?;
    let [version, command, _, kind] = read(client).await?;
    if version != SOCKS_VERSION || command != 1 {
        client.write_all(&[SOCKS_VERSION, 7, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
        return Err(refused("it wants something other than CONNECT"));
    }
    let host = match kind {
        1 => Ipv4Addr::from(read::<4>(client).await?).to_string(),
        3 => {
            let mut name = vec![0; usize::from(client.read_u8().await?)];
            client.read_exact(&mut name).await?;
            String::from_utf8(name).map_err(|_| refused("its host is not text"))?
        }
        4 => format!("[{}]", Ipv6Addr::from(read::<16>(client).await?)),
        _ => return Err(refused("its address is of no known kind")),
    };
    let port = client.read_u16().await?;
    Ok(format!("{host}:{port}"))
}

async fn http(client: &mut TcpStream, first: u8) -> io::Result<String> {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_BYTES_MAX {
            return Err(refused("its head is too long"));
        }
        // A byte at a time: what follows the head is the stream's.
        head.push(client.read_u8().await?);
    }
    let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).map_err(|_| refused("its head is not text"))?;
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["CONNECT", target, "HTTP/1.1" | "HTTP/1.0"] => Ok(target.to_owned()),
        _ => {
            client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\nAllow: CONNECT\r\nContent-Length: 0\r\n\r\n").await?;
            Err(refused("it asks for something other than CONNECT"))
        }
    }
}

async fn read<const N: usize>(client: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn refused(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
