//! Who may ask.
//!
//! *The accident*: any page in a browser of this machine can send requests to any port of it, and a name that leads to 127.0.0.1 makes
//! such a page look like ours. So the names and the origin have to be ours, and what is told of a cluster needs a token that only the
//! person who started the program has. It is no cookie: those are shared among the ports of a machine, and sent without being asked.

use std::{fmt, io};

/// How many random bytes a token has.
const BYTES: usize = 16;

/// What lets somebody read.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    /// A new one.
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|it| io::Error::other(it.to_string()))?;
        Ok(Self(bytes.iter().map(|it| format!("{it:02x}")).collect()))
    }

    /// Whether this is it. It takes as long for one that is nearly right.
    fn is(&self, other: &str) -> bool {
        let differs = self.0.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
        self.0.len() == other.len() && differs == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// What is looked at of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Head<'a> {
    pub(super) method: &'a str,
    pub(super) host: Option<&'a str>,
    pub(super) origin: Option<&'a str>,
    /// `Sec-Fetch-Site`: from where a browser sends it.
    pub(super) site: Option<&'a str>,
    pub(super) content_type: Option<&'a str>,
    pub(super) authorization: Option<&'a str>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It names another host, or comes from another page.
    Foreign(&'static str),
    /// Its body is none that is read.
    Form,
    /// Nothing is written here.
    Method,
    /// It has no token, or a wrong one.
    Token,
}

impl Refusal {
    pub(super) fn status(self) -> u16 {
        match self {
            Self::Foreign(_) => 403,
            Self::Form => 415,
            Self::Method => 405,
            Self::Token => 401,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Foreign(why) => why,
            Self::Form => "a body has to be application/json",
            Self::Method => "nothing is written here: only GET is answered",
            Self::Token => "open the link that `pemdas ui` printed: it ends with the token of this run",
        }
    }
}

/// What every request has to pass.
#[derive(Clone)]
pub(super) struct Guard {
    port: u16,
    token: Token,
}

impl Guard {
    pub(super) fn new(port: u16, token: Token) -> Self {
        Self { port, token }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn token(&self) -> &Token {
        &self.token
    }

    /// Whether a request is answered. The page itself says nothing about a cluster and needs no token.
    ///
    /// # Errors
    /// Why it is not.
    pub(super) fn admit(&self, head: &Head<'_>, needs_token: bool) -> Result<(), Refusal> {
        if !head.host.is_some_and(|it| self.is_ours(it)) {
            return Err(Refusal::Foreign("the host is not this machine at this port"));
        }
        let same = |it: &str| it.strip_prefix("http://").is_some_and(|it| self.is_ours(it));
        if !head.origin.is_none_or(same) {
            return Err(Refusal::Foreign("the request comes from another page"));
        }
        if !head.site.is_none_or(|it| it == "same-origin" || it == "none") {
            return Err(Refusal::Foreign("the request comes from another site"));
        }
        if head.method != "GET" {
            let form = head.content_type.map(|it| it.split(';').next().unwrap_or_default().trim());
            let is_json = form.is_some_and(|it| it.eq_ignore_ascii_case("application/json"));
            return Err(if is_json { Refusal::Method } else { Refusal::Form });
        }
        let given = head.authorization.and_then(|it| it.strip_prefix("Bearer "));
        if needs_token && !given.is_some_and(|it| self.token.is(it)) {
            return Err(Refusal::Token);
        }
        Ok(())
    }

    fn is_ours(&self, host: &str) -> bool {
        let name = host.strip_suffix(&format!(":{}", self.port));
        name.is_some_and(|it| ["localhost", "127.0.0.1", "[::1]"].contains(&it))
    }
}

#[cfg(test)]
mod tests {
    use super::{Guard, Head, Refusal, Token};

    const GOOD: Head<'_> = Head {
        method: "GET",
        host: Some("127.0.0.1:7364"),
        origin: None,
        site: None,
        content_type: None,
        authorization: Some("Bearer 0123"),
    };

    fn status(head: &Head<'_>) -> u16 {
        let guard = Guard::new(7364, Token("0123".to_owned()));
        guard.admit(head, true).map_or_else(Refusal::status, |()| 200)
    }

    #[test]
    fn only_this_machine_and_this_page_with_the_token_are_answered() {
        assert_eq!(status(&GOOD), 200);
        let origin = Some("http://localhost:7364");
        assert_eq!(
            status(&Head { host: Some("localhost:7364"), origin, site: Some("same-origin"), ..GOOD }),
            200
        );
        assert_eq!(status(&Head { host: Some("[::1]:7364"), site: Some("none"), ..GOOD }), 200);
        for host in
            [None, Some("evil.example"), Some("evil.example:7364"), Some("127.0.0.1"), Some("127.0.0.1:80")]
        {
            assert_eq!(status(&Head { host, ..GOOD }), 403, "{host:?}");
        }
        for origin in ["http://evil.example", "https://127.0.0.1:7364", "http://127.0.0.1:80", "null"] {
            assert_eq!(status(&Head { origin: Some(origin), ..GOOD }), 403, "{origin}");
        }
        for site in ["cross-site", "same-site", ""] {
            assert_eq!(status(&Head { site: Some(site), ..GOOD }), 403, "{site}");
        }
        for authorization in [None, Some("0123"), Some("Bearer "), Some("Bearer 0124"), Some("Bearer 01234")]
        {
            assert_eq!(status(&Head { authorization, ..GOOD }), 401, "{authorization:?}");
        }
    }

    #[test]
    fn nothing_is_written_and_no_form_is_read() {
        let post = Head { method: "POST", ..GOOD };
        assert_eq!(status(&post), 415);
        assert_eq!(status(&Head { content_type: Some("text/plain"), ..post }), 415);
        assert_eq!(status(&Head { content_type: Some("application/json; charset=utf-8"), ..post }), 405);
        assert_eq!(status(&Head { method: "DELETE", content_type: Some("application/json"), ..GOOD }), 405);
    }

    #[test]
    fn the_page_needs_no_token_and_tokens_differ() {
        let guard = Guard::new(7364, Token::new().unwrap());
        assert_eq!(guard.admit(&Head { authorization: None, ..GOOD }, false), Ok(()));
        assert_eq!(guard.token().to_string().len(), 32);
        assert!(*guard.token() != Token::new().unwrap());
    }
}
