//! What a response says: JSON or text, or neither.

use serde_json::Value;

/// The value of a body. No error quotes the body: it may hold anything.
///
/// # Errors
/// The rest of a sentence that begins with the Service.
pub(super) fn read(content_type: Option<&str>, body: &[u8]) -> Result<Value, String> {
    let declared = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let declared = declared.to_ascii_lowercase();
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err("answers with nothing".to_owned());
    }
    if declared == "application/json" || declared.ends_with("+json") {
        return json(body).ok_or_else(|| "says that it answers with JSON, and does not".to_owned());
    }
    if declared.starts_with("text/") {
        return text(body).ok_or_else(|| "says that it answers with text, and does not".to_owned());
    }
    // A file server that knows no better.
    if declared.is_empty() || declared == "application/octet-stream" {
        let looks_like_json =
            body.iter().find(|it| !it.is_ascii_whitespace()).is_some_and(|it| b"{[".contains(it));
        let found = if looks_like_json { json(body) } else { None };
        return found.or_else(|| text(body)).ok_or_else(|| "answers with neither JSON nor text".to_owned());
    }
    let shown = declared.chars().filter(char::is_ascii_graphic).take(60).collect::<String>();
    Err(format!("answers with {shown}, which is neither JSON nor text"))
}

fn json(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

/// Text as people write it: UTF-8 without control characters. The end of the last line is no part of it.
fn text(body: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(body).ok()?;
    let is_plain = text.chars().all(|it| !it.is_control() || matches!(it, '\n' | '\r' | '\t'));
    is_plain.then(|| Value::String(text.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;

    #[test]
    fn json_and_text_are_told_apart_by_type_and_content() {
        let cases: [(Option<&str>, &str, Value); 8] = [
            (Some("application/json"), "{\"a\":1}", json!({ "a": 1 })),
            (Some("application/health+json; charset=utf-8"), "3", json!(3)),
            (Some("text/plain"), "{\"a\":1}\n", json!("{\"a\":1}")),
            (Some("text/html"), "<p>", json!("<p>")),
            (None, "{\"a\":1}", json!({ "a": 1 })),
            (Some("application/octet-stream"), " [1]", json!([1])),
            (Some("application/octet-stream"), "{not json", json!("{not json")),
            (None, "12", json!("12")),
        ];
        for (content_type, body, expected) in cases {
            assert_eq!(read(content_type, body.as_bytes()), Ok(expected), "{content_type:?} {body}");
        }
    }

    #[test]
    fn what_is_neither_is_refused_without_quoting_it() {
        let cases: [(Option<&str>, &[u8]); 7] = [
            (Some("application/json"), b"{very-secret"),
            (Some("text/plain"), b"very-secret\xff"),
            (Some("text/plain"), b"very-secret\x00"),
            (None, b"very-secret\xff\xfe"),
            (Some("image/png"), b"very-secret"),
            (None, b" \n"),
            (Some("application/json"), b""),
        ];
        for (content_type, body) in cases {
            let why = read(content_type, body).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(Some("application/json"), deep.as_bytes()).is_err(), "no stack is used up");
    }
}
