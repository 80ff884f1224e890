//! Nodes, each of which is measured as one: the host, a cgroup, or the processes that descend from one.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::str::FromStr;

use crate::Error;

/// A part of this host that is measured as a node of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Node {
    /// The whole host.
    #[default]
    Host,
    /// A cgroup of the unified hierarchy and all below it, by its folder.
    Cgroup(PathBuf),
    /// This process and all that descend from it from then on or already.
    Tree(u32),
}

impl FromStr for Node {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |wrong| Error::Node { text: text.into(), wrong };
        match text.split_once(':') {
            None if text == "host" => Ok(Self::Host),
            Some(("cgroup", path)) if path.starts_with('/') => Ok(Self::Cgroup(path.into())),
            Some(("cgroup", _)) => Err(wrong("the path of a cgroup begins with /")),
            Some(("tree", pid)) => pid.parse().map(Self::Tree).map_err(|_| wrong("the PID is not a number")),
            _ => Err(wrong("this is no kind of node")),
        }
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Cgroup(path) => write!(f, "cgroup:{}", path.display()),
            Self::Tree(pid) => write!(f, "tree:{pid}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_survive_their_text() {
        for text in ["host", "cgroup:/sys/fs/cgroup/a", "tree:17"] {
            assert_eq!(text.parse::<Node>().unwrap().to_string(), text);
        }
        for text in ["", "tree:x", "cgroup:a", "pod:1"] {
            assert!(text.parse::<Node>().unwrap_err().to_string().contains("`host`, `cgroup:PATH` or `tree:PID`"));
        }
    }
}
