//! Reading: lists, watches, and the forms that objects are shown in.

mod form;
mod list;
mod selector;
mod table;
mod watch;

pub(crate) use form::{Form, shown};
pub(crate) use selector::Selection;
pub use watch::Watch;
