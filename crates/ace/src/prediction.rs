//! Predicted lengths of an application's cycles and runs, from phase one: equations 1 and 2 of the paper.

use netmodel::Cost;
use serde::{Deserialize, Serialize};

use crate::application::{Application, N_CYCLES};
use crate::record::{Basis, Predicted};

/// Costs of an application's exchange, as measured in phase one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Benchmark {
    /// Cost of ping-pong between its first two ranks.
    pub ping_pong: Cost,
    /// Cost of the pattern's own exchange.
    pub exchange: ExchangeCost,
    /// Time that a barrier adds to a cycle at the median of the sizes; 0 if cycles have none.
    pub synchronization_ns: f64,
    /// Messages that one exchange takes one after the other.
    pub n_messages: u32,
}

/// Length of the exchange of a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ExchangeCost {
    /// Length at the one size that the application uses.
    Measured {
        /// Median over batches.
        span_ns: f64,
    },
    /// Length at any size, by lines through those measured.
    Fitted(Cost),
}

/// Number of cycles that an application is to run, and their predicted length.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Forecast {
    /// Cycles.
    pub n_cycles: u64,
    /// Mean size of a message over them.
    pub size_mean_bytes: f64,
    /// Their spans.
    pub predicted: Predicted,
}

impl ExchangeCost {
    /// Returns the length of the exchange with messages of this size.
    #[must_use]
    pub(crate) fn span_ns(&self, size_bytes: u64) -> f64 {
        match self {
            Self::Measured { span_ns } => *span_ns,
            Self::Fitted(model) => model.span_ns(size_bytes),
        }
    }
}

/// Predicts an application that cycles through `sizes`, which are not empty.
#[must_use]
pub(crate) fn predict(application: &Application, sizes: &[u64], benchmark: &Benchmark, basis: Basis) -> Forecast {
    let by_model = |size| f64::from(benchmark.n_messages) * benchmark.ping_pong.span_ns(size);
    let by_benchmark = |size| benchmark.exchange.span_ns(size);
    let mean_of = |span: &dyn Fn(u64) -> f64, n_cycles: u64| mean_over_cycles(sizes, n_cycles, span);
    let used: &dyn Fn(u64) -> f64 = match basis {
        Basis::Benchmark => &by_benchmark,
        Basis::Model => &by_model,
    };
    let synchronization_ns = match application.synchronize_every {
        0 => 0.0,
        every => benchmark.synchronization_ns / f64::from(every),
    };
    let load = application.load_percent;
    let n_cycles = match application.time {
        Some(time) => {
            let communication_ns = mean_of(used, sizes.len() as u64);
            let cycle_ns = communication_ns + load.compute_ns(communication_ns) + synchronization_ns;
            (time.0.as_nanos() as f64 / cycle_ns).round().max(1.0) as u64
        }
        None => application.iterations.unwrap_or(N_CYCLES).get(),
    };
    let communication_ns = mean_of(used, n_cycles);
    let compute_ns = load.compute_ns(communication_ns);
    let predicted = Predicted {
        basis,
        reason: reason(basis).to_owned(),
        n_messages: benchmark.n_messages,
        communication_by_model_ns: mean_of(&by_model, n_cycles),
        communication_by_benchmark_ns: mean_of(&by_benchmark, n_cycles),
        communication_ns,
        compute_ns,
        cycle_ns: compute_ns + communication_ns,
        synchronization_ns,
        run_ns: n_cycles as f64 * (compute_ns + communication_ns + synchronization_ns),
    };
    Forecast { n_cycles, size_mean_bytes: mean_of(&|size| size as f64, n_cycles), predicted }
}

fn reason(basis: Basis) -> &'static str {
    match basis {
        Basis::Benchmark => {
            "the pattern's own exchange, measured: it knows of messages that share links and of the algorithms of collectives, which a sum over single messages does not"
        }
        Basis::Model => "the sum over messages of alpha + beta n by ping-pong, as asked for: equation 1 of the paper",
    }
}

fn mean_over_cycles(sizes: &[u64], n_cycles: u64, span: &dyn Fn(u64) -> f64) -> f64 {
    let n_sizes = sizes.len() as u64;
    let (n_rounds, n_rest) = (n_cycles / n_sizes, (n_cycles % n_sizes) as usize);
    let spans: Vec<f64> = sizes.iter().map(|&size| span(size)).collect();
    let whole: f64 = spans.iter().sum();
    let rest: f64 = spans[..n_rest].iter().sum();
    (n_rounds as f64 * whole + rest) / n_cycles as f64
}

#[cfg(test)]
mod tests {
    use units::Confidence;

    use super::*;

    /// 1 us and 1 ns for each byte.
    fn model() -> Cost {
        let points: Vec<netmodel::Point> = (0..12)
            .map(|idx| 1 << idx)
            .map(|size_bytes| netmodel::Point { size_bytes, span_ns: 1_000.0 + size_bytes as f64 })
            .collect();
        Cost::fit(&points, Confidence::P95, 1).unwrap()
    }

    fn application(more: &str) -> Application {
        toml::from_str(&format!("name = \"a\"\npattern = \"ring\"\nsize = \"1kB\"\nload_percent = 20\n{more}")).unwrap()
    }

    fn benchmark(exchange: ExchangeCost) -> Benchmark {
        Benchmark { ping_pong: model(), exchange, synchronization_ns: 100.0, n_messages: 2 }
    }

    #[test]
    fn communication_has_its_share_of_the_cycle() {
        let measured = benchmark(ExchangeCost::Measured { span_ns: 5_000.0 });
        let forecast = predict(&application("iterations = 10"), &[1_000], &measured, Basis::Benchmark);
        assert_eq!(forecast.predicted.communication_ns, 5_000.0);
        assert_eq!(forecast.predicted.compute_ns, 20_000.0);
        assert_eq!(forecast.predicted.cycle_ns, 25_000.0);
        assert_eq!(forecast.predicted.run_ns, 251_000.0);
        assert!((forecast.predicted.communication_by_model_ns - 4_000.0).abs() < 1.0);
    }

    #[test]
    fn the_model_can_be_used_instead() {
        let measured = benchmark(ExchangeCost::Measured { span_ns: 5_000.0 });
        let predicted = predict(&application(""), &[1_000], &measured, Basis::Model).predicted;
        assert!((predicted.communication_ns - 4_000.0).abs() < 1.0);
        assert!((predicted.compute_ns - 16_000.0).abs() < 4.0);
    }

    #[test]
    fn a_time_becomes_as_many_cycles() {
        let measured = benchmark(ExchangeCost::Measured { span_ns: 5_000.0 });
        let forecast = predict(&application("time = \"1s\""), &[1_000], &measured, Basis::Benchmark);
        assert_eq!(forecast.n_cycles, 39_841);
        let forecast = predict(&application("time = \"1ns\""), &[1_000], &measured, Basis::Benchmark);
        assert_eq!(forecast.n_cycles, 1);
    }

    #[test]
    fn sizes_count_as_often_as_they_come() {
        let fitted = benchmark(ExchangeCost::Fitted(model()));
        let forecast =
            predict(&application("iterations = 5\nsynchronize_every = 0"), &[1_000, 2_000], &fitted, Basis::Benchmark);
        assert_eq!(forecast.size_mean_bytes, 1_400.0);
        assert!((forecast.predicted.communication_ns - 2_400.0).abs() < 1.0);
        assert_eq!(forecast.predicted.synchronization_ns, 0.0);
    }
}
