//! Compiles a graph to native code with Cranelift.

use crate::backend::native::cranelift::merge_tests::plan;
use crate::backend::native::cranelift::required_bytes::{Footprint, Footprints, RequiredBytes};
use crate::backend::native::cranelift::set_tables::Tables;
use crate::backend::native::cranelift::writer::{
    CodegenInput, FunctionWriter, PacketArguments, VerdictTarget, plain,
};
use crate::backend::native::program;
use crate::backend::native::program::{Code, NativeError};
use crate::filter::Filter;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, UserFuncName, types};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::Configurable;
use cranelift_codegen::{Context, ir, settings};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use std::sync::OnceLock;

/// Maximum number of nodes in a graph.
const MAX_NODES: usize = 20_000;
/// Functions start at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// Generates code for one packet and for batches; with a listing if `has_text`.
pub(in crate::backend::native) fn generate(
    filter: &Filter,
    has_text: bool,
) -> Result<Code, NativeError> {
    let isa = isa()?;
    let (graph, values) = (&filter.graph, &filter.values);
    let order = graph.reachable();
    if order.len() > MAX_NODES {
        return Err(NativeError::TooLarge {
            nodes: order.len(),
            most: MAX_NODES,
        });
    }
    let mut found = Footprints::new(values);
    let mut footprints = vec![Footprint::NONE; graph.len()];
    for &id in &order {
        footprints[id.0 as usize] = found.of_node(graph.node(id));
    }
    let need = RequiredBytes::of(graph, &order, values, &footprints);
    let tables = Tables::of(&filter.sets)?;
    let plan = plan(graph, &order, &footprints, &need, &tables);
    let input = CodegenInput {
        filter,
        order: &order,
        need: &need,
        plan: &plan,
        tables: &tables,
    };
    let mut compiler = Compiler {
        isa,
        context: Context::new(),
        parts: FunctionBuilderContext::new(),
        has_text,
        text: String::new(),
    };
    let mut bytes = compiler.function(
        &[types::I64, types::I64, types::I32, types::I64],
        true,
        |builder| {
            one(&input, builder);
        },
    )?;
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    let start = bytes.len();
    bytes.extend(compiler.function(&[types::I64; 3], false, |builder| many(&input, builder))?);
    Ok(Code {
        bytes,
        many: start,
        tables: tables.into_words(),
        text: compiler.text,
    })
}

/// Cranelift's target description of this CPU, created once.
fn isa() -> Result<&'static dyn TargetIsa, NativeError> {
    static ISA: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    let isa = ISA.get_or_init(|| {
        let mut flags = settings::builder();
        let verify = if cfg!(debug_assertions) {
            "true"
        } else {
            "false"
        };
        // Values are already deduplicated and folded: Cranelift's passes would double the time and
        // gain nothing.
        let all = [
            ("opt_level", "none"),
            ("regalloc_algorithm", "backtracking"),
            ("enable_verifier", verify),
            ("unwind_info", "false"),
        ];
        for (name, value) in all {
            flags.set(name, value).ok()?;
        }
        let builder = cranelift_native::builder().ok()?;
        builder.finish(settings::Flags::new(flags)).ok()
    });
    isa.as_deref().ok_or(NativeError::Unsupported {
        architecture: std::env::consts::ARCH,
    })
}

struct Compiler {
    isa: &'static dyn TargetIsa,
    context: Context,
    parts: FunctionBuilderContext,
    has_text: bool,
    /// Cranelift's listing of the functions.
    text: String,
}

impl Compiler {
    fn function(
        &mut self,
        parameters: &[ir::Type],
        gives_verdict: bool,
        write: impl FnOnce(&mut FunctionBuilder),
    ) -> Result<Vec<u8>, NativeError> {
        let error = |text: String| NativeError::Code {
            source: text.into(),
        };
        self.context.clear();
        self.context.set_disasm(self.has_text);
        let mut signature = ir::Signature::new(self.isa.default_call_conv());
        signature
            .params
            .extend(parameters.iter().copied().map(AbiParam::new));
        if gives_verdict {
            signature.returns.push(AbiParam::new(types::I32));
        }
        self.context.func = ir::Function::with_name_signature(UserFuncName::default(), signature);
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.parts);
        write(&mut builder);
        builder.finalize(self.isa.frontend_config());
        let compiled = self
            .context
            .compile(self.isa, &mut ControlPlane::default())
            .map_err(|failure| error(failure.inner.to_string()))?;
        self.text.extend(compiled.vcode.as_deref());
        // The code refers to no external symbols, so there are no relocations.
        if !compiled.buffer.relocs().is_empty() {
            return Err(error("the code has relocations".into()));
        }
        Ok(compiled.code_buffer().to_vec())
    }
}

/// The function that returns the verdict for one packet.
fn one(input: &CodegenInput, builder: &mut FunctionBuilder) {
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let &[start, bytes, original_len, metadata] = builder.block_params(entry) else {
        unreachable!("the signature has four parameters");
    };
    let packet = PacketArguments {
        start,
        bytes,
        original_len,
        metadata,
    };
    FunctionWriter::new(input, builder, packet, VerdictTarget::Return).walk();
}

/// The function that writes a verdict for each packet of a batch.
fn many(input: &CodegenInput, builder: &mut FunctionBuilder) {
    let [entry, each, next, out] = std::array::from_fn(|_| builder.create_block());
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let &[packets, count, verdicts] = builder.block_params(entry) else {
        unreachable!("the signature has three parameters");
    };
    let size = size_of::<program::NativePacket>().cast_signed() as i64;
    let bytes = builder.ins().imul_imm_u(count, size);
    let end = builder.ins().iadd(packets, bytes);
    let is_none = builder.ins().icmp_imm_u(IntCC::Equal, count, 0);
    let first = [packets.into(), verdicts.into()];
    builder.ins().brif(is_none, out, &[], each, &first);

    builder.switch_to_block(each);
    let at = builder.append_block_param(each, types::I64);
    let verdict_at = builder.append_block_param(each, types::I64);
    let [start, bytes, original_len] = program::NativePacket::OFFSETS;
    let nothing = (&raw const program::NOTHING)
        .expose_provenance()
        .cast_signed();
    let packet = PacketArguments {
        start: builder.ins().load(types::I64, plain(), at, start),
        bytes: builder.ins().load(types::I64, plain(), at, bytes),
        original_len: builder.ins().load(types::I32, plain(), at, original_len),
        metadata: builder.ins().iconst(types::I64, nothing as i64),
    };
    let verdict = builder.append_block_param(next, types::I32);
    FunctionWriter::new(input, builder, packet, VerdictTarget::Block(next)).walk();

    builder.switch_to_block(next);
    builder.seal_block(next);
    let flags = MemFlagsData::trusted();
    builder.ins().store(flags, verdict, verdict_at, 0);
    let at_next = builder.ins().iadd_imm_u(at, size);
    let verdict_next = builder.ins().iadd_imm_u(verdict_at, 4);
    let is_last = builder.ins().icmp(IntCC::Equal, at_next, end);
    let again = [at_next.into(), verdict_next.into()];
    builder.ins().brif(is_last, out, &[], each, &again);
    builder.seal_block(each);

    builder.switch_to_block(out);
    builder.seal_block(out);
    builder.ins().return_(&[]);
}
