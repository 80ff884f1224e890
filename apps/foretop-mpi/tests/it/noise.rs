//! foretop-noise.
