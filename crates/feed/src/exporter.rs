//! A Prometheus exporter as a source: whatever it offers that is chosen becomes signals.
//!
//! Gauges are read as they are, counters become rates per second, histograms become quantiles of what they counted
//! between two scrapes if that is asked for. A signal is called as the series is on the page,
//! `node_cpu_seconds_total{cpu="0",mode="idle"}`, `_total` included: exporters written in Go offer a gauge
//! `go_memstats_alloc_bytes` beside the counter of the same name with `_total`. What the exporter is wrong about costs
//! the line or the page that it is wrong in, and is counted.

mod choice;
mod described;
mod error;
mod faults;
mod fetch;
mod growth;
mod histogram;
mod kept;
pub(crate) mod name;
mod settings;
mod text;

use std::time::Duration;

use signal::{Readings, Source};

use self::{
    choice::{Choice, Named as Taken},
    described::{Described, Named},
    faults::Faults,
    fetch::Fetcher,
    kept::Kept,
    text::{Format, Line, Needed, Sample},
};
pub use self::{
    error::ScrapeError,
    settings::{ExporterSettings, ExporterSettingsError},
};

/// A longer line is left out: nobody's series need as much, and what is kept of one is part of it.
const LINE_BYTES_MAX: usize = 16 << 10;

/// The exporter at one address.
#[derive(Debug)]
pub struct Exporter {
    fetcher: Fetcher,
    scraper: Scraper,
}

/// The state that turns a page from any origin into readings.
#[derive(Debug)]
struct Scraper {
    choice: Choice,
    kept: Kept,
    faults: Faults,
}

/// Samples of one name that follow each other, and what is to become of them.
#[derive(Clone, Copy)]
struct Run<'a> {
    name: &'a str,
    chosen: Option<(Taken, Named<'a>)>,
}

impl Run<'_> {
    /// Whether `line` is one more sample of it, and was not asked for.
    fn leaves_out(&self, line: &[u8]) -> bool {
        let rest = if self.chosen.is_none() { line.strip_prefix(self.name.as_bytes()) } else { None };
        rest.is_some_and(|rest| matches!(rest.first(), Some(b'{' | b' ')))
    }
}

impl Exporter {
    /// An exporter that is scraped as `settings` say. Asks it for nothing yet.
    ///
    /// # Errors
    /// When the settings cannot be met.
    pub fn open(settings: &ExporterSettings) -> Result<Exporter, ExporterSettingsError> {
        settings.check()?;
        let fetcher = Fetcher::new(settings)?;
        let choice = Choice::parse(&settings.patterns)?;
        let scraper = Scraper { choice, kept: Kept::new(settings)?, faults: Faults::new(settings.url.clone()) };
        Ok(Exporter { fetcher, scraper })
    }

    /// Reads a page that somebody else fetched, as [`Source::read`] reads what it fetches itself.
    ///
    /// `is_open_metrics` says that the page is written in OpenMetrics, not in the older text.
    pub fn read_page(&mut self, at: Duration, page: &[u8], is_open_metrics: bool, readings: &mut Readings) {
        let format = if is_open_metrics { Format::OpenMetrics } else { Format::Older };
        readings.clear();
        self.scraper.faults.begin();
        self.scraper.read(at, page, format, readings);
    }

    /// Returns the number of signals that the last page offered beyond the greatest number of the settings.
    #[must_use]
    pub fn n_left_out(&self) -> usize {
        self.scraper.kept.n_left_out()
    }

    /// Returns the latest fault.
    #[must_use]
    pub fn last_fault(&self) -> Option<&ScrapeError> {
        self.scraper.faults.last()
    }
}

impl Source for Exporter {
    fn read(&mut self, at: Duration, readings: &mut Readings) {
        readings.clear();
        self.scraper.faults.begin();
        match self.fetcher.fetch() {
            Ok((page, format)) => self.scraper.read(at, page, format, readings),
            Err(error) => self.scraper.faults.note(|_| error),
        }
    }

    fn n_errors(&self) -> u64 {
        self.scraper.faults.n()
    }

    fn last_error(&self) -> Option<String> {
        self.last_fault().map(|fault| ::text::with_causes(fault))
    }
}

impl Scraper {
    fn read(&mut self, at: Duration, page: &[u8], format: Format, readings: &mut Readings) {
        if format == Format::OpenMetrics && !page.trim_ascii_end().ends_with(b"# EOF") {
            self.faults.note(|url| ScrapeError::CutOff { url });
            return;
        }
        self.kept.begin(at);
        let mut described = Described::default();
        let mut run = None;
        let mut start = 0;
        // By far the longest time goes into finding the ends of lines that nobody asked for.
        for (line_number, end) in (1..).zip(memchr::memchr_iter(b'\n', page).chain([page.len()])) {
            let line = &page[start..end];
            start = end + 1;
            if run.as_ref().is_some_and(|run: &Run<'_>| run.leaves_out(line)) {
                continue;
            }
            if let Err(Needed(needed)) = self.read_line(at, line, format, &mut described, &mut run) {
                self.faults.malformed(line_number, needed, line);
            }
        }
        self.kept.hand_out(readings, &mut self.faults);
    }

    fn read_line<'a>(
        &mut self,
        at: Duration,
        line: &'a [u8],
        format: Format,
        described: &mut Described<'a>,
        run: &mut Option<Run<'a>>,
    ) -> Result<(), Needed> {
        if line.len() > LINE_BYTES_MAX {
            return Err(Needed("a line of 16 KiB at most"));
        }
        match Line::split(line)? {
            Line::Nothing => Ok(()),
            Line::About { family, what, text } => {
                *run = None;
                described.note(family, what, text).map_err(Needed)
            }
            Line::Sample { name, rest } => {
                let run = match run {
                    Some(run) if run.name == name => *run,
                    _ => *run.insert(self.choose(name, described)),
                };
                // Most lines of most pages end here, before they are looked at any closer.
                let Some((taken, named)) = &run.chosen else { return Ok(()) };
                let sample = Sample::parse(rest, format)?;
                if !self.choice.takes(*taken, &sample.labels) {
                    return Ok(());
                }
                self.kept.take(at, named, &sample, &mut self.faults)
            }
        }
    }

    fn choose<'a>(&self, name: &'a str, described: &Described<'a>) -> Run<'a> {
        let named = described.find(name).filter(|named| self.kept.wants(named.role));
        let chosen = named.and_then(|named| Some((self.choice.by_name(name, named.family)?, named)));
        Run { name, chosen }
    }
}
