//! Allotment of a run's ranks to its applications.

use units::Rank;

use crate::application::{ApplicationError, Applications, Placement};

/// The fewest ranks that any pattern can do with.
const N_RANKS_MIN: u64 = 2;

/// Each application's ranks by their positions in the world, ascending; in the order of the applications.
///
/// Applications that do not say how many ranks they want share what the others leave, the first of them getting one
/// more where that is no whole number each. Ranks that nobody wants stay idle.
///
/// # Errors
/// [`ApplicationError::Ranks`] when there are too few.
pub(crate) fn allot(applications: &Applications, n_ranks: u32) -> Result<Vec<Vec<Rank>>, ApplicationError> {
    let wanted = n_wanted(applications, n_ranks)?;
    let mut next = 0..n_ranks;
    Ok(match applications.placement {
        Placement::Blocked => wanted.iter().map(|&n| next.by_ref().take(n as usize).collect()).collect(),
        Placement::Interleaved => {
            let mut dealt: Vec<Vec<Rank>> = vec![Vec::new(); wanted.len()];
            while dealt.iter().zip(&wanted).any(|(ranks, &n)| ranks.len() < n as usize) {
                for (ranks, &n) in dealt.iter_mut().zip(&wanted) {
                    if ranks.len() < n as usize {
                        ranks.extend(next.next());
                    }
                }
            }
            dealt
        }
    })
}

fn n_wanted(applications: &Applications, n_ranks: u32) -> Result<Vec<u32>, ApplicationError> {
    let told: Vec<Option<u32>> = applications.applications.iter().map(|application| application.ranks).collect();
    let n_told: u64 = told.iter().flatten().map(|&n| u64::from(n)).sum();
    let n_sharing = told.iter().filter(|told| told.is_none()).count() as u64;
    let left = u64::from(n_ranks).saturating_sub(n_told);
    // Who shares alone gets whatever is left, and the pattern says whether it is enough.
    let needed = n_told + n_sharing * if n_sharing > 1 { N_RANKS_MIN } else { 1 };
    if needed > u64::from(n_ranks) {
        return Err(ApplicationError::Ranks { needed, n_ranks });
    }
    let mut n_extra = left.checked_rem(n_sharing).unwrap_or(0);
    let share = |told: Option<u32>| {
        told.unwrap_or_else(|| {
            let extra = u64::from(n_extra > 0);
            n_extra -= extra;
            u32::try_from(left / n_sharing + extra).expect("no more than there are")
        })
    };
    Ok(told.into_iter().map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allotted(placement: &str, ranks: &[Option<u32>], n_ranks: u32) -> Result<Vec<Vec<Rank>>, ApplicationError> {
        let mut text = format!("placement = \"{placement}\"\n");
        for (idx, ranks) in ranks.iter().enumerate() {
            let ranks = ranks.map_or(String::new(), |n| format!("ranks = {n}\n"));
            text += &format!(
                "[[application]]\nname = \"a{idx}\"\npattern = \"ring\"\nsize = \"1KiB\"\nload_percent = 50\n{ranks}"
            );
        }
        allot(&toml::from_str(&text).unwrap(), n_ranks)
    }

    #[test]
    fn blocks_follow_one_another() {
        assert_eq!(allotted("blocked", &[None, None], 5).unwrap(), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(allotted("blocked", &[Some(2), None], 6).unwrap(), [vec![0, 1], vec![2, 3, 4, 5]]);
        assert_eq!(allotted("blocked", &[Some(2)], 6).unwrap(), [vec![0, 1]]);
    }

    #[test]
    fn ranks_are_dealt_in_turn() {
        assert_eq!(allotted("interleaved", &[None, None], 4).unwrap(), [vec![0, 2], vec![1, 3]]);
        assert_eq!(allotted("interleaved", &[Some(2), Some(4)], 6).unwrap(), [vec![0, 2], vec![1, 3, 4, 5]]);
    }

    #[test]
    fn too_few_ranks_are_told_with_how_many_it_takes() {
        for (ranks, n_ranks, needed) in
            [(&[None, None][..], 3, 4), (&[Some(4), Some(4)], 6, 8), (&[Some(2), None], 2, 3)]
        {
            let error = allotted("blocked", ranks, n_ranks).unwrap_err();
            assert_eq!(error.to_string(), format!("the applications need {needed} ranks, but there are {n_ranks}"));
        }
    }
}
