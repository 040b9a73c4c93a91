use super::{
    Graph, Vertex, codes,
    sketch::{blueprint, render},
};

/// What is said of a sketch, kept as a snapshot beside this file.
#[track_caller]
fn said(name: &str, sketch: &str) {
    let sketch = sketch.trim();
    let (_, problems) = Graph::of(&blueprint(sketch));
    let text = format!("{sketch}\n---\n{}", render(sketch, &problems));
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

const FOO: &str = "
kind Foo
app: root Foo
  also drained
  also migrated
  also serving
  also old
  status the.serving the.root
drained: patch
  state_of serving
  key the.root.spec.schema
migrated: template example.com/v1 Schema {root.metadata.name} the.root.spec.schema
  before drained
serving: template apps/v1 Deployment {root.metadata.name} the.root.spec the.migrated.url
  before migrated extract until the.root.spec.schema
old: absent apps/v1 Deployment {root.metadata.name}-v0
  before serving
";

#[test]
fn a_good_blueprint_is_clean() {
    said("good", FOO);
}

#[test]
fn the_order_is_that_of_the_sequence_graph() {
    let (graph, _) = Graph::of(&blueprint(FOO));
    let order: Vec<_> = graph.order.iter().map(|(name, depth)| (name.as_str(), *depth)).collect();
    assert_eq!(order, [("app", 0), ("drained", 0), ("migrated", 1), ("serving", 2), ("old", 3)]);
}

#[test]
fn unknown_names() {
    said(
        "unknown_names",
        "
kind Foo
app: root Fooo
  also servng
  also web when dbb
  status the.wbe
  report wbe
web: template v1 ConfigMap {root.metadata.name} the.rot.spec the.zebra
  before serveng
  state_of zzz
",
    );
}

#[test]
fn cycles() {
    said(
        "cycle_of_three",
        "
kind Foo
app: root Foo
  also a
a: template v1 ConfigMap a-{root.metadata.name}
  also b
  before c
b: template v1 ConfigMap b-{root.metadata.name}
  also c
  before a
c: template v1 ConfigMap c-{root.metadata.name}
  before b
",
    );
    said(
        "cycle_with_itself_and_another",
        "
a: template v1 ConfigMap a
  before a
b: template v1 ConfigMap b
  before c
c: template v1 ConfigMap c
  before b
",
    );
    said(
        "cycle_through_a_state",
        "
serving: template apps/v1 Deployment web
drained: patch
  state_of serving
  before migrated
migrated: value
  before serving
",
    );
    said(
        "cycle_through_a_condition",
        "
kind Foo
app: root Foo
  also job
  also extra when job the.job
job: template v1 ConfigMap {root.metadata.name}
  before helper
extra: value
  also helper
helper: template v1 ConfigMap {root.metadata.name}-helper
",
    );
    // The helper is needed in any case: whether it is there does not depend on the condition.
    said(
        "no_cycle_when_needed_in_any_case",
        "
kind Foo
app: root Foo
  also job
  also helper
  also extra when job the.job
job: template v1 ConfigMap {root.metadata.name}
  before helper
extra: value
  also helper
helper: template v1 ConfigMap {root.metadata.name}-helper
",
    );
}

#[test]
fn reachability() {
    said(
        "unreachable",
        "
kind Foo
app: root Foo
  also web
web: template v1 ConfigMap {root.metadata.name}
  before lost
lost: template v1 ConfigMap {root.metadata.name}-lost
  also lost_too
lost_too: value
",
    );
    said("also_cycle_is_fine", "kind Foo\napp: root Foo\n  also a\na: value\n  also b\nb: value\n  also a\n");
    said("own_root", "a: value\n  also b\nb: value\nc: value\n  before b\n");
    said("own_root_cannot_enter_a_circle", "a: value\n  also b\nb: value\n  also a\n");
    let (graph, _) = Graph::of(&blueprint("a: value\n  also b\nb: value\n"));
    assert_eq!(graph.roots, [super::OWN_ROOT]);
}

#[test]
fn inputs() {
    said(
        "inputs",
        "
kind Foo
app: root Foo
  also web
  also db
  also job when the.self the.db the.root.spec
  status the.self the.web
web: template v1 ConfigMap {root.metadata.name} the.db.url the.other the.each.key the.self the.seed the
  before other
other: template v1 ConfigMap {root.metadata.name}-other
db: value
  for_each the.each the.root
job: template batch/v1 Job {root.metadata.name} the.root
  once
  key the.self the.seed the.root.spec.x
",
    );
}

#[test]
fn extract_from_what_may_not_be_needed() {
    said(
        "perhaps_missing",
        "
kind Foo
app: root Foo
  also web
  also db when the.root.spec.db
web: template v1 ConfigMap {root.metadata.name} the.db.url
  before db extract
db: template v1 ConfigMap {root.metadata.name}-db
",
    );
    said(
        "child_of_its_parent",
        "
kind Foo
app: root Foo
  also db when the.root.spec.db
db: template v1 ConfigMap {root.metadata.name}-db
  also web when the.root.spec.web
web: template v1 ConfigMap {root.metadata.name} the.db.url
  before db extract
",
    );
    said(
        "child_of_two_parents",
        "
kind Foo
app: root Foo
  also db when the.root.spec.db
  also web when the.root.spec.web
db: template v1 ConfigMap {root.metadata.name}-db
  also web
web: template v1 ConfigMap {root.metadata.name} the.db.url
  before db extract
",
    );
    said(
        "observed_and_values_are_implied",
        "
kind Foo
app: root Foo
  also web when the.root.spec.web
web: template v1 ConfigMap {root.metadata.name} the.seen the.sum
  before seen extract
  before sum extract
seen: observe v1 Secret {root.spec.secret}
sum: value the.root
",
    );
    said(
        "a_condition_that_reads_it_proves_it",
        "
kind Foo
app: root Foo
  also job when the.root.spec.job
  also note when job the.job
job: template batch/v1 Job {root.metadata.name}
  once
note: template v1 ConfigMap {root.metadata.name} the.job
  before job extract
",
    );
}

#[test]
fn extract_from_another_root_or_on_deletion() {
    said(
        "root_of_another",
        "
kind Foo
kind Bar
foo: root Foo
  also shared
bar: root Bar
  also shared
shared: template v1 ConfigMap {root.metadata.name} the.foo
  before foo extract
",
    );
    said(
        "on_deletion",
        "
kind Foo
app: root Foo
  also server
  also extra when the.root.spec.extra
  deleting last
  deleting extra_last
server: template v1 ConfigMap {root.metadata.name} the.last
  before last extract
extra: template v1 ConfigMap {root.metadata.name}-extra
last: template v1 ConfigMap {root.metadata.name}-last the.server
  before server extract
extra_last: template v1 ConfigMap {root.metadata.name}-extra-last the.extra
  before extra extract
",
    );
}

#[test]
fn identities() {
    said(
        "kind_not_static",
        "
kind Foo
app: root Foo
  also web
  also none
web: template apps/v1 ? {root.metadata.name}
none: observe - - {root.metadata.name}
",
    );
    said(
        "duplicates",
        "
kind Foo
app: root Foo
  also one
  also two
  also gone
  also gone_some
  also seen
  also member
one: template apps/v1 Deployment {root.metadata.name}
two: template apps/v1beta1 Deployment {root.metadata.name}
gone: absent apps/v1 Deployment {root.metadata.name}
gone_some: absent apps/v1 Deployment {root.metadata.name}
  having Failed
seen: observe apps/v1 Deployment {root.metadata.name}
member: template apps/v1 Deployment {root.metadata.name}
  for_each the.root.spec.members
",
    );
    said(
        "no_duplicates_across_roots",
        "
kind Foo
kind Bar
foo: root Foo
  also one
bar: root Bar
  also two
one: template v1 ConfigMap {root.metadata.name}
two: template v1 ConfigMap {root.metadata.name}
",
    );
    said(
        "late_names",
        "
kind Foo
app: root Foo
  also one
  also two
  also three
one: template v1 ConfigMap {two.name}-{seed}
  before two extract
two: template v1 ConfigMap {root.metadata.name}-{each.key}
  for_each the.root.spec.list
three: template v1 ConfigMap {two.name}-late
  before two extract
  late_name
",
    );
    said("fixed_names", "kind Foo\nfoo: root Foo\n  also one\none: template v1 ConfigMap config\n");
    said(
        "fixed_names_in_a_namespace",
        "ns: root v1/Namespace\n  also one\none: template v1 ConfigMap config\n",
    );
}

#[test]
fn states() {
    said(
        "unordered_states",
        "
web: template apps/v1 Deployment web
small: patch
  state_of web
large: patch
  state_of web
",
    );
    said(
        "states_ordered_through_others",
        "
web: template apps/v1 Deployment web
small: patch
  state_of web
between: value
  before small
large: patch
  state_of web
  before between
",
    );
    said(
        "bad_states",
        "
web: template apps/v1 Deployment web
small: patch
  state_of web
smaller: patch
  state_of small
own: patch
  state_of own
seen: observe v1 Secret it
of_seen: patch
  state_of seen
job: template batch/v1 Job job
  once
of_job: patch
  state_of job
other: template apps/v1 StatefulSet -
  state_of web
  before small
",
    );
}

#[test]
fn waits_that_never_end() {
    said(
        "waits_for_failure",
        "
kind Foo
app: root Foo
  also job
  also note
  also careful when job the.job
job: template batch/v1 Job {root.metadata.name}
  once
note: template v1 ConfigMap {root.metadata.name}-note
  before job until Failed
careful: template v1 ConfigMap {root.metadata.name}-careful
  before job until Failed
",
    );
    said(
        "waits_for_absence",
        "
kind Foo
app: root Foo
  also old
  also new
  also gone
  also maybe when the.root.spec.maybe
  also after_maybe
old: template v1 ConfigMap {root.metadata.name}-old
new: template v1 ConfigMap {root.metadata.name}-new
  before old until Absent
gone: absent v1 ConfigMap {root.metadata.name}-gone
maybe: template v1 ConfigMap {root.metadata.name}-maybe
after_maybe: template v1 ConfigMap {root.metadata.name}-after-maybe
  before maybe until Absent
  before gone until Absent
",
    );
    said(
        "impossible_teardown",
        "
kind Foo
app: root Foo
  also server
  also user
  deleting last
server: template v1 ConfigMap {root.metadata.name}
  replace Before
user: template v1 ConfigMap {root.metadata.name}-user the.server
  before server extract
last: template v1 ConfigMap {root.metadata.name}-last
  before server until Absent
",
    );
    said(
        "a_job_that_only_started",
        "
one: template batch/v1 Job one
two: template v1 ConfigMap two
  before one
three: template v1 ConfigMap three
  before one until Complete
",
    );
}

#[test]
fn clauses() {
    said(
        "misplaced_clauses",
        "
kind Foo
app: root Foo
  also web
  also seen
  also picked
  also gone
  also sum
  also other
  also state
  before web
  ready Ready
secret: root v1/Secret
  deleting web
  status the.web
  report web
web: template apps/v1 Deployment {root.metadata.name}
  key the.root
  status the.web
  optional
  having Ready
seen: observe v1 Secret {root.spec.secret}
  own
  once
  on_delete
picked: select v1 Secret -
  optional
gone: absent v1 Secret {root.spec.secret}-old
  ready Ready
  fails Failed
sum: value
  ready Ready
  deleting web
other: template batch/v1 Job {root.metadata.name}
  once
  ready Complete
  state_of web
state: patch
  state_of web
  before other
  replace Before
  for_each the.root
",
    );
}

#[test]
fn names() {
    said(
        "bad_names",
        "
root: value
self: value
a.b: value
this_name_is_much_longer_than_any_name_that_somebody_would_like_to_type_again: value
fine-name_2: value
",
    );
    said(
        "members",
        "
a: template v1 ConfigMap a-{each.key}
  for_each the.root
b: template v1 ConfigMap b-{each.key}
  for_each the.root
  before a each
  before c each
  before d each
c: template v1 ConfigMap c
d: select v1 Secret -
e: template v1 ConfigMap e
  before a each
f: template v1 ConfigMap f
  for_each the.root
",
    );
}

#[test]
fn roots_and_reports() {
    said(
        "roots",
        "
kind Foo
one: root Foo
  also two
two: root Foo
  also web
web: template v1 Service {root.metadata.name}
three: root v1/Secret
  also web
  deleting bye
bye: value
",
    );
    said(
        "reports",
        "
kind Foo
kind Bar
foo: root Foo
  also web
  report web
bar: root Bar
  also other
  also config
  report web
web: template v1 Service {root.metadata.name}
other: template v1 Service {root.metadata.name}-o
config: template v1 ConfigMap {root.metadata.name}
baz: root v1/Secret
  also config
",
    );
    said("a_before_without_a_condition", "a: value\n  also b reads c\nb: value\nc: value\n");
    said(
        "a_status_of_another_root",
        "
kind Foo
kind Bar
foo: root Foo
  also a
  status the.b
bar: root Bar
  also b
a: value
b: value
",
    );
}

#[test]
fn too_many_nodes_are_one_problem() {
    let sketch: String = (0..=super::MAX_NODES).map(|i| format!("n{i}: value\n")).collect();
    let (graph, problems) = Graph::of(&blueprint(&sketch));
    assert_eq!(graph, Graph::default());
    assert_eq!(problems.iter().map(|it| it.code.as_str()).collect::<Vec<_>>(), [codes::TOO_LARGE]);
}

#[test]
fn a_condition_is_a_vertex_between_what_it_reads_and_what_it_gates() {
    let (graph, _) =
        Graph::of(&blueprint("a: value\n  also b when c\nb: value\n  also d\nc: value\nd: value\n"));
    let condition = Vertex::Condition { from: "a".to_owned(), to: "b".to_owned(), deleting: false };
    let ends = |name: &str| Vertex::Node(name.to_owned());
    let links: Vec<_> = graph.sequence.iter().map(|link| (link.from.clone(), link.to.clone())).collect();
    assert_eq!(
        links,
        [(ends("c"), condition.clone()), (condition.clone(), ends("b")), (condition, ends("d"))]
    );
}
