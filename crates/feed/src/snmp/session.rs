//! Questions to one agent, each with an end: nothing is asked for longer or listened to for longer than the settings
//! say.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use async_snmp::{
    Auth, AuthProtocol, Client, CryptoError, DesSaltState, ErrorKind, MasterKeys, Oid, PersistedDesSaltState,
    PrivProtocol, ResponseShapePolicy, Retry, UsmConfig, Value, VarBind, WalkOptions,
};

use super::{AgentSettings, Cipher, Credentials, Digest, SnmpError, User};

/// The most objects in one question. An answer with so many of ours stays below the 1,472 bytes that Ethernet carries
/// in one piece.
pub(crate) const N_OBJECTS_MAX: usize = 50;

/// The number of rows of a table to ask for at once, for the same reason.
const N_ROWS: u32 = 30;

/// The longest table that is read to its end. No switch has as many interfaces.
const N_ROWS_MAX: usize = 20_000;

/// The credentials as the protocol needs them, with the keys derived from the passphrases.
///
/// Deriving the keys hashes a mebibyte for each, so it is done once.
pub(crate) struct Keys {
    auth: Auth,
    is_des: bool,
}

impl Keys {
    pub(crate) fn new(credentials: &Credentials) -> Result<Keys, CryptoError> {
        let user = match credentials {
            Credentials::Community(community) => {
                let auth = Auth::v2c(community.reveal().to_owned().into_bytes());
                return Ok(Keys { auth, is_des: false });
            }
            Credentials::User(user) => user,
        };
        let is_des = matches!(&user.authentication, Some(proof) if matches!(proof.privacy, Some((Cipher::Des, _))));
        Ok(Keys { auth: of_user(user)?, is_des })
    }
}

fn of_user(user: &User) -> Result<Auth, CryptoError> {
    let config = UsmConfig::new(user.name.clone().into_bytes());
    let Some(proof) = &user.authentication else {
        return Ok(config.into());
    };
    let mut keys = MasterKeys::new(proof.digest.protocol(), proof.passphrase.reveal().as_bytes())?;
    if let Some((cipher, passphrase)) = &proof.privacy {
        keys = keys.with_privacy(cipher.protocol(), passphrase.reveal().as_bytes())?;
    }
    Ok(config.with_master_keys(keys)?.into())
}

impl Digest {
    fn protocol(self) -> AuthProtocol {
        match self {
            Digest::Md5 => AuthProtocol::Md5,
            Digest::Sha1 => AuthProtocol::Sha1,
            Digest::Sha224 => AuthProtocol::Sha224,
            Digest::Sha256 => AuthProtocol::Sha256,
            Digest::Sha384 => AuthProtocol::Sha384,
            Digest::Sha512 => AuthProtocol::Sha512,
        }
    }
}

impl Cipher {
    fn protocol(self) -> PrivProtocol {
        match self {
            Cipher::Des => PrivProtocol::Des,
            Cipher::Aes128 => PrivProtocol::Aes128,
        }
    }
}

/// A socket to one agent.
#[derive(Clone)]
pub(crate) struct Session {
    client: Client,
    agent: Arc<str>,
    limit: Duration,
}

impl Session {
    /// Looks the agent's address up and makes a socket. Asks nothing yet.
    pub(crate) async fn open(settings: &AgentSettings, keys: &Keys) -> Result<Session, SnmpError> {
        let limit = settings.longest_exchange();
        let of = |error| SnmpError::of(&settings.name, limit, error);
        let retry = Retry::fixed(settings.n_retries, Duration::ZERO).expect("the settings limit the retries");
        let mut builder = Client::builder(settings.address.as_str(), keys.auth.clone())
            .construction_timeout(limit)
            .request_timeout(settings.timeout)
            .retry(retry)
            .max_oids_per_request(N_OBJECTS_MAX)
            .response_shape_policy(ResponseShapePolicy::Strict)
            .walk_options(WalkOptions {
                max_repetitions: N_ROWS,
                result_limit: Some(N_ROWS_MAX),
                ..WalkOptions::default()
            });
        if keys.is_des {
            builder = builder.des_salt_state(des_salt());
        }
        let client = builder.connect().await.map_err(of)?;
        Ok(Session { client, agent: settings.name.as_str().into(), limit })
    }

    /// The address that the agent is asked at.
    pub(crate) fn address(&self) -> IpAddr {
        self.client.peer_addr().ip()
    }

    /// Returns the agent's values of `objects`, one for each, in their order.
    pub(crate) async fn get(&self, objects: &[Oid]) -> Result<Vec<Value>, SnmpError> {
        let answer = self.client.get_many(objects).await.map_err(|error| self.error(error))?;
        Ok(answer.varbinds.into_iter().map(|binding| binding.value).collect())
    }

    /// Returns the object after each of `objects`, with its value.
    pub(crate) async fn get_next(&self, objects: &[Oid]) -> Result<Vec<VarBind>, SnmpError> {
        let answer = self.client.get_next_many(objects).await.map_err(|error| self.error(error))?;
        Ok(answer.varbinds)
    }

    /// The column of a table: for each row, the last number of its index, and its value.
    pub(crate) async fn column(&self, column: &[u32]) -> Result<Vec<(u32, Value)>, SnmpError> {
        let walk = self.client.walk(Oid::from_slice(column)).map_err(|error| self.error(error))?;
        let rows = walk.collect().await.map_err(|error| self.error(error))?;
        Ok(rows.into_iter().filter_map(|row| Some((*row.oid.arcs().last()?, row.value))).collect())
    }

    fn error(&self, error: Box<async_snmp::Error>) -> SnmpError {
        match error.kind() {
            // Says which; the agent is known by name, the address of its socket is of no use.
            ErrorKind::OutboundMessageTooLarge => {
                SnmpError::Strange { agent: self.agent.to_string(), what: "it takes no message of our size" }
            }
            _ => SnmpError::of(&self.agent, self.limit, error),
        }
    }
}

/// A beginning for the salts of DES, which must not be those of an earlier run with the same key.
///
/// The seconds since 1970 are an epoch that nobody has to write down.
fn des_salt() -> DesSaltState {
    let since_1970_s = clock::now().as_nanos().max(0) / 1_000_000_000;
    let epoch = (since_1970_s % i64::from(u32::MAX >> 2)) as u32 + 1;
    let persisted = PersistedDesSaltState::new(epoch).expect("it is between 1 and 2^30");
    DesSaltState::restart(persisted, |_| Ok::<(), Infallible>(()))
        .expect("nothing can go wrong with writing nothing down")
}
