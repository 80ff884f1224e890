//! Futures of one series on the way, lead after lead, from shocks that somebody else draws.

use statrs::distribution::{ContinuousCDF, Normal};

use super::forecast::{Place, between};
use super::paths::{Errors, Paths};
use super::rung::Persistence;
use super::view::OutlookView;

pub(super) struct Drawing<'a> {
    outlook: OutlookView<'a>,
    /// Errors at each watched lead.
    errors: Vec<Errors>,
    lead: usize,
    /// The errors of all paths at this lead as normal variables: what lasts, and what is gone at the next.
    lasting: Vec<f64>,
    passing: Vec<f64>,
    paths: Paths,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(outlook: OutlookView<'a>, n_paths: usize, n_leads: usize) -> Self {
        Self {
            errors: outlook.errors().map(|(shares, units)| Errors::new(&shares, units)).collect(),
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
        // Nothing is there that could last.
        let kept = if self.lead > 1 { kept } else { 0.0 };
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
        let Self { outlook, lead, .. } = *self;
        let said = outlook.combined(lead, outlook.place(lead));
        let Persistence { passing: share, .. } = self.persistence();
        let (of_lasting, of_passing) = ((1.0 - share).sqrt(), share.sqrt());
        let Place { below, above, share } = outlook.place_of_errors(lead);
        let (near, far) = (&self.errors[below], &self.errors[above]);
        let (standard, centre) = (Normal::standard(), outlook.centre(lead, said));
        let values = self.lasting.iter().zip(&self.passing).map(|(lasting, passing)| {
            let central = centre(standard.cdf(*lasting));
            let normal = of_lasting * lasting + of_passing * passing;
            let error = between(near.at(normal), far.at(normal), share);
            outlook.nearest(outlook.transform.to_value(central + error))
        });
        self.paths.push(values);
    }

    pub(super) fn into_paths(self) -> Paths {
        self.paths
    }

    fn persistence(&self) -> Persistence {
        self.outlook.persistence(self.outlook.place(self.lead))
    }
}
