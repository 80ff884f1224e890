//! Operations that leave each member with a part of the whole: gathers, scatters, scans, and those with parts of different lengths.

use super::{Algorithm, Combine, Group, TAG, doublings, halvings, span};
use crate::message::Mode;
use crate::rank::Taken;
use crate::switch::Switch;
use crate::world::Stopped;

/// Longer sums are scattered by one partner after the other (`MPIR_CVAR_REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE`).
const REDUCE_SCATTER_LONG_BYTES: usize = 524_288;

/// Each member's part, in their order.
pub type PartsOfAll = Vec<Box<[u8]>>;

impl<S: Switch> Group<'_, '_, S> {
    /// Brings everybody's block of the same length to the root, in the order of members; others get nothing.
    ///
    /// # Errors
    /// Where the simulation has stopped, as in all that follow.
    pub fn gather(&mut self, root: usize, block: &[u8]) -> Result<(Vec<u8>, Algorithm), Stopped> {
        let (n, place) = (self.members.len(), self.place(root));
        let mut collected = block.to_vec();
        for distance in doublings(n) {
            if place & distance != 0 {
                self.send(self.at(root, place - distance), &collected)?;
                return Ok((Vec::new(), Algorithm::Binomial));
            }
            if place + distance < n {
                collected.extend(self.receive(self.at(root, place + distance))?);
            }
        }
        // From the order of places to that of members.
        collected.rotate_right(root * block.len());
        Ok((collected, Algorithm::Binomial))
    }

    /// Brings each member its block of the root's `data`, of which only the root's counts.
    pub fn scatter(&mut self, root: usize, data: &[u8], block: usize) -> Result<(Vec<u8>, Algorithm), Stopped> {
        let (n, place) = (self.members.len(), self.place(root));
        let span = span(place, n);
        let mut part = if place == 0 {
            let mut turned = data.to_vec();
            turned.rotate_left(root * block);
            turned
        } else {
            self.receive(self.at(root, place - span))?.into_vec()
        };
        for distance in halvings(span).filter(|distance| place + distance < n) {
            let rest = part.split_off(distance * block);
            self.send(self.at(root, place + distance), &rest)?;
        }
        part.truncate(block);
        Ok((part, Algorithm::Binomial))
    }

    /// Combines into each member's `data` those of all members before it; with `includes_own`, its own too. Without, the first member's are left as
    /// they are.
    pub fn scan(&mut self, data: &mut [u8], combine: &Combine<'_>, includes_own: bool) -> Result<Algorithm, Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let mut whole = data.to_vec();
        let mut has_result = includes_own;
        for partner in doublings(n).map(|distance| me ^ distance).filter(|partner| *partner < n) {
            let part = self.exchange(partner, &whole, partner)?;
            (combine.with)(&mut whole, &part);
            if partner < me {
                if has_result {
                    (combine.with)(data, &part);
                } else {
                    data.copy_from_slice(&part);
                    has_result = true;
                }
            }
        }
        Ok(Algorithm::RecursiveDoubling)
    }

    /// Combines everybody's `data`, and gives each member its block of the result.
    pub fn reduce_scatter(&mut self, data: &mut [u8], combine: &Combine<'_>) -> Result<(Vec<u8>, Algorithm), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let block = data.len() / n;
        let own = me * block..(me + 1) * block;
        if data.len() >= REDUCE_SCATTER_LONG_BYTES {
            let mut result = data[own].to_vec();
            for distance in 1..n {
                let (to, from) = ((me + distance) % n, (me + n - distance) % n);
                let part = self.exchange(to, &data[to * block..(to + 1) * block], from)?;
                (combine.with)(&mut result, &part);
            }
            return Ok((result, Algorithm::Pairwise));
        }
        let most = 1 << n.ilog2();
        let n_pairs = n - most;
        let is_paired = me < 2 * n_pairs;
        if is_paired && me.is_multiple_of(2) {
            self.send(me + 1, data)?;
            return Ok((self.receive(me + 1)?.into_vec(), Algorithm::RecursiveHalving));
        }
        if is_paired {
            let part = self.receive(me - 1)?;
            (combine.with)(data, &part);
        }
        let place = if is_paired { me / 2 } else { me - n_pairs };
        let member = |place: usize| if place < n_pairs { 2 * place + 1 } else { place + n_pairs };
        // Whoever stands for two has the blocks of both.
        let from = |place: usize| block * if place <= n_pairs { 2 * place } else { place + n_pairs };
        let (mut low, mut high) = (0_usize, most);
        for distance in halvings(most) {
            let (partner, middle) = (member(place ^ distance), low.midpoint(high));
            let (sent, kept) =
                if place & distance == 0 { ((middle, high), (low, middle)) } else { ((low, middle), (middle, high)) };
            let part = self.exchange(partner, &data[from(sent.0)..from(sent.1)], partner)?;
            (combine.with)(&mut data[from(kept.0)..from(kept.1)], &part);
            (low, high) = kept;
        }
        if is_paired {
            self.send(me - 1, &data[own.start - block..own.start])?;
        }
        Ok((data[own].to_vec(), Algorithm::RecursiveHalving))
    }

    /// Brings everybody's part, of any length, to the root, in the order of members; others get nothing.
    pub fn gather_parts(&mut self, root: usize, part: &[u8]) -> Result<(PartsOfAll, Algorithm), Stopped> {
        if self.me != root {
            self.send(root, part)?;
            return Ok((Vec::new(), Algorithm::Linear));
        }
        let wanted: Vec<_> = self.others().map(|from| self.wanted(from)).collect();
        let handles: Vec<_> = wanted.into_iter().map(|wanted| self.rank.receive(wanted)).collect();
        self.rank.wait_all(&handles)?;
        let mut parts: Vec<Box<[u8]>> = handles.into_iter().map(|handle| self.rank.take(handle).into_bytes()).collect();
        parts.insert(root, part.into());
        Ok((parts, Algorithm::Linear))
    }

    /// Brings each member its part of the root's, which may differ in length; only the root's count.
    pub fn scatter_parts(&mut self, root: usize, parts: &[&[u8]]) -> Result<(Box<[u8]>, Algorithm), Stopped> {
        if self.me != root {
            return Ok((self.receive(root)?, Algorithm::Linear));
        }
        let others: Vec<usize> = self.others().collect();
        let send = |to: usize| self.rank.send(self.members[to], self.context, TAG, Mode::Standard, parts[to].into());
        let handles: Vec<_> = others.into_iter().map(send).collect();
        self.rank.wait_all(&handles)?;
        handles.into_iter().for_each(|handle| drop(self.rank.take(handle)));
        Ok((parts[root].into(), Algorithm::Linear))
    }

    /// Brings everybody's part, of any length, to all, in the order of members.
    pub fn allgather_parts(&mut self, part: &[u8]) -> Result<(PartsOfAll, Algorithm), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let mut parts: Vec<Box<[u8]>> = vec![Box::default(); n];
        parts[me] = part.into();
        for step in 1..n {
            let passed_on = parts[(me + n - step + 1) % n].clone();
            parts[(me + n - step) % n] = self.exchange((me + 1) % n, &passed_on, (me + n - 1) % n)?;
        }
        Ok((parts, Algorithm::Ring))
    }

    /// Brings each member its part, of any length, and gives what all sent to this one.
    pub fn alltoall_parts(&mut self, parts: &[&[u8]]) -> Result<(PartsOfAll, Algorithm), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let mut handles = Vec::with_capacity(2 * n);
        for distance in 1..n {
            handles.push(self.rank.receive(self.wanted((me + distance) % n)));
        }
        for distance in 1..n {
            let to = (me + n - distance) % n;
            handles.push(self.rank.send(self.members[to], self.context, TAG, Mode::Standard, parts[to].into()));
        }
        self.rank.wait_all(&handles)?;
        let mut got: Vec<Box<[u8]>> = vec![Box::default(); n];
        got[me] = parts[me].into();
        for (idx, handle) in handles.into_iter().enumerate() {
            if let Taken::Received(_, part) = self.rank.take(handle) {
                got[(me + idx + 1) % n] = part;
            }
        }
        Ok((got, Algorithm::Spread))
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<S> {
        let me = self.me;
        (0..self.members.len()).filter(move |member| *member != me)
    }
}
