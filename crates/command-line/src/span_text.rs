//! Lengths of time in a configuration, as people write them: for serde's `with`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de};
use units::span;

/// Writes a length of time as people do.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&span::format(*value))
}

/// Reads a length of time with its unit.
///
/// # Errors
/// If the text is no length of time.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    span::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// The same where a key may be left out.
pub mod optional {
    use std::time::Duration;

    use serde::{Deserializer, Serialize, Serializer};
    use units::span;

    /// Writes a length of time, if there is one.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(span::format).serialize(serializer)
    }

    /// Reads a length of time with its unit.
    ///
    /// # Errors
    /// If the text is no length of time.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        super::deserialize(deserializer).map(Some)
    }
}
