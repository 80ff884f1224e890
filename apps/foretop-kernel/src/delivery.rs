//! Delivery of finished files: a copy in a folder, or at a server that takes it by HTTP PUT.
//!
//! The text beside a file goes last, so that whoever waits for it finds the file whole.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use http_client::{Address, Login, RequestError, Trust};
use program::Failure;
use ureq::http::{Request, header};

use crate::capture::beside;

/// A file of many gigabytes takes so long through a slow link.
const UPLOAD_MAX: Duration = Duration::from_secs(3600);

/// The destination of a copy, if any.
#[derive(Args)]
pub struct Delivery {
    /// The destination for a copy of the finished file and its .info: a folder, or an http:// or https:// URL to PUT
    /// them below
    #[arg(long, value_name = "FOLDER|URL")]
    to: Option<String>,

    /// File with the token of that URL's server
    #[arg(long, value_name = "PATH", requires = "to")]
    to_token_file: Option<PathBuf>,

    /// Certificates (PEM) to trust for that URL, instead of the system's
    #[arg(long, value_name = "FILE", requires = "to")]
    to_ca: Option<PathBuf>,
}

/// A place that was looked at.
pub enum Destination {
    Nowhere,
    Folder(PathBuf),
    Server { base: Address, login: Login, trust: Trust },
}

impl Delivery {
    /// Looks at the place before there is anything to lose.
    pub fn destination(self) -> Result<Destination, Failure> {
        let Some(to) = self.to else { return Ok(Destination::Nowhere) };
        if !to.contains("://") {
            let folder = PathBuf::from(to);
            return match folder.is_dir() {
                true => Ok(Destination::Folder(folder)),
                false => {
                    Err(Failure::usage(format!("there is no folder `{}` for --to; make it first", folder.display())))
                }
            };
        }
        let base: Address = to.parse().map_err(Failure::usage_of)?;
        let login = self.to_token_file.map_or(Login::None, |token_file| Login::Bearer { token_file });
        login.authorization().map_err(Failure::usage_of)?;
        if let Some(exposed) = login.exposed() {
            eprintln!("foretop kernel: warning: {exposed}");
        }
        if login != Login::None && base.is_in_the_clear() {
            eprintln!("foretop kernel: warning: the token goes to {base} unencrypted; use https");
        }
        let trust = self.to_ca.as_deref().map(Trust::from_file).transpose().map_err(Failure::usage_of)?;
        Ok(Destination::Server { base, login, trust: trust.unwrap_or_default() })
    }
}

impl Destination {
    /// Takes a copy of a file and the text beside it there. Says where the file is then.
    pub fn take(&self, path: &Path) -> Result<Option<String>, Failure> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let both = [(path.to_owned(), name.clone()), (beside(path), format!("{name}.info"))];
        match self {
            Self::Nowhere => Ok(None),
            Self::Folder(folder) => {
                for (from, name) in both {
                    copy(&from, &folder.join(&name))?;
                }
                Ok(Some(folder.join(name).display().to_string()))
            }
            Self::Server { base, login, trust } => {
                for (from, name) in both {
                    put(&from, &below(base, &name)?, login, trust)?;
                }
                below(base, &name).map(|url| Some(url.to_string()))
            }
        }
    }
}

/// Under another name until it is whole.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let cannot = |error| {
        let (from, to) = (from.display(), to.display());
        Failure::work(format!("cannot copy `{from}` to `{to}`: {error}; the file is whole where it was written"))
    };
    if to.exists() {
        return Err(cannot(std::io::ErrorKind::AlreadyExists.into()));
    }
    std::fs::copy(from, &part).and_then(|_| std::fs::rename(&part, to)).map_err(cannot)
}

fn below(base: &Address, name: &str) -> Result<Address, Failure> {
    format!("{}/{name}", base.to_string().trim_end_matches('/')).parse().map_err(Failure::usage_of)
}

fn put(from: &Path, to: &Address, login: &Login, trust: &Trust) -> Result<(), Failure> {
    let cannot = |why: &dyn std::fmt::Display| {
        Failure::work(format!(
            "cannot send `{}` to {to}: {why}; the file is whole where it was written",
            from.display()
        ))
    };
    let file = File::open(from).map_err(|error| cannot(&error))?;
    let mut request = Request::put(to.uri()).header(header::CONTENT_TYPE, "application/octet-stream");
    if let Some(authorization) = login.authorization().map_err(|error| cannot(&error))? {
        request = request.header(header::AUTHORIZATION, authorization);
    }
    let request = request.body(file).map_err(|error| cannot(&error))?;
    let sent = http_client::agent(UPLOAD_MAX, "*/*", to, trust).run(request);
    let status = sent.map_err(|error| cannot(&text::with_causes(&RequestError::from(error))))?.status();
    if status.is_success() { Ok(()) } else { Err(cannot(&format_args!("the server answers {status}"))) }
}
