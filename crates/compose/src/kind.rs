//! Kinds of components, and the parameters of each: passed by whoever has the command line.

/// A component that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its names, its short ones included; at least one.
    pub names: Vec<String>,
    /// Parameters besides endpoints, those by place in their order.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key in the file, and the name of the flag.
    pub name: String,
    /// Kind of value that follows it.
    pub takes: Takes,
    /// Whether it is given by its place before the endpoints, not by a flag; such a one has to be given.
    pub is_positional: bool,
}

/// Kind of value that follows a parameter's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value: the flag is there or not.
    Nothing,
    /// A text or a number.
    Value,
    /// An endpoint at which a component is asked. In a file it may be the component's name.
    Endpoint,
}

impl Kind {
    pub(crate) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}
