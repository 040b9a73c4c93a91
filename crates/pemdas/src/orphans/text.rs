//! Orphans for people.

use std::fmt::Write as _;

use super::Found;

/// The list, by instance, and what it leaves out.
pub(crate) fn found(found: &Found) -> String {
    let mut out = String::new();
    let mut last = None;
    for orphan in &found.orphans {
        if last != Some(&orphan.instance) {
            last = Some(&orphan.instance);
            let _ = writeln!(out, "{} is gone, and these are left of it ({}):", orphan.root, orphan.instance);
        }
        let state = match (orphan.live.terminating, orphan.verified) {
            (true, _) => "  (is being deleted)",
            (_, false) => "  (not verified)",
            _ => "",
        };
        let _ = writeln!(out, "  {}  made by {}{state}", orphan.address, orphan.node);
    }
    if found.orphans.is_empty() {
        out.push_str("nothing is left of instances that are gone\n");
    }
    for note in notes(found) {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

fn notes(found: &Found) -> Vec<String> {
    let mut notes = found.unseen.clone();
    if found.on_purpose > 0 {
        notes.push(format!("{} more stay on purpose: their node has on_delete = 'Orphan", found.on_purpose));
    }
    if found.forged > 0 {
        notes.push(format!(
            "{} more carry the label pemdas.dev/root without a claim that Pemdas wrote: they are somebody else's",
            found.forged
        ));
    }
    if !found.has_key && !found.orphans.is_empty() {
        notes.push(
            "the claims are not verified: the Secret pemdas-seal of the operator may not be read with your permissions"
                .to_owned(),
        );
    }
    notes
}
