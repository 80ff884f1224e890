//! Placement of ranks on hosts, and groups of hosts, as arguments.

use anyhow::{Context, bail, ensure};
use clap::Args;
use mpi_tree::{Host, RANK_MAX, ranks};
use units::Rank;

/// The placement of ranks.
#[derive(Args)]
pub struct Placement {
    /// The number of ranks, in blocks on the hosts [default: on this host]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(RANK_MAX) + 1))]
    ranks: Option<Rank>,

    /// Names of hosts, each with its ranks unless --ranks gives the number
    #[arg(long, value_name = "HOST[:RANKS],…")]
    hosts: Option<String>,

    /// Place ranks on the hosts in turn rather than in blocks
    #[arg(long, requires = "ranks", requires = "hosts")]
    cyclic: bool,

    /// Hosts of one cluster, apart from others; may be repeated
    #[arg(long, value_name = "NAME:HOST,…")]
    cluster: Vec<String>,
}

impl Placement {
    /// Returns the hosts, if any were given. They may not be sound.
    pub fn hosts(&self) -> anyhow::Result<Option<Vec<Host>>> {
        let mut hosts = match (&self.hosts, self.ranks) {
            (None, None) => {
                ensure!(self.cluster.is_empty(), "--cluster needs --hosts");
                return Ok(None);
            }
            (None, Some(n_ranks)) => vec![host(&mpi_run::host_name(), (0..n_ranks).collect())],
            (Some(text), None) => with_ranks(text)?,
            (Some(text), Some(n_ranks)) => self.shared_out(text, n_ranks)?,
        };
        for text in &self.cluster {
            let (name, members) =
                text.split_once(':').with_context(|| format!("`{text}` is no cluster: write NAME:HOST,…"))?;
            for member in members.split(',') {
                let host = hosts.iter_mut().find(|host| host.name == member);
                let host = host.with_context(|| format!("there is no host `{member}` for cluster `{name}`"))?;
                host.cluster = Some(name.to_owned());
            }
        }
        Ok(Some(hosts))
    }

    fn shared_out(&self, text: &str, n_ranks: Rank) -> anyhow::Result<Vec<Host>> {
        ensure!(!text.contains(':'), "--ranks and ranks in --hosts contradict each other: leave out one of them");
        let names: Vec<&str> = text.split(',').collect();
        let n_hosts = names.len();
        ensure!(n_hosts <= n_ranks as usize, "{n_ranks} ranks are too few for {n_hosts} hosts: each needs one");
        let host_of = |rank: Rank| match self.cyclic {
            true => rank as usize % n_hosts,
            false => rank as usize * n_hosts / n_ranks as usize,
        };
        let of_host = |at: usize| (0..n_ranks).filter(|&rank| host_of(rank) == at).collect();
        Ok(names.iter().enumerate().map(|(at, name)| host(name, of_host(at))).collect())
    }
}

/// Parses `a:0-3,8,b:4-7`: a list of ranks goes on until the next host.
fn with_ranks(text: &str) -> anyhow::Result<Vec<Host>> {
    let mut hosts: Vec<Host> = Vec::new();
    for piece in text.split(',') {
        let listed = match piece.split_once(':') {
            Some((name, listed)) => {
                hosts.push(host(name, Vec::new()));
                listed
            }
            None => piece,
        };
        let Some(host) = hosts.last_mut() else { bail!("`{piece}` has no ranks: write {piece}:0-3, or use --ranks") };
        host.ranks.extend(ranks(listed).with_context(|| format!("in --hosts, at `{piece}`"))?);
    }
    hosts.iter_mut().for_each(|host| host.ranks.sort_unstable());
    Ok(hosts)
}

fn host(name: &str, ranks: Vec<Rank>) -> Host {
    Host { name: name.to_owned(), cluster: None, ranks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(hosts: &str, ranks: Option<Rank>, cyclic: bool) -> Placement {
        Placement { ranks, hosts: Some(hosts.to_owned()), cyclic, cluster: vec!["left:a".to_owned()] }
    }

    #[test]
    fn a_list_of_ranks_goes_on_until_the_next_host() {
        let hosts = placement("a:0-2,7,b:3-6", None, false).hosts().unwrap().unwrap();
        assert_eq!((hosts[0].ranks.as_slice(), hosts[1].ranks.as_slice()), (&[0, 1, 2, 7][..], &[3, 4, 5, 6][..]));
        assert_eq!((hosts[0].cluster.as_deref(), hosts[1].cluster.as_deref()), (Some("left"), None));
    }

    #[test]
    fn ranks_are_shared_out_in_blocks_or_in_turn() {
        let of_first = |cyclic| placement("a,b", Some(5), cyclic).hosts().unwrap().unwrap()[0].ranks.clone();
        assert_eq!((of_first(false), of_first(true)), (vec![0, 1, 2], vec![0, 2, 4]));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let given = [("a", None), ("a:0,b:x", None), ("a:0,b:1", Some(2)), ("a,b,c", Some(2)), ("b:0", None)];
        let told = ["`a` has no ranks", "`x` is not a list", "contradict", "too few for 3 hosts", "no host `a`"];
        for ((hosts, ranks), told) in given.into_iter().zip(told) {
            let error = format!("{:#}", placement(hosts, ranks, false).hosts().unwrap_err());
            assert!(error.contains(told), "{error}");
        }
    }
}
