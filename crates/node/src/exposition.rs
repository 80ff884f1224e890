//! The node's metrics for Prometheus, by families: values, forecasts, its own health. Scraped and written names come
//! from here.

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus::proto::{Counter, LabelPair, Metric, MetricFamily, MetricType};

use crate::api;
use crate::hub::{Bounds, Counters, Gauge, Hub, RemoteCounters};

/// The confidence of the bounds, as a label value.
const CONFIDENCE: &str = "0.95";

/// Metrics by family, so that each family's head is written once, whatever the order they come in.
#[derive(Default)]
pub(crate) struct Families {
    by_name: BTreeMap<String, Family>,
    /// Whether forecasts are there as `yhat`, `yhat_lower` and `yhat_upper` too.
    yhat: bool,
}

struct Family {
    help: String,
    kind: MetricType,
    metrics: Vec<Metric>,
}

impl Families {
    /// No metrics yet. With `yhat`, forecasts come under the names of other forecasters' dashboards too.
    pub(crate) fn new(yhat: bool) -> Self {
        Self { yhat, ..Self::default() }
    }

    /// A gap and a missing forecast are left out: Prometheus then knows that there is nothing.
    pub(crate) fn add_signal(&mut self, gauge: &Gauge) {
        let (name, help) = (&*gauge.metric.name, &*gauge.metric.help);
        let labels: Vec<_> = gauge.metric.labels.iter().map(|(name, value)| label(name, value)).collect();
        self.add(name, help, MetricType::GAUGE, labels.clone(), gauge.value);
        for (horizon, bounds) in &gauge.bounds {
            let mut labels = labels.clone();
            labels.push(label("horizon", &horizon_text(*horizon)));
            let says = |what: &str| format!("{}. {what}", help.trim_end_matches('.'));
            let forecast = format!("{name}_forecast");
            self.add(&forecast, &says("Forecast."), MetricType::GAUGE, labels.clone(), bounds.mean);
            if self.yhat {
                self.add_yhat(name, labels.clone(), bounds);
            }
            labels.push(label("confidence", CONFIDENCE));
            let (lower, upper) = (format!("{forecast}_lower"), format!("{forecast}_upper"));
            self.add(&lower, &says("Lower bound of the forecast."), MetricType::GAUGE, labels.clone(), bounds.lower);
            self.add(&upper, &says("Upper bound of the forecast."), MetricType::GAUGE, labels, bounds.upper);
        }
    }

    /// Adds a forecast of the metric `name` as `yhat`, `yhat_lower` and `yhat_upper`, all with the same labels: an
    /// expression of them needs no `ignoring`.
    fn add_yhat(&mut self, name: &str, mut labels: Vec<LabelPair>, bounds: &Bounds) {
        labels.push(label("for", name));
        for (yhat, help, value) in [
            ("yhat", "Forecast of the metric in the label `for`.", bounds.mean),
            ("yhat_lower", "Lower bound of the forecast, at 95 %.", bounds.lower),
            ("yhat_upper", "Upper bound of the forecast, at 95 %.", bounds.upper),
        ] {
            self.add(yhat, help, MetricType::GAUGE, labels.clone(), value);
        }
    }

    /// Adds the probability that each rule comes true, and whether the rule warns.
    pub(crate) fn add_warnings(&mut self, warnings: &api::Warnings) {
        for rule in &warnings.rules {
            let within = horizon_text(Duration::try_from_secs_f64(rule.within_seconds).unwrap_or_default());
            let labels = vec![label("rule", &rule.name), label("series", &rule.id), label("within", &within)];
            let (name, help) = ("foretop_probability", "How probable it is that a rule's statement comes true.");
            // What was probable when the last sample came says nothing of now.
            let probability = rule.probability.filter(|_| rule.no_sample_since.is_none());
            self.add(name, help, MetricType::GAUGE, labels.clone(), probability.unwrap_or(f64::NAN));
            let (name, help) = ("foretop_warning", "Whether a rule's warning stands.");
            self.add(name, help, MetricType::GAUGE, labels, f64::from(u8::from(rule.stands)));
        }
        for way in &warnings.ways {
            let labels = vec![label("way", &way.name)];
            let (name, help) = ("foretop_warnings_waiting", "Changes of warnings that have still to be told.");
            self.add(name, help, MetricType::GAUGE, labels.clone(), way.n_waiting as f64);
            let totals = [
                ("foretop_warnings_told_total", "Changes of warnings that were told.", way.n_told),
                ("foretop_warnings_given_up_total", "Changes of warnings that nobody was told of.", way.n_given_up),
            ];
            for (name, help, value) in totals {
                self.add(name, help, MetricType::COUNTER, labels.clone(), value as f64);
            }
        }
    }

    pub(crate) fn add_node(&mut self, counters: &Counters) {
        let gauges = [
            ("foretop_up_seconds", "Time since the node started.", counters.up.as_secs_f64()),
            ("foretop_store_ok", "Whether the store's last write succeeded.", f64::from(u8::from(counters.store_ok))),
            (
                "foretop_store_backlog_samples",
                "Samples in memory that are still to be written.",
                counters.backlog_samples as f64,
            ),
            ("foretop_event_readers", "Readers of the event stream.", counters.n_event_readers as f64),
            (
                "foretop_tick_duration_seconds",
                "Time that the last tick took: reading, stepping and forecasting.",
                counters.tick_duration.as_secs_f64(),
            ),
        ];
        let totals = [
            ("foretop_ticks_total", "Deadlines at which samples were taken.", counters.n_ticks),
            ("foretop_thread_panics_total", "Panics of threads, which were started again.", counters.n_thread_panics),
            ("foretop_log_lines_lost_total", "Lines of the log that could not be written.", counters.n_log_lines_lost),
            ("foretop_missed_deadlines_total", "Deadlines at which none were.", counters.n_missed_deadlines),
            ("foretop_gaps_total", "Samples that are missing.", counters.n_gaps),
            ("foretop_sensor_errors_total", "Readings of sensors that failed.", counters.n_sensor_errors),
            ("foretop_fit_failures_total", "Fits that failed.", counters.n_fit_failures),
            (
                "foretop_store_dropped_samples_total",
                "Samples given up because there was no room for them.",
                counters.dropped_samples,
            ),
        ];
        for (name, help, value) in gauges {
            self.add(name, help, MetricType::GAUGE, Vec::new(), value);
        }
        for (name, help, value) in totals {
            self.add(name, help, MetricType::COUNTER, Vec::new(), value as f64);
        }
    }

    /// Adds the counts of each endpoint of each stream.
    pub(crate) fn add_streams(&mut self, hub: &Hub) {
        let (gauges, dropped) = hub.stream_gauges();
        for gauge in gauges {
            let counted = &gauge.status.counted;
            let labels = vec![label("endpoint", &gauge.status.endpoint), label("stream", &gauge.stream)];
            let totals = [
                ("foretop_stream_frames_total", "Frames read or written.", counted.n_frames),
                ("foretop_stream_bytes_total", "Bytes of those frames.", counted.n_bytes),
                ("foretop_stream_dropped_total", "Frames that slow readers did not get.", counted.n_dropped),
                ("foretop_stream_bad_frames_total", "What came in and was no frame, or said nothing.", counted.n_bad),
                ("foretop_stream_failed_logins_total", "Visitors without the token.", counted.n_failed_logins),
                ("foretop_stream_connects_total", "Connections that there have been.", counted.n_connects),
            ];
            for (name, help, value) in totals {
                self.add(name, help, MetricType::COUNTER, labels.clone(), value as f64);
            }
            let gauges = [
                ("foretop_stream_connections", "Connections that are there.", counted.n_connected),
                ("foretop_stream_backlog_bytes", "Bytes that wait for the slowest reader.", counted.backlog_bytes),
            ];
            for (name, help, value) in gauges {
                self.add(name, help, MetricType::GAUGE, labels.clone(), value as f64);
            }
        }
        for (stream, n_dropped) in dropped {
            let (name, help) = ("foretop_stream_ticks_dropped_total", "Ticks that a stream was too busy to take.");
            self.add(name, help, MetricType::COUNTER, vec![label("stream", &stream)], n_dropped as f64);
        }
    }

    /// Adds the state of writing to one server.
    pub(crate) fn add_remote(&mut self, remote: &RemoteCounters) {
        let target = label("target", &remote.name);
        let status = &remote.status;
        let gauges = [
            ("ok", "Whether the last request to write was taken.", f64::from(u8::from(status.problem.is_none()))),
            ("pending_samples", "Samples in the buffer that are still to be sent.", status.n_pending as f64),
            ("pending_bytes", "What they take in the buffer.", status.pending_bytes as f64),
        ];
        let totals = [
            ("sent_samples_total", "Samples that the server took.", status.n_sent),
            ("retries_total", "Requests to write that failed and were made again.", status.n_retries),
        ];
        for (what, help, value) in gauges {
            self.add(&remote_name(what), help, MetricType::GAUGE, vec![target.clone()], value);
        }
        for (what, help, value) in totals {
            self.add(&remote_name(what), help, MetricType::COUNTER, vec![target.clone()], value as f64);
        }
        let dropped = &status.dropped;
        let reasons = [
            ("buffer_full", dropped.n_overflowed),
            ("damaged", dropped.n_damaged),
            ("not_buffered", remote.n_not_buffered),
        ];
        let reasons = reasons.into_iter().map(|(reason, n)| (reason.to_owned(), n));
        let refused = dropped.refused.iter().map(|(status, n)| (format!("status_{status}"), *n));
        for (reason, n) in reasons.chain(refused) {
            let labels = vec![target.clone(), label("reason", &reason)];
            let help = "Samples that were given up instead of written.";
            self.add(&remote_name("dropped_samples_total"), help, MetricType::COUNTER, labels, n as f64);
        }
    }

    /// Adds the cost of this process; left out if `/proc` cannot be read.
    pub(crate) fn add_process(&mut self) {
        let stat = procfs::process::Process::myself().and_then(|process| process.stat());
        let Ok(stat) = stat.inspect_err(|error| tracing::debug!(%error, "own cost unknown")) else { return };
        let cpu_seconds = (stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64;
        let resident_bytes = (stat.rss * procfs::page_size()) as f64;
        let (cpu, resident) = ("foretop_process_cpu_seconds_total", "foretop_process_resident_memory_bytes");
        self.add(cpu, "CPU time of the node itself.", MetricType::COUNTER, Vec::new(), cpu_seconds);
        self.add(resident, "Memory of the node itself.", MetricType::GAUGE, Vec::new(), resident_bytes);
    }

    fn add(&mut self, name: &str, help: &str, kind: MetricType, labels: Vec<LabelPair>, value: f64) {
        if value.is_nan() {
            return;
        }
        let mut metric = Metric::from_label(labels);
        if kind == MetricType::COUNTER {
            let mut counter = Counter::default();
            counter.set_value(value);
            metric.set_counter(counter);
        } else {
            let mut gauge = prometheus::proto::Gauge::default();
            gauge.set_value(value);
            metric.set_gauge(gauge);
        }
        let family = self.by_name.entry(name.to_owned());
        family.or_insert_with(|| Family { help: help.to_owned(), kind, metrics: Vec::new() }).metrics.push(metric);
    }

    pub(crate) fn finish(self) -> Vec<MetricFamily> {
        let finish = |(name, family): (String, Family)| {
            let mut finished = MetricFamily::default();
            finished.set_name(name);
            finished.set_help(family.help);
            finished.set_field_type(family.kind);
            finished.set_metric(family.metrics);
            finished
        };
        self.by_name.into_iter().map(finish).collect()
    }
}

fn remote_name(what: &str) -> String {
    format!("foretop_remote_write_{what}")
}

/// A horizon as a label value: `300s`, or `500ms` where it is no whole number of seconds.
fn horizon_text(horizon: Duration) -> String {
    if horizon.subsec_nanos() == 0 { format!("{}s", horizon.as_secs()) } else { format!("{}ms", horizon.as_millis()) }
}

fn label(name: &str, value: &str) -> LabelPair {
    let mut pair = LabelPair::default();
    pair.set_name(name.to_owned());
    pair.set_value(value.to_owned());
    pair
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;

    use super::*;

    fn text(values: &[(&str, f64)]) -> String {
        let mut families = Families::default();
        for (interface, value) in values {
            let labels = vec![label("interface", interface)];
            families.add("foretop_net", "Line\nbreak \\.", MetricType::GAUGE, labels, *value);
        }
        TextEncoder::new().encode_to_string(&families.finish()).unwrap()
    }

    #[test]
    fn labels_and_help_cannot_break_out_of_their_line() {
        let expected = [
            r"# HELP foretop_net Line\nbreak \\.",
            "# TYPE foretop_net gauge",
            r#"foretop_net{interface="a\"} 1\nb\\"} 5"#,
        ];
        assert_eq!(text(&[("a\"} 1\nb\\", 5.0)]).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_gap_is_left_out() {
        let text = text(&[("a", f64::NAN), ("b", 1.0)]);
        assert!(!text.contains("\"a\"") && text.contains("foretop_net{interface=\"b\"} 1\n"), "{text}");
    }
}
