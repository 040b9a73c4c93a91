//! Rendered charts of anybody: imports each manifest of a folder, and says how far it comes. A table for whoever works on `import`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::command;
use crate::steps::target;

const HELP: &str = "\
Usage: cargo xtask charts DIR

Imports each .yaml file of DIR, and runs check, plan and demo on what comes out. Render charts with
  helm template RELEASE CHART --include-crds > DIR/NAME.yaml
";

/// How long an import may take.
const SOON: Duration = Duration::from_secs(5);
/// Whoever is not ready by then never is.
const TOO_LONG: Duration = Duration::from_secs(300);

/// How far a manifest came.
struct Row {
    name: String,
    import: Duration,
    /// How many Secrets were compared, value by value, and are equal.
    secrets: usize,
    /// What each step says: `yes`, or how it ended.
    steps: Vec<(&'static str, String)>,
    /// The first thing that is wrong.
    why: String,
}

pub(crate) fn run(folder: &str) -> ExitCode {
    match all(Path::new(folder)) {
        Ok(rows) if rows.is_empty() => {
            eprintln!("error: {folder} holds no .yaml file\n\n{HELP}");
            ExitCode::from(2)
        }
        Ok(rows) => {
            print!("{}", table(&rows));
            if rows.iter().all(Row::is_good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(why) => {
            eprintln!("error: {why}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn all(folder: &Path) -> Result<Vec<Row>, String> {
    let unread = |why: io::Error| format!("{} cannot be read: {why}", folder.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).map_err(unread)?.flatten().map(|it| it.path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml" || it == "yml" || it == "json"));
    files.sort();
    command::succeed(&mut command::cargo(&["build", "--locked", "--workspace", "--bin", "pemdas"]))?;
    let program = target().join("debug/pemdas");
    let place = target().join("charts");
    Ok(files.iter().map(|file| row(&program, file, &place)).collect())
}

fn row(program: &Path, file: &Path, place: &Path) -> Row {
    let name = file.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    println!("{name}");
    let out = place.join(&name);
    let _ = fs::remove_dir_all(&out);
    let begun = Instant::now();
    let path = |it: &Path| it.display().to_string();
    let imported = ended(program, &["import", &path(file), "-o", &path(&out)]);
    let mut row = Row { name, import: begun.elapsed(), secrets: 0, steps: Vec::new(), why: String::new() };
    // Nothing is written that does not give the objects again.
    row.take("equal", &imported);
    row.secrets = secrets(&imported.said);
    if imported.code == Some(2) || imported.code.is_none() {
        return row;
    }
    row.take("check", &ended(program, &["check", &path(&out)]));
    let samples = fs::read_dir(out.join("sample")).into_iter().flatten().flatten();
    let sample = samples.map(|it| path(&it.path())).next().unwrap_or_default();
    let mut plan = ended(program, &["plan", &path(&out), "--instance", &sample, "-o", "json"]);
    // That there is something to do is what a plan is for.
    let complete = plan.said.contains("\"complete\": true");
    plan.code = if complete { Some(0) } else { plan.code.filter(|it| *it != 0).or(Some(1)) };
    plan.said = if complete { String::new() } else { "the plan is not complete".to_owned() };
    row.take("plan", &plan);
    row.take("ready", &ended(program, &["demo", &path(&out), "--until-ready", "--speed", "50"]));
    row
}

impl Row {
    fn take(&mut self, step: &'static str, end: &End) {
        let said = match end.code {
            Some(0) => "yes".to_owned(),
            Some(code) => format!("no ({code})"),
            None => "too long".to_owned(),
        };
        if end.code != Some(0) && self.why.is_empty() {
            let lines = || end.said.lines().map(str::trim).filter(|it| !it.is_empty());
            let first = lines().find(|it| it.starts_with("error")).or_else(|| lines().next_back());
            self.why = first.unwrap_or_default().chars().take(120).collect();
        }
        self.steps.push((step, said));
    }

    fn is_good(&self) -> bool {
        self.steps.iter().all(|it| it.1 == "yes") && self.import <= SOON
    }
}

/// How many Secrets an import says that it compared.
fn secrets(said: &str) -> usize {
    let count = |line: &str| line.split_once("the same again, ")?.1.split(' ').next()?.parse().ok();
    said.lines().find_map(count).unwrap_or_default()
}

fn table(rows: &[Row]) -> String {
    let wide = rows.iter().map(|it| it.name.len()).max().unwrap_or_default();
    let steps = ["equal", "check", "plan", "ready"];
    let mut out = format!("\n{:wide$}  import  secrets", "");
    steps.iter().for_each(|it| out.push_str(&format!("  {it:8}")));
    out.push('\n');
    for row in rows {
        out.push_str(&format!("{:wide$}  {:5.1}s  {:7}", row.name, row.import.as_secs_f64(), row.secrets));
        for step in steps {
            let said = row.steps.iter().find(|it| it.0 == step).map_or("-", |it| &it.1);
            out.push_str(&format!("  {said:8}"));
        }
        out.push_str(&format!("  {}\n", row.why));
    }
    let good = rows.iter().filter(|it| it.is_good()).count();
    out.push_str(&format!("{good} of {} imported in {} s, and ready\n", rows.len(), SOON.as_secs()));
    out
}

/// How a command ended.
struct End {
    /// Its exit status; nothing if it did not end.
    code: Option<i32>,
    said: String,
}

fn ended(program: &Path, arguments: &[&str]) -> End {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        return End { code: Some(127), said: format!("{} cannot be run", program.display()) };
    };
    let id = child.id();
    let (tell, told) = std::sync::mpsc::channel();
    // A pipe that nobody reads would stop it.
    let reader = |pipe: Option<Box<dyn io::Read + Send>>| {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.map(|mut it| it.read_to_end(&mut text));
            text
        })
    };
    let out = reader(child.stdout.take().map(|it| Box::new(it) as _));
    let err = reader(child.stderr.take().map(|it| Box::new(it) as _));
    let waiter = thread::spawn(move || {
        let status = child.wait();
        let _ = tell.send(());
        status
    });
    let in_time = told.recv_timeout(TOO_LONG).is_ok();
    if !in_time {
        let _ = Command::new("kill").arg(id.to_string()).status();
    }
    let status = waiter.join().ok().and_then(Result::ok);
    let joined = |it: thread::JoinHandle<Vec<u8>>| it.join().unwrap_or_default();
    let output = Output { status: status.unwrap_or_default(), stdout: joined(out), stderr: joined(err) };
    let said = [output.stdout, output.stderr].concat();
    End {
        code: if in_time { output.status.code() } else { None },
        said: String::from_utf8_lossy(&said).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{End, Row, secrets, table};

    fn row(name: &str, seconds: u64) -> Row {
        Row {
            name: name.to_owned(),
            import: Duration::from_secs(seconds),
            secrets: 0,
            steps: Vec::new(),
            why: String::new(),
        }
    }

    #[test]
    fn a_row_says_how_far_it_came_and_the_first_reason() {
        let mut bad = row("bad", 1);
        bad.take("equal", &End { code: Some(0), said: String::new() });
        bad.take("check", &End { code: Some(1), said: "note\nerror[PM0303]: no\nlater\n".to_owned() });
        bad.take("ready", &End { code: None, said: "nothing\n".to_owned() });
        let (mut good, mut slow) = (row("good", 1), row("slow", 9));
        for it in [&mut good, &mut slow] {
            it.take("equal", &End { code: Some(0), said: String::new() });
        }
        let said = table(&[bad, good, slow]);
        assert!(
            said.contains("bad     1.0s        0  yes       no (1)    -         too long  error[PM0303]: no"),
            "{said}"
        );
        assert!(said.ends_with("1 of 3 imported in 5 s, and ready\n"), "{said}");
    }

    #[test]
    fn the_secrets_that_were_compared_are_counted() {
        let said =
            |end: &str| format!("note\nimported 6 objects; checked: it gives the same again{end}\nnext: x\n");
        assert_eq!(secrets(&said(", 12 Secrets included")), 12);
        assert_eq!(secrets(&said("")), 0);
        assert_eq!(secrets("error[PM0610]: the node a does not give its object again: .data.b"), 0);
    }
}
