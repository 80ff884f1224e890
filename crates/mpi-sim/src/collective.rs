//! Collective operations as messages, for ranks that have no MPI library beneath them: user-level ranks and replays.
//! The machine file's tables or a library's [`Rules`] choose the algorithms.
//!
//! Ranks that are processes run their library's own. Operations have to be commutative.

mod block;
mod chosen;
mod parts;
mod rules;
mod schedule;
mod tree;

pub use block::Block;
pub(crate) use chosen::Choices;
pub use chosen::{Call, Chosen, ChosenError};
pub use rules::{NoRules, Rules};

use std::sync::Arc;

use units::Rank as RankIdx;

use schedule::Schedule;

use crate::message::{Context, Handle, Mode, Wanted};
use crate::rank::{Rank, Taken};
use crate::switch::Switch;
use crate::world::Stopped;

const TAG: i32 = 0;

/// The algorithm that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Messages of each to one that is twice as far away in each step.
    Dissemination,
    /// A binomial tree.
    Binomial,
    /// Blocks down a binomial tree, then around a ring.
    ScatterRing,
    /// Pairs exchange all they have, ever farther apart.
    RecursiveDoubling,
    /// Pairs exchange halves, ever nearer, and then the results, ever farther apart (Rabenseifner).
    ReduceScatterAllgather,
    /// Each passes on what came from its neighbour.
    Ring,
    /// Blocks are passed on by others, in a logarithmic number of steps (Bruck et al. 1997).
    Bruck,
    /// Pairs exchange halves of what is to be combined, ever nearer.
    RecursiveHalving,
    /// The root has a message with each.
    Linear,
    /// All messages at once.
    Spread,
    /// One partner after the other.
    Pairwise,
    /// A binary tree, in segments.
    Binary,
    /// Half of the data down each side of a binary tree, in segments; then pairs exchange halves.
    SplitBinary,
    /// A chain from each to the next, in segments.
    Pipeline,
    /// A ring, of one segment of all blocks after the other.
    SegmentedRing,
    /// A reduction to one, and a broadcast from that one to all.
    ReduceBroadcast,
    /// Pairs exchange all they have with the neighbours on both sides in turn.
    NeighbourExchange,
    /// The root has messages with each, and asks one after the other.
    LinearInTurn,
    /// A tree of a tree file.
    Tree,
}

impl Algorithm {
    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dissemination => "dissemination",
            Self::Binomial => "binomial",
            Self::ScatterRing => "scatter-ring",
            Self::RecursiveDoubling => "recursive-doubling",
            Self::ReduceScatterAllgather => "reduce-scatter-allgather",
            Self::Ring => "ring",
            Self::Bruck => "bruck",
            Self::RecursiveHalving => "recursive-halving",
            Self::Linear => "linear",
            Self::Spread => "spread",
            Self::Pairwise => "pairwise",
            Self::Binary => "binary",
            Self::SplitBinary => "split-binary",
            Self::Pipeline => "pipeline",
            Self::SegmentedRing => "segmented-ring",
            Self::ReduceBroadcast => "reduce-broadcast",
            Self::NeighbourExchange => "neighbour-exchange",
            Self::LinearInTurn => "linear-in-turn",
            Self::Tree => "tree",
        }
    }
}

/// The operation that combines values.
pub struct Combine<'a> {
    /// Bytes of one value; messages are not cut within one.
    pub value_bytes: usize,
    /// Combines the values of the second into the first.
    pub with: &'a dyn Fn(&mut [u8], &[u8]),
}

/// One rank among those that call together.
pub struct Group<'a, 'w, S> {
    rank: &'a mut Rank<'w, S>,
    members: &'a [RankIdx],
    me: usize,
    context: Context,
    choices: Arc<Choices>,
}

impl<'a, 'w, S: Switch> Group<'a, 'w, S> {
    /// A rank among `members`, whose collective operations have a context of their own. None where it is not a member.
    #[must_use]
    pub fn new(rank: &'a mut Rank<'w, S>, members: &'a [RankIdx], context: Context) -> Option<Self> {
        let me = members.iter().position(|member| *member == rank.me())?;
        let choices = rank.choices();
        Some(Self { rank, members, me, context, choices })
    }

    /// Returns the number of ranks that call together.
    #[must_use]
    pub fn n_members(&self) -> usize {
        self.members.len()
    }

    /// The rank, for what it does by itself.
    pub fn rank(&mut self) -> &mut Rank<'w, S> {
        self.rank
    }

    /// Returns when all have called.
    ///
    /// # Errors
    /// Where the simulation has stopped, as in all that follow.
    pub fn barrier(&mut self) -> Result<Algorithm, Stopped> {
        if let Some(schedule) = self.schedule(Call::Barrier, 0) {
            return self.tree_barrier(&schedule);
        }
        let (n, me) = (self.members.len(), self.me);
        let algorithm =
            self.named(Call::Barrier, 0).map_or_else(|| self.rules().barrier(n), |(algorithm, _)| algorithm);
        for distance in doublings(n) {
            let (to, from) = if algorithm == Algorithm::RecursiveDoubling {
                (me ^ distance, me ^ distance)
            } else {
                ((me + distance) % n, (me + n - distance) % n)
            };
            self.exchange(to, Block::Size(0), from)?;
        }
        Ok(algorithm)
    }

    /// Brings the root's `data` to all, which have as many bytes.
    pub fn broadcast(&mut self, root: usize, data: &mut Block) -> Result<Algorithm, Stopped> {
        if let Some(schedule) = self.schedule(Call::Bcast, data.len()) {
            return self.tree_broadcast(&schedule, root, data);
        }
        let (algorithm, segment) = self
            .named(Call::Bcast, data.len())
            .unwrap_or_else(|| self.rules().broadcast(self.members.len(), data.len()));
        match algorithm {
            Algorithm::ScatterRing => self.scatter_ring(root, data)?,
            Algorithm::SplitBinary => self.split_binary(root, data, segment)?,
            Algorithm::Pipeline => self.pipeline_down(root, data, segment)?,
            _ => self.down(root, data)?,
        }
        Ok(algorithm)
    }

    /// Combines everybody's `data` into the root's; others' are left in between.
    pub fn reduce(&mut self, root: usize, data: &mut Block, combine: &Combine<'_>) -> Result<Algorithm, Stopped> {
        if let Some(schedule) = self.schedule(Call::Reduce, data.len()) {
            return self.tree_reduce(&schedule, root, data, combine);
        }
        let choice =
            self.named(Call::Reduce, data.len()).unwrap_or_else(|| self.rules().reduce(self.members.len(), data.len()));
        match choice.0 {
            Algorithm::Binary | Algorithm::Pipeline => self.reduce_in_segments(root, data, combine, choice)?,
            Algorithm::Linear if self.me != root => self.send(root, data.clone())?,
            Algorithm::Linear => {
                let others: Vec<usize> = self.others().collect();
                for part in self.receive_all(&others)? {
                    data.combine_all(&part, combine);
                }
            }
            _ => self.up(root, data, combine)?,
        }
        Ok(choice.0)
    }

    /// Combines everybody's `data` into everybody's.
    pub fn allreduce(&mut self, data: &mut Block, combine: &Combine<'_>) -> Result<Algorithm, Stopped> {
        if let Some(schedule) = self.schedule(Call::Allreduce, data.len()) {
            return self.tree_allreduce(&schedule, data, combine);
        }
        let n_values = data.len() / combine.value_bytes.max(1);
        let most = 1 << self.members.len().ilog2();
        let (algorithm, segment) = self
            .named(Call::Allreduce, data.len())
            .unwrap_or_else(|| self.rules().allreduce(self.members.len(), data.len(), n_values));
        match algorithm {
            Algorithm::Ring | Algorithm::SegmentedRing => {
                self.ring_allreduce(data, combine, segment)?;
                return Ok(algorithm);
            }
            Algorithm::ReduceBroadcast => {
                self.reduce(0, data, combine)?;
                self.broadcast(0, data)?;
                return Ok(algorithm);
            }
            _ => {}
        }
        // Of the first ranks, as many pairs as there are members beyond a power of two, the even ones sit out.
        let n_pairs = self.members.len() - most;
        let is_paired = self.me < 2 * n_pairs;
        if is_paired && self.me.is_multiple_of(2) {
            self.send(self.me + 1, data.clone())?;
            *data = self.receive(self.me + 1)?;
            return Ok(algorithm);
        }
        if is_paired {
            let part = self.receive(self.me - 1)?;
            data.combine_all(&part, combine);
        }
        let place = if is_paired { self.me / 2 } else { self.me - n_pairs };
        let member = |place: usize| if place < n_pairs { 2 * place + 1 } else { place + n_pairs };
        if algorithm == Algorithm::RecursiveDoubling {
            for distance in doublings(most) {
                let partner = member(place ^ distance);
                let part = self.exchange(partner, data.clone(), partner)?;
                data.combine_all(&part, combine);
            }
        } else {
            self.halve_and_double(place, most, &member, data, combine)?;
        }
        if is_paired {
            self.send(self.me - 1, data.clone())?;
        }
        Ok(algorithm)
    }

    /// Brings everybody's block of the same length to all; `data` has room for all, and this rank's is in its place.
    pub fn allgather(&mut self, data: &mut Block) -> Result<Algorithm, Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let block = data.len() / n;
        let algorithm = self
            .named(Call::Allgather, block)
            .map_or_else(|| self.rules().allgather(n, data.len()), |(algorithm, _)| algorithm);
        if algorithm == Algorithm::NeighbourExchange {
            self.neighbour_exchange(data)?;
            return Ok(algorithm);
        }
        if algorithm == Algorithm::RecursiveDoubling {
            for distance in doublings(n) {
                let (partner, own) = (me ^ distance, me / distance * distance);
                let part = self.exchange(partner, data.part(own * block..(own + distance) * block), partner)?;
                let first = partner / distance * distance;
                data.put(first * block..(first + distance) * block, &part);
            }
            return Ok(Algorithm::RecursiveDoubling);
        }
        if algorithm == Algorithm::Bruck {
            let mut turned = data.part(me * block..(me + 1) * block);
            for distance in doublings(n) {
                let n_blocks = distance.min(n - distance);
                let sent = turned.part(0..n_blocks * block);
                let part = self.exchange((me + n - distance) % n, sent, (me + distance) % n)?;
                turned.append(&part);
            }
            turned.rotate_right(me * block);
            *data = turned;
            return Ok(Algorithm::Bruck);
        }
        self.ring(me, data, |idx| idx * block..(idx + 1) * block)?;
        Ok(Algorithm::Ring)
    }

    /// Brings the block at each place of `data` to the member there, and gives what all sent to this one.
    pub fn alltoall(&mut self, data: &Block) -> Result<(Block, Algorithm), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let block = data.len() / n;
        let at = |idx: usize| idx * block..(idx + 1) * block;
        let mut result = data.like(data.len());
        result.put(at(me), &data.part(at(me)));
        let algorithm = self
            .named(Call::Alltoall, block)
            .map_or_else(|| self.rules().alltoall(n, block), |(algorithm, _)| algorithm);
        if algorithm == Algorithm::Bruck {
            // What is for the member so far ahead; each bit of the distance is one step of the way.
            let mut turned = data.clone();
            turned.rotate_left(me * block);
            for distance in doublings(n) {
                let moved = || (0..n).filter(|ahead| ahead & distance != 0);
                let mut sent = data.like(0);
                moved().for_each(|ahead| sent.append(&turned.part(at(ahead))));
                let part = self.exchange((me + distance) % n, sent, (me + n - distance) % n)?;
                for (idx, ahead) in moved().enumerate() {
                    turned.put(at(ahead), &part.part(at(idx)));
                }
            }
            for ahead in 0..n {
                result.put(at((me + n - ahead) % n), &turned.part(at(ahead)));
            }
            return Ok((result, Algorithm::Bruck));
        }
        if algorithm == Algorithm::Spread {
            let parts: Vec<Block> = (0..n).map(|to| data.part(at(to))).collect();
            for (from, part) in self.spread(parts)?.iter().enumerate() {
                result.put(at(from), part);
            }
            return Ok((result, Algorithm::Spread));
        }
        for distance in 1..n {
            let (to, from) = if n.is_power_of_two() && self.rules() == Rules::Mpich {
                (me ^ distance, me ^ distance)
            } else {
                ((me + distance) % n, (me + n - distance) % n)
            };
            let part = self.exchange(to, data.part(at(to)), from)?;
            result.put(at(from), &part);
        }
        Ok((result, Algorithm::Pairwise))
    }

    fn up(&mut self, root: usize, data: &mut Block, combine: &Combine<'_>) -> Result<(), Stopped> {
        let (n, place) = (self.members.len(), self.place(root));
        for distance in doublings(n) {
            if place & distance != 0 {
                return self.send(self.at(root, place - distance), data.clone());
            }
            if place + distance < n {
                let part = self.receive(self.at(root, place + distance))?;
                data.combine_all(&part, combine);
            }
        }
        Ok(())
    }

    fn down(&mut self, root: usize, data: &mut Block) -> Result<(), Stopped> {
        let (n, place) = (self.members.len(), self.place(root));
        let span = span(place, n);
        if place > 0 {
            *data = self.receive(self.at(root, place - span))?;
        }
        for distance in halvings(span).filter(|distance| place + distance < n) {
            self.send(self.at(root, place + distance), data.clone())?;
        }
        Ok(())
    }

    fn scatter_ring(&mut self, root: usize, data: &mut Block) -> Result<(), Stopped> {
        let (n, place, length) = (self.members.len(), self.place(root), data.len());
        let block = length.div_ceil(n);
        let from = |place: usize| (place * block).min(length);
        let span = span(place, n);
        if place > 0 {
            let part = self.receive(self.at(root, place - span))?;
            data.put(from(place)..from((place + span).min(n)), &part);
        }
        for distance in halvings(span).filter(|distance| place + distance < n) {
            let part = from(place + distance)..from((place + 2 * distance).min(n));
            self.send(self.at(root, place + distance), data.part(part))?;
        }
        self.ring(place, data, |place| from(place)..from(place + 1))
    }

    /// Passes blocks on around the ring, until all have all; this rank's is the one of `place`, and so on around.
    fn ring(
        &mut self,
        place: usize,
        data: &mut Block,
        at: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Result<(), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        for step in 0..n - 1 {
            let (sent, received) = ((place + n - step) % n, (place + 2 * n - step - 1) % n);
            let part = self.exchange((me + 1) % n, data.part(at(sent)), (me + n - 1) % n)?;
            data.put(at(received), &part);
        }
        Ok(())
    }

    fn halve_and_double(
        &mut self,
        place: usize,
        n: usize,
        member: &impl Fn(usize) -> usize,
        data: &mut Block,
        combine: &Combine<'_>,
    ) -> Result<(), Stopped> {
        let value_bytes = combine.value_bytes.max(1);
        let n_values = data.len() / value_bytes;
        let at = |from: usize, to: usize| n_values * from / n * value_bytes..n_values * to / n * value_bytes;
        let (mut low, mut high) = (0, n);
        for distance in halvings(n) {
            let (partner, middle) = (member(place ^ distance), (low + high) / 2);
            let (sent, kept) =
                if place & distance == 0 { ((middle, high), (low, middle)) } else { ((low, middle), (middle, high)) };
            let part = self.exchange(partner, data.part(at(sent.0, sent.1)), partner)?;
            data.combine(at(kept.0, kept.1), &part, combine);
            (low, high) = kept;
        }
        for distance in doublings(n) {
            let partner = member(place ^ distance);
            let part = self.exchange(partner, data.part(at(low, high)), partner)?;
            let other = if place & distance == 0 { (high, high + distance) } else { (low - distance, low) };
            data.put(at(other.0, other.1), &part);
            (low, high) = (low.min(other.0), high.max(other.1));
        }
        Ok(())
    }

    /// Returns the algorithm that the machine file names for a call, before the rules choose one.
    fn named(&self, call: Call, bytes: usize) -> Option<(Algorithm, usize)> {
        self.choices.named(call, self.members.len(), bytes)
    }

    /// The tree that the machine file names for a call.
    fn schedule(&self, call: Call, bytes: usize) -> Option<Arc<Schedule>> {
        self.choices.schedule(call, self.members.len(), bytes)
    }

    fn rules(&self) -> Rules {
        self.choices.rules
    }

    /// Places count from the root.
    fn place(&self, root: usize) -> usize {
        (self.me + self.members.len() - root) % self.members.len()
    }

    fn at(&self, root: usize, place: usize) -> usize {
        (place + root) % self.members.len()
    }

    fn wanted(&self, from: usize) -> Wanted {
        Wanted { source: Some(self.members[from]), context: self.context, tag: Some(TAG) }
    }

    fn begin_to_send(&mut self, to: usize, data: Block) -> Handle {
        self.begin_to_send_tagged(to, TAG, data)
    }

    fn begin_to_send_tagged(&mut self, to: usize, tag: i32, data: Block) -> Handle {
        let to = self.members[to];
        match data {
            Block::Bytes(bytes) => self.rank.send(to, self.context, tag, Mode::Standard, bytes.into()),
            Block::Size(size) => self.rank.send_sized(to, self.context, tag, Mode::Standard, size as u64),
        }
    }

    fn send(&mut self, to: usize, data: Block) -> Result<(), Stopped> {
        let sent = self.begin_to_send(to, data);
        self.rank.wait_all(&[sent])?;
        self.rank.take(sent);
        Ok(())
    }

    fn receive(&mut self, from: usize) -> Result<Block, Stopped> {
        let received = self.rank.receive(self.wanted(from));
        self.rank.wait_all(&[received])?;
        Ok(self.take(received))
    }

    fn exchange(&mut self, to: usize, data: Block, from: usize) -> Result<Block, Stopped> {
        let received = self.rank.receive(self.wanted(from));
        let sent = self.begin_to_send(to, data);
        self.rank.wait_all(&[received, sent])?;
        self.rank.take(sent);
        Ok(self.take(received))
    }

    /// Has a message with each other member at once; gives what came from each, in their order.
    fn spread(&mut self, mut parts: Vec<Block>) -> Result<Vec<Block>, Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let ahead = |distance: usize| (me + distance) % n;
        let received: Vec<Handle> = (1..n).map(|distance| self.rank.receive(self.wanted(ahead(distance)))).collect();
        let behind = |distance: usize| (me + n - distance) % n;
        let sent: Vec<Handle> = (1..n)
            .map(|distance| {
                let part = std::mem::replace(&mut parts[behind(distance)], Block::Size(0));
                self.begin_to_send(behind(distance), part)
            })
            .collect();
        self.rank.wait_all(&[&received[..], &sent].concat())?;
        for (distance, handle) in (1..n).zip(received) {
            parts[ahead(distance)] = self.take(handle);
        }
        sent.into_iter().for_each(|handle| drop(self.rank.take(handle)));
        Ok(parts)
    }

    fn take(&mut self, handle: Handle) -> Block {
        match self.rank.take(handle) {
            Taken::Received(envelope, bytes) => Block::received(&envelope, bytes),
            Taken::Sent | Taken::Cancelled => Block::Size(0),
        }
    }
}

/// 1, 2, 4 … below `n`.
fn doublings(n: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |distance| Some(distance * 2)).take_while(move |distance| *distance < n)
}

/// Half of `n`, a power of two, down to 1.
fn halvings(n: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(n / 2), |distance| Some(distance / 2)).take_while(|distance| *distance > 0)
}

/// Returns the distance of a place from its parent in the binomial tree; its children are nearer.
fn span(place: usize, n: usize) -> usize {
    if place == 0 { n.next_power_of_two() } else { 1 << place.trailing_zeros() }
}
