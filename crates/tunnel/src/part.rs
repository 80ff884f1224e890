//! Components: what knows a protocol well enough to say which bytes of a stream belong together.
//!
//! A component sees what a program says, piece by piece, and cuts it into parts, each for a *lane*. The bytes of a lane
//! are looked for as one stream, so that heads between two bodies do not hide that the second goes on where the first
//! did the last time. Bytes arrive in the order in which they were said, whatever is cut: a component that takes bytes
//! for something else costs savings, never a byte.

mod http;

use std::collections::BTreeMap;

pub(crate) use http::Http;

/// Lanes of a stream.
pub const N_LANES: u8 = 4;

/// So many bytes that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of bytes.
    pub n_bytes: usize,
    /// The lane to which the bytes belong, less than [`N_LANES`].
    pub lane: u8,
}

/// A parser of a protocol. There is one for each direction of each stream.
pub trait Component: Send {
    /// Cuts what a program said next. The parts cover all of it; what is left goes to lane 0.
    fn cut(&mut self, said: &[u8]) -> Vec<Part>;
}

/// The components that an end knows, by the names that configurations use. Both ends need those that the near end's
/// `forward` names.
#[derive(Clone)]
pub struct Components(BTreeMap<String, fn() -> Box<dyn Component>>);

/// Bytes as they are.
struct Raw;

impl Default for Components {
    /// `tcp`, bytes as they are, and `http`, which has heads apart.
    fn default() -> Self {
        let none = Self(BTreeMap::new());
        none.with("tcp", || Box::new(Raw)).with("http", || Box::<Http>::default())
    }
}

impl std::fmt::Debug for Components {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Components {
    /// The same with another one, in place of one of that name.
    #[must_use]
    pub fn with(mut self, name: &str, make: fn() -> Box<dyn Component>) -> Self {
        self.0.insert(name.to_owned(), make);
        self
    }

    /// All names, for messages.
    pub(crate) fn names(&self) -> String {
        self.0.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn make(&self, name: &str) -> Option<Box<dyn Component>> {
        self.0.get(name).map(|make| make())
    }
}

impl Component for Raw {
    fn cut(&mut self, said: &[u8]) -> Vec<Part> {
        vec![Part { n_bytes: said.len(), lane: 0 }]
    }
}

/// Parts that are none too many, none empty and none of a lane that is not there, whatever a component says.
pub(crate) fn checked(parts: Vec<Part>, n_said: usize) -> Vec<Part> {
    let mut n_left = n_said;
    let mut taken: Vec<Part> = Vec::with_capacity(parts.len());
    let rest = [Part { n_bytes: n_said, lane: 0 }];
    for part in parts.iter().chain(&rest) {
        let part = Part { n_bytes: part.n_bytes.min(n_left), lane: part.lane.min(N_LANES - 1) };
        n_left -= part.n_bytes;
        match taken.last_mut() {
            _ if part.n_bytes == 0 => {}
            Some(last) if last.lane == part.lane => last.n_bytes += part.n_bytes,
            _ => taken.push(part),
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_component_says_all_bytes_are_in_parts() {
        let part = |n_bytes, lane| Part { n_bytes, lane };
        for (said, expected) in [
            (vec![], vec![part(10, 0)]),
            (vec![part(3, 1)], vec![part(3, 1), part(7, 0)]),
            (vec![part(3, 1), part(0, 2), part(2, 1), part(5, 0)], vec![part(5, 1), part(5, 0)]),
            (vec![part(usize::MAX, 200), part(1, 0)], vec![part(10, N_LANES - 1)]),
        ] {
            assert_eq!(checked(said, 10), expected);
        }
        assert!(checked(vec![part(1, 0)], 0).is_empty());
    }
}
