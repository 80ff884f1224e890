//! The words of SDDF in ASCII, with their lines.

use std::io::{BufRead, ErrorKind};

use crate::Error;

/// A longer word is none that a file has.
const WORD_MAX: usize = 16 << 20;

/// More letters of a file in a message help nobody.
const WRONG_MAX: usize = 200;

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A letter that stands for itself; two of them for `;;`, `//`, `/*` and `*/`.
    Mark(&'static str),
    /// Text in quotes.
    Text(String),
    /// Letters, digits and the like: names of types, and numbers.
    Word(String),
}

/// Cuts a text into words.
pub struct Tokens<R> {
    input: R,
    line: u64,
    ahead: Option<u8>,
}

const SINGLE: [(u8, &str); 7] =
    [(b'{', "{"), (b'}', "}"), (b'[', "["), (b']', "]"), (b',', ","), (b'#', "#"), (b':', ":")];

impl<R: BufRead> Tokens<R> {
    pub fn new(input: R) -> Self {
        Self { input, line: 1, ahead: None }
    }

    /// Returns the error at this place; of a long text, its beginning.
    pub fn wrong(&self, what: impl Into<String>) -> Error {
        let mut what = what.into();
        if let Some((place, _)) = what.char_indices().nth(WRONG_MAX) {
            what.truncate(place);
            what.push('…');
        }
        Error::Sddf { line: self.line, what }
    }

    fn peek(&mut self) -> Result<Option<u8>, Error> {
        if self.ahead.is_none() {
            self.ahead = self.byte()?;
        }
        Ok(self.ahead)
    }

    fn byte(&mut self) -> Result<Option<u8>, Error> {
        loop {
            let byte = match self.input.fill_buf() {
                Ok(bytes) => bytes.first().copied(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::Read(error)),
            };
            if byte.is_some() {
                self.input.consume(1);
            }
            return Ok(byte);
        }
    }

    fn next_byte(&mut self) -> Result<Option<u8>, Error> {
        let byte = match self.ahead.take() {
            Some(byte) => Some(byte),
            None => self.byte()?,
        };
        self.line += u64::from(byte == Some(b'\n'));
        Ok(byte)
    }

    /// The next word, or nothing at the end.
    pub fn next(&mut self) -> Result<Option<Token>, Error> {
        while self.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.next_byte()?;
        }
        let Some(byte) = self.next_byte()? else { return Ok(None) };
        if let Some((_, mark)) = SINGLE.iter().find(|(single, _)| *single == byte) {
            return Ok(Some(Token::Mark(mark)));
        }
        let token = match (byte, self.peek()?) {
            (b'"', _) => Token::Text(self.quoted()?),
            (b';', Some(b';')) => self.pair(";;")?,
            (b';', _) => Token::Mark(";"),
            (b'/', Some(b'/')) => self.pair("//")?,
            (b'/', Some(b'*')) => self.pair("/*")?,
            (b'*', Some(b'/')) => self.pair("*/")?,
            (b'*', _) => Token::Mark("*"),
            (byte, _) if byte.is_ascii_alphanumeric() || b"+-._".contains(&byte) => Token::Word(self.word(byte)?),
            (byte, _) => return Err(self.wrong(format!("`{}` has no meaning here", byte.escape_ascii()))),
        };
        Ok(Some(token))
    }

    fn pair(&mut self, mark: &'static str) -> Result<Token, Error> {
        self.next_byte()?;
        Ok(Token::Mark(mark))
    }

    fn word(&mut self, first: u8) -> Result<String, Error> {
        let mut word = vec![first];
        while let Some(byte) = self.peek()?.filter(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(byte)) {
            word.push(byte);
            self.next_byte()?;
            if word.len() > 64 {
                return Err(self.wrong("a word of more than 64 letters is no number"));
            }
        }
        Ok(word.into_iter().map(char::from).collect())
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let mut bytes = Vec::new();
        loop {
            match self.next_byte()? {
                None => return Err(self.wrong("the file ends within a text")),
                Some(b'"') => break,
                Some(b'\\') => match self.next_byte()? {
                    Some(b'n') => bytes.push(b'\n'),
                    Some(byte) => bytes.push(byte),
                    None => return Err(self.wrong("the file ends within a text")),
                },
                Some(byte) => bytes.push(byte),
            }
            if bytes.len() > WORD_MAX {
                return Err(self.wrong("the text is longer than 16 MiB"));
            }
        }
        String::from_utf8(bytes).map_err(|_| self.wrong("the text is not UTF-8"))
    }
}
