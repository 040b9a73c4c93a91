//! What one evaluation may use, and what is said when it wants more.

use serde::{Deserialize, Serialize};

/// The limits of an evaluator. Every one of them is always on: there is no "unlimited".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Steps of one request: how many suspended values may be entered. Counted, so the same program with the same
    /// history always ends at the same step.
    pub fuel: u64,
    /// Steps of loading: parsing takes none, but the first look at a blueprint evaluates its shared values.
    pub load_fuel: u64,
    /// Wall-clock milliseconds of one request. Beyond it nothing is known about the program.
    pub millis: u64,
    /// Bytes of memory that a worker may hold, its stack apart.
    pub memory: u64,
    /// Bytes of all sources of a blueprint together.
    pub source_bytes: u64,
    /// Files of a blueprint.
    pub source_files: u64,
    /// Bytes of one request, the sources apart.
    pub input_bytes: u64,
    /// Bytes of one answer.
    pub output_bytes: u64,
    /// How deep the syntax of a file may be nested.
    pub depth: u64,
    /// How deep inputs and results may be nested.
    pub data_depth: u64,
    /// Bytes of one text in a diagnostic.
    pub text_bytes: u64,
    /// Bytes of stack for evaluation. Address space: only what is used is ever backed by memory.
    pub stack: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 300_000,
            load_fuel: 1_000_000,
            millis: 5_000,
            memory: 256 << 20,
            // A ConfigMap holds one MiB, and text compressed to a quarter of its size is common.
            source_bytes: 4 << 20,
            source_files: 200,
            // What the API server accepts as one object is 1.5 MiB; a few of them are one input.
            input_bytes: 8 << 20,
            output_bytes: 2 << 20,
            depth: 500,
            data_depth: 100,
            text_bytes: 2_000,
            stack: 256 << 20,
        }
    }
}

/// Which of the limits on size was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// The text of a blueprint.
    Sources,
    /// The number of its files.
    Files,
    /// A request.
    Input,
    /// An answer.
    Output,
    /// The nesting of syntax, an input or a result.
    Depth,
    /// Lines of comments one after another.
    Comments,
}
