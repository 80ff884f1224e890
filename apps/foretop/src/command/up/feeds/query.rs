//! `[[query]]`: an expression that a Prometheus server is asked for, whose series become signals.

use std::path::PathBuf;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use feed::{Query, QuerySettings};
use node::Feed;
use serde::{Deserialize, Serialize};
use units::span;

use super::feed;
use crate::command::up::settings::{Settings, login, trust, warn_of_clear};
use command_line::span_text;

/// An expression that a Prometheus server is asked for, whose series become signals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuerySection {
    pub server: String,
    pub name: String,
    pub expr: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(default)]
    pub non_negative: bool,
    #[serde(default = "default_every", with = "span_text")]
    pub every: Duration,
    #[serde(default = "default_history", with = "span_text")]
    pub history: Duration,
    #[serde(default = "default_max_signals")]
    pub max_signals: usize,
    #[serde(default = "default_timeout", with = "span_text")]
    pub timeout: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
}

/// An expression and what to call it, as a flag says it.
#[derive(Clone, Debug)]
pub struct NamedExpression {
    name: String,
    expr: String,
}

impl FromStr for NamedExpression {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, expr)) if !name.trim().is_empty() && !expr.trim().is_empty() => {
                Ok(Self { name: name.trim().to_owned(), expr: expr.trim().to_owned() })
            }
            _ => Err("it must be NAME=EXPR, as in 'busy=sum(rate(node_cpu_seconds_total[1m]))'"),
        }
    }
}

/// Returns the time between two scrapes that Prometheus itself uses if many are scraped.
fn default_every() -> Duration {
    Duration::from_secs(15)
}

/// Returns the library's defaults, by a query that does not matter.
fn defaults() -> QuerySettings {
    QuerySettings::new("http://localhost/", "", "").expect("this is an address")
}

fn default_history() -> Duration {
    defaults().history
}

fn default_max_signals() -> usize {
    defaults().n_signals_max
}

fn default_timeout() -> Duration {
    defaults().timeout
}

impl QuerySection {
    /// Makes the section for a flag, with the server that another flag names, and with the length of the past that a
    /// third gives, if any.
    pub fn new(server: String, NamedExpression { name, expr }: NamedExpression, history: Option<Duration>) -> Self {
        Self {
            server,
            name,
            expr,
            unit: None,
            non_negative: false,
            every: default_every(),
            history: history.unwrap_or_else(default_history),
            max_signals: default_max_signals(),
            timeout: default_timeout(),
            token_file: None,
            user: None,
            password_file: None,
            authorities: None,
        }
    }

    pub fn to_feed(&self) -> anyhow::Result<Feed> {
        let query = self.to_query()?;
        warn_of_clear(&query.settings().login, &query.settings().server);
        Ok(feed(format!("query {}", self.name), self.every, Some(self.max_signals), query))
    }

    fn to_query(&self) -> anyhow::Result<Query> {
        let place = || format!("[[query]] `{}`", self.name.escape_debug());
        let settings = QuerySettings {
            unit: self.unit.clone(),
            is_non_negative: self.non_negative,
            n_signals_max: self.max_signals,
            timeout: self.timeout,
            history: self.history,
            login: login(&self.token_file, &self.user, &self.password_file).with_context(place)?,
            trust: trust(&self.authorities).with_context(place)?,
            ..QuerySettings::new(&self.server, self.name.as_str(), self.expr.as_str()).with_context(place)?
        };
        Query::open(settings, self.every).with_context(place)
    }
}

impl Settings {
    /// Asks the servers whether the expressions make sense, all at once. A server that is not there is no error: it may
    /// come back. Warns of history that would not be kept.
    ///
    /// # Errors
    /// What a server says of an expression that makes none.
    pub fn check_queries(&self) -> anyhow::Result<()> {
        for QuerySection { name, history, .. } in self.query.iter().filter(|query| query.history > self.store.retention)
        {
            let (history, retention) = (span::format(*history), span::format(self.store.retention));
            tracing::warn!(
                "query `{name}` asks for a history of {history}, and samples are kept for {retention}: set --retention {history} to keep all of it"
            );
        }
        let queries = self.query.iter().map(QuerySection::to_query).collect::<anyhow::Result<Vec<_>>>()?;
        thread::scope(|scope| {
            let checks: Vec<_> = queries.iter().map(|query| scope.spawn(|| query.check())).collect();
            checks.into_iter().try_for_each(|check| match check.join() {
                Ok(Err(error)) if error.is_bad_expression() => Err(error.into()),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the query got no answer; the node will ask again");
                    Ok(())
                }
                Ok(Ok(())) => Ok(()),
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }
}
