//! Collective operations as the messages that they consist of.

use mpi_trace::Operation;

/// What a member does in one step: sends to one, receives from one, both, and goes on when both are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// To whom, and how many bytes.
    pub(super) send: Option<(usize, u64)>,
    /// From whom.
    pub(super) receive: Option<usize>,
}

/// What member `me` of `n` does in an operation with messages of `bytes`; `root` where it has one.
pub(super) fn steps(operation: Operation, n: usize, me: usize, root: usize, bytes: u64) -> Vec<Step> {
    let name = operation.name().trim_start_matches("MPI_").to_ascii_lowercase();
    let name = name.strip_prefix("ineighbor").map_or(name.clone(), |rest| format!("neighbor{rest}"));
    let is_any = |names: &[&str]| names.iter().any(|one| name == *one || name.strip_prefix('i') == Some(one));
    if n < 2 {
        return Vec::new();
    }
    if is_any(&["bcast"]) {
        return from_root(n, me, root, |_| bytes);
    }
    if is_any(&["scatter", "scatterv"]) {
        return from_root(n, me, root, |members| bytes * members as u64);
    }
    if is_any(&["reduce"]) {
        return to_root(n, me, root, |_| bytes);
    }
    if is_any(&["gather", "gatherv"]) {
        return to_root(n, me, root, |members| bytes * members as u64);
    }
    if is_any(&["allreduce"]) {
        return doubling(n, me, bytes);
    }
    if is_any(&["allgather", "allgatherv", "neighbor_allgather", "neighbor_allgatherv"]) {
        let step = Step { send: Some(((me + 1) % n, bytes)), receive: Some((me + n - 1) % n) };
        return vec![step; n - 1];
    }
    if name.contains("alltoall") {
        return pairwise(n, me, bytes);
    }
    if name.contains("reduce_scatter") {
        return pairwise(n, me, bytes.div_ceil(n as u64));
    }
    if is_any(&["scan", "exscan"]) {
        let receive = me.checked_sub(1).map(|before| Step { send: None, receive: Some(before) });
        let send = (me + 1 < n).then_some(Step { send: Some((me + 1, bytes)), receive: None });
        return receive.into_iter().chain(send).collect();
    }
    dissemination(n, me)
}

/// Each tells one that is twice as far in each round: nobody is through before all have begun.
fn dissemination(n: usize, me: usize) -> Vec<Step> {
    let distances = std::iter::successors(Some(1), |distance| Some(distance * 2)).take_while(|distance| *distance < n);
    distances
        .map(|distance| Step { send: Some(((me + distance) % n, 0)), receive: Some((me + n - distance) % n) })
        .collect()
}

/// Down a binomial tree; `bytes` of a message for so many members.
fn from_root(n: usize, me: usize, root: usize, bytes: impl Fn(usize) -> u64) -> Vec<Step> {
    let place = (me + n - root) % n;
    let member = |place: usize| (place + root) % n;
    // The lowest bit of a place is the distance to its parent; its children are nearer.
    let span = if place == 0 { n.next_power_of_two() } else { 1 << place.trailing_zeros() };
    let received = (place > 0).then(|| Step { send: None, receive: Some(member(place - span)) });
    let distances =
        std::iter::successors(Some(span / 2), |distance| Some(distance / 2)).take_while(|distance| *distance > 0);
    let children = distances.filter(|distance| place + distance < n).map(|distance| {
        let members = distance.min(n - place - distance);
        Step { send: Some((member(place + distance), bytes(members))), receive: None }
    });
    received.into_iter().chain(children).collect()
}

/// Up the same tree.
fn to_root(n: usize, me: usize, root: usize, bytes: impl Fn(usize) -> u64) -> Vec<Step> {
    let place = (me + n - root) % n;
    let span = if place == 0 { n } else { (1_usize << place.trailing_zeros()).min(n - place) };
    let own = bytes(span);
    let turned = |step: Step| Step {
        send: step.receive.map(|parent| (parent, own)),
        receive: step.send.map(|(child, _)| child),
    };
    from_root(n, me, root, |_| 0).into_iter().rev().map(turned).collect()
}

/// Pairs exchange, ever farther apart. Members beyond a power of two hand theirs to another before, and get the
/// result after.
fn doubling(n: usize, me: usize, bytes: u64) -> Vec<Step> {
    let most = 1 << n.ilog2();
    if me >= most {
        let partner = me - most;
        return vec![Step { send: Some((partner, bytes)), receive: None }, Step { send: None, receive: Some(partner) }];
    }
    let extra = Some(me + most).filter(|extra| *extra < n);
    let before = extra.map(|extra| Step { send: None, receive: Some(extra) });
    let after = extra.map(|extra| Step { send: Some((extra, bytes)), receive: None });
    let rounds = (0..most.ilog2()).map(|round| {
        let partner = me ^ 1 << round;
        Step { send: Some((partner, bytes)), receive: Some(partner) }
    });
    before.into_iter().chain(rounds).chain(after).collect()
}

fn pairwise(n: usize, me: usize, bytes: u64) -> Vec<Step> {
    (1..n)
        .map(|distance| Step { send: Some(((me + distance) % n, bytes)), receive: Some((me + n - distance) % n) })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Runs all members until nobody can go on: each must come to its end, and all messages be taken. Gives what each
    /// then knows of.
    fn run(operation: Operation, n: usize, root: usize) -> Vec<Vec<bool>> {
        let mut left: Vec<VecDeque<Step>> = (0..n).map(|me| steps(operation, n, me, root, 8).into()).collect();
        let mut has_sent = vec![false; n];
        let mut knows: Vec<Vec<bool>> = (0..n).map(|me| (0..n).map(|other| other == me).collect()).collect();
        let mut mail: Vec<Vec<VecDeque<Vec<bool>>>> = vec![vec![VecDeque::new(); n]; n];
        let mut is_moving = true;
        while is_moving {
            is_moving = false;
            for me in 0..n {
                let Some(step) = left[me].front().copied() else { continue };
                if let Some((to, _)) = step.send.filter(|_| !has_sent[me]) {
                    mail[me][to].push_back(knows[me].clone());
                    has_sent[me] = true;
                    is_moving = true;
                }
                let news = step.receive.map(|from| mail[from][me].pop_front());
                if let Some(None) = news {
                    continue;
                }
                for (known, heard) in knows[me].iter_mut().zip(news.flatten().unwrap_or_default()) {
                    *known |= heard;
                }
                left[me].pop_front();
                has_sent[me] = false;
                is_moving = true;
            }
        }
        assert!(left.iter().all(VecDeque::is_empty), "{operation:?} of {n} from {root} does not end");
        assert!(mail.iter().flatten().all(VecDeque::is_empty), "{operation:?} of {n} from {root} leaves messages");
        knows
    }

    #[test]
    fn whoever_needs_data_has_heard_of_them_at_1_to_33_ranks() {
        for n in 1..=33 {
            for operation in [
                Operation::BARRIER,
                Operation::ALLREDUCE,
                Operation::ALLGATHERV,
                Operation::IALLTOALL,
                Operation::REDUCE_SCATTER,
                Operation::IALLREDUCE,
            ] {
                let knows = run(operation, n, 0);
                assert!(knows.iter().flatten().all(|known| *known), "{operation:?} of {n}: {knows:?}");
            }
            for root in [0, n / 2, n - 1] {
                assert!(run(Operation::BCAST, n, root).iter().all(|known| known[root]), "bcast of {n} from {root}");
                assert!(run(Operation::SCATTERV, n, root).iter().all(|known| known[root]), "scatter of {n}");
                assert!(run(Operation::IREDUCE, n, root)[root].iter().all(|known| *known), "reduce of {n} to {root}");
                assert!(run(Operation::GATHER, n, root)[root].iter().all(|known| *known), "gather of {n} to {root}");
            }
            let knows = run(Operation::EXSCAN, n, 0);
            assert!((0..n).all(|me| knows[me][..=me].iter().all(|known| *known)), "scan of {n}");
        }
    }

    #[test]
    fn a_gather_moves_each_part_to_the_root_once_for_each_step_of_its_way() {
        let sent = |operation, me| -> u64 {
            steps(operation, 8, me, 0, 10).iter().filter_map(|step| step.send).map(|(_, bytes)| bytes).sum()
        };
        assert_eq!((sent(Operation::GATHER, 4), sent(Operation::GATHER, 6), sent(Operation::GATHER, 7)), (40, 20, 10));
        assert_eq!((sent(Operation::SCATTER, 0), sent(Operation::SCATTER, 4)), (70, 30));
    }
}
