//! An exporter's page over HTTP: asked for, followed where that is allowed, unpacked, and no longer than it may be.

use std::io::Read;

use http_client::{Login, agent};
use ureq::{
    Agent, Body,
    http::{HeaderValue, Response, Uri, header},
};

use super::{
    error::ScrapeError,
    faults::beginning,
    settings::{ExporterSettings, ExporterSettingsError},
    text::Format,
};

/// OpenMetrics rather than the older text, which has no units and no times of creation, and that rather than anything
/// else.
const ACCEPT: &str = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

/// Within one host nobody needs more.
const N_REDIRECTS_MAX: usize = 3;

/// Fetches one page again and again, over one connection if the exporter keeps it open.
#[derive(Debug)]
pub(super) struct Fetcher {
    agent: Agent,
    url: Uri,
    login: Login,
    page_bytes_max: u64,
    /// The last page, kept so that a page does not need its memory anew.
    page: Vec<u8>,
}

impl Fetcher {
    pub(super) fn new(settings: &ExporterSettings) -> Result<Fetcher, ExporterSettingsError> {
        Ok(Fetcher {
            agent: agent(settings.timeout, ACCEPT, &settings.address()?, &settings.trust),
            url: settings.address()?.uri().clone(),
            login: settings.login.clone(),
            page_bytes_max: settings.page_bytes_max,
            page: Vec::new(),
        })
    }

    /// Fetches the page and says how it is written.
    pub(super) fn fetch(&mut self) -> Result<(&[u8], Format), ScrapeError> {
        let login = self.login.authorization()?;
        let mut answer = self.answer(login.as_ref())?;
        let format = self.format(&answer)?;
        self.page.clear();
        let limit_bytes = self.page_bytes_max;
        // One more than it may be tells of a page that is longer.
        let mut body = answer.body_mut().as_reader().take(limit_bytes.saturating_add(1));
        body.read_to_end(&mut self.page).map_err(|source| ScrapeError::Broken { url: self.url.to_string(), source })?;
        if self.page.len() as u64 > limit_bytes {
            return Err(ScrapeError::TooLong { url: self.url.to_string(), limit_bytes });
        }
        Ok((&self.page, format))
    }

    /// The answer that has the page, after redirects. Each request has the whole time-out.
    fn answer(&self, login: Option<&HeaderValue>) -> Result<Response<Body>, ScrapeError> {
        let url = || self.url.to_string();
        let mut place = self.url.clone();
        let mut n_redirects = 0;
        loop {
            let mut request = self.agent.get(&place);
            if let Some(login) = login {
                request = request.header(header::AUTHORIZATION, login);
            }
            let unreadable = |error: ureq::Error| ScrapeError::Unreadable { url: url(), source: error.into() };
            let answer = request.call().map_err(unreadable)?;
            let status = answer.status();
            let target = answer.headers().get(header::LOCATION).filter(|_| status.is_redirection());
            let Some(target) = target else {
                return if status == 200 {
                    Ok(answer)
                } else {
                    Err(ScrapeError::Status { url: url(), status: status.as_u16() })
                };
            };
            let elsewhere = || ScrapeError::Elsewhere { url: url(), target: beginning(target.as_bytes()) };
            n_redirects += 1;
            place = self.same_host(target).filter(|_| n_redirects <= N_REDIRECTS_MAX).ok_or_else(elsewhere)?;
        }
    }

    /// The page that a redirect points to, if it is of the same host and port.
    fn same_host(&self, target: &HeaderValue) -> Option<Uri> {
        let target = target.to_str().ok()?;
        let (scheme, authority) = (self.url.scheme_str()?, self.url.authority()?);
        let uri: Uri = match target.starts_with('/') && !target.starts_with("//") {
            true => format!("{scheme}://{authority}{target}").parse().ok()?,
            false => target.parse().ok()?,
        };
        (uri.scheme_str() == Some(scheme) && uri.authority() == Some(authority)).then_some(uri)
    }

    fn format(&self, answer: &Response<Body>) -> Result<Format, ScrapeError> {
        let Some(given) = answer.headers().get(header::CONTENT_TYPE) else { return Ok(Format::Older) };
        let kind = given.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        match kind.to_ascii_lowercase().as_slice() {
            b"application/openmetrics-text" => Ok(Format::OpenMetrics),
            b"text/plain" => Ok(Format::Older),
            _ => Err(ScrapeError::ContentType { url: self.url.to_string(), given: beginning(given.as_bytes()) }),
        }
    }
}
