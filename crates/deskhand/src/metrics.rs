//! What was called how often, with what outcome and how long it took: counted always, shown where somebody
//! asks.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The upper ends of the classes of durations, in seconds.
const CLASSES: [f64; 10] = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];

/// Counts of calls.
pub struct Metrics {
    started: Instant,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// By tool and outcome: `ok`, or the error's code.
    outcomes: BTreeMap<(&'static str, &'static str), u64>,
    durations: BTreeMap<&'static str, Durations>,
}

#[derive(Default)]
struct Durations {
    classes: [u64; CLASSES.len()],
    sum: f64,
    count: u64,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics { started: Instant::now(), calls: Mutex::default() }
    }
}

impl Metrics {
    /// One call has ended.
    pub fn record(&self, tool: &'static str, outcome: &'static str, took: Duration) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls.outcomes.entry((tool, outcome)).or_default() += 1;
        let durations = calls.durations.entry(tool).or_default();
        let seconds = took.as_secs_f64();
        if let Some(class) = CLASSES.iter().position(|end| seconds <= *end) {
            durations.classes[class] += 1;
        }
        durations.sum += seconds;
        durations.count += 1;
    }

    /// How long the server runs.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// How many calls have ended.
    pub fn calls(&self) -> u64 {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).outcomes.values().sum()
    }

    /// The counts in the text form of Prometheus.
    pub fn write(&self, text: &mut String) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        head(text, "deskhand_calls_total", "counter", "Calls by tool and outcome.");
        for ((tool, outcome), count) in &calls.outcomes {
            let _ = writeln!(text, "deskhand_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}");
        }
        head(text, "deskhand_call_duration_seconds", "histogram", "How long calls took.");
        for (tool, durations) in &calls.durations {
            let name = "deskhand_call_duration_seconds";
            let mut so_far = 0;
            for (end, count) in CLASSES.iter().zip(durations.classes) {
                so_far += count;
                let _ = writeln!(text, "{name}_bucket{{tool=\"{tool}\",le=\"{end}\"}} {so_far}");
            }
            let Durations { sum, count, .. } = durations;
            let _ = writeln!(text, "{name}_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {count}");
            let _ = writeln!(text, "{name}_sum{{tool=\"{tool}\"}} {sum}");
            let _ = writeln!(text, "{name}_count{{tool=\"{tool}\"}} {count}");
        }
    }
}

/// What a number is, in the text form of Prometheus.
pub fn head(text: &mut String, name: &str, kind: &str, about: &str) {
    let _ = write!(text, "# HELP {name} {about}\n# TYPE {name} {kind}\n");
}

/// One number with what it is.
pub fn gauge(text: &mut String, name: &str, about: &str, value: f64) {
    head(text, name, "gauge", about);
    let _ = writeln!(text, "{name} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_outcome_and_their_times_by_class() {
        let metrics = Metrics::default();
        metrics.record("click", "ok", Duration::from_millis(3));
        metrics.record("click", "timeout", Duration::from_secs(5));
        metrics.record("click", "timeout", Duration::from_secs(500));
        let mut text = String::new();
        metrics.write(&mut text);
        for line in [
            "deskhand_calls_total{tool=\"click\",outcome=\"ok\"} 1",
            "deskhand_calls_total{tool=\"click\",outcome=\"timeout\"} 2",
            "deskhand_call_duration_seconds_bucket{tool=\"click\",le=\"0.001\"} 0",
            "deskhand_call_duration_seconds_bucket{tool=\"click\",le=\"0.005\"} 1",
            "deskhand_call_duration_seconds_bucket{tool=\"click\",le=\"60\"} 2",
            "deskhand_call_duration_seconds_bucket{tool=\"click\",le=\"+Inf\"} 3",
            "deskhand_call_duration_seconds_count{tool=\"click\"} 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is missing:\n{text}");
        }
        assert_eq!(metrics.calls(), 3);
    }
}
