//! Remarks on a fitted application: the certainty of each part, and the file that is made of both.

use std::fmt::Write;
use std::num::NonZeroU64;

use text::figure::percent;

use super::{Fitted, LOAD_MAX, LOAD_MIN};
use crate::application::{Application, Applications, Placement};

/// A pattern with a smaller share of the communication is only the nearest.
const FITTING_RATIO: f64 = 0.8;
/// Cycles whose calls repeat less often than this are told to be unsure.
const REGULAR_RATIO: f64 = 0.9;

impl Fitted {
    /// Whether the pattern is that of the trace, rather than only the nearest.
    #[must_use]
    pub fn is_of_pattern(&self) -> bool {
        self.pattern.share_ratio >= FITTING_RATIO
    }

    /// Returns the certainty of each part, a sentence each.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![self.pattern_remark()];
        if !self.pattern.difference.is_empty() {
            remarks.push(format!("pattern: {}", self.pattern.difference));
        }
        if let Some(ratio) = self.mode_ratio {
            let without = if self.application.pattern.is_collective() {
                ", which one call of all ranks takes the place of"
            } else {
                ""
            };
            remarks.push(format!("mode: {} of the sends are of one mode{without}", percent(ratio)));
        }
        remarks.push(self.size_remark());
        remarks.push(self.load_remark());
        let cycles = self.application.iterations.map_or(0, NonZeroU64::get);
        let millis = self.cycle_ns / 1e6;
        remarks.push(format!("iterations: {cycles} cycles of {millis:.3} ms each; emulated ones are as long as their own messages and the load make them"));
        remarks.push(self.cycle_remark());
        remarks
    }

    fn pattern_remark(&self) -> String {
        let Application { pattern, .. } = self.application;
        let share = percent(self.pattern.share_ratio);
        let next = self
            .pattern
            .next
            .map_or(String::new(), |(next, share)| format!("; next is {next} with {}", percent(share)));
        if !self.is_of_pattern() {
            return format!("pattern: no pattern fits, nearest is {pattern} with {share} of the communication{next}");
        }
        match self.pattern.next {
            Some((next, other)) if other >= self.pattern.share_ratio - 1e-9 => {
                format!("pattern: {pattern} fits {share} of the communication; {next} fits as well on so few ranks")
            }
            _ => format!("pattern: {pattern} fits {share} of the communication{next}"),
        }
    }

    fn size_remark(&self) -> String {
        if self.size_distance_ratio == 0.0 {
            return match self.n_sizes {
                1 => "size: that of all recorded messages".to_owned(),
                n => format!("size: all {n} recorded sizes, by how often they were"),
            };
        }
        format!(
            "size: {} recorded sizes; up to any size, the share of messages is at most {} off",
            self.n_sizes,
            percent(self.size_distance_ratio)
        )
    }

    fn load_remark(&self) -> String {
        let (least, most) = self.load_ratios;
        let range = format!(
            "{} of the time in calls, {} to {} by rank",
            percent(self.load_ratio),
            percent(least),
            percent(most)
        );
        let recorded = 100.0 * self.load_ratio;
        let brought = if (LOAD_MIN..=LOAD_MAX).contains(&recorded) {
            ""
        } else {
            "; outside of what is emulated, so that the nearest load stands here"
        };
        format!("load_percent: {range}{brought}; waiting for ranks that are late is part of it")
    }

    fn cycle_remark(&self) -> String {
        let sure = if self.regularity_ratio < REGULAR_RATIO { ", so that where a cycle ends is a guess" } else { "" };
        let several = match self.n_exchanges {
            1 => String::new(),
            n => format!(" of {n} exchanges, emulated as one"),
        };
        format!(
            "cycles{several}: {} of the exchanges have the calls of the one a cycle before{sure}",
            percent(self.regularity_ratio)
        )
    }

    /// The file that `foretop-ace` reads, remarks in front.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut text = "# Made from a communication trace. How sure each part is:\n".to_owned();
        for remark in self.remarks() {
            writeln!(text, "# - {remark}").expect("a String takes everything");
        }
        let applications =
            Applications { placement: Placement::default(), applications: vec![self.application.clone()] };
        text + "\n" + &toml::to_string(&applications).expect("an application is a table of plain values")
    }
}
