//! Limit of the files and connections that this process may have open, and their distribution.

use anyhow::bail;
use door::{Door, Limits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open at most at once besides connections: sensors (some 20 files that stay open, and a few while a tick is read),
/// the store and its readers (8), buffers of remote write, the runtime and its signals (10), listeners, transfers from
/// other hosts (32), connections that are closing (16), and some to spare.
const N_RESERVED: usize = 128;

/// Number of descriptors that each feed, stream and remote server may need besides.
const N_FOR_EACH_NEIGHBOUR: usize = 8;

/// Fewer connections are not enough for a page and a few clients.
const N_CONNECTIONS_MIN: usize = 16;

/// Raises the limit to as many descriptors as the system allows: a stream may have thousands of readers, and the usual
/// limit of 1,024 is one for programs that use select(2). Where it cannot be raised, there are fewer connections.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// The door that all connections of this process have to share: what is left of the limit of open files when
/// `n_neighbours` feeds and streams, the sensors and the store have theirs.
///
/// # Errors
/// When too few are left.
pub fn open_door(n_neighbours: usize) -> anyhow::Result<Door> {
    let limit = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok());
    Ok(Door::new(share(limit.unwrap_or(usize::MAX), n_cores(), n_neighbours)?))
}

/// A sensor watches each core by a file of its own.
fn n_cores() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

fn share(limit: usize, n_cores: usize, n_neighbours: usize) -> anyhow::Result<Limits> {
    let n_reserved = N_RESERVED + n_cores + N_FOR_EACH_NEIGHBOUR * n_neighbours;
    let needed = n_reserved + N_CONNECTIONS_MIN;
    if limit < needed {
        bail!(
            "a limit of {limit} open files is too low: {needed} are needed; \
             raise it to 1024 or more (`ulimit -Hn`, or `LimitNOFILE=` of a systemd unit)"
        );
    }
    Ok(Limits::of(limit - n_reserved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_and_store_have_theirs_before_connections_do() {
        assert_eq!(share(1024, 2, 0).unwrap(), Limits { total: 894, strangers: 223 });
        assert_eq!(share(1024, 2, 10).unwrap().total, 814);
        assert_eq!(share(usize::MAX, 2, 0).unwrap(), Limits { total: 4096, strangers: 256 });
        let refused = share(145, 2, 0).unwrap_err().to_string();
        assert!(refused.starts_with("a limit of 145 open files is too low: 146 are needed; raise it"), "{refused}");
    }
}
