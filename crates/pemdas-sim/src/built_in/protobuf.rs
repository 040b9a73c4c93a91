//! Bodies in protobuf, which typed clients send of built-in kinds.
//!
//! `numbers.txt` says what the fields are called; see `encoding/main.go`. What they are is known from the table of types.

use base64::Engine as _;
use jiff::Timestamp;
use pemdas_core::kube_types::{Shape, Type};
use serde_json::{Map, Value, json};

/// A line for each type.
const NUMBERS: &str = include_str!("numbers.txt");
/// What such a body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// How deep messages may lie in each other.
const DEEPEST: usize = 64;

/// The object of a body.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn from_protobuf(bytes: &[u8]) -> Result<Value, String> {
    let envelope =
        bytes.strip_prefix(MAGIC).ok_or("provided data does not appear to be a protobuf message")?;
    let parts = fields(envelope).ok_or("the envelope cannot be read")?;
    let part = |number: u64| parts.iter().find(|(its, _)| *its == number).map(|(_, wire)| *wire);
    let meta = part(1).and_then(Wire::bytes).and_then(fields).unwrap_or_default();
    let text = |number: u64| {
        let found = meta.iter().find(|(its, _)| *its == number).and_then(|(_, wire)| wire.text());
        found.unwrap_or_default().to_owned()
    };
    let (api_version, kind) = (text(1), text(2));
    let of = type_of(&api_version, &kind)
        .ok_or_else(|| format!("no kind {kind:?} is registered for version {api_version:?}"))?;
    let raw = part(2).and_then(Wire::bytes).unwrap_or_default();
    let mut object = Map::new();
    read(raw, of.id(), of, DEEPEST, &mut object).ok_or("the object cannot be read")?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(Value::Object(object))
}

/// The type of a kind: packages are called by the first word of their group.
fn type_of(api_version: &str, kind: &str) -> Option<Type> {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or_default();
    let found = Type::find(&format!("{package}/{version}/{kind}"));
    found.or_else(|| Type::find(&format!("meta/{version}/{kind}")))
}

/// A value as it is written.
#[derive(Debug, Clone, Copy)]
enum Wire<'a> {
    Number(u64),
    Double(f64),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    fn bytes(self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn number(self) -> Option<i64> {
        // A negative number is written as one of 64 bits.
        if let Self::Number(number) = self { Some(number.cast_signed()) } else { None }
    }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f).checked_shl(7 * place)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The fields of a message, with their numbers.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, Wire<'_>)>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let wire = match tag & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            1 => {
                let (number, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                Wire::Double(f64::from_le_bytes(*number))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Wire::Bytes(value)
            }
            _ => return None,
        };
        found.push((tag >> 3, wire));
    }
    Some(found)
}

/// Reads a message into an object. Its fields may stand among those of a type that it is a part of.
fn read(bytes: &[u8], message: &str, of: Type, depth: usize, object: &mut Map<String, Value>) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let of_it = |line: &'static str| line.strip_prefix(message)?.strip_prefix(' ');
    let line = NUMBERS.lines().find_map(of_it).unwrap_or_default();
    for (number, wire) in fields(bytes)? {
        let number = number.to_string();
        for word in line.split(' ') {
            let Some((left, right)) = word.split_once(':') else { continue };
            if left.strip_prefix('+') == Some(&number) {
                read(wire.bytes()?, right, of, depth, object)?;
            } else if right == number {
                let shape = of.field(left).map_or(Shape::Any, |field| field.shape());
                add(shape, wire, left, depth, object)?;
            }
        }
    }
    Some(())
}

/// Adds a value to a field: to its list or dictionary, if it is one.
fn add(
    shape: Shape,
    wire: Wire<'_>,
    name: &str,
    depth: usize,
    object: &mut Map<String, Value>,
) -> Option<()> {
    match shape {
        Shape::List(item) => {
            let list = object.entry(name).or_insert_with(|| json!([]));
            let item = value(item.shape(), wire, depth)?;
            list.as_array_mut()?.push(item);
        }
        Shape::Dictionary(item) => {
            let entry = fields(wire.bytes()?)?;
            let part = |number: u64| entry.iter().find(|(its, _)| *its == number).map(|(_, wire)| *wire);
            let key = part(1).and_then(Wire::text).unwrap_or_default().to_owned();
            let value = value(item.shape(), part(2).unwrap_or(Wire::Bytes(&[])), depth)?;
            let dictionary = object.entry(name).or_insert_with(|| json!({}));
            dictionary.as_object_mut()?.insert(key, value);
        }
        _ => {
            let value = value(shape, wire, depth)?;
            object.insert(name.to_owned(), value);
        }
    }
    Some(())
}

fn value(shape: Shape, wire: Wire<'_>, depth: usize) -> Option<Value> {
    let part = |number: u64| {
        let all = fields(wire.bytes()?)?;
        all.into_iter().find(|(its, _)| *its == number).map(|(_, wire)| wire)
    };
    Some(match shape {
        Shape::String => json!(wire.text()?),
        Shape::Bytes => json!(base64::engine::general_purpose::STANDARD.encode(wire.bytes()?)),
        Shape::Boolean => json!(wire.number()? != 0),
        Shape::Int32 | Shape::Int64 => json!(wire.number()?),
        Shape::Double => match wire {
            Wire::Double(number) => json!(number),
            _ => return None,
        },
        Shape::Time | Shape::MicroTime => {
            let number = |place: u64| part(place).and_then(Wire::number).unwrap_or(0);
            let (seconds, nanos) = (number(1), i32::try_from(number(2)).ok()?);
            if seconds == 0 && nanos == 0 {
                return Some(Value::Null);
            }
            let time = Timestamp::new(seconds, nanos).ok()?;
            json!(if shape == Shape::Time { format!("{time:.0}") } else { format!("{time:.6}") })
        }
        Shape::Quantity => json!(part(1).and_then(Wire::text).unwrap_or("0")),
        Shape::IntOrString => match part(1).and_then(Wire::number).unwrap_or(0) {
            0 => json!(part(2).and_then(Wire::number).unwrap_or(0)),
            _ => json!(part(3).and_then(Wire::text).unwrap_or_default()),
        },
        Shape::Any | Shape::Object | Shape::OneOf(_) => {
            let raw = part(1).and_then(Wire::bytes).unwrap_or_default();
            serde_json::from_slice(raw).unwrap_or_default()
        }
        Shape::Record(id) => {
            let mut object = Map::new();
            read(wire.bytes()?, id, Type::find(id)?, depth, &mut object)?;
            Value::Object(object)
        }
        // Neither stands in the other without a message of its own.
        Shape::List(_) | Shape::Dictionary(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::from_protobuf;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend(bytes);
        out
    }

    fn sent(api_version: &str, kind: &str, object: &[u8]) -> Result<Value, String> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        from_protobuf(&[b"k8s\0".to_vec(), field(1, &meta), field(2, object)].concat())
    }

    #[test]
    fn an_object_is_read() {
        // A time of zero, as every new object has it, is none.
        let metadata = field(1, &[field(1, b"a"), field(8, &[])].concat());
        let data = field(2, &[field(1, b"key"), field(2, b"value")].concat());
        let bytes = field(3, &[field(1, b"raw"), field(2, &[0, 255])].concat());
        let immutable = vec![4 << 3, 1];
        let read = sent("v1", "ConfigMap", &[metadata, data, bytes, immutable].concat()).unwrap();
        let wanted = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "creationTimestamp": null },
            "data": { "key": "value" }, "binaryData": { "raw": "AP8=" }, "immutable": true,
        });
        assert_eq!(read, wanted);
    }

    #[test]
    fn what_stands_among_other_fields_in_json_is_a_message_here() {
        let volume = [field(1, b"v"), field(2, &field(2, &[]))].concat();
        let read = sent("v1", "Pod", &field(2, &field(1, &volume))).unwrap();
        assert_eq!(read["spec"]["volumes"], json!([{ "name": "v", "emptyDir": {} }]));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert!(from_protobuf(b"{}").is_err());
        assert!(from_protobuf(b"k8s\0\x0a\xff").is_err());
        assert!(sent("v1", "Nothing", &[]).is_err());
        assert!(sent("v1", "ConfigMap", &[0xff; 40]).is_err());
    }
}
