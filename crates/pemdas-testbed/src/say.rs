//! Progress for the person who waits: one line each on standard error.

/// Prints one line of progress, marked as the test bed's.
macro_rules! say {
    ($($text:tt)*) => {{
        #[allow(clippy::print_stderr, reason = "progress of the test bed goes to the person who waits")]
        {
            eprintln!("testbed: {}", format_args!($($text)*));
        }
    }};
}
pub(crate) use say;
