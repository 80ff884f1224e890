//! foretop-comb.
