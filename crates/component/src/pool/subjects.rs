//! Subjects of measurements and of forecasts.

/// Returns the partition, of `n`, that the hosts of a subject belong to.
///
/// # Panics
/// When `n` is 0.
#[must_use]
pub fn partition_of(subject: &str, n: u32) -> u32 {
    crc32fast::hash(subject.as_bytes()) % n
}

/// Returns the number of samples by which the fits of a subject's host come earlier than those of others.
///
/// # Panics
/// When `every` is 0.
pub(crate) fn refit_offset(subject: &str, every: u64) -> u64 {
    u64::from(crc32fast::hash(subject.as_bytes())) % every
}

/// The part of a pattern before its first wildcard: `foretop.samples.` of `foretop.samples.>`.
fn fixed(pattern: &str) -> &str {
    pattern.find(['*', '>']).map_or(pattern, |end| &pattern[..end])
}

/// Returns the subject of the forecasts of what came in by `subject`: the rest of its words below `prefix`.
pub(crate) fn forecasts(subject: &str, pattern: &str, prefix: &str) -> String {
    format!("{prefix}.{}", subject.strip_prefix(fixed(pattern)).unwrap_or(subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_have_the_words_that_the_pattern_leaves_open() {
        assert_eq!(
            forecasts("foretop.samples.pyramid", "foretop.samples.>", "foretop.forecasts"),
            "foretop.forecasts.pyramid"
        );
        assert_eq!(forecasts("a.b.c", "a.*.c", "f"), "f.b.c");
    }

    #[test]
    fn partitions_are_the_same_everywhere_and_have_about_as_many_each() {
        assert_eq!(partition_of("foretop.samples.pyramid", 64), crc32fast::hash(b"foretop.samples.pyramid") % 64);
        let mut sizes = [0; 16];
        (0..1600).for_each(|host| sizes[partition_of(&format!("foretop.samples.host-{host}"), 16) as usize] += 1);
        assert!(sizes.iter().all(|size| (60..140).contains(size)), "{sizes:?}");
    }
}
