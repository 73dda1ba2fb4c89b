//! Shapes as XLA prints them, and their parts.

use super::fields::integers;
use crate::bytes::wire::Cursor;
use crate::proto::hlo::ShapeProto;
use prost::Message;
use std::fmt::Write;

/// `xla.PrimitiveType` of a tuple.
pub(super) const TUPLE: i32 = 13;

/// An array's shape, decoded: element type and dimensions as numbers, to be compared and scaled.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape {
    /// `xla.PrimitiveType`.
    pub element: i32,
    /// Dimensions, major to minor.
    pub dims: Vec<i64>,
    /// As XLA prints it, `f32[8192,17800]{1,0}`.
    pub text: String,
}

impl From<&ShapeProto> for Shape {
    fn from(shape: &ShapeProto) -> Shape {
        Shape { element: shape.element_type, dims: shape.dimensions.clone(), text: print(shape) }
    }
}

/// The name of an `xla.PrimitiveType`, `f32`; `None` for a number that has none (yet).
#[must_use]
pub fn element_name(element: i32) -> Option<&'static str> {
    Some(match element {
        1 => "pred",
        2 => "s8",
        3 => "s16",
        4 => "s32",
        5 => "s64",
        6 => "u8",
        7 => "u16",
        8 => "u32",
        9 => "u64",
        10 => "f16",
        11 => "f32",
        12 => "f64",
        13 => "tuple",
        14 => "opaque",
        15 => "c64",
        16 => "bf16",
        17 => "token",
        18 => "c128",
        19 => "f8e5m2",
        20 => "f8e4m3fn",
        21 => "s4",
        22 => "u4",
        23 => "f8e4m3b11fnuz",
        24 => "f8e5m2fnuz",
        25 => "f8e4m3fnuz",
        26 => "s2",
        27 => "u2",
        28 => "f8e4m3",
        29 => "f8e3m4",
        30 => "s1",
        31 => "u1",
        32 => "f4e2m1fn",
        33 => "f8e8m0fnu",
        _ => return None,
    })
}

/// Bits of one element; `None` for tuples, tokens and unknown types.
#[must_use]
pub fn element_bits(element: i32) -> Option<u64> {
    Some(match element {
        30 | 31 => 1,
        26 | 27 => 2,
        21 | 22 | 32 => 4,
        1 | 2 | 6 | 19 | 20 | 23 | 24 | 25 | 28 | 29 | 33 => 8,
        3 | 7 | 10 | 16 => 16,
        4 | 8 | 11 => 32,
        5 | 9 | 12 | 15 => 64,
        18 => 128,
        _ => return None,
    })
}

/// Bytes of an array without padding; `None` for what is no array, and for damaged dimensions.
#[must_use]
pub fn logical_bytes(shape: &ShapeProto) -> Option<u64> {
    // The layout says how sub-byte elements are stored where it differs from the type's own width.
    let stored = shape.layout.as_ref().map(|l| l.element_size_in_bits).filter(|&bits| bits > 0);
    let bits = match stored {
        Some(bits) => u64::try_from(bits).ok()?,
        None => element_bits(shape.element_type)?,
    };
    let elements = shape.dimensions.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::try_from(d).ok()?))?;
    Some(elements.checked_mul(bits)?.div_ceil(8))
}

/// A shape with its layout's order of dimensions, as XLA's `ShapeUtil::HumanStringWithLayout` prints it:
/// `f32[8192,17800]{1,0}`, `f32[]`, `(f32[2]{0},s32[])`. Tiles and the memory space, which XLA adds on some devices, are left
/// out: the space is shown on its own.
#[must_use]
pub fn print(shape: &ShapeProto) -> String {
    let mut out = String::new();
    print_into(shape, &mut out);
    out
}

/// Bytes after which the rest of a shape is left out: tuples of thousands of arrays are common.
const LONGEST_TEXT: usize = 64 << 10;

fn print_into(shape: &ShapeProto, out: &mut String) {
    if shape.element_type == TUPLE {
        out.push('(');
        for (i, part) in shape.tuple_shapes.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            if out.len() > LONGEST_TEXT {
                out.push('…');
                break;
            }
            print_into(part, out);
        }
        out.push(')');
        return;
    }
    match element_name(shape.element_type) {
        Some(name) => out.push_str(name),
        // A type newer than this program.
        None => _ = write!(out, "type{}", shape.element_type),
    }
    out.push('[');
    for (i, &dim) in shape.dimensions.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let dynamic = shape.is_dynamic_dimension.get(i).copied().unwrap_or(false);
        // `Shape::kUnboundedSize`.
        if dim == i64::MIN {
            out.push('?');
        } else {
            _ = write!(out, "{}{dim}", if dynamic { "<=" } else { "" });
        }
    }
    out.push(']');
    if let Some(layout) = shape.layout.as_ref().filter(|l| !l.minor_to_major.is_empty()) {
        out.push('{');
        for (i, dim) in layout.minor_to_major.iter().enumerate() {
            _ = write!(out, "{}{dim}", if i > 0 { "," } else { "" });
        }
        out.push('}');
    }
}

/// The bytes of the part of a `ShapeProto` at a shape index; `None` where there is none.
///
/// Looked up in place: tuples of thousands of arrays are common, and one part is wanted.
#[must_use]
pub fn subshape<'a>(shape: &'a [u8], index: &[i64]) -> Option<&'a [u8]> {
    index.iter().try_fold(shape, |shape, &i| {
        let nth = usize::try_from(i).ok()?;
        Cursor::new(shape).filter(|(number, _)| *number == 4).nth(nth).map(|(_, part)| part.bytes())
    })
}

/// The parts of a tuple's `ShapeProto`; none for what is no tuple.
pub(super) fn parts(shape: &[u8]) -> Vec<&[u8]> {
    Cursor::new(shape).filter(|(number, _)| *number == 4).map(|(_, part)| part.bytes()).collect()
}

/// Every array of a shape with its shape index, in order; for a shape that is an array itself the empty index.
#[must_use]
pub fn leaves(shape: &[u8]) -> Vec<(Vec<i64>, &[u8])> {
    let mut out = Vec::new();
    let mut index = Vec::new();
    collect_leaves(shape, &mut index, &mut out);
    out
}

/// Real shapes nest a few levels; deeper ones are an attack on the stack.
const MAX_DEPTH: usize = 64;

fn collect_leaves<'a>(shape: &'a [u8], index: &mut Vec<i64>, out: &mut Vec<(Vec<i64>, &'a [u8])>) {
    if element_of(shape) != TUPLE {
        out.push((index.clone(), shape));
        return;
    }
    if index.len() >= MAX_DEPTH {
        return;
    }
    for (i, (_, part)) in Cursor::new(shape).filter(|(number, _)| *number == 4).enumerate() {
        index.push(i as i64);
        collect_leaves(part.bytes(), index, out);
        index.pop();
    }
}

/// The element type of a `ShapeProto`.
pub(super) fn element_of(shape: &[u8]) -> i32 {
    Cursor::new(shape).find(|(number, _)| *number == 2).map_or(0, |(_, v)| v.varint() as i32)
}

/// The rank of a `ShapeProto`.
pub(super) fn rank_of(shape: &[u8]) -> usize {
    integers(shape, 3).count()
}

/// Real arrays have a few dimensions; more are damage.
const MOST_DIMENSIONS: usize = 256;

/// Decodes the bytes of a `ShapeProto`; damaged ones give an empty shape.
pub(crate) fn decode(shape: &[u8]) -> ShapeProto {
    ShapeProto::decode(shape).ok().filter(|s| s.dimensions.len() <= MOST_DIMENSIONS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::hlo::LayoutProto;

    fn array(element_type: i32, dimensions: &[i64], minor_to_major: &[i64]) -> ShapeProto {
        ShapeProto {
            element_type,
            dimensions: dimensions.to_vec(),
            layout: Some(LayoutProto { minor_to_major: minor_to_major.to_vec(), ..Default::default() }),
            ..Default::default()
        }
    }

    fn tuple(parts: Vec<ShapeProto>) -> ShapeProto {
        ShapeProto { element_type: TUPLE, tuple_shapes: parts, ..Default::default() }
    }

    #[test]
    fn shapes_print_as_xla_prints_them() {
        assert_eq!(print(&array(11, &[8192, 17800], &[1, 0])), "f32[8192,17800]{1,0}");
        assert_eq!(print(&array(16, &[8, 8, 1024, 1024], &[3, 2, 1, 0])), "bf16[8,8,1024,1024]{3,2,1,0}");
        assert_eq!(print(&array(4, &[], &[])), "s32[]");
        assert_eq!(print(&tuple(vec![array(20, &[2], &[0]), tuple(vec![])])), "(f8e4m3fn[2]{0},())");
        assert_eq!(print(&ShapeProto { element_type: 17, ..Default::default() }), "token[]");
        assert_eq!(print(&array(99, &[1], &[0])), "type99[1]{0}");
        let mut dynamic = array(11, &[8, i64::MIN], &[1, 0]);
        dynamic.is_dynamic_dimension = vec![true, true];
        assert_eq!(print(&dynamic), "f32[<=8,?]{1,0}");
    }

    #[test]
    fn sizes_count_bits_of_small_elements() {
        assert_eq!(logical_bytes(&array(11, &[3, 5], &[1, 0])), Some(60));
        assert_eq!(logical_bytes(&array(21, &[3], &[0])), Some(2), "s4 packs two to a byte");
        let mut wide = array(21, &[3], &[0]);
        wide.layout.as_mut().unwrap().element_size_in_bits = 8;
        assert_eq!(logical_bytes(&wide), Some(3), "unless its layout stores one in each");
        assert_eq!(logical_bytes(&array(11, &[i64::MAX, 2], &[1, 0])), None);
        assert_eq!(logical_bytes(&array(11, &[-1], &[0])), None);
        assert_eq!(logical_bytes(&tuple(vec![])), None);
    }

    #[test]
    fn parts_of_nested_tuples_are_found_by_their_whole_index() {
        let shape =
            tuple(vec![array(11, &[1], &[0]), tuple(vec![array(4, &[2], &[0]), array(4, &[3], &[0])])]);
        let bytes = shape.encode_to_vec();
        assert_eq!(print(&decode(subshape(&bytes, &[1, 1]).unwrap())), "s32[3]{0}");
        assert_eq!(subshape(&bytes, &[2]), None);
        assert_eq!(subshape(&bytes, &[-1]), None);
        let indexes: Vec<_> = leaves(&bytes).into_iter().map(|(index, _)| index).collect();
        assert_eq!(indexes, [vec![0], vec![1, 0], vec![1, 1]]);
    }

    #[test]
    fn long_shapes_are_cut() {
        let many = tuple(vec![array(11, &[1024], &[0]); 10_000]);
        let text = print(&many);
        assert!(text.starts_with("(f32[1024]{0},") && text.ends_with(",…)"), "{text}");
        assert!(text.len() < 66_000);
        assert_eq!(decode(&array(11, &[1; 10_000], &[]).encode_to_vec()), ShapeProto::default());
    }

    #[test]
    fn a_shape_nested_without_end_is_left_alone() {
        let deep = (0..5000).fold(array(11, &[1], &[0]).encode_to_vec(), |inner, _| {
            let mut out = vec![0x10, TUPLE as u8, 0x22];
            prost::encode_length_delimiter(inner.len(), &mut out).unwrap();
            out.extend(inner);
            out
        });
        assert!(leaves(&deep).is_empty());
        assert_eq!(print(&decode(&deep)), "type0[]");
    }
}
