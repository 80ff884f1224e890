//! Data that go along trees and rings in segments, so that all of a chain of ranks are busy at once.

use std::ops::Range;

use super::{Algorithm, Block, Combine, Group};
use crate::message::Handle;
use crate::switch::Switch;
use crate::world::Stopped;

/// A place's neighbours in a tree, as members.
struct Branch {
    parent: Option<usize>,
    children: Vec<usize>,
}

impl<S: Switch> Group<'_, '_, S> {
    /// Brings the root's data from each member to the next.
    pub(super) fn pipeline_down(&mut self, root: usize, data: &mut Block, segment: usize) -> Result<(), Stopped> {
        let branch = self.chain(root);
        self.down_in_segments(&branch, data, 0..data.len(), segment)
    }

    /// Brings half of the root's data down each side of a binary tree; then pairs of members of both sides exchange
    /// halves.
    pub(super) fn split_binary(&mut self, root: usize, data: &mut Block, segment: usize) -> Result<(), Stopped> {
        let (n, place) = (self.members.len(), self.place(root));
        let middle = data.len().div_ceil(2);
        let halves = [0..middle, middle..data.len()];
        if n == 1 {
            return Ok(());
        }
        // An even number of members leaves the last one, which is on the first side, without a partner.
        let last_alone = n.is_multiple_of(2).then(|| self.at(root, n - 1));
        if place == 0 {
            let cut = halves.clone().map(|half| segments(half, segment).collect::<Vec<_>>());
            for nth in 0..cut[0].len().max(cut[1].len()) {
                let sides = [1, 2].into_iter().zip(&cut).filter(|(child, _)| *child < n);
                let parts =
                    sides.filter_map(|(child, side)| Some((self.at(root, child), data.part(side.get(nth)?.clone()))));
                let parts: Vec<(usize, Block)> = parts.collect();
                self.send_all(parts)?;
            }
            if let Some(last) = last_alone {
                self.send(last, data.part(halves[1].clone()))?;
            }
            return Ok(());
        }
        let is_first_side = !place.is_multiple_of(2);
        let [own, other] = if is_first_side { [0, 1] } else { [1, 0] }.map(|side| halves[side].clone());
        let branch = self.binary(root);
        self.down_in_segments(&branch, data, own.clone(), segment)?;
        let got = if is_first_side && place == n - 1 {
            self.receive(root)?
        } else {
            let partner = self.at(root, if is_first_side { place + 1 } else { place - 1 });
            self.exchange(partner, data.part(own), partner)?
        };
        data.put(other, &got);
        Ok(())
    }

    /// Combines everybody's data along a chain or a binary tree, into the root's.
    pub(super) fn reduce_in_segments(
        &mut self,
        root: usize,
        data: &mut Block,
        combine: &Combine<'_>,
        (algorithm, segment): (Algorithm, usize),
    ) -> Result<(), Stopped> {
        let branch = if algorithm == Algorithm::Binary { self.binary(root) } else { self.chain(root) };
        // No value is cut.
        let segment = (segment / combine.value_bytes.max(1)).max(1).saturating_mul(combine.value_bytes.max(1));
        for at in segments(0..data.len(), segment) {
            for part in self.receive_all(&branch.children)? {
                data.combine(at.clone(), &part, combine);
            }
            if let Some(parent) = branch.parent {
                self.send(parent, data.part(at))?;
            }
        }
        Ok(())
    }

    /// Combines everybody's data into everybody's: each block goes around the ring once to be combined, and once to be
    /// known.
    pub(super) fn ring_allreduce(
        &mut self,
        data: &mut Block,
        combine: &Combine<'_>,
        segment: usize,
    ) -> Result<(), Stopped> {
        let (n, me, value_bytes) = (self.members.len(), self.me, combine.value_bytes.max(1));
        let n_values = data.len() / value_bytes;
        let at = |idx: usize| n_values * idx / n * value_bytes..n_values * (idx + 1) / n * value_bytes;
        let most = (0..n).map(|idx| at(idx).len()).max().unwrap_or(0);
        let segment = (segment / value_bytes).max(1).saturating_mul(value_bytes);
        for from in (0..most).step_by(segment.min(most.max(1))) {
            let part_of = |idx: usize| {
                let block = at(idx);
                (block.start + from).min(block.end)
                    ..block.start.saturating_add(from).saturating_add(segment).min(block.end)
            };
            for step in 0..n - 1 {
                let (sent, received) = (part_of((me + n - step) % n), part_of((me + 2 * n - step - 1) % n));
                let part = self.exchange((me + 1) % n, data.part(sent), (me + n - 1) % n)?;
                data.combine(received, &part, combine);
            }
        }
        self.ring((me + 1) % n, data, at)
    }

    /// Brings everybody's block to all: pairs exchange what they have, with the neighbour on one side and on the other
    /// in turn.
    pub(super) fn neighbour_exchange(&mut self, data: &mut Block) -> Result<(), Stopped> {
        let (n, me) = (self.members.len(), self.me);
        let block = data.len() / n;
        let is_even = me.is_multiple_of(2);
        let neighbours = if is_even { [(me + 1) % n, (me + n - 1) % n] } else { [(me + n - 1) % n, (me + 1) % n] };
        let part = self.exchange(neighbours[0], data.part(me * block..(me + 1) * block), neighbours[0])?;
        data.put(neighbours[0] * block..(neighbours[0] + 1) * block, &part);
        // Blocks go in pairs, of which the first is even.
        let first = if is_even { me } else { neighbours[0] };
        let (mut sent, mut received) = (first, [first; 2]);
        let ahead = if is_even { [2, n - 2] } else { [n - 2, 2] };
        for step in 1..n / 2 {
            let side = step % 2;
            received[side] = (received[side] + ahead[side]) % n;
            let own = data.part(sent * block..(sent + 2) * block);
            let part = self.exchange(neighbours[side], own, neighbours[side])?;
            sent = received[side];
            data.put(sent * block..(sent + 2) * block, &part);
        }
        Ok(())
    }

    fn chain(&self, root: usize) -> Branch {
        let (n, place) = (self.members.len(), self.place(root));
        let parent = place.checked_sub(1).map(|before| self.at(root, before));
        Branch { parent, children: (place + 1..n).take(1).map(|after| self.at(root, after)).collect() }
    }

    /// Places of a level follow each other; odd ones are below the root's first child, even ones below its second.
    fn binary(&self, root: usize) -> Branch {
        let (n, place) = (self.members.len(), self.place(root));
        let width = 1 << (place + 1).ilog2();
        let parent = (place > 0).then(|| {
            let near = place - width / 2;
            if near < width - 1 { near } else { place - width }
        });
        let children = [place + width, place + 2 * width].into_iter().filter(|child| *child < n);
        Branch {
            parent: parent.map(|parent| self.at(root, parent)),
            children: children.map(|child| self.at(root, child)).collect(),
        }
    }

    fn down_in_segments(
        &mut self,
        branch: &Branch,
        data: &mut Block,
        whole: Range<usize>,
        segment: usize,
    ) -> Result<(), Stopped> {
        for at in segments(whole, segment) {
            if let Some(parent) = branch.parent {
                let part = self.receive(parent)?;
                data.put(at.clone(), &part);
            }
            let parts = branch.children.iter().map(|child| (*child, data.part(at.clone()))).collect();
            self.send_all(parts)?;
        }
        Ok(())
    }

    fn send_all(&mut self, parts: Vec<(usize, Block)>) -> Result<(), Stopped> {
        let handles: Vec<Handle> = parts.into_iter().map(|(to, part)| self.begin_to_send(to, part)).collect();
        self.rank.wait_all(&handles)?;
        handles.into_iter().for_each(|handle| drop(self.rank.take(handle)));
        Ok(())
    }

    pub(super) fn receive_all(&mut self, from: &[usize]) -> Result<Vec<Block>, Stopped> {
        let handles: Vec<Handle> = from.iter().map(|from| self.rank.receive(self.wanted(*from))).collect();
        self.rank.wait_all(&handles)?;
        Ok(handles.into_iter().map(|handle| self.take(handle)).collect())
    }
}

/// Parts of so many bytes, and what is left; one of none where there are no bytes.
fn segments(whole: Range<usize>, segment: usize) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = whole;
    let n_segments = (end - start).div_ceil(segment).max(1);
    (0..n_segments).map(move |nth| {
        let from = start + nth * segment.min(end - start);
        from..from.saturating_add(segment).min(end)
    })
}
