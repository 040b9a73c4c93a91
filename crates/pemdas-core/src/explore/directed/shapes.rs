//! What edges and nodes wait for, where the object is not there or belongs to a member.

use serde_json::{Value, json};

use super::{at_rest, clean, there};
use crate::blueprint::{Body, NamePart, NameSegment, Read, SequenceEdge, WantedShape, WantedShapeForm};
use crate::evaluate::Answer;
use crate::explore::lab::{Lab, key, span};
use crate::explore::sim::Sim;
use crate::shape::Shape;

pub(super) fn an_edge_that_allows_absence_does_not_wait_for_an_object() {
    let absence = || Shape::AnyOf(vec![Shape::Any, Shape::Absent]);
    let lab = |until: Shape| {
        Lab::new()
            .template("z", "Thing", &[])
            .template("a", "Thing", &["z"])
            .template("b", "Note", &[])
            .orders("b", "a")
            .until("b", "a", until)
            .also("app", "a")
            .also("app", "b")
            .also("app", "z")
    };
    let forbidding = Shape::Not(Box::new(Shape::Failed));
    for (until, opens) in [(absence(), true), (Shape::Any, false), (forbidding, false)] {
        let mut sim = Sim::new(&[lab(until.clone())], &json!({ "v": 1 }));
        sim.asleep.push(key("Thing", "a-z"));
        sim.settle();
        assert!(!there(&sim, "Thing", "a-a"), "it waits for z");
        assert_eq!(there(&sim, "Note", "a-b"), opens, "{until:?}: {:?}", sim.decision);
        sim.asleep.clear();
        assert!(sim.settle() && sim.is_ready() && there(&sim, "Note", "a-b"), "{until:?}");
        clean(&sim);
    }
    // Once there is an object, it has to settle as for any other shape.
    let mut sim = at_rest(&[lab(absence())], json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.set_spec(&json!({ "v": 2 }));
    sim.settle();
    assert_eq!(sim.live(&key("Note", "a-b")).unwrap().body["spec"]["v"], 1);
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.stalled());
    assert_eq!(sim.live(&key("Note", "a-b")).unwrap().body["spec"]["v"], 2);
    clean(&sim);
}

pub(super) fn a_node_may_observe_an_object_for_each_member() {
    let lab = Lab::new().template("a", "Thing", &[]).for_each("a", "made");
    let mut lab = lab.observe("seen", "Thing", "a-a-x").template("after", "Note", &["seen"]);
    let observe = lab.function("nodes.seen.observe", &["each.key"], |the| match &the["each"]["key"] {
        Value::String(member) => Answer::Value(
            json!({ "apiVersion": "example.com/v1", "kind": "Thing", "name": format!("a-a-{member}") }),
        ),
        _ => Answer::Missing("the.each".to_owned()),
    });
    let members = lab.function("nodes.seen.for_each", &["root.spec.members"], |the| {
        Answer::Value(the["root"]["spec"]["members"].clone())
    });
    let node = lab.node("seen");
    let Body::Observe(body) = &mut node.body else { panic!("it observes") };
    body.function = observe;
    let path = ["each", "key"].map(str::to_owned).to_vec();
    let input = NameSegment::Input(Read { path, span: span() });
    body.object.name = NamePart::Pattern(vec![NameSegment::Text("a-a-".to_owned()), input]);
    node.for_each = Some(members);
    let extract = lab.function("nodes.after.before.seen.extract", &[""], |all| {
        let names = all.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        Answer::Value(json!(names.collect::<Vec<_>>().join(",")))
    });
    let edge = SequenceEdge { extract: Some(extract), ..SequenceEdge::new(span()) };
    lab.node("after").before.insert("seen".to_owned(), edge);
    let lab = lab.also("app", "a").also("app", "seen").also("app", "after");
    let spec = |made: Value| json!({ "v": 1, "made": made, "members": { "x": 1, "y": 1 } });
    let mut sim = Sim::new(&[lab], &spec(json!({ "x": 1 })));
    sim.settle();
    assert!(there(&sim, "Thing", "a-a-x") && !there(&sim, "Note", "a-after"), "y is not there");
    sim.set_spec(&spec(json!({ "x": 1, "y": 1 })));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.decision);
    assert_eq!(sim.live(&key("Note", "a-after")).unwrap().body["spec"]["uses"], json!(["x,y"]));
    clean(&sim);
}

pub(super) fn a_shape_may_read_the_object_that_it_is_about() {
    let mut lab = Lab::new().template("a", "Thing", &[]).also("app", "a");
    let ready = lab.function("nodes.a.ready", &["self.spec.v"], |the| match &the["self"]["spec"]["v"] {
        Value::Null => Answer::Missing("the.self.spec.v".to_owned()),
        value => Answer::Value(json!({ "status": { "v": value } })),
    });
    lab.node("a").ready = Some(WantedShape { span: span(), form: WantedShapeForm::Function(ready) });
    let mut sim = Sim::new(&[lab], &json!({ "v": 1 }));
    sim.asleep.push(key("Thing", "a-a"));
    sim.settle();
    assert!(!sim.is_ready(), "its controller sleeps");
    sim.asleep.clear();
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.decision);
    sim.set_spec(&json!({ "v": 2 }));
    assert!(sim.settle() && sim.is_ready(), "{:?}", sim.decision);
    clean(&sim);
}
