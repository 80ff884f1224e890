//! A server that takes JSON.

use std::time::Duration;

use http_client::{Address, Login, RequestError, Trust, agent};

use crate::{DeliveryError, Message};

/// The longest time that the server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The address of a server, and the credentials of the log-in.
#[derive(Clone, Debug)]
pub struct Server {
    /// The address.
    pub address: Address,
    /// The credentials of the log-in. Secrets are read from their files for each message.
    pub login: Login,
    /// The certificate authorities that are trusted.
    pub trust: Trust,
}

impl Server {
    pub(crate) fn post(&self, path: Option<&'static str>, message: &Message<'_>) -> Result<(), DeliveryError> {
        self.post_json(path, &message.to_json())
    }

    pub(crate) fn post_json(&self, path: Option<&'static str>, body: &[u8]) -> Result<(), DeliveryError> {
        let address = path.map_or_else(|| self.address.clone(), |path| self.address.join(path));
        let place = || self.address.host_and_port().to_owned();
        let mut request = agent(TIMEOUT, "application/json", &address, &self.trust)
            .post(address.uri())
            .header("Content-Type", "application/json");
        if let Some(authorization) = self.login.authorization()? {
            request = request.header("Authorization", authorization);
        }
        let answer = request
            .send(body)
            .map_err(|error| DeliveryError::Request { place: place(), source: RequestError::from(error) })?;
        let status = answer.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(DeliveryError::Status { place: place(), status: status.as_u16() })
        }
    }
}
