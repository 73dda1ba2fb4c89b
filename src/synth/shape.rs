//! Shapes of arrays.

use crate::proto::hlo::{LayoutProto, ShapeProto};

/// Element types, with their numbers in `xla.PrimitiveType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Element {
    Pred = 1,
    S8 = 2,
    S32 = 4,
    U8 = 6,
    U32 = 8,
    F32 = 11,
    Bf16 = 16,
}

/// `xla.PrimitiveType.TUPLE`.
const TUPLE: i32 = 13;

/// An array's shape, laid out with the last dimension innermost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The type of its elements.
    pub element: Element,
    /// Its dimensions; none for a scalar.
    pub dims: Vec<i64>,
}

/// A shape, as in `shape(F32, &[8, 128])`.
#[must_use]
pub fn shape(element: Element, dims: &[i64]) -> Shape {
    Shape { element, dims: dims.to_vec() }
}

impl Shape {
    /// Its size.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let width = match self.element {
            Element::Pred | Element::S8 | Element::U8 => 1,
            Element::Bf16 => 2,
            Element::S32 | Element::U32 | Element::F32 => 4,
        };
        self.dims.iter().fold(width, |n, d| n * d.unsigned_abs())
    }

    pub(super) fn proto(&self) -> ShapeProto {
        let order = (0..self.dims.len() as i64).rev().collect();
        ShapeProto {
            element_type: self.element as i32,
            dimensions: self.dims.clone(),
            layout: Some(LayoutProto { minor_to_major: order, ..LayoutProto::default() }),
            ..ShapeProto::default()
        }
    }
}

pub(super) fn tuple_of(shapes: impl Iterator<Item = ShapeProto>) -> ShapeProto {
    ShapeProto { element_type: TUPLE, tuple_shapes: shapes.collect(), ..ShapeProto::default() }
}
