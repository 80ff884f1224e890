//! What AR costs: a fit, and a step with thirty forecasts.

fn main() {}
