//! What a JAX name stack says of an instruction's part in a training step.

use crate::terms::Role;

/// The role that a name stack gives; `None` for an empty one, and for a name that XLA gave when it made an instruction
/// (`broadcast.61`): the stacks of JAX have parts and transformations.
///
/// JAX writes `jvp(…)` around what runs forward under a gradient, `transpose(jvp(…))` around the backward pass, and
/// `rematted_computation` inside that around what `jax.checkpoint` computes again
/// (`jax/_src/interpreters/ad.py`, `ad_checkpoint.py`).
#[must_use]
pub fn role_of(op_name: &str) -> Option<Role> {
    if !op_name.contains(['/', '(']) {
        return None;
    }
    Some(if !has_wrapper(op_name, "transpose(") {
        if has_wrapper(op_name, "jvp(") { Role::Forward } else { Role::Update }
    } else if op_name.split(['/', '(', ')', ';']).any(|part| part == "rematted_computation") {
        Role::Recomputed
    } else {
        Role::Backward
    })
}

/// Whether `wrapper` begins a part of the name stack: a function called `my_transpose(` is none.
fn has_wrapper(op_name: &str, wrapper: &str) -> bool {
    op_name.match_indices(wrapper).any(|(at, _)| {
        op_name.as_bytes().get(at.wrapping_sub(1)).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_')
    })
}

/// Whether a custom call's result holds scratch of a library besides its value: XLA's own rewriters name their targets
/// `__cublas$gemm`, `__cudnn$convForward`, `__cub$DeviceRadixSort`, and put the workspace into the result as a flat array of bytes.
#[must_use]
pub fn is_library_call(custom_call_target: &str) -> bool {
    custom_call_target.starts_with("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_come_from_the_name_stacks_jax_writes() {
        for (op_name, role) in [
            ("jit(step)/jvp(layer)/dot_general", Some(Role::Forward)),
            ("jit(step)/jvp()/while/body/closed_call/mul", Some(Role::Forward)),
            ("jit(f)/jit(main)/jvp(vmap())/add", Some(Role::Forward)),
            ("jit(step)/transpose(jvp(layer))/dot_general", Some(Role::Backward)),
            ("jit(step)/transpose(jvp())/checkpoint/layer/mul", Some(Role::Backward)),
            (
                "jit(step)/transpose(jvp())/while/body/checkpoint/rematted_computation/layer/tanh",
                Some(Role::Recomputed),
            ),
            ("jit(step)/mul", Some(Role::Update)),
            ("jit(step)/transpose", Some(Role::Update)),
            ("jit(_transpose)/jit(main)/transpose[permutation=(1,0)]", Some(Role::Update)),
            ("jit(step)/jvp(conv)/conv_transpose(2)/mul", Some(Role::Forward)),
            ("jit(step)/checkpoint/rematted_computation/mul", Some(Role::Update)),
            ("", None),
            ("broadcast.61", None),
            ("copy", None),
            ("jit(step)", Some(Role::Update)),
        ] {
            assert_eq!(role_of(op_name), role, "{op_name}");
        }
    }
}
