//! Operations that leave each member with a part of the whole: gathers, scatters, scans, and those with parts of
//! different lengths.

use super::{Algorithm, Block, Call, Combine, Group, doublings, halvings, span};
use crate::message::Handle;
use crate::switch::Switch;
use crate::world::Stopped;

impl<S: Switch> Group<'_, '_, S> {
    /// Brings everybody's block of the same length to the root, in the order of members; others get nothing.
    ///
    /// # Errors
    /// Where the simulation has stopped, as in all that follow.
    pub fn gather(&mut self, root: usize, block: &Block) -> Result<(Block, Algorithm), Stopped> {
        if let Some(schedule) = self.schedule(Call::Gather, block.len()) {
            return self.tree_gather(&schedule, root, block);
        }
        let (n, place) = (self.members.len(), self.place(root));
        let (algorithm, segment) =
            self.named(Call::Gather, block.len()).unwrap_or_else(|| self.rules().gather(n, block.len()));
        if algorithm != Algorithm::Binomial {
            let parts = match algorithm {
                Algorithm::LinearInTurn => self.gather_in_turn(root, block, segment)?,
                _ => self.gather_parts(root, block)?.0,
            };
            let mut all = block.like(0);
            parts.iter().for_each(|part| all.append(part));
            return Ok((all, algorithm));
        }
        let mut collected = block.clone();
        for distance in doublings(n) {
            if place & distance != 0 {
                self.send(self.at(root, place - distance), collected)?;
                return Ok((block.like(0), Algorithm::Binomial));
            }
            if place + distance < n {
                collected.append(&self.receive(self.at(root, place + distance))?);
            }
        }
        // From the order of places to that of members.
        collected.rotate_right(root * block.len());
        Ok((collected, Algorithm::Binomial))
    }

    /// Brings each member its block of the root's `data`, of which only the root's counts.
    pub fn scatter(&mut self, root: usize, data: &Block, block: usize) -> Result<(Block, Algorithm), Stopped> {
        if let Some(schedule) = self.schedule(Call::Scatter, block) {
            return self.tree_scatter(&schedule, root, data, block);
        }
        let (n, place) = (self.members.len(), self.place(root));
        let algorithm =
            self.named(Call::Scatter, block).map_or_else(|| self.rules().scatter(n, block), |(algorithm, _)| algorithm);
        if algorithm == Algorithm::Linear {
            let n_parts = if place == 0 { n } else { 0 };
            let parts: Vec<Block> = (0..n_parts).map(|to| data.part(to * block..(to + 1) * block)).collect();
            return self.scatter_parts(root, &parts);
        }
        let span = span(place, n);
        let mut part = if place == 0 {
            let mut turned = data.clone();
            turned.rotate_left(root * block);
            turned
        } else {
            self.receive(self.at(root, place - span))?
        };
        for distance in halvings(span).filter(|distance| place + distance < n) {
            let rest = part.split_off(distance * block);
            self.send(self.at(root, place + distance), rest)?;
        }
        part.split_off(block);
        Ok((part, Algorithm::Binomial))
    }

    /// Combines into each member's `data` those of all members before it; with `includes_own`, its own too. Without,
    /// the first member's are left as they are.
    pub fn scan(&mut self, data: &mut Block, combine: &Combine<'_>, includes_own: bool) -> Result<Algorithm, Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let algorithm =
            self.named(Call::Scan, data.len()).map_or_else(|| self.rules().scan(), |(algorithm, _)| algorithm);
        if algorithm == Algorithm::Linear {
            let before = if me > 0 { Some(self.receive(me - 1)?) } else { None };
            let mut whole = data.clone();
            if let Some(before) = &before {
                whole.combine_all(before, combine);
            }
            if me + 1 < n {
                self.send(me + 1, whole.clone())?;
            }
            match before {
                _ if includes_own => *data = whole,
                Some(before) => *data = before,
                None => {}
            }
            return Ok(Algorithm::Linear);
        }
        let mut whole = data.clone();
        let mut has_result = includes_own;
        for partner in doublings(n).map(|distance| me ^ distance).filter(|partner| *partner < n) {
            let part = self.exchange(partner, whole.clone(), partner)?;
            whole.combine_all(&part, combine);
            if partner < me {
                if has_result {
                    data.combine_all(&part, combine);
                } else {
                    *data = part;
                    has_result = true;
                }
            }
        }
        Ok(Algorithm::RecursiveDoubling)
    }

    /// Combines everybody's `data`, and gives each member its block of the result.
    pub fn reduce_scatter(&mut self, data: &mut Block, combine: &Combine<'_>) -> Result<(Block, Algorithm), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let block = data.len() / n;
        let own = me * block..(me + 1) * block;
        let algorithm = self
            .named(Call::ReduceScatter, block)
            .map_or_else(|| self.rules().reduce_scatter(n, data.len()), |(algorithm, _)| algorithm);
        if algorithm == Algorithm::Ring {
            let at = |idx: usize| idx % n * block..(idx % n + 1) * block;
            for step in 0..n - 1 {
                let (sent, received) = (at(me + 2 * n - 1 - step), at(me + 2 * n - 2 - step));
                let part = self.exchange((me + 1) % n, data.part(sent), (me + n - 1) % n)?;
                data.combine(received, &part, combine);
            }
            return Ok((data.part(own), algorithm));
        }
        if algorithm == Algorithm::Pairwise {
            let mut result = data.part(own);
            for distance in 1..n {
                let (to, from) = ((me + distance) % n, (me + n - distance) % n);
                let part = self.exchange(to, data.part(to * block..(to + 1) * block), from)?;
                result.combine_all(&part, combine);
            }
            return Ok((result, Algorithm::Pairwise));
        }
        let most = 1 << n.ilog2();
        let n_pairs = n - most;
        let is_paired = me < 2 * n_pairs;
        if is_paired && me.is_multiple_of(2) {
            self.send(me + 1, data.clone())?;
            return Ok((self.receive(me + 1)?, Algorithm::RecursiveHalving));
        }
        if is_paired {
            let part = self.receive(me - 1)?;
            data.combine_all(&part, combine);
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
            let part = self.exchange(partner, data.part(from(sent.0)..from(sent.1)), partner)?;
            data.combine(from(kept.0)..from(kept.1), &part, combine);
            (low, high) = kept;
        }
        if is_paired {
            self.send(me - 1, data.part(own.start - block..own.start))?;
        }
        Ok((data.part(own), Algorithm::RecursiveHalving))
    }

    /// Brings everybody's part, of any length, to the root, in the order of members; others get nothing.
    pub fn gather_parts(&mut self, root: usize, part: &Block) -> Result<(Vec<Block>, Algorithm), Stopped> {
        if self.me != root {
            self.send(root, part.clone())?;
            return Ok((Vec::new(), Algorithm::Linear));
        }
        let wanted: Vec<_> = self.others().map(|from| self.wanted(from)).collect();
        let handles: Vec<Handle> = wanted.into_iter().map(|wanted| self.rank.receive(wanted)).collect();
        self.rank.wait_all(&handles)?;
        let mut parts: Vec<Block> = handles.into_iter().map(|handle| self.take(handle)).collect();
        parts.insert(root, part.clone());
        Ok((parts, Algorithm::Linear))
    }

    /// Brings each member its part of the root's, which may differ in length; only the root's count.
    pub fn scatter_parts(&mut self, root: usize, parts: &[Block]) -> Result<(Block, Algorithm), Stopped> {
        if self.me != root {
            return Ok((self.receive(root)?, Algorithm::Linear));
        }
        let others: Vec<usize> = self.others().collect();
        let handles: Vec<Handle> = others.into_iter().map(|to| self.begin_to_send(to, parts[to].clone())).collect();
        self.rank.wait_all(&handles)?;
        handles.into_iter().for_each(|handle| drop(self.rank.take(handle)));
        Ok((parts[root].clone(), Algorithm::Linear))
    }

    /// Brings everybody's part, of any length, to all, in the order of members.
    pub fn allgather_parts(&mut self, part: &Block) -> Result<(Vec<Block>, Algorithm), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let mut parts = vec![Block::Size(0); n];
        parts[me] = part.clone();
        for step in 1..n {
            let passed_on = parts[(me + n - step + 1) % n].clone();
            parts[(me + n - step) % n] = self.exchange((me + 1) % n, passed_on, (me + n - 1) % n)?;
        }
        Ok((parts, Algorithm::Ring))
    }

    /// Brings each member its part, of any length, and gives what all sent to this one.
    pub fn alltoall_parts(&mut self, parts: Vec<Block>) -> Result<(Vec<Block>, Algorithm), Stopped> {
        Ok((self.spread(parts)?, Algorithm::Spread))
    }

    /// The root asks each member for its block, and takes the first segment before it asks the next.
    fn gather_in_turn(&mut self, root: usize, block: &Block, segment: usize) -> Result<Vec<Block>, Stopped> {
        let first = segment.min(block.len());
        if self.me != root {
            self.receive(root)?;
            self.send(root, block.part(0..first))?;
            self.send(root, block.part(first..block.len()))?;
            return Ok(Vec::new());
        }
        let others: Vec<usize> = self.others().collect();
        let (mut parts, mut rest) = (Vec::with_capacity(others.len() + 1), Vec::with_capacity(others.len()));
        for from in others {
            let begun = self.rank.receive(self.wanted(from));
            self.send(from, Block::Size(0))?;
            rest.push(self.rank.receive(self.wanted(from)));
            self.rank.wait_all(&[begun])?;
            parts.push(self.take(begun));
        }
        self.rank.wait_all(&rest)?;
        for (part, handle) in parts.iter_mut().zip(rest) {
            part.append(&self.take(handle));
        }
        parts.insert(root, block.clone());
        Ok(parts)
    }

    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<S> {
        let me = self.me;
        (0..self.members.len()).filter(move |member| *member != me)
    }
}
