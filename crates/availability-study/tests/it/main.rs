//! Studies from outside: journals that are read, taken up again, refused; tables that are computed from them.
#![forbid(unsafe_code)]

mod journal;
mod tables;
