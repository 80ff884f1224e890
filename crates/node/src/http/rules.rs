//! Rules for warnings: `GET /api/v1/rules`, `PUT` and `DELETE /api/v1/rules/{name}`, `POST /api/v1/rules/try`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use units::{WeekHours, span};
use warn::Rule;

use super::App;
use super::extract::{JsonBody, Name, NoParameters, Query};
use super::refusal::Refusal;
use crate::api::{self, ErrorBody, ErrorCode, RuleText, RuleTrial, Rules, Seasons, TriedRule};
use crate::hub::{Hub, QueryError};

/// Default length of the past over which a rule is tried.
const PAST_DEFAULT: Duration = Duration::from_secs(7 * 86_400);

/// The rules that there are, and those of the page to take along.
#[utoipa::path(get, path = "/api/v1/rules", tag = "forecast", responses(
    (status = 200, body = Rules), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn list(State(app): State<App>, _: Query<NoParameters>) -> Result<Json<Rules>, Refusal> {
    let hub = app.hub.clone();
    app.reads.run(move || Ok(Json(hub.rules()))).await
}

/// Makes a rule of the page, or replaces the one of this name.
#[utoipa::path(put, path = "/api/v1/rules/{name}", tag = "forecast", params(("name" = String, Path)),
    request_body = RuleText,
    responses((status = 200, body = api::Rule), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn put(
    State(app): State<App>,
    Name(name): Name,
    _: Query<NoParameters>,
    JsonBody(text): JsonBody<RuleText>,
) -> Result<Json<api::Rule>, Refusal> {
    let hub = app.hub.clone();
    let rule = rule(name, &text, "", &hub)?;
    app.reads.run(move || hub.put_rule(rule).map(Json).map_err(|error| of_body(error, ""))).await
}

/// Removes a rule of the page.
#[utoipa::path(delete, path = "/api/v1/rules/{name}", tag = "forecast", params(("name" = String, Path)), responses(
    (status = 204, description = "removed"), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn remove(
    State(app): State<App>,
    Name(name): Name,
    _: Query<NoParameters>,
) -> Result<StatusCode, Refusal> {
    let hub = app.hub.clone();
    app.reads.run(move || Ok(hub.remove_rule(&name)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Warnings that a rule would have given over the past.
#[utoipa::path(post, path = "/api/v1/rules/try", tag = "forecast", request_body = RuleTrial,
    responses((status = 200, body = TriedRule), (status = "default", description = "refused", body = ErrorBody)))]
pub(super) async fn test(
    State(app): State<App>,
    _: Query<NoParameters>,
    JsonBody(RuleTrial { rule: text, past, season }): JsonBody<RuleTrial>,
) -> Result<Json<TriedRule>, Refusal> {
    let rule = rule("tried".to_owned(), &text, "rule.", &app.hub)?;
    let past = past.map_or(Ok(PAST_DEFAULT), |past| read_with("past", &past, span::parse))?;
    let seasons = if season.unwrap_or(true) { Seasons::Learned } else { Seasons::Off };
    let hub = app.hub.clone();
    app.reads
        .run_unless(move |cancel| {
            hub.try_rule(&rule, past, seasons, cancel).map(Json).map_err(|error| of_body(error, "rule."))
        })
        .await
}

/// The rule that a body has, whose keys are at `place`.
fn rule(name: String, text: &RuleText, place: &str, hub: &Hub) -> Result<Rule, Refusal> {
    let field = |key: &str| format!("{place}{key}");
    let RuleText { when, within, lasting, raise, clear, quiet } = text;
    let rule = Rule {
        name,
        when: hub.statement(when).map_err(|error| of_body(error, place))?,
        within: read_with(&field("within"), within, span::parse)?,
        lasting: lasting.as_deref().map(|text| read_with(&field("for"), text, span::parse)).transpose()?,
        raise: raise.unwrap_or(Rule::RAISE),
        clear: clear.unwrap_or(Rule::CLEAR),
        quiet: WeekHours::parse(quiet)
            .map_err(|error| Refusal::of_field(ErrorCode::BadBody, field("quiet"), error.to_string()))?,
    };
    rule.check().map_err(|error| Refusal::of_field(ErrorCode::BadBody, field(error.field()), error.to_string()))?;
    Ok(rule)
}

fn read_with<T, E: ToString>(field: &str, text: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Result<T, Refusal> {
    parse(text).map_err(|error| Refusal::of_field(ErrorCode::BadBody, field, error.to_string()))
}

/// The fields of a question as a body has them whose rule is at `place`.
fn of_body(error: QueryError, place: &str) -> Refusal {
    match error {
        QueryError::BadParameter { field, message } => {
            let field = match field {
                "statement" => format!("{place}when"),
                "past" => field.to_owned(),
                _ => format!("{place}{field}"),
            };
            Refusal::of_field(ErrorCode::BadBody, field, message)
        }
        error => error.into(),
    }
}
