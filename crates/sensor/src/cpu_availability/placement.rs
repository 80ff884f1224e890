//! Whole tasks on whole cores: what the fluid of [`fair`](super::fair) leaves out when tasks come and go.
//!
//! The kernel puts a task that wakes up on a core that is idle, and when none is, on the one where it ran last or any
//! that is not longer than the others; a task that never sleeps stays where it is until queues differ by two. So with
//! one task more than cores, the one that stays does not have its part of all cores: it has a core of its own or half
//! of one, and those that come and go have to share where they meet. Both parts differ from the fluid's, by up to a
//! tenth of a core on two cores. Model and comparison with real tasks: `docs/decisions/cpu-availability.md`.

/// Tasks of equal weight that all want a core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crowd {
    /// The number of cores that the tasks share. Positive.
    pub n_cores: u32,
    /// The number of tasks that never sleep. Positive.
    pub n_residents: u32,
    /// The number of tasks that sleep at times.
    pub n_visitors: u32,
}

/// The mean part of each task of a crowd, in cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Portions {
    pub resident: f64,
    pub visitor: f64,
}

impl Crowd {
    pub(crate) fn n_tasks(self) -> f64 {
        f64::from(self.n_residents) + f64::from(self.n_visitors)
    }

    /// Returns the part of each task until the next visitor comes or goes.
    pub(crate) fn portions(self) -> Portions {
        let Crowd { n_cores, n_residents, n_visitors } = self;
        let n_tasks = n_residents.saturating_add(n_visitors);
        let (n_least, n_long) = (n_tasks / n_cores, n_tasks % n_cores);
        // Residents alone are moved about until they are even, and so are more of them than there are cores.
        if n_least == 0 || n_long == 0 || n_visitors == 0 || n_residents > n_cores {
            let even = (f64::from(n_cores) / f64::from(n_tasks.max(1))).min(1.0);
            return Portions { resident: even, visitor: even };
        }
        let cores = f64::from(n_cores);
        let (on_short, on_long) = (1.0 / f64::from(n_least), 1.0 / f64::from(n_least + 1));
        let others = f64::from(n_residents - 1);
        // Residents have different cores, and a visitor makes any of the shortest queues longer. Of `n_long` long
        // queues on the other cores, each other resident has its part.
        let work_beside = |part: f64, n_long: f64| {
            let chance_long = n_long / (cores - 1.0);
            cores - part - others * (chance_long * on_long + (1.0 - chance_long) * on_short)
        };
        let n_long = f64::from(n_long);
        let (work_if_short, work_if_long) = (work_beside(on_short, n_long), work_beside(on_long, n_long - 1.0));
        // The faster the visitors get on with their work, the sooner it is over.
        let time_short = (1.0 - n_long / cores) / work_if_short;
        let time_long = n_long / cores / work_if_long;
        let chance_short = time_short / (time_short + time_long);
        let mean = |if_short: f64, if_long: f64| chance_short * if_short + (1.0 - chance_short) * if_long;
        Portions {
            resident: mean(on_short, on_long),
            visitor: mean(work_if_short, work_if_long) / f64::from(n_visitors),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(n_cores: u32, n_residents: u32, n_visitors: u32, resident: f64, visitor: f64) {
        let portions = Crowd { n_cores, n_residents, n_visitors }.portions();
        // A few roundings of quotients near 1.
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(is_near(portions.resident, resident) && is_near(portions.visitor, visitor), "{portions:?}");
    }

    #[test]
    fn as_many_as_cores_have_one_each() {
        check(2, 1, 1, 1.0, 1.0);
        check(4, 3, 0, 1.0, 1.0);
    }

    #[test]
    fn even_queues_are_a_fluid() {
        check(2, 1, 3, 0.5, 0.5);
        check(1, 1, 4, 0.2, 0.2);
        check(2, 3, 0, 2.0 / 3.0, 2.0 / 3.0);
    }

    #[test]
    fn one_that_stays_gains_from_two_that_come_and_go() {
        // Alone on its core at first as often as not; then the visitors take 1 to get 1, otherwise 1.5.
        check(2, 1, 2, 0.6 + 0.4 / 2.0, 0.6);
    }

    #[test]
    fn a_visitor_has_to_share_with_one_of_two_that_stay() {
        check(2, 2, 1, 0.75, 0.5);
    }

    proptest! {
        #[test]
        fn all_cores_are_used_and_nobody_has_more_than_one(
            n_cores in 1_u32..130, n_residents in 1_u32..200, n_visitors in 0_u32..40,
        ) {
            let crowd = Crowd { n_cores, n_residents, n_visitors };
            let Portions { resident, visitor } = crowd.portions();
            prop_assert!(resident > 0.0 && resident <= 1.0 && visitor > 0.0 && visitor <= 1.0 + 1e-12);
            let fluid = (f64::from(n_cores) / crowd.n_tasks()).min(1.0);
            prop_assert!(resident >= fluid - 1e-12, "{resident} of {fluid}");
        }
    }
}
