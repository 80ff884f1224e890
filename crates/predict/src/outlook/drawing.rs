//! Futures of one series on the way, lead after lead, from shocks that somebody else draws.

use statrs::distribution::{ContinuousCDF, Normal};

use super::Outlook;
use super::forecast::between;
use super::paths::{Errors, Paths};
use super::rung::Persistence;

pub(super) struct Drawing<'a> {
    outlook: &'a Outlook,
    /// At each watched lead.
    errors: Vec<Errors>,
    lead: usize,
    /// The errors of all paths at this lead as normal variables: what lasts, and what is gone at the next.
    lasting: Vec<f64>,
    passing: Vec<f64>,
    paths: Paths,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(outlook: &'a Outlook, n_paths: usize, n_leads: usize) -> Self {
        Self {
            errors: outlook.errors().iter().map(|(shares, unit)| Errors::new(shares, *unit)).collect(),
            outlook,
            lead: 0,
            lasting: vec![0.0; n_paths],
            passing: vec![0.0; n_paths],
            paths: Paths::new(n_paths, n_leads),
        }
    }

    /// Goes on to the next lead by shocks of what lasts, one for each path. Whether there is something that passes.
    pub(super) fn go_on(&mut self, shocks: &[f64]) -> bool {
        self.lead += 1;
        let Persistence { kept, passing } = self.persistence();
        let fresh = (1.0 - kept * kept).sqrt();
        self.lasting.iter_mut().zip(shocks).for_each(|(error, shock)| *error = kept * *error + fresh * shock);
        passing > 0.0
    }

    /// Takes shocks of what passes.
    pub(super) fn pass(&mut self, shocks: &[f64]) {
        self.passing.copy_from_slice(shocks);
    }

    /// Draws the values of this lead.
    pub(super) fn push(&mut self) {
        let place = self.outlook.place(self.lead);
        let said = self.outlook.combined(self.lead, place);
        let Persistence { passing: share, .. } = self.persistence();
        let (of_lasting, of_passing) = ((1.0 - share).sqrt(), share.sqrt());
        let (near, far) = (&self.errors[place.below], &self.errors[place.above]);
        let Outlook { transform, .. } = self.outlook;
        let parts = self.lasting.iter().zip(&self.passing);
        if self.outlook.level.drift().is_some() {
            let normal = Normal::standard();
            let adrift = |lasting: f64| self.outlook.adrift(self.lead, normal.cdf(lasting)).unwrap_or(said);
            let values = parts.map(|(lasting, passing)| adrift(*lasting) + self.errors[0].at(*passing));
            return self.paths.push(values.map(|value| self.outlook.nearest(transform.to_value(value))));
        }
        let normals = parts.map(|(one, other)| of_lasting * one + of_passing * other);
        self.paths.push(normals.map(|normal| {
            let error = between(near.at(normal), far.at(normal), place.share);
            self.outlook.nearest(transform.to_value(said + error))
        }));
    }

    pub(super) fn into_paths(self) -> Paths {
        self.paths
    }

    fn persistence(&self) -> Persistence {
        if self.outlook.level.drift().is_some() {
            // For how long it goes on is drawn once; the rest passes.
            return Persistence { kept: if self.lead > 1 { 1.0 } else { 0.0 }, passing: 1.0 };
        }
        self.outlook.persistence(self.outlook.place(self.lead))
    }
}
