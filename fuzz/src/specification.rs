//! Any text is a specification or is refused with a reason.

use predict::Spec;

/// Returns whether it is one.
///
/// # Panics
/// When the text of what was read is not read as the same.
pub fn specification(bytes: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(bytes) else {
        return false;
    };
    match text.parse::<Spec>() {
        Ok(spec) => {
            let canonical = spec.to_string();
            assert_eq!(canonical.parse().as_ref(), Ok(&spec), "`{text}` reads, and its text `{canonical}` does not");
            assert!(spec.n_samples_min() > 0, "`{canonical}` needs no samples");
            assert!(
                spec.n_samples_min() >= spec.inner().n_samples_min(),
                "`{canonical}` needs less than what it holds"
            );
            true
        }
        Err(reason) => {
            assert!(!reason.to_string().is_empty(), "`{text}` is refused without a reason");
            false
        }
    }
}
