//! Reading requests: every mistake in path, query or body becomes a [`Refusal`] that names it.
//!
//! axum's own extractors would answer mistakes in plain text.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use super::refusal::Refusal;
use crate::api::ErrorCode;

/// The longest body that is taken.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;

/// The longest id of a series.
const ID_BYTES_MAX: usize = 200;

/// Time limit for a body to arrive: a 1 MiB body on a line of 300 kbit/s.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The part of the path that is called `part`.
pub(crate) async fn in_path<S: Send + Sync>(parts: &mut Parts, state: &S, part: &str) -> Result<String, Refusal> {
    match Path::from_request_parts(parts, state).await {
        Ok(Path(text)) => Ok(text),
        Err(_) => Err(Refusal::bad_parameter(part, format!("the {part} in the path is not percent-encoded UTF-8"))),
    }
}

/// The name of a rule in the path.
pub(crate) struct Name(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        in_path(parts, state, "name").await.map(Self)
    }
}

/// The series id in the path.
pub(crate) struct Id(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let id = in_path(parts, state, "id").await?;
        if id.len() > ID_BYTES_MAX {
            let start = &id[..id.floor_char_boundary(40)];
            return Err(Refusal::unknown_series(&format!("{start}…")));
        }
        Ok(Self(id))
    }
}

/// Parameters of the query, checked against what `T` says it takes.
pub(crate) struct Query<T>(pub(crate) T);

/// A set of query parameters. [`IntoParams`] describes them, and [`FromQuery::read`] takes each out of the query.
pub(crate) trait FromQuery: IntoParams + Sized {
    /// Takes out of `fields` what is there; what is left in the end is refused.
    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal>;
}

impl<T: FromQuery, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        let query = parts.uri.query().unwrap_or_default();
        let mut fields = Fields(form_urlencoded::parse(query.as_bytes()).collect());
        let read = T::read(&mut fields)?;
        match fields.0.first() {
            None => Ok(Self(read)),
            Some((key, _)) => Err(unknown_parameter::<T>(key)),
        }
    }
}

fn unknown_parameter<T: IntoParams>(key: &str) -> Refusal {
    let known: Vec<_> = T::into_params(|| None).into_iter().map(|parameter| parameter.name).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Refusal::bad_parameter(key, format!("unknown parameter `{key}`; known here: {known}"))
}

/// Fields of the query that nobody has taken yet.
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl Fields<'_> {
    /// Takes every value of `key`.
    pub(crate) fn all(&mut self, key: &str) -> Vec<String> {
        self.0.extract_if(.., |(given, _)| given == key).map(|(_, value)| value.into_owned()).collect()
    }

    /// Takes the only value of `key`.
    pub(crate) fn text(&mut self, key: &str) -> Result<Option<String>, Refusal> {
        let mut values = self.all(key);
        match values.len() {
            0 | 1 => Ok(values.pop()),
            n => Err(Refusal::bad_parameter(key, format!("`{key}` is given {n} times; once is right"))),
        }
    }

    /// Takes the only value of `key`, read by `parse`.
    pub(crate) fn read<V, E: ToString>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<V, E>,
    ) -> Result<Option<V>, Refusal> {
        let text = self.text(key)?;
        text.map(|text| parse(&text).map_err(|error| Refusal::bad_parameter(key, error.to_string()))).transpose()
    }

    /// Takes the only value of `key`, `true` or `false`.
    pub(crate) fn flag(&mut self, key: &str) -> Result<Option<bool>, Refusal> {
        self.read(key, |text| text.parse().map_err(|_| format!("`{text}` is not `true` or `false`")))
    }
}

/// A query that has to be empty.
#[derive(IntoParams)]
pub(crate) struct NoParameters {}

impl FromQuery for NoParameters {
    fn read(_fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {})
    }
}

/// A body of JSON.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Refusal> {
        check_media_type(request.headers())?;
        // A length that is known to be too much is refused before any of it is read.
        let announced =
            request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: u64| length > BODY_BYTES_MAX as u64) {
            return Err(too_large());
        }
        let arrived = tokio::time::timeout(BODY_TIME_MAX, to_bytes(request.into_body(), BODY_BYTES_MAX));
        let bytes = arrived.await.map_err(|_| too_slow())?.map_err(|error| broken_off(&error))?;
        parse(&bytes).map(Self)
    }
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = format!("the body is said to be `{given}`; it must be application/json");
    Err(Refusal::of_field(ErrorCode::UnsupportedMediaType, "Content-Type", message))
}

/// Reads a body, which is always an object: serde would take an array for the fields in their order.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Refusal::new(
            ErrorCode::BadBody,
            "cannot read the body: it is an array and must be an object, {…}",
        ));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let message = format!("cannot read the body: {}", in_terms_of_json(&error.inner().to_string()));
        match path.as_str() {
            "." | "?" => Refusal::new(ErrorCode::BadBody, message),
            _ => Refusal::of_field(ErrorCode::BadBody, path, message),
        }
    })?;
    json.end().map_err(|error| Refusal::new(ErrorCode::BadBody, format!("cannot read the body: {error}")))?;
    Ok(value)
}

/// The message of serde without the types of Rust.
fn in_terms_of_json(message: &str) -> String {
    let Some((given, expected)) = message.split_once(", expected ") else { return message.to_owned() };
    let (expected, place) = expected.split_at(expected.find(" at line ").unwrap_or(expected.len()));
    let expected = match expected.split(' ').next().unwrap_or_default() {
        "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "struct" => "an object",
        "tuple" => "an array",
        _ if expected == "a sequence" => "an array",
        _ => expected,
    };
    let given = given
        .replace("invalid type: sequence", "invalid type: array")
        .replace("invalid type: map", "invalid type: object");
    format!("{given}, expected {expected}{place}")
}

fn too_large() -> Refusal {
    Refusal::new(ErrorCode::BodyTooLarge, format!("the body is longer than {BODY_BYTES_MAX} bytes (1 MiB)"))
}

fn too_slow() -> Refusal {
    Refusal::new(ErrorCode::BadBody, format!("the body did not arrive within {} s", BODY_TIME_MAX.as_secs()))
}

fn broken_off(error: &axum::Error) -> Refusal {
    let is_too_long =
        std::error::Error::source(error).is_some_and(|cause| cause.is::<http_body_util::LengthLimitError>());
    if is_too_long { too_large() } else { Refusal::new(ErrorCode::BadBody, "the body broke off") }
}
