//! Errors for people.

use std::error::Error;

/// An error and what caused it, in one line.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Because(&'static str, Option<Box<Self>>);

    impl fmt::Display for Because {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Because {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn causes_follow_the_error() {
        let disk = Because("the disk is full", None);
        let write = Because("cannot write", Some(Box::new(disk)));
        assert_eq!(
            with_causes(&Because("nothing was kept", Some(Box::new(write)))),
            "nothing was kept: cannot write: the disk is full"
        );
    }
}
