//! Whether a new draft may follow an old definition.
