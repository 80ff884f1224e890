//! Tokens in files.

use std::path::Path;

use anyhow::Context;
use feed::transfer::SharedToken;
use stream::Token;

/// The token in a file, line ends and spaces around it left out.
///
/// # Errors
/// When the file cannot be read or holds no token.
pub fn read_token(path: &Path) -> anyhow::Result<String> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read the token in `{}`", path.display()))?;
    let token = text.trim();
    anyhow::ensure!(
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()),
        "`{}` holds no token: one line of visible ASCII characters is needed",
        path.display()
    );
    Ok(token.to_owned())
}

/// The token of transfers, in a file that only its owner may read.
///
/// # Errors
/// When the file cannot be read, others may read it, or it holds no token.
pub fn shared_token(path: &Path) -> anyhow::Result<SharedToken> {
    // Checked as a token first, so that a file which others may read is refused.
    Token::from_file(path)?;
    Ok(SharedToken::new(read_token(path)?)?)
}
