//! Files of a folder at the far end, for streams whose target is `files`: GET and HEAD of HTTP/1.1 (RFC 9110, 9112),
//! ranges included, so that any client of HTTP fetches them and goes on where it was broken off. There are no listings,
//! and nothing outside the folder is reached.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// The target that stands for the files.
pub(crate) const TARGET: &str = "files";
/// Longer requests are refused.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// The most bytes that are read of a file at once.
const PIECE_BYTES: usize = 1 << 16;

/// A client's request.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    has_body: bool,
    path: PathBuf,
    /// The first byte, and the byte up to which to send.
    range: Option<(u64, Option<u64>)>,
    is_last: bool,
}

/// The reason why there is no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refusal(&'static str);

const BAD: Refusal = Refusal("400 Bad Request");
const NOT_FOUND: Refusal = Refusal("404 Not Found");
const NOT_ALLOWED: Refusal = Refusal("405 Method Not Allowed\r\nAllow: GET, HEAD");
const OUTSIDE: Refusal = Refusal("416 Range Not Satisfiable");

/// A connection to the files of `root`.
pub(crate) fn connect(root: &Arc<Path>) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let root = Arc::clone(root);
    tokio::spawn(async move {
        // A client that goes away needs no answer.
        let _ = serve(ours, &root).await;
    });
    Ok(theirs)
}

async fn serve(stream: UnixStream, root: &Arc<Path>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == HEAD_BYTES_MAX {
                return refuse(&mut stream, Refusal("431 Request Header Fields Too Large")).await;
            }
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                // The client has asked for all it wants.
                Err(_) if head.is_empty() => return stream.shutdown().await,
                Err(error) => return Err(error),
            }
        }
        let request = match Request::read(&head) {
            Ok(request) => request,
            Err(refusal) => return refuse(&mut stream, refusal).await,
        };
        let (path, range) = (request.path, request.range);
        let at = Arc::clone(root);
        let opened = tokio::task::spawn_blocking(move || open(&at, &path, range)).await?;
        match opened {
            Ok((file, part, n_file)) => {
                let n_part = part.end - part.start;
                let status = match range {
                    Some(_) => {
                        format!("206 Partial Content\r\nContent-Range: bytes {}-{}/{n_file}", part.start, part.end - 1)
                    }
                    None => "200 OK\r\nAccept-Ranges: bytes".to_owned(),
                };
                let head = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length: {n_part}\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).await?;
                if request.has_body {
                    send(&mut stream, file, n_part).await?;
                }
            }
            Err(refusal) => answer(&mut stream, refusal, "").await?,
        }
        if request.is_last {
            return stream.shutdown().await;
        }
    }
}

/// Sends so many bytes; ends the connection before its time where the file has become shorter.
async fn send(stream: &mut BufReader<UnixStream>, mut file: File, mut n_left: u64) -> io::Result<()> {
    while n_left > 0 {
        let n_piece = n_left.min(PIECE_BYTES as u64) as usize;
        let read = move || {
            let mut piece = vec![0; n_piece];
            file.read_exact(&mut piece).map(|()| (file, piece))
        };
        let piece;
        (file, piece) = tokio::task::spawn_blocking(read).await??;
        stream.write_all(&piece).await?;
        n_left -= n_piece as u64;
    }
    Ok(())
}

async fn refuse(stream: &mut BufReader<UnixStream>, refusal: Refusal) -> io::Result<()> {
    answer(stream, refusal, "Connection: close\r\n").await?;
    stream.shutdown().await
}

async fn answer(stream: &mut BufReader<UnixStream>, Refusal(status): Refusal, more: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n{more}\r\n").as_bytes()).await
}

impl Request {
    fn read(head: &[u8]) -> Result<Self, Refusal> {
        let head = std::str::from_utf8(head).map_err(|_| BAD)?;
        let mut lines = head.split("\r\n");
        let &[method, target, version @ ("HTTP/1.1" | "HTTP/1.0")] =
            &lines.next().unwrap_or_default().split(' ').collect::<Vec<_>>()[..]
        else {
            return Err(BAD);
        };
        if !matches!(method, "GET" | "HEAD") {
            return Err(NOT_ALLOWED);
        }
        let (mut range, mut is_last) = (None, version == "HTTP/1.0");
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("range") {
                // What is not understood is as if it were not there (RFC 9110, 14.2).
                range = single_range(value);
            } else if name.eq_ignore_ascii_case("connection") {
                is_last |= value.eq_ignore_ascii_case("close");
            } else if name.eq_ignore_ascii_case("content-length") && value != "0"
                || name.eq_ignore_ascii_case("transfer-encoding")
            {
                return Err(BAD);
            }
        }
        Ok(Self { has_body: method == "GET", path: path(target)?, range, is_last })
    }
}

/// `bytes=FROM-TO` or `bytes=FROM-`.
fn single_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (from, to) = value.strip_prefix("bytes=")?.split_once('-')?;
    let to = if to.is_empty() { None } else { Some(to.parse().ok()?) };
    Some((from.parse().ok()?, to))
}

/// Returns the path of a target within the folder.
fn path(target: &str) -> Result<PathBuf, Refusal> {
    let target = target.split(['?', '#']).next().unwrap_or_default();
    let target = target.strip_prefix('/').ok_or(BAD)?;
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or(BAD)?;
        let digits = std::str::from_utf8(digits).map_err(|_| BAD)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| BAD)?);
        rest = after;
    }
    let path = PathBuf::from(String::from_utf8(bytes).map_err(|_| BAD)?);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain && !path.as_os_str().is_empty() { Ok(path) } else { Err(NOT_FOUND) }
}

/// Opens a file, and says which part of it is asked for, and how long all of it is.
fn open(root: &Path, path: &Path, range: Option<(u64, Option<u64>)>) -> Result<(File, Range<u64>, u64), Refusal> {
    // A link that leads out of the folder leads nowhere.
    let found = root.join(path).canonicalize().map_err(|_| NOT_FOUND)?;
    let root = root.canonicalize().map_err(|_| NOT_FOUND)?;
    if !found.starts_with(&root) || !found.is_file() {
        return Err(NOT_FOUND);
    }
    let mut file = File::open(found).map_err(|_| NOT_FOUND)?;
    let n_file = file.metadata().map_err(|_| NOT_FOUND)?.len();
    let part = match range {
        None => 0..n_file,
        Some((from, to)) => from..to.map_or(n_file, |to| to.saturating_add(1).min(n_file)),
    };
    if range.is_some() && part.is_empty() {
        return Err(OUTSIDE);
    }
    file.seek(SeekFrom::Start(part.start)).map_err(|_| NOT_FOUND)?;
    Ok((file, part, n_file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_and_what_is_none_is_refused() {
        let read = |text: &str| Request::read(format!("{text}\r\n\r\n").as_bytes());
        let plain = |path: &str| Request { has_body: true, path: path.into(), range: None, is_last: false };
        assert_eq!(read("GET /a/b%20c?x HTTP/1.1"), Ok(plain("a/b c")));
        assert_eq!(read("HEAD /a HTTP/1.1"), Ok(Request { has_body: false, ..plain("a") }));
        assert_eq!(read("GET /a HTTP/1.0"), Ok(Request { is_last: true, ..plain("a") }));
        assert_eq!(
            read("GET /a HTTP/1.1\r\nrange: bytes=5-9"),
            Ok(Request { range: Some((5, Some(9))), ..plain("a") })
        );
        assert_eq!(read("GET /a HTTP/1.1\r\nRange: lines=5-9"), Ok(plain("a")));
        for (text, refusal) in [
            ("POST /a HTTP/1.1", NOT_ALLOWED),
            ("GET /a HTTP/1.1\r\nContent-Length: 5", BAD),
            ("GET a HTTP/1.1", BAD),
            ("GET /%2 HTTP/1.1", BAD),
            ("GET /%ff HTTP/1.1", BAD),
            ("GET /a", BAD),
            ("GET / HTTP/1.1", NOT_FOUND),
            ("GET /../a HTTP/1.1", NOT_FOUND),
            ("GET /b/%2e%2e/%2e%2e/a HTTP/1.1", NOT_FOUND),
            ("GET //etc/passwd HTTP/1.1", NOT_FOUND),
        ] {
            assert_eq!(read(text), Err(refusal), "{text}");
        }
    }

    #[test]
    fn a_part_is_within_the_file_and_the_file_within_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::write(root.join("file"), b"0123456789").unwrap();
        std::fs::write(folder.path().join("secret"), b"secret").unwrap();
        std::os::unix::fs::symlink("../secret", root.join("out")).unwrap();
        std::os::unix::fs::symlink("file", root.join("in")).unwrap();
        let part = |path: &str, range| open(&root, Path::new(path), range).map(|(_, part, n_file)| (part, n_file));
        assert_eq!(part("file", None), Ok((0..10, 10)));
        assert_eq!(part("in", Some((4, None))), Ok((4..10, 10)));
        assert_eq!(part("file", Some((4, Some(u64::MAX)))), Ok((4..10, 10)));
        assert_eq!(part("file", Some((10, None))), Err(OUTSIDE));
        assert_eq!(part("file", Some((5, Some(4)))), Err(OUTSIDE));
        for missing in ["out", "inner", "none"] {
            assert_eq!(part(missing, None), Err(NOT_FOUND), "{missing}");
        }
    }
}
