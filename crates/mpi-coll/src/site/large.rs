//! Long messages between sites, in pieces that follow each other: each link carries each byte once, and while a piece
//! is on its way the next one is combined.

use std::ops::Range;

use mpi_tree::{Between, Collective};
use units::Rank;

use super::Sites;
use crate::combine::Combine;
use crate::port::Trouble;

/// Bytes of a piece, which is what a site's memory holds. On 100 Mbit/s it takes 4 ms, about what the first one is
/// behind on arrival.
///
/// With its header it stays below 64 KiB, up to which both libraries send at once over TCP; longer messages first ask
/// the receiver, a round trip more.
pub(crate) const PIECE_BYTES: usize = 48 * 1024;

/// A call that moves more than a piece.
pub(crate) struct Large<'a> {
    /// Allreduce, reduce or bcast.
    pub(crate) collective: Collective,
    /// Root of reduce and bcast.
    pub(crate) root: Rank,
    /// Combination of values for allreduce and reduce, with the bytes of an element.
    pub(crate) combine: Option<(Combine, usize)>,
    pub(crate) n_bytes: usize,
    pub(crate) input: &'a [u8],
    /// Room for the result; empty if there is none to be had.
    pub(crate) output: &'a mut [u8],
}

impl Large<'_> {
    fn pieces(&self) -> Vec<Range<usize>> {
        let element = self.combine.map_or(1, |(_, element)| element);
        let length = PIECE_BYTES / element * element;
        (0..self.n_bytes).step_by(length).map(|start| start..(start + length).min(self.n_bytes)).collect()
    }
}

impl Sites {
    /// Makes such a call. All ranks of the party come here.
    pub(crate) fn call_large(&mut self, large: &mut Large<'_>) -> Result<(), Trouble> {
        match (large.collective, large.combine) {
            (Collective::Bcast, _) => self.bcast(large),
            (Collective::Reduce, Some((combine, _))) => self.reduce(large, combine),
            (Collective::Allreduce, Some((combine, _))) => self.allreduce(large, combine),
            _ => unreachable!("no other call is cut into pieces"),
        }
    }

    fn bcast(&mut self, large: &mut Large<'_>) -> Result<(), Trouble> {
        let (site, root) = self.plan.place(large.root);
        let (pieces, is_here) = (large.pieces(), site == self.own);
        let server = self.server_inside();
        let is_root = is_here && root == self.number;
        if self.is_server() && !is_here {
            self.expect_from(self.server(site), &pieces)?;
        }
        for range in pieces {
            let mut piece = if is_root { large.input[range.clone()].to_vec() } else { vec![0; range.len()] };
            if is_here && root == server {
                self.give_others(&piece)?;
            }
            if self.is_server() && !is_here {
                piece = self.piece_from(self.server(site))?;
            }
            self.bcast_inside(if is_here { root } else { server }, &mut piece)?;
            if is_here && root != server {
                self.give_others(&piece)?;
            }
            if !is_root {
                large.output[range].copy_from_slice(&piece);
            }
        }
        self.until_sent()
    }

    fn reduce(&mut self, large: &mut Large<'_>, combine: Combine) -> Result<(), Trouble> {
        let (site, root) = self.plan.place(large.root);
        let (pieces, is_here) = (large.pieces(), site == self.own);
        let to = if is_here { root } else { self.server_inside() };
        let is_root = is_here && root == self.number;
        if is_root {
            self.others().into_iter().try_for_each(|other| self.expect_from(other, &pieces))?;
        }
        let mut parts = Vec::with_capacity(pieces.len());
        for range in &pieces {
            let part = self.reduce_inside(to, combine, &large.input[range.clone()])?;
            if self.is_server() && !is_here {
                self.between.give(large.root, &part)?;
            }
            parts.push(part);
        }
        for (range, part) in pieces.into_iter().zip(parts).filter(|_| is_root) {
            let whole = self.combine_all(part, combine)?;
            large.output[range].copy_from_slice(&whole);
        }
        self.until_sent()
    }

    fn allreduce(&mut self, large: &mut Large<'_>, combine: Combine) -> Result<(), Trouble> {
        let pieces = large.pieces();
        let server = self.server_inside();
        let is_star = self.plan.between == Between::Reduce;
        // Where parts are joined: everywhere, or at the first site.
        let joins = self.own == 0 || !is_star;
        if self.is_server() && joins {
            self.others().into_iter().try_for_each(|other| self.expect_from(other, &pieces))?;
        } else if self.is_server() {
            self.expect_from(self.server(0), &pieces)?;
        }
        let mut parts = Vec::with_capacity(pieces.len());
        for range in &pieces {
            let part = self.reduce_inside(server, combine, &large.input[range.clone()])?;
            match (self.is_server(), is_star) {
                (true, true) if !joins => self.between.give(self.server(0), &part)?,
                (true, false) => self.give_others(&part)?,
                _ => {}
            }
            parts.push(part);
        }
        for (range, part) in pieces.into_iter().zip(parts) {
            let mut whole = match (self.is_server(), joins) {
                (true, true) => self.combine_all(part, combine)?,
                (true, false) => self.piece_from(self.server(0))?,
                _ => vec![0; range.len()],
            };
            if self.is_server() && joins && is_star {
                self.give_others(&whole)?;
            }
            self.bcast_inside(server, &mut whole)?;
            large.output[range].copy_from_slice(&whole);
        }
        self.until_sent()
    }

    /// This site's part with those of all others, in the order of the sites.
    fn combine_all(&mut self, own: Vec<u8>, combine: Combine) -> Result<Vec<u8>, Trouble> {
        let mut own = Some(own);
        let mut whole: Option<Vec<u8>> = None;
        for site in 0..self.n_sites() {
            let part = match own.take_if(|_| site == self.own) {
                Some(own) => own,
                None => self.piece_from(self.server(site))?,
            };
            match &mut whole {
                Some(whole) => combine(whole, &part),
                None => whole = Some(part),
            }
        }
        Ok(whole.unwrap_or_default())
    }

    fn expect_from(&mut self, from: Rank, pieces: &[Range<usize>]) -> Result<(), Trouble> {
        Ok(pieces.iter().try_for_each(|piece| self.between.expect(from, piece.len()))?)
    }

    fn piece_from(&mut self, from: Rank) -> Result<Vec<u8>, Trouble> {
        self.until(|between| Ok(between.piece(from)?))
    }

    /// Gives a piece to the servers of the other sites, if this rank is the server of its own.
    fn give_others(&mut self, piece: &[u8]) -> Result<(), Trouble> {
        if self.is_server() {
            self.others().into_iter().try_for_each(|other| self.between.give(other, piece))?;
        }
        Ok(())
    }
}
