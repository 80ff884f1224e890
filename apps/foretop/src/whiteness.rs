//! Results of the tests for whiteness and normality, as lines and as JSON.

use serde::Serialize;
use statistics::{Count, Portmanteau, significance_bound};
use text::figure::six_digits;

/// A p-value below this is shown as evidence against noise.
const SIGNIFICANCE: f64 = 0.05;

/// A share of equal neighbours from which on the counts say more of them than of memory.
const TIES_MAX: f64 = 0.05;

/// [`statistics::Whiteness`] as docs/formats/cli.md has it.
#[derive(Debug, Serialize)]
pub struct Whiteness {
    n: usize,
    n_ties: usize,
    n_lags: usize,
    significant_share: f64,
    ljung_box: Sum,
    box_pierce: Sum,
    turning_points: Counted,
    rises: Counted,
}

#[derive(Debug, Serialize)]
struct Sum {
    statistic: f64,
    degrees_of_freedom: usize,
    p_value: f64,
}

#[derive(Debug, Serialize)]
struct Counted {
    found: usize,
    expected: f64,
    p_value: f64,
}

/// [`statistics::Normality`] as docs/formats/cli.md has it.
#[derive(Debug, Serialize)]
pub struct Normality {
    r_squared: f64,
    p_value: Option<f64>,
}

impl From<statistics::Whiteness> for Whiteness {
    fn from(test: statistics::Whiteness) -> Self {
        Self {
            n: test.n,
            n_ties: test.n_ties,
            n_lags: test.n_lags,
            significant_share: test.significant_share,
            ljung_box: test.ljung_box.into(),
            box_pierce: test.box_pierce.into(),
            turning_points: test.turning_points.into(),
            rises: test.rises.into(),
        }
    }
}

impl From<Portmanteau> for Sum {
    fn from(test: Portmanteau) -> Self {
        Self { statistic: test.statistic, degrees_of_freedom: test.degrees_of_freedom, p_value: test.p_value }
    }
}

impl From<Count> for Counted {
    fn from(test: Count) -> Self {
        Self { found: test.found, expected: test.expected, p_value: test.p_value }
    }
}

impl From<statistics::Normality> for Normality {
    fn from(line: statistics::Normality) -> Self {
        Self { r_squared: line.r_squared, p_value: line.p_value }
    }
}

impl Whiteness {
    /// A line for each kind of test.
    pub fn sentences(&self) -> [String; 3] {
        let verdict = if self.ljung_box.p_value < SIGNIFICANCE { "not noise" } else { "like noise" };
        let sum = |name: &str, sum: &Sum| format!("{name} Q {} ({})", six_digits(sum.statistic), p_value(sum.p_value));
        let count = |name: &str, count: &Counted| {
            format!("{} {name}, {:.1} expected ({})", count.found, count.expected, p_value(count.p_value))
        };
        [
            format!(
                "{verdict}: {}, {}, on {} degrees of freedom",
                sum("Ljung-Box", &self.ljung_box),
                sum("Box-Pierce", &self.box_pierce),
                self.ljung_box.degrees_of_freedom
            ),
            format!(
                "{:.0} % of {} autocorrelations beyond {:.3} (5 % in noise)",
                100.0 * self.significant_share,
                self.n_lags,
                significance_bound(self.n)
            ),
            format!(
                "{}; {}{}",
                count("turning points", &self.turning_points),
                count("rises", &self.rises),
                self.caveat()
            ),
        ]
    }

    /// Returns the caveat on the counts if neighbours are often equal.
    fn caveat(&self) -> String {
        let share = self.n_ties as f64 / self.n as f64;
        if share < TIES_MAX {
            return String::new();
        }
        format!("; but {:.0} % of neighbours are equal, which counts are not made for", 100.0 * share)
    }
}

impl Normality {
    pub fn sentence(&self) -> String {
        let verdict = match self.p_value {
            Some(p) if p < SIGNIFICANCE => "not normal: ",
            Some(_) => "like normal: ",
            None => "",
        };
        let p_value = self.p_value.map_or_else(String::new, |p| format!(" ({})", p_value(p)));
        format!("{verdict}R^2 of the quantile-quantile line {:.4}{p_value}", self.r_squared)
    }
}

/// Four decimals say all that a p-value can.
fn p_value(p: f64) -> String {
    if p < 0.0001 { "p < 0.0001".to_owned() } else { format!("p {p:.4}") }
}
