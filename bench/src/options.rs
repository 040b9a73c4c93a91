//! What is measured.

use crate::shape::Shape;

const HELP: &str = "\
bench [--shapes fan-out,chain] [--counts 100,500,2000] [--turns 1] [--batches 1]
      [--json FILE] [--operator NAME=COMMAND]...

Measures operators on a control plane of their own, for each shape and number of instances. The speed of a machine changes
meanwhile. So the instances are made in batches, a batch of each operator and then the next, every other time in the opposite
order, and the times of the batches are summed up. With several turns everything is done again from the beginning: medians are
told, and from where to where the ratios of a turn go.

COMMAND is run with the environment of this program and KUBECONFIG; {shape} in it stands for the shape. NAME says how the
cluster is prepared:
  hand-written  the definition of the kind is installed      (default: the program beside this one)
  pemdas        the blueprint of the shape is applied        (such as: pemdas='target/release/pemdas run')
The first operator is what the others are compared with.";

/// How a cluster is prepared for an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preparation {
    Definition,
    Blueprint,
}

/// An operator under test.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) preparation: Preparation,
}

/// What is measured.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) counts: Vec<usize>,
    pub(crate) operators: Vec<Operator>,
    /// How often each is measured.
    pub(crate) turns: usize,
    /// In how many parts the instances are made.
    pub(crate) batches: usize,
    pub(crate) json: Option<String>,
}

impl Options {
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            shapes: vec![Shape::FanOut, Shape::Chain],
            counts: vec![100, 500, 2_000],
            operators: vec![hand_written()?],
            turns: 1,
            batches: 1,
            json: None,
        };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| HELP.to_owned())?;
            match flag.as_str() {
                "--shapes" => {
                    let shapes: Option<Vec<Shape>> = value.split(',').map(Shape::read).collect();
                    options.shapes = shapes.ok_or_else(|| HELP.to_owned())?;
                }
                "--counts" => {
                    let counts: Result<Vec<usize>, _> = value.split(',').map(str::parse).collect();
                    options.counts = counts.map_err(|_| HELP.to_owned())?;
                }
                "--turns" => options.turns = positive(&value)?,
                "--batches" => options.batches = positive(&value)?,
                "--json" => options.json = Some(value),
                "--operator" => {
                    let (name, command) = value.split_once('=').ok_or_else(|| HELP.to_owned())?;
                    let operator = Operator {
                        name: name.to_owned(),
                        command: command.to_owned(),
                        preparation: if name.starts_with("pemdas") {
                            Preparation::Blueprint
                        } else {
                            Preparation::Definition
                        },
                    };
                    options.operators.retain(|it| it.name != operator.name);
                    options.operators.push(operator);
                }
                _ => return Err(HELP.to_owned()),
            }
        }
        Ok(options)
    }
}

fn positive(value: &str) -> Result<usize, String> {
    value.parse().ok().filter(|it| *it > 0).ok_or_else(|| HELP.to_owned())
}

/// The operator that was built together with this program.
fn hand_written() -> Result<Operator, String> {
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    Ok(Operator {
        name: "hand-written".to_owned(),
        command: format!("{} {{shape}}", here.with_file_name("hand-written").display()),
        preparation: Preparation::Definition,
    })
}
