//! Content of a file: the components of a system, in the order in which they are written.

use std::collections::BTreeMap;

use serde::Deserialize;
use stream::Endpoint;
use toml::{Spanned, Table, Value};

use crate::error::{ComposeError, suggest};
use crate::kind::{Kind, Takes};

/// Greatest number of components: more than a host would run, and each of them has threads that watch it.
const N_COMPONENTS_MAX: usize = 128;

/// Greatest length of a name: longer, and a socket's path becomes too long.
const NAME_BYTES_MAX: usize = 40;

/// A described system.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// Connection of components that name each other.
    pub transport: Transport,
    /// Components in the order of the file, which is the order in which they are started.
    pub components: Vec<Component>,
}

/// Connection of components that name each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Unix sockets in the run folder.
    #[default]
    Unix,
    /// Ports of the loopback that are free at the start.
    Tcp,
}

/// One component of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Name in the file.
    pub name: String,
    /// Name of its kind.
    pub run: String,
    /// The components whose streams it reads.
    pub sources: Vec<String>,
    /// Endpoints besides, to the world outside of the system.
    pub endpoints: Vec<Endpoint>,
    /// Arguments by place, in order.
    pub positionals: Vec<String>,
    /// Arguments by flags.
    pub flags: Vec<Flag>,
    /// Arguments that are handed on as they are, after all others.
    pub args: Vec<String>,
    /// Action when it ends.
    pub restart: Restart,
    /// Number of times that it is started again within a minute before it has failed for good.
    pub restarts_max: u32,
}

/// A flag, and the value behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// Name without its dashes.
    pub name: String,
    /// Value of the flag.
    pub value: Given,
}

/// Value of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// No value: the flag stands alone.
    Nothing,
    /// A text.
    Text(String),
    /// The endpoint at which this component is asked.
    Component(String),
}

/// Action when a component ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    /// Starts it again, unless it ended well.
    #[default]
    OnFailure,
    /// Starts it again.
    Always,
    /// Does not start it again.
    Never,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    transport: Transport,
    #[serde(default)]
    component: BTreeMap<String, Spanned<Table>>,
}

/// The keys that all components have.
#[derive(Deserialize)]
struct Section {
    run: String,
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default)]
    endpoints: Vec<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    restart: Restart,
    #[serde(default = "default_restarts_max")]
    restarts_max: u32,
    #[serde(flatten)]
    others: Table,
}

const SECTION_KEYS: [&str; 6] = ["run", "sources", "endpoints", "args", "restart", "restarts_max"];

/// Returns the default limit of restarts. With pauses that double from 100 ms, these take some three seconds: enough
/// for a port to be let go.
fn default_restarts_max() -> u32 {
    5
}

impl System {
    /// Parses `text`, and checks it against the kinds of components. References may go in circles.
    ///
    /// # Errors
    /// [`ComposeError`] with the first thing that makes no sense, and what may have been meant.
    pub fn parse(text: &str, kinds: &[Kind]) -> Result<Self, ComposeError> {
        let file: File = toml::from_str(text)?;
        let mut sections: Vec<(String, Spanned<Table>)> = file.component.into_iter().collect();
        sections.sort_by_key(|(_, section)| section.span().start);
        if sections.is_empty() {
            return Err(ComposeError::Empty);
        }
        if sections.len() > N_COMPONENTS_MAX {
            return Err(ComposeError::TooMany { given: sections.len(), limit: N_COMPONENTS_MAX });
        }
        let names: Vec<String> = sections.iter().map(|(name, _)| name.clone()).collect();
        let read = |(name, section): (String, Spanned<Table>)| component(name, section.into_inner(), kinds, &names);
        let components = sections.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(Self { transport: file.transport, components })
    }
}

fn component(name: String, table: Table, kinds: &[Kind], names: &[String]) -> Result<Component, ComposeError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !name.chars().all(is_name) {
        return Err(ComposeError::Name { given: name });
    }
    let section: Section = table.try_into()?;
    let all_kinds = || kinds.iter().flat_map(|kind| &kind.names).map(String::as_str);
    let Some(kind) = kinds.iter().find(|kind| kind.names.contains(&section.run)) else {
        let suggestion = suggest(&section.run, all_kinds());
        return Err(ComposeError::UnknownKind { component: name, given: section.run, suggestion });
    };
    let refer = |key: &str, given: &str| match names.iter().any(|name| name == given) {
        true => Ok(given.to_owned()),
        false => Err(ComposeError::UnknownComponent {
            component: name.clone(),
            key: key.to_owned(),
            given: given.to_owned(),
            suggestion: suggest(given, names.iter().map(String::as_str)),
        }),
    };
    let endpoint = |text: &String| {
        text.parse::<Endpoint>().map_err(|source| ComposeError::Endpoint { component: name.clone(), source })
    };
    let mut told = Told { component: &name, kind, refer: &refer, positionals: BTreeMap::new(), flags: Vec::new() };
    section.others.iter().try_for_each(|(key, value)| told.tell(key, value))?;
    let positionals = told.positionals()?;
    let flags = told.flags;
    Ok(Component {
        sources: section.sources.iter().map(|source| refer("sources", source)).collect::<Result<_, _>>()?,
        endpoints: section.endpoints.iter().map(endpoint).collect::<Result<_, _>>()?,
        positionals,
        flags,
        args: section.args,
        restart: section.restart,
        restarts_max: section.restarts_max,
        run: section.run,
        name,
    })
}

/// Settings of a component, key by key.
struct Told<'a> {
    component: &'a str,
    kind: &'a Kind,
    refer: &'a dyn Fn(&str, &str) -> Result<String, ComposeError>,
    positionals: BTreeMap<String, String>,
    flags: Vec<Flag>,
}

impl Told<'_> {
    fn tell(&mut self, key: &str, value: &Value) -> Result<(), ComposeError> {
        let Some(parameter) = self.kind.parameter(key) else {
            let keys = self.kind.parameters.iter().map(|parameter| parameter.name.as_str());
            return Err(ComposeError::UnknownKey {
                component: self.component.to_owned(),
                kind: self.kind.name().to_owned(),
                given: key.to_owned(),
                suggestion: suggest(key, keys.chain(SECTION_KEYS)),
            });
        };
        if parameter.takes == Takes::Nothing {
            match value {
                Value::Boolean(true) => self.flags.push(Flag { name: key.to_owned(), value: Given::Nothing }),
                Value::Boolean(false) => {}
                _ => return Err(self.wrong(key, "true or false")),
            }
            return Ok(());
        }
        if parameter.is_positional {
            let text = text(value).ok_or_else(|| self.wrong(key, "a text or a number"))?;
            self.positionals.insert(key.to_owned(), text);
            return Ok(());
        }
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let text = text(value).ok_or_else(|| self.wrong(key, "a text, a number, or a list of such"))?;
            // An endpoint has colons in it, a component's name has none.
            let value = match parameter.takes {
                Takes::Endpoint if !text.contains(':') => Given::Component((self.refer)(key, &text)?),
                _ => Given::Text(text),
            };
            self.flags.push(Flag { name: key.to_owned(), value });
        }
        Ok(())
    }

    fn wrong(&self, key: &str, needed: &'static str) -> ComposeError {
        ComposeError::Value { component: self.component.to_owned(), key: key.to_owned(), needed }
    }

    /// Returns the arguments by place, in the order in which they are wanted.
    fn positionals(&mut self) -> Result<Vec<String>, ComposeError> {
        let wanted = self.kind.parameters.iter().filter(|parameter| parameter.is_positional);
        let take = |name: &String| {
            self.positionals.remove(name).ok_or_else(|| ComposeError::MissingKey {
                component: self.component.to_owned(),
                kind: self.kind.name().to_owned(),
                key: name.clone(),
            })
        };
        wanted.map(|parameter| &parameter.name).map(take).collect()
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}
