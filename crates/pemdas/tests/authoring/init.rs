//! New blueprints: each is right as it comes, and a cluster takes it.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use super::{cluster, pemdas};

const TEMPLATES: [&str; 4] = ["web-service", "database", "on-event", "namespace-defaults"];

/// A command, how it ended and what it said.
fn ended(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pemdas")).args(arguments).output().unwrap();
    let said = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
    (output.status.code().unwrap(), said)
}

#[test]
fn every_template_is_right_as_it_comes() {
    for template in TEMPLATES {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join(format!("my-{template}"));
        let path = folder.to_string_lossy().into_owned();
        pemdas("init", &folder, &["--template", template, "--group", "shop.example.com"]);
        let (status, said) = ended(&["check", "--deny-warnings", &path]);
        assert_eq!(status, 0, "{said}");
        let (status, said) = ended(&["test", &path]);
        assert_eq!(status, 0, "{said}");
        assert!(said.contains(" passed in "), "{said}");
        let sample = folder.join("sample/sample.yaml").to_string_lossy().into_owned();
        let (status, said) = ended(&["plan", &path, "--instance", &sample, "--exit-code"]);
        assert_eq!(status, 1, "{said}");
        assert!(said.contains("to create"), "{said}");
        let rbac = fs::read_to_string(folder.join("rbac.yaml")).unwrap();
        assert_eq!(pemdas("rbac", &folder, &[]), rbac, "what its page says renews it");
        let library = fs::read_to_string(folder.join(".pemdas/library/pemdas/v1.ncl")).unwrap();
        assert!(library.contains("Blueprint"));
        let main = fs::read_to_string(folder.join("main.ncl")).unwrap();
        assert!(!main.contains('@') && main.contains(&format!("name = \"my-{template}\"")), "{main}");
        cluster().kubectl(&["apply", "--server-side", "-k", &path]).unwrap();
        let label = ["get", "configmap", "-l", "pemdas.dev/blueprint", "-o", "name"];
        let found = cluster().kubectl(&label).unwrap();
        assert!(found.contains(&format!("configmap/my-{template}")), "{found}");
    }
}

#[test]
fn what_is_there_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("shop");
    let path = folder.to_string_lossy().into_owned();
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("README.md"), "mine").unwrap();
    let (status, said) = ended(&["init", &path, "--template", "web-service"]);
    assert_eq!(status, 2);
    assert!(said.contains("README.md already exists"), "{said}");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["README.md"]);
    // What is beside a new blueprint is nobody's business.
    fs::remove_file(folder.join("README.md")).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    pemdas("init", &folder, &["--template", "web-service"]);
    assert_eq!(fs::read_to_string(folder.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn a_directory_without_a_name_needs_one() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("My Shop");
    let path = folder.to_string_lossy().into_owned();
    let (status, said) = ended(&["init", &path, "--template", "database"]);
    assert_eq!(status, 2);
    assert!(said.contains("gives no name for a blueprint") && said.contains("--name gives one"), "{said}");
    assert!(!folder.exists());
    pemdas("init", &folder, &["--template", "web-service", "--name", "shop", "--kind", "Store"]);
    let main = fs::read_to_string(Path::new(&folder).join("main.ncl")).unwrap();
    assert!(main.contains("kinds.Store") && main.contains("name = \"shop\""), "{main}");
}

/// Somebody at a terminal in this folder, who types an answer as soon as a question is there; what stands on the screen in the end.
fn typed(folder: &Path, answers: &[(&str, &str)]) -> (i32, String) {
    let command = format!("{} init shop", env!("CARGO_BIN_EXE_pemdas"));
    // `script` gives the command a terminal of its own. Whoever runs tests in the background may have them ignore Ctrl-C; who sits at a
    // terminal does not.
    let mut child = Command::new("env")
        .args(["--default-signal", "script", "--quiet", "--return", "--command", &command, "/dev/null"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut keys, mut shown) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut screen = String::new();
    for (question, answer) in answers {
        let begin = screen.len();
        while !screen[begin..].contains(question) {
            let mut some = [0; 256];
            let count = shown.read(&mut some).unwrap();
            assert!(count > 0, "{question} was not asked: {screen}");
            screen.push_str(std::str::from_utf8(&some[..count]).unwrap());
        }
        keys.write_all(answer.as_bytes()).unwrap();
    }
    shown.read_to_string(&mut screen).unwrap();
    (child.wait().unwrap().code().unwrap(), screen)
}

#[test]
fn whoever_sits_at_a_terminal_is_asked() {
    let scratch = tempfile::tempdir().unwrap();
    // A mistyped letter is taken back (the terminal does that), Ctrl-C leaves.
    let asked = [
        ("Template [web-service]: ", "2\n"),
        ("blueprint [shop]: ", "storr\u{7f}e\n"),
        ("objects [Store]: ", "\u{3}"),
    ];
    let (status, screen) = typed(scratch.path(), &asked);
    assert_eq!(status, 128 + 2, "{screen}");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing is left behind");
    let asked = [
        ("Template [web-service]: ", "database\n"),
        ("blueprint [shop]: ", "store\n"),
        ("objects [Store]: ", "\n"),
        ("kind [example.com]: ", "store.org\n"),
        ("right [yes]: ", "y\n"),
    ];
    let (status, screen) = typed(scratch.path(), &asked);
    assert_eq!(status, 0, "{screen}");
    assert!(screen.contains("the blueprint store is in shop"), "{screen}");
    let main = fs::read_to_string(scratch.path().join("shop/main.ncl")).unwrap();
    assert!(main.contains("kinds.Store") && main.contains("group = \"store.org\""), "{main}");
}
