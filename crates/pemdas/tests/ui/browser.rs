//! A browser as a person uses it, driven by Chromium's own protocol over a pipe: nothing but the browser itself is needed for it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use base64::Engine as _;
use pemdas_testbed::assets::{browser, cache::Cache};
use serde_json::{Value, json};

/// Nothing that is waited for takes so long, on any machine: whoever waits longer has found a fault.
const LONG_SECONDS: u32 = 60;

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    number: u64,
    session: Option<String>,
    /// What the page complained about.
    pub(crate) complaints: Vec<String>,
    _folder: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let browser = browser::Browser::find(&Cache::of_user().unwrap()).unwrap();
        let command = browser.command(folder.path()).unwrap();
        // The protocol is spoken on the descriptors 3 and 4.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#])
            .arg(command.get_program());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell
            .args([
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--no-first-run",
            ])
            .args(["--disable-dev-shm-usage", "--disable-background-networking"])
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg("about:blank");
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser =
            Self { child, to, from, number: 0, session: None, complaints: Vec::new(), _folder: folder };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.size(1_400, 900);
        browser
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let mut bytes = Vec::new();
            assert!(
                self.from.read_until(0, &mut bytes).unwrap() > 0,
                "the browser has ended during {method}"
            );
            bytes.pop();
            let told: Value = serde_json::from_slice(&bytes).unwrap();
            if told["id"] == self.number {
                assert!(told["error"].is_null(), "{method}: {}", told["error"]);
                return told["result"].clone();
            }
            self.hear(&told);
        }
    }

    fn hear(&mut self, told: &Value) {
        let of = &told["params"];
        match told["method"].as_str() {
            Some("Runtime.exceptionThrown") => self.complaints.push(of["exceptionDetails"].to_string()),
            Some("Log.entryAdded") if of["entry"]["level"] == "error" => {
                self.complaints.push(of["entry"].to_string());
            }
            Some("Runtime.consoleAPICalled") if of["type"] == "error" => self.complaints.push(of.to_string()),
            _ => {}
        }
    }

    /// Opens an address.
    pub(crate) fn open(&mut self, address: &str) {
        // What only differs behind the # would not be loaded anew.
        self.call("Page.navigate", &json!({ "url": "about:blank" }));
        self.call("Page.navigate", &json!({ "url": address }));
    }

    /// What an expression of the page is; a promise is waited for.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let told = self.call("Runtime.evaluate", &asked);
        assert!(told["exceptionDetails"].is_null(), "{expression}: {}", told["exceptionDetails"]);
        told["result"]["value"].clone()
    }

    /// Waits until an expression of the page is true.
    pub(crate) fn until(&mut self, expression: &str) {
        let wait = format!(
            "new Promise((done) => {{ const limit = setTimeout(() => done(document.body.innerText), {LONG_SECONDS}000); \
             const look = () => {{ let is = false; try {{ is = {expression}; }} catch {{}} \
             if (is) {{ clearTimeout(limit); done(true); }} else setTimeout(look, 20); }}; look(); }})"
        );
        let seen = self.value(&wait);
        assert!(seen == true, "{expression} never happens: {seen}\n{:#?}", self.complaints);
    }

    /// Waits until the page shows some words.
    pub(crate) fn until_shown(&mut self, words: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(words)));
    }

    pub(crate) fn size(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    pub(crate) fn dark(&mut self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme }, { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.call("Emulation.setEmulatedMedia", &features);
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Saves what is seen; with `whole` all of the page, however long.
    pub(crate) fn picture(&mut self, place: &Path) {
        let told = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        let bytes = base64::engine::general_purpose::STANDARD.decode(told["data"].as_str().unwrap()).unwrap();
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
    }
}
