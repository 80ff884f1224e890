//! The HTTP interface of a node as `docs/formats/http.md` specifies it: its types, and a blocking [`Client`].
//!
//! Clients in Rust read answers into the same types that the node writes. Requests refuse unknown fields; answers do
//! not, so an older client understands a newer node. Numbers in answers are finite; a gap, and anything else that is
//! absent, is `None` here and `null` on the wire. The types are separate from the workspace's own, so an
//! internal change does not alter what is sent.
#![forbid(unsafe_code)]

mod cause;
mod client;
mod event;
mod exhaustion;
mod forecast;
mod mpi;
mod node;
mod one_off;
mod outlook;
mod process;
mod pushed;
mod refusal;
mod rule;
mod run_time;
mod series;
mod warning;

pub use cause::{CauseMeasure, CausePart, ChangeCause, Culprit, CulpritKind};
pub use client::{Client, ClientError, Event, Events, NodeUrl, NodeUrlError, RangeText, moment};
pub use event::{Hello, Lagged, LeadBand, LeadForecast, TickEvent};
pub use exhaustion::{Exhaustion, ExhaustionList};
pub use forecast::{
    Accuracy, Coverage, ErrorStatistics, Forecast, LeadAccuracy, Remembered, Residuals, Speaking, Weighed,
};
pub use mpi::{
    MpiAnalysis, MpiContributor, MpiFlow, MpiGroup, MpiHint, MpiJob, MpiJobDetail, MpiJobs, MpiLastArrival,
    MpiOperation, MpiPath, MpiRank, MpiSlow, MpiStage, MpiTreeNode,
};
pub use node::{Absent, CatchingUp, Health, HostLimits, NodeInfo, Readiness, Status, StoreHealth};
pub use one_off::{OneOff, OneOffForecast, OneOffForecasts, OneOffs};
pub use outlook::{Hindcast, Outlook, Passage, Probability, Record, RecordBin, Scale, Season, Seasons};
pub use process::{
    ProcessFigures, ProcessGrouping, ProcessOrder, ProcessRow, ProcessTable, ProgramCurve, ProgramHistory,
    UnknownChoice,
};
pub use pushed::{Accepted, NewSeries, PushedSample, PushedSamples};
pub use refusal::{ErrorBody, ErrorCode, ErrorDetail};
pub use rule::{Rule, RuleOrigin, RuleText, RuleTrial, Rules, TriedRule};
pub use run_time::{RunTime, RunTimeQuantile};
pub use series::{
    Fitted, FoundSeason, Kind, LastSample, LeadWeight, Parameter, Range, Samples, SeasonLead, Series, SeriesDetail,
    SeriesList, Source, Speaker, Waiting, WaitingReason,
};
pub use warning::{Acknowledgement, Acknowledging, Excursion, Silence, Warning, WarningWay, Warnings};
