//! The shape of a specification's text: a name, and arguments that may be specifications themselves.

use super::SpecError;

/// `NAME` or `NAME(argument,key=value,…)`, taken apart; an argument may itself be a call.
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    arguments: Vec<(Option<&'a str>, &'a str)>,
}

impl<'a> Call<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, &'static str> {
        if text.len() > 200 {
            return Err("it is longer than 200 bytes");
        }
        let (name, arguments) = match text.split_once('(') {
            None => (text, Vec::new()),
            Some((name, rest)) => {
                let inside = rest.strip_suffix(')').ok_or("the closing parenthesis is missing")?;
                (name, split_at_commas(inside)?.into_iter().map(key_and_value).collect())
            }
        };
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err("there is no name at its start");
        }
        Ok(Self { name, arguments })
    }

    pub(crate) fn positional(&mut self, idx: usize) -> Option<&'a str> {
        self.arguments.get(idx).filter(|(key, _)| key.is_none()).map(|(_, value)| *value)
    }

    /// Takes the argument out, so that [`Call::finish`] sees what nobody asked for.
    pub(crate) fn named(&mut self, wanted: &str) -> Option<&'a str> {
        let matches = |(key, _): &(Option<&str>, &str)| key.is_some_and(|key| key.eq_ignore_ascii_case(wanted));
        let idx = self.arguments.iter().position(matches)?;
        Some(self.arguments.remove(idx).1)
    }

    pub(crate) fn finish(
        self,
        model: &'static str,
        example: &'static str,
        n_positional: usize,
    ) -> Result<(), SpecError> {
        match self.arguments.get(n_positional) {
            None => Ok(()),
            Some((key, value)) => {
                let given = key.map_or_else(|| (*value).to_owned(), |key| format!("{key}={value}"));
                Err(SpecError::UnknownArgument { model, given, example })
            }
        }
    }
}

fn split_at_commas(text: &str) -> Result<Vec<&str>, &'static str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (idx, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1).ok_or("a closing parenthesis too many")?,
            b',' if depth == 0 => {
                parts.push(&text[start..idx]);
                start = idx + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    match (depth, parts.iter().any(|part| part.is_empty())) {
        (0, false) => Ok(parts),
        (0, true) => Err("an argument is empty"),
        _ => Err("the closing parenthesis is missing"),
    }
}

fn key_and_value(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=') {
        Some((key, value)) if !key.contains('(') => (Some(key), value),
        _ => (None, argument),
    }
}
