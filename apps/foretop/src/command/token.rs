//! `foretop token`: makes the files that hold shared secrets.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use secret::{Secret, SecretError};
use text::printable;

use command_line::failure::OrUsage;
use text::help::examples;

/// Too many to be guessed, and short enough for every header.
const N_BYTES: usize = 32;

/// Make a file with a token for nodes, transfers or streams
#[derive(Args)]
#[command(after_help = examples(&["foretop token new flow-token"]))]
pub struct Token {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    New(New),
}

/// Write a new random token to a file that only you can read
///
/// An existing file is left as it is.
#[derive(Args)]
#[command(after_help = examples(&[
    "foretop token new ~/.config/foretop/token && foretop up --listen 0.0.0.0:7311 --token-file ~/.config/foretop/token",
    "foretop token new flow-token && foretop up --responder 0.0.0.0:7312 --flow-token-file flow-token",
]))]
struct New {
    /// The file to make
    file: PathBuf,
}

impl Token {
    pub fn run(self, out: &mut dyn Write) -> anyhow::Result<()> {
        let What::New(New { file }) = self.what;
        let mut bytes = [0; N_BYTES];
        getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
        match secret::create(&file, &Secret::new(hexadecimal(&bytes))) {
            Err(error @ SecretError::Exists { .. }) => return Err(error).or_usage(),
            made => made?,
        }
        let file = printable(&file.display().to_string());
        writeln!(out, "`{file}` holds a new token; only you can read it. Both ends need the same one:")?;
        writeln!(out, "  nodes and their clients   --token-file {file}")?;
        writeln!(out, "  --flow, --responder       --flow-token-file {file}")?;
        writeln!(out, "  --stream, --follow        --stream-token-file {file}")?;
        Ok(writeln!(out, "Copy it to other hosts with its mode: scp -p {file} HOST:")?)
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_two_digits() {
        assert_eq!(hexadecimal(&[0, 10, 255]), "000aff");
    }
}
