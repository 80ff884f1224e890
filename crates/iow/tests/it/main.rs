//! Runs on this host's folder for temporary files, and the digits of SESAME's report.

mod report;
mod runs;
