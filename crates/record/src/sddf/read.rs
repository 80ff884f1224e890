//! Reads SDDF in ASCII. Types may come in any order of their tags, and anywhere before their first record.

use std::collections::VecDeque;
use std::io::BufRead;

use super::token::{Token, Tokens};
use crate::{Error, Field, Item, Kind, RecordType, Value};

/// Fields that a type may have, and attributes.
const FIELDS_MAX: usize = 4096;

/// Numbers that an array may have.
const ITEMS_MAX: usize = 1 << 24;

/// Reads items. After an error there is nothing more.
pub struct Reader<R: BufRead> {
    tokens: Tokens<R>,
    types: Vec<RecordType>,
    pending: VecDeque<Item>,
    is_over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Begins with the file's first word.
    ///
    /// # Errors
    /// Where it is no such file, or one in binary.
    pub fn new(input: R) -> Result<Self, Error> {
        let mut tokens = Tokens::new(input);
        match tokens.next()? {
            Some(Token::Word(word)) if word == "SDDFA" => {}
            Some(Token::Word(word)) if word.starts_with("SDDFB") => return Err(Error::BinarySddf),
            _ => return Err(Error::Foreign),
        }
        Ok(Self { tokens, types: Vec::new(), pending: VecDeque::new(), is_over: false })
    }

    fn item(&mut self) -> Result<Option<Item>, Error> {
        loop {
            if let Some(item) = self.pending.pop_front() {
                return Ok(Some(item));
            }
            match self.tokens.next()? {
                None => return Ok(None),
                Some(Token::Mark("/*")) => self.attributes()?,
                Some(Token::Mark("#")) => return self.descriptor().map(Some),
                Some(Token::Text(name)) => return self.record(&name).map(Some),
                Some(other) => {
                    return Err(self.tokens.wrong(format!("{other:?} where a type, a record or attributes begin")));
                }
            }
        }
    }

    fn token(&mut self) -> Result<Token, Error> {
        self.tokens.next()?.ok_or_else(|| self.tokens.wrong("the file is cut"))
    }

    fn expect(&mut self, mark: &str) -> Result<(), Error> {
        match self.token()? {
            Token::Mark(found) if found == mark => Ok(()),
            other => Err(self.tokens.wrong(format!("{other:?} where `{mark}` belongs"))),
        }
    }

    fn text(&mut self) -> Result<String, Error> {
        match self.token()? {
            Token::Text(text) => Ok(text),
            other => Err(self.tokens.wrong(format!("{other:?} where a text in quotes belongs"))),
        }
    }

    fn attributes(&mut self) -> Result<(), Error> {
        loop {
            match self.token()? {
                Token::Mark("*/") => return self.expect(";;"),
                Token::Mark("*") => {}
                Token::Text(name) => {
                    let text = self.text()?;
                    self.pending.push_back(Item::Attribute(name, text));
                }
                other => return Err(self.tokens.wrong(format!("{other:?} within attributes"))),
            }
            if self.pending.len() > FIELDS_MAX {
                return Err(self.tokens.wrong(format!("more than {FIELDS_MAX} attributes")));
            }
        }
    }

    fn descriptor(&mut self) -> Result<Item, Error> {
        match self.token()? {
            Token::Word(number) if number.parse::<u64>().is_ok() => {}
            other => return Err(self.tokens.wrong(format!("{other:?} where the tag of a type belongs"))),
        }
        self.expect(":")?;
        let mut attributes = Vec::new();
        let name = loop {
            match self.token()? {
                Token::Mark("//") => attributes.push((self.text()?, self.text()?)),
                Token::Text(name) => break name,
                other => return Err(self.tokens.wrong(format!("{other:?} where the name of a type belongs"))),
            }
        };
        self.expect("{")?;
        let fields = self.fields()?;
        self.expect(";;")?;
        let of = RecordType { name, attributes, fields };
        of.check_names(&self.types).map_err(|error| self.tokens.wrong(error.to_string()))?;
        self.types.push(of.clone());
        Ok(Item::Type(of))
    }

    fn fields(&mut self) -> Result<Vec<Field>, Error> {
        let mut fields: Vec<Field> = Vec::new();
        let (mut unit, mut meaning) = (String::new(), String::new());
        loop {
            match self.token()? {
                Token::Mark("}") => return Ok(fields),
                Token::Mark("//") => match (self.text()?.as_str(), self.text()?) {
                    ("unit", text) => unit = text,
                    ("meaning", text) => meaning = text,
                    (name, text) => meaning += &format!("{name}: {text}"),
                },
                Token::Word(word) => {
                    let name = self.text()?;
                    let kind = self.kind(&word)?;
                    fields.push(Field {
                        name,
                        kind,
                        unit: std::mem::take(&mut unit),
                        meaning: std::mem::take(&mut meaning),
                    });
                }
                other => return Err(self.tokens.wrong(format!("{other:?} where a field belongs"))),
            }
            if fields.len() > FIELDS_MAX {
                return Err(self.tokens.wrong(format!("more than {FIELDS_MAX} fields")));
            }
        }
    }

    /// The kind of a field, from its type and what stands behind its name.
    fn kind(&mut self, word: &str) -> Result<Kind, Error> {
        let is_array = match self.token()? {
            Token::Mark(";") => false,
            Token::Mark("[") => {
                self.expect("]")?;
                self.expect(";").map(|()| true)?
            }
            other => return Err(self.tokens.wrong(format!("{other:?} behind the name of a field"))),
        };
        match (word, is_array) {
            ("char", true) => Ok(Kind::Text),
            ("byte" | "char" | "short" | "int" | "long", false) => Ok(Kind::Integer),
            ("byte" | "short" | "int" | "long", true) => Ok(Kind::Integers),
            ("float" | "double", false) => Ok(Kind::Real),
            ("float" | "double", true) => Ok(Kind::Reals),
            _ => Err(self.tokens.wrong(format!("`{word}` is no type of field"))),
        }
    }

    fn record(&mut self, name: &str) -> Result<Item, Error> {
        let of = self.types.iter().position(|known| known.name == name);
        let of = of.ok_or_else(|| self.tokens.wrong(format!("a record `{name}`, whose type was not described")))?;
        self.expect("{")?;
        let kinds: Vec<Kind> = self.types[of].fields.iter().map(|field| field.kind).collect();
        let mut values = Vec::with_capacity(kinds.len());
        for (i, kind) in kinds.into_iter().enumerate() {
            if i > 0 {
                self.expect(",")?;
            }
            values.push(self.value(kind)?);
        }
        self.expect("}")?;
        self.expect(";;")?;
        Ok(Item::Record { of, values })
    }

    fn value(&mut self, kind: Kind) -> Result<Value, Error> {
        Ok(match kind {
            Kind::Integer => Value::Integer(self.number()?),
            Kind::Real => Value::Real(self.number()?),
            Kind::Text => Value::Text(self.characters()?),
            Kind::Integers => Value::Integers(self.numbers()?),
            Kind::Reals => Value::Reals(self.numbers()?),
        })
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, Error> {
        match self.token()? {
            Token::Word(word) => {
                word.parse().map_err(|_| self.tokens.wrong(format!("`{word}` where a number of another kind belongs")))
            }
            other => Err(self.tokens.wrong(format!("{other:?} where a number belongs"))),
        }
    }

    /// Reads the number of items that an array claims.
    fn claimed(&mut self) -> Result<usize, Error> {
        self.expect("[")?;
        let n: usize = self.number()?;
        if n > ITEMS_MAX {
            return Err(self.tokens.wrong(format!("an array of {n} items, more than {ITEMS_MAX}")));
        }
        self.expect("]")?;
        self.expect("{")?;
        Ok(n)
    }

    fn characters(&mut self) -> Result<String, Error> {
        let n = self.claimed()?;
        let mut text = String::new();
        loop {
            match self.token()? {
                Token::Mark("}") => break,
                Token::Text(part) => text += &part,
                other => return Err(self.tokens.wrong(format!("{other:?} where a text in quotes belongs"))),
            }
        }
        if text.len() == n {
            Ok(text)
        } else {
            Err(self.tokens.wrong(format!("a text of {} bytes that claims {n}", text.len())))
        }
    }

    fn numbers<T: std::str::FromStr>(&mut self) -> Result<Vec<T>, Error> {
        let n = self.claimed()?;
        let mut numbers = Vec::new();
        while numbers.len() < n {
            if !numbers.is_empty() {
                self.expect(",")?;
            }
            numbers.push(self.number()?);
        }
        self.expect("}")?;
        Ok(numbers)
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Item, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let item = self.item().transpose();
        self.is_over = !matches!(item, Some(Ok(_)));
        item
    }
}
