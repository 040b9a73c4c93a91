//! What a definition that is given checks beyond a draft.
