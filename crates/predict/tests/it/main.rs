//! What users of the crate rely on.

mod arfima;
mod arma;
mod auto;
mod auto_season;
mod backtest;
mod bad_input;
mod compare;
mod effort;
mod ets;
mod fleet;
mod gaps;
mod inference;
mod intervals;
mod live;
mod maximum_likelihood;
mod nws;
mod outlook;
mod predictor;
mod reference;
mod run_time;
mod seasonal;
mod selection;
mod state;
mod tar;
mod testdata;
