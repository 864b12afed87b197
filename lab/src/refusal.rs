//! Makes the kernel reject a system call, to test for features that this machine does have.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// System call number of bpf(2).
pub const BPF: i64 = if cfg!(target_arch = "x86_64") {
    321
} else {
    280
};

/// Makes system call `call` fail with `errno` in this thread and the children it spawns, if each of the `arguments` (by
/// index) has the given value.
pub fn refuse(call: i64, arguments: &[(u8, u64)], errno: u32) {
    let is = |&(argument, value): &(u8, u64)| {
        let (length, operator) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
        SeccompCondition::new(argument, length, operator, value).expect("a condition")
    };
    let rules: Vec<_> = if arguments.is_empty() {
        Vec::new()
    } else {
        let rule = SeccompRule::new(arguments.iter().map(is).collect());
        vec![rule.expect("a rule")]
    };
    let filter = SeccompFilter::new(
        BTreeMap::from([(call, rules)]),
        SeccompAction::Allow,
        SeccompAction::Errno(errno),
        ARCH.try_into().expect("a supported architecture"),
    );
    let program: BpfProgram = filter.expect("a filter").try_into().expect("a program");
    apply_filter(&program).expect("the kernel accepts the seccomp filter");
}
