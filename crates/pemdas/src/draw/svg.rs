//! Both graphs as a picture that stands by itself: no script, no font, no style sheet from elsewhere.

use std::fmt::Write as _;

use pemdas_core::graph::AlsoOrigin;

use super::{
    Graphs, Item, Mood, Picture, Role,
    layout::{self, Block, Line, Point},
};

const NAME_SIZE: f64 = 14.0;
const KIND_SIZE: f64 = 11.0;
const LABEL_SIZE: f64 = 11.0;
/// Of a picture with more boxes, what a root needs without a condition is left out: lines from one box to all others hide everything.
const MANY: usize = 40;
/// What is said of that.
const LEFT_OUT: &str = "what a root needs itself is left out";
const MARGIN: f64 = 28.0;
const LEGEND: f64 = 34.0;
/// The height of the line that says what the colours mean.
const MOODS: f64 = 26.0;
/// The height of the line in a box that says what a plan says of it.
const STATE: f64 = 18.0;
/// The width of a character as a part of its height: a little more than most are, so that nothing runs over.
const BOLD_WIDTH: f64 = 0.60;
const PLAIN_WIDTH: f64 = 0.55;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    Also,
    Deleting,
    Sequence,
    State,
}

impl Looks {
    fn class(self) -> &'static str {
        match self {
            Self::Also => "also",
            Self::Deleting => "deleting",
            Self::Sequence => "sequence",
            Self::State => "state",
        }
    }
}

/// A line with what it says.
struct Drawn {
    looks: Looks,
    label: String,
    extract: bool,
}

/// The whole picture.
pub(crate) fn picture(picture: &Picture) -> String {
    let (mut blocks, mut lines, drawn) = parts(picture);
    layout::place(&mut blocks, &mut lines);
    let (least, most) = bounds(&blocks, &lines);
    let (dx, dy) = (MARGIN - least.x, MARGIN - least.y);
    let width = (most.x - least.x + 2.0 * MARGIN).max(560.0);
    let moods = if picture.moods().is_empty() { 0.0 } else { MOODS };
    let height = most.y - least.y + 2.0 * MARGIN + LEGEND + moods;
    let width = width.max(moods_width(picture));
    let title =
        picture.subject.as_ref().map_or_else(|| picture.name.clone(), |it| format!("{}: {it}", picture.name));
    let mut out = head(&title, width, height, &if moods > 0.0 { mood_styles() } else { String::new() });
    let _ = writeln!(out, "<g transform=\"translate({dx:.1} {dy:.1})\">");
    for wanted in [Looks::Also, Looks::Deleting, Looks::State, Looks::Sequence] {
        for (line, drawn) in lines.iter().zip(&drawn).filter(|(_, it)| it.looks == wanted) {
            out.push_str(&path(line, drawn));
        }
    }
    for block in &blocks {
        match picture.item(&block.id) {
            Some(item) => out.push_str(&node(item, block)),
            None => out.push_str(&condition(block)),
        }
    }
    for (line, drawn) in lines.iter().zip(&drawn) {
        out.push_str(&label(line, drawn));
    }
    out.push_str("</g>\n");
    out.push_str(&legend(picture, height - moods));
    out.push_str(&moods_legend(picture, height));
    out.push_str("</svg>\n");
    out
}

fn parts(picture: &Picture) -> (Vec<Block>, Vec<Line>, Vec<Drawn>) {
    let nowhere = Point { x: 0.0, y: 0.0 };
    let mut blocks: Vec<Block> = picture
        .items
        .iter()
        .map(|item| Block {
            id: item.name.clone(),
            size: size(item),
            first: item.role == Role::Root,
            middle: nowhere,
        })
        .collect();
    let (mut lines, mut drawn) = (Vec::new(), Vec::new());
    let mut add = |from: &str, to: &str, orders: bool, it: Drawn| {
        let label = (!it.label.is_empty()).then(|| Point {
            x: it.label.chars().count() as f64 * LABEL_SIZE * PLAIN_WIDTH + 12.0,
            y: LABEL_SIZE + 8.0,
        });
        lines.push(Line {
            from: from.to_owned(),
            to: to.to_owned(),
            label,
            orders,
            points: Vec::new(),
            label_middle: None,
        });
        drawn.push(it);
    };
    for (index, need) in picture.needs.iter().enumerate() {
        let looks = match need.origin {
            AlsoOrigin::Deleting => Looks::Deleting,
            AlsoOrigin::Written | AlsoOrigin::OwnRoot => Looks::Also,
            // What is read is needed, and so is the object of a state: the thick lines say it already.
            AlsoOrigin::Extract | AlsoOrigin::State => continue,
        };
        if leaves_out(picture) && need.when.is_none() && picture.roots.contains(&need.from) {
            continue;
        }
        let label = need.when.as_ref().map(|when| format!("when {when}")).unwrap_or_default();
        if need.reads.is_empty() {
            add(&need.from, &need.to, false, Drawn { looks, label, extract: false });
            continue;
        }
        let id = format!("?{index}");
        blocks.push(Block {
            id: id.clone(),
            size: Point { x: 26.0, y: 26.0 },
            first: false,
            middle: nowhere,
        });
        add(&need.from, &id, false, Drawn { looks, label, extract: false });
        add(&id, &need.to, true, Drawn { looks, label: String::new(), extract: false });
        for read in &need.reads {
            let it = Drawn { looks: Looks::Sequence, label: read.label(), extract: read.extract };
            add(&read.from, &id, true, it);
        }
    }
    for wait in &picture.waits {
        let looks = if wait.state { Looks::State } else { Looks::Sequence };
        add(&wait.from, &wait.to, true, Drawn { looks, label: wait.label(), extract: wait.extract });
    }
    (blocks, lines, drawn)
}

fn leaves_out(picture: &Picture) -> bool {
    picture.items.len() > MANY && picture.graphs != Graphs::Also
}

fn size(item: &Item) -> Point {
    let name = item.name.chars().count() as f64 * NAME_SIZE * BOLD_WIDTH;
    let kind = item.subtitle().chars().count() as f64 * KIND_SIZE * PLAIN_WIDTH;
    let state = item.state.as_ref().map_or(0, |it| it.words.chars().count());
    let state = state as f64 * KIND_SIZE * BOLD_WIDTH;
    let height = if item.subtitle().is_empty() { 34.0 } else { 48.0 };
    let more = if item.state.is_some() { STATE } else { 0.0 };
    Point { x: name.max(kind).max(state).max(56.0) + 32.0, y: height + more }
}

fn bounds(blocks: &[Block], lines: &[Line]) -> (Point, Point) {
    let mut least = Point { x: 0.0, y: 0.0 };
    let mut most = Point { x: 0.0, y: 0.0 };
    let mut take = |middle: Point, half: Point| {
        least = Point { x: least.x.min(middle.x - half.x), y: least.y.min(middle.y - half.y) };
        most = Point { x: most.x.max(middle.x + half.x), y: most.y.max(middle.y + half.y) };
    };
    for block in blocks {
        take(block.middle, Point { x: block.size.x / 2.0, y: block.size.y / 2.0 });
    }
    for line in lines {
        for point in &line.points {
            take(*point, Point { x: 4.0, y: 4.0 });
        }
        if let (Some(middle), Some(size)) = (line.label_middle, line.label) {
            take(middle, Point { x: size.x / 2.0, y: size.y / 2.0 });
        }
    }
    (least, most)
}

fn head(name: &str, width: f64, height: f64, moods: &str) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" font-family="Inter, 'Segoe UI', 'Helvetica Neue', Helvetica, 'DejaVu Sans', Arial, sans-serif">
<title>{}</title>
<style>
.name {{ font-size: 14px; font-weight: 600; fill: #0f172a; text-anchor: middle }}
.kind {{ font-size: 11px; fill: #64748b; text-anchor: middle }}
.label {{ font-size: 11px; text-anchor: middle; fill: #1e40af }}
.on-also {{ fill: #64748b }} .on-deleting {{ fill: #b91c1c }}
.plate {{ fill: #ffffff; fill-opacity: 0.92 }}
.line {{ fill: none }}
.also {{ stroke: #94a3b8; stroke-width: 1.4; stroke-dasharray: 5 4 }}
.deleting {{ stroke: #dc2626; stroke-width: 1.4; stroke-dasharray: 5 4 }}
.sequence {{ stroke: #2563eb; stroke-width: 2.2 }}
.state {{ stroke: #2563eb; stroke-width: 2.2; stroke-dasharray: 1 4.5; stroke-linecap: round }}
.box {{ fill: #ffffff; stroke: #475569; stroke-width: 1.4 }}
.root .box {{ fill: #4c1d95; stroke: #4c1d95 }} .root .name {{ fill: #ffffff }} .root .kind {{ fill: #ddd6fe }}
.observe .box {{ fill: #f0fdf4; stroke: #15803d; stroke-dasharray: 5 3 }}
.absent .box {{ fill: #fef2f2; stroke: #b91c1c; stroke-dasharray: 5 3 }} .absent .kind {{ fill: #b91c1c }}
.value .box {{ fill: #fefce8; stroke: #a16207 }}
.going .box {{ stroke: #dc2626 }}
.condition {{ fill: #fffbeb; stroke: #b45309; stroke-width: 1.4 }} .question {{ font-size: 12px; font-weight: 700; fill: #b45309; text-anchor: middle }}
{}</style>
<defs>
<marker id="after" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.8 L10 5 L0 9.2 z" fill="#2563eb"/></marker>
<marker id="needs" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M1 1 L9 5 L1 9" fill="none" stroke="#94a3b8" stroke-width="1.6"/></marker>
<marker id="ends" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M1 1 L9 5 L1 9" fill="none" stroke="#dc2626" stroke-width="1.6"/></marker>
<marker id="data" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse"><circle cx="5" cy="5" r="4.4" fill="#2563eb"/></marker>
</defs>
<rect width="{width:.0}" height="{height:.0}" rx="10" fill="#ffffff"/>
"##,
        escaped(name),
        moods
    )
}

/// A smooth line through its points: each inner point pulls the curve, the ends are met exactly.
fn path(line: &Line, drawn: &Drawn) -> String {
    let Some((first, rest)) = line.points.split_first() else { return String::new() };
    let mut way = format!("M{:.1} {:.1}", first.x, first.y);
    if let [only] = rest {
        let _ = write!(way, " L{:.1} {:.1}", only.x, only.y);
    }
    for pair in rest.windows(2) {
        let (pull, next) = (pair[0], pair[1]);
        let last = rest.last() == Some(&next);
        let end = if last { next } else { Point { x: (pull.x + next.x) / 2.0, y: (pull.y + next.y) / 2.0 } };
        let _ = write!(way, " Q{:.1} {:.1} {:.1} {:.1}", pull.x, pull.y, end.x, end.y);
    }
    let marker = match drawn.looks {
        Looks::Sequence | Looks::State => "after",
        Looks::Also => "needs",
        Looks::Deleting => "ends",
    };
    let start = if drawn.extract { " marker-start=\"url(#data)\"" } else { "" };
    format!(
        "<path class=\"line {}\" d=\"{way}\" marker-end=\"url(#{marker})\"{start}/>\n",
        drawn.looks.class()
    )
}

fn label(line: &Line, drawn: &Drawn) -> String {
    let (Some(middle), Some(size)) = (line.label_middle, line.label) else { return String::new() };
    let (left, top) = (middle.x - size.x / 2.0, middle.y - size.y / 2.0);
    format!(
        "<rect class=\"plate\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/><text class=\"label on-{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
        size.x,
        size.y,
        drawn.looks.class(),
        middle.x,
        middle.y + 4.0,
        escaped(&drawn.label)
    )
}

fn node(item: &Item, block: &Block) -> String {
    let Point { x, y } = block.middle;
    let (left, top) = (x - block.size.x / 2.0, y - block.size.y / 2.0);
    let round = match item.role {
        Role::Root | Role::Value => block.size.y / 2.0,
        Role::Template | Role::Observe => 8.0,
        Role::Absent => 2.0,
    };
    let going = if item.on_deletion && item.role != Role::Root { " going" } else { "" };
    let subtitle = item.subtitle();
    // Where a plan has its say, the rest moves up.
    let (low, y) = (y, if item.state.is_some() { y - STATE / 2.0 } else { y });
    let state = item.state.as_ref().map(|it| {
        let why = it.why.join("; ");
        let tooltip = if why.is_empty() { it.mood.meaning() } else { why.as_str() };
        format!(
            "<text class=\"mood\" x=\"{x:.1}\" y=\"{:.1}\">{}</text><title>{}</title>",
            low + block.size.y / 2.0 - 9.0,
            escaped(&it.words),
            escaped(tooltip)
        )
    });
    let state = state.unwrap_or_default();
    let mood = item.state.as_ref().map(|it| format!(" {}", it.mood.class())).unwrap_or_default();
    let name_at = if subtitle.is_empty() { y + 5.0 } else { y - 2.5 };
    let kind = if subtitle.is_empty() {
        String::new()
    } else {
        format!("<text class=\"kind\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>", y + 14.0, escaped(&subtitle))
    };
    format!(
        "<g class=\"{}{going}{mood}\"><rect class=\"box\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{round:.1}\"/><text class=\"name\" x=\"{x:.1}\" y=\"{name_at:.1}\">{}</text>{kind}{state}</g>\n",
        item.role.name(),
        block.size.x,
        block.size.y,
        escaped(&item.name)
    )
}

fn condition(block: &Block) -> String {
    let Point { x, y } = block.middle;
    format!(
        "<path class=\"condition\" d=\"M{x:.1} {:.1} L{:.1} {y:.1} L{x:.1} {:.1} L{:.1} {y:.1} z\"/><text class=\"question\" x=\"{x:.1}\" y=\"{:.1}\">?</text>\n",
        y - 13.0,
        x + 13.0,
        y + 13.0,
        x - 13.0,
        y + 4.2
    )
}

/// What the lines mean; only those that are there.
fn legend(picture: &Picture, height: f64) -> String {
    let has = |origin| picture.needs.iter().any(|need| need.origin == origin);
    let mut entries = Vec::new();
    if picture.graphs != Graphs::Sequence {
        entries.push(("also", "needs", "needs (Also)", 86.0));
    }
    if picture.graphs != Graphs::Also {
        entries.push(("sequence", "after", "then (Sequence)", 106.0));
    }
    if picture.waits.iter().any(|wait| wait.state) {
        entries.push(("state", "after", "then, the same object", 134.0));
    }
    if has(AlsoOrigin::Deleting) {
        entries.push(("deleting", "ends", "needs on deletion", 112.0));
    }
    if picture.waits.iter().any(|wait| wait.extract) {
        entries.push(("data", "", "data flows", 70.0));
    }
    let mut out = String::new();
    let mut x = MARGIN;
    let y = height - 20.0;
    for (class, marker, text, width) in entries {
        if class == "data" {
            let _ =
                writeln!(out, "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3.6\" fill=\"#2563eb\"/>", x + 28.0);
        } else {
            let _ = writeln!(
                out,
                "<path class=\"line {class}\" d=\"M{x:.1} {y:.1} L{:.1} {y:.1}\" marker-end=\"url(#{marker})\"/>",
                x + 32.0
            );
        }
        let _ = writeln!(
            out,
            "<text class=\"kind\" style=\"text-anchor: start\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
            x + 39.0,
            y + 4.0
        );
        x += 39.0 + width;
    }
    if leaves_out(picture) && picture.graphs == Graphs::Both {
        let _ = writeln!(
            out,
            "<text class=\"kind\" style=\"text-anchor: start\" x=\"{x:.1}\" y=\"{:.1}\">{LEFT_OUT}</text>",
            y + 4.0
        );
    }
    out
}

/// What the colours mean; only those that are there.
fn moods_legend(picture: &Picture, height: f64) -> String {
    let mut out = String::new();
    let mut x = MARGIN;
    let y = height - 20.0;
    for mood in picture.moods() {
        let _ = writeln!(
            out,
            "<g class=\"{}\"><rect class=\"box\" x=\"{x:.1}\" y=\"{:.1}\" width=\"32\" height=\"14\" rx=\"4\"/></g><text class=\"kind\" style=\"text-anchor: start\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            mood.class(),
            y - 7.0,
            x + 39.0,
            y + 4.0,
            mood.meaning()
        );
        x += mood_width(mood);
    }
    out
}

fn mood_width(mood: Mood) -> f64 {
    39.0 + mood.meaning().chars().count() as f64 * KIND_SIZE * PLAIN_WIDTH + 18.0
}

fn moods_width(picture: &Picture) -> f64 {
    picture.moods().into_iter().map(mood_width).sum::<f64>() + 2.0 * MARGIN
}

/// The rules of the colours of a plan.
fn mood_styles() -> String {
    let rules = Mood::ALL.into_iter().map(|mood| {
        let (class, colours) = (mood.class(), mood.colours());
        format!(
            ".{class} .box {{ fill: {}; stroke: {}; stroke-width: 1.8 }} .{class} .mood {{ fill: {} }}\n",
            colours.fill, colours.stroke, colours.text
        )
    });
    let mut out: String = rules.collect();
    out.push_str(".mood { font-size: 11px; font-weight: 600; text-anchor: middle }\n");
    out.push_str(".unneeded .name { fill: #94a3b8 } .unneeded .kind { fill: #cbd5e1 }\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
