//! The command line of Foretop.

fn main() {}
