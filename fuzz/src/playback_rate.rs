//! Whatever the situation, and however long nobody looked, the rate of any law is within the listener's limits.

use arbitrary::{Result, Unstructured};
use playback::{Arrival, Arrivals, Controller, Decoding, Law, Limits, LiveEdge, Situation, requested};

/// The greatest change of our own laws, with what rounding adds.
const CHANGE_MAX: f64 = 0.01 + 1e-9;

/// A law, limits and a request, then one situation after another. Returns whether there was any.
///
/// # Panics
/// When a rate is beyond the limits or its mean is none, a break is foreseen in the past, or one of our laws jumps.
pub fn playback_rate(bytes: &[u8]) -> bool {
    // Bytes that end too early do not err: what is missing is 0.
    played(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn played(input: &mut Unstructured<'_>) -> Result<bool> {
    let law = *input.choose(&Law::ALL)?;
    let limits = Limits::new(up_to(1.0, input)?, 1.0 + up_to(1.0, input)?);
    let (Ok(limits), Ok(mut requested_rate)) = (limits, requested(up_to(4.0, input)?)) else {
        return Ok(false);
    };
    let mut controller = Controller::new(law, limits, requested_rate);
    let mut arrivals = Arrivals::new("LAST".parse().expect("a model"));
    let (mut before, mut has_stepped) = (None, false);
    while !input.is_empty() {
        match input.int_in_range(0..=7_u8)? {
            0 => {
                controller.fall_silent();
                before = None;
            }
            1 => {
                requested_rate = requested(up_to(4.0, input)?).unwrap_or(requested_rate);
                controller.request_changed();
                before = None;
            }
            _ => {}
        }
        let elapsed_seconds = up_to(1.0, input)?;
        arrivals.step(up_to(2.0, input)?, elapsed_seconds, input.arbitrary()?);
        let situation = situation(requested_rate, &arrivals, input)?;
        let decision = controller.step(&situation, elapsed_seconds);
        let accepted = limits.slowest(requested_rate)..=limits.fastest(requested_rate);
        assert!(accepted.contains(&decision.rate), "{law}: {decision:?} of {accepted:?} in {situation:?}");
        assert!((0.0..=8.0).contains(&decision.mean_rate), "{law}: {decision:?}");
        assert!(decision.until_break_seconds.is_none_or(|seconds| seconds >= 0.0), "{decision:?} in {situation:?}");
        if law.looks_ahead() {
            let change = before.map_or(0.0, |before: f64| (decision.rate - before).abs());
            assert!(change <= CHANGE_MAX, "{law} changes its rate by {change}: {situation:?}");
        }
        (before, has_stepped) = (Some(decision.rate), true);
    }
    Ok(has_stepped)
}

fn situation(requested_rate: f64, arrivals: &Arrivals, input: &mut Unstructured<'_>) -> Result<Situation> {
    let decoding = match input.arbitrary()? {
        true => Some(Decoding { ahead_seconds: up_to(20.0, input)?, rate: forecast(input)? }),
        false => None,
    };
    let live = match input.arbitrary()? {
        true => Some(LiveEdge { offset_seconds: up_to(20.0, input)?, target_seconds: up_to(20.0, input)? }),
        false => None,
    };
    Ok(Situation {
        buffer_seconds: up_to(30.0, input)?,
        capacity_seconds: up_to(30.0, input)?.max(f64::MIN_POSITIVE),
        start_seconds: up_to(30.0, input)?.max(f64::MIN_POSITIVE),
        left_seconds: if input.arbitrary()? { Some(up_to(60.0, input)?) } else { None },
        arrival: if input.arbitrary()? { arrivals.forecast() } else { Some(forecast(input)?) },
        does_sender_wait: input.arbitrary()?,
        decoding,
        live,
        requested_rate,
    })
}

/// Wrong by any amount.
fn forecast(input: &mut Unstructured<'_>) -> Result<Arrival> {
    let mut rates = [[0.0; 3]; 8];
    for rate in rates.as_flattened_mut() {
        *rate = up_to(4.0, input)?;
    }
    let mut rates = rates.into_iter();
    Ok(Arrival::of(|_| rates.next().unwrap_or_default()))
}

/// A finite number from 0: one of 250 up to `usual`, or any that there is.
fn up_to(usual: f64, input: &mut Unstructured<'_>) -> Result<f64> {
    let part: u8 = input.arbitrary()?;
    if part <= 250 {
        return Ok(usual * f64::from(part) / 250.0);
    }
    Ok(input.arbitrary::<f64>()?.abs().min(f64::MAX))
}
