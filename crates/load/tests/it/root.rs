//! Loads that take root.
