//! Does nothing: without it, the dependencies of build scripts would not count.

fn main() {}
