//! Sources of a node besides its host, as the configuration has them: `[kernel]`, `[[scrape]]`, `[[query]]`,
//! `[[transfer]]` and `[snmp]`; and `[responder]`, which lets other hosts measure the flows to this one. Specified in
//! docs/formats/cli.md.

mod kernel;
mod query;
mod scrape;
mod transfer;

use std::time::Duration;

use feed::transfer::ResponderSettings;
use node::Feed;
use signal::Source;

pub use command_line::snmp::SnmpSection;
pub use kernel::KernelSection;
pub use query::{NamedExpression, QuerySection};
pub use scrape::ScrapeSection;
pub use transfer::{ResponderSection, TransferSection};

use super::settings::Settings;

impl Settings {
    /// Returns the sources that the node is to read besides its host. Secrets are read here; nothing is connected to.
    ///
    /// # Errors
    /// When a setting makes no sense or a secret cannot be read. The message begins with the section.
    pub fn to_feeds(&self) -> anyhow::Result<Vec<Feed>> {
        let scrapes = self.scrape.iter().map(ScrapeSection::to_feed);
        let queries = self.query.iter().map(QuerySection::to_feed);
        let transfers = self.transfer.iter().map(TransferSection::to_feed);
        let snmp = self
            .snmp
            .iter()
            .map(|snmp| Ok(feed("snmp".to_owned(), snmp.every, None, snmp.to_source(&self.node.root)?)));
        let kernel = self.kernel.iter().map(|kernel| Ok(kernel.to_feed()));
        scrapes.chain(kernel).chain(queries).chain(transfers).chain(snmp).collect()
    }

    /// Returns the settings of the responder, if there is one.
    ///
    /// # Errors
    /// When there is a responder whose address or token makes no sense.
    pub fn to_responder(&self) -> anyhow::Result<Option<ResponderSettings>> {
        self.responder.as_ref().map(ResponderSection::to_settings).transpose()
    }
}

fn feed(name: String, step: Duration, n_signals_max: Option<usize>, source: impl Source + 'static) -> Feed {
    Feed { name, step, n_signals_max, source: Box::new(source) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = r#"
        [responder]
        listen = "127.0.0.1:7312"
        token_file = "flow-token"

        [kernel]
        socket = "/run/foretop-kernel.sock"

        [snmp]
        every = "5s"
        agent = [
            { name = "switch", address = "10.0.0.1", community_file = "community" },
            { name = "router", address = "10.0.0.2:1161", user = "foretop", digest = "sha256", passphrase_file = "auth", cipher = "aes128", privacy_file = "priv" },
        ]
        link = [{ name = "uplink", agent = "switch", interface = "ge-0/0/1" }, { name = "wan", agent = "router", index = 3, capacity = 12500000.0 }]
        flow = [{ peer = "db2", path = ["uplink:sent", "wan:received"] }, { peer = "db3", to = "10.0.0.7" }]

        [[scrape]]
        url = "https://127.0.0.1:9100/metrics"
        match = ["node_load1"]
        authorities = "ca.pem"

        [[query]]
        server = "http://127.0.0.1:9090"
        name = "busy"
        expr = "sum(rate(node_cpu_seconds_total[1m]))"

        [[remote_write]]
        url = "http://127.0.0.1:9090/api/v1/write"
        horizons = ["30s"]
        labels = { rack = "4" }

        [[transfer]]
        peer = "db2"
        address = "db2:7312"
        token_file = "flow-token"
    "#;

    #[test]
    fn what_is_shown_reads_back() {
        let sections: Settings = toml::from_str(ALL).unwrap();
        assert_eq!(toml::from_str::<Settings>(&toml::to_string(&sections).unwrap()).unwrap(), sections);
        assert_eq!(sections.scrape[0].every, Duration::from_secs(5));
        assert_eq!(sections.kernel.unwrap().every, Duration::from_secs(5));
        assert_eq!(sections.transfer[0].every, Duration::from_secs(60));
    }

    #[track_caller]
    fn check_refused(text: &str, wanted: &str) {
        let error = match toml::from_str::<Settings>(text) {
            Err(error) => error.to_string(),
            Ok(sections) => {
                let made = sections.to_feeds().map(drop).and_then(|()| sections.to_remote_writes().map(drop));
                format!("{:#}", made.unwrap_err())
            }
        };
        assert!(error.contains(wanted), "{error}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_section() {
        check_refused("[[scrape]]\nmatch = ['a']", "url");
        check_refused("[[scrape]]\nurl = 'ftp://a/'", "[[scrape]] `ftp://a/`");
        check_refused("[[scrape]]\nurl = 'http://a/'\nuser = 'me'", "password_file");
        check_refused("[[scrape]]\nurl = 'http://a/'\nevry = '1s'", "evry");
        check_refused("[[transfer]]\npeer = 'a'\naddress = 'a:1'\ntoken_file = '/nowhere'", "[[transfer]] `a`");
        check_refused("[[query]]\nserver = 'http://a'\nname = 'a b'\nexpr = 'up'", "[[query]] `a b`");
        check_refused("[[query]]\nserver = 'a:9090'\nname = 'a'\nexpr = 'up'", "`a:9090`");
        check_refused("[[query]]\nserver = 'http://a'\nname = 'a'\nexpr = 'up'\nhistory = '18d'", "103680 steps");
        check_refused("[[remote_write]]\nurl = 'ftp://a/'", "[[remote_write]]: `ftp://a/`");
        check_refused("[[remote_write]]\nurl = 'http://a/'\nhorizons = ['soon']", "`soon`");
        check_refused("[[remote_write]]\nurl = 'http://a/'\nbuffer_bytes = 1", "65536");
        check_refused(
            "[[scrape]]\nurl = 'https://a/'\nauthorities = '/nowhere'",
            "[[scrape]] `https://a/`: cannot read certificates",
        );
        check_refused("[snmp]\nagent = [{ name = 'a', address = 'b' }]", "community");
        check_refused("[snmp]\nflow = [{ peer = 'a', path = ['up:down'] }]", "up:down");
        check_refused("[snmp]\nflow = [{ peer = 'a' }]", "`path`");
    }
}
